"""JSON: stable names, two blanks of indent, one newline at the end."""

from __future__ import annotations

import json
import sys

from cpuctl.cli.output import Document, Style, takes_every_character


def write(document: Document, style: Style) -> None:  # noqa: ARG001  # every renderer has this shape
    """Write the document as JSON; with escapes where stdout does not take every character."""
    text = json.dumps(document, indent=2, ensure_ascii=not takes_every_character())
    sys.stdout.write(text + "\n")
