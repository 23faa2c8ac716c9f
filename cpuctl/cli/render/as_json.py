"""JSON: stable names, two spaces of indent, one newline at the end."""

from __future__ import annotations

import json
import sys
from itertools import islice

from cpuctl.cli.output import Document, Style, takes_every_character

_AT_ONCE = 4096


def write(document: Document, style: Style) -> None:  # noqa: ARG001  # every renderer has this shape
    """Write the document as JSON, with escapes if stdout cannot encode every character."""
    # Piece by piece: for thousands of pods, the text is several times as large as the document.
    pieces = json.JSONEncoder(indent=2, ensure_ascii=not takes_every_character()).iterencode(document)
    while text := "".join(islice(pieces, _AT_ONCE)):
        sys.stdout.write(text)
    sys.stdout.write("\n")
