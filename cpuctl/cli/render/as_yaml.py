"""YAML: the same document, in the same order, starting with ``---`` so that files concatenate."""

from __future__ import annotations

import sys

from cpuctl.cli.output import Document, Style, takes_every_character


def write(document: Document, style: Style) -> None:  # noqa: ARG001  # every renderer has this shape
    """Write the document as YAML; with escapes where stdout does not take every character."""
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    yaml.dump(
        document,
        sys.stdout,
        Dumper=dumper,
        sort_keys=False,
        explicit_start=True,
        allow_unicode=takes_every_character(),
        default_flow_style=False,
    )
