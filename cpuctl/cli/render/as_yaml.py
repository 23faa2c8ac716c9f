"""YAML: the same document, in the same order, starting with ``---`` so that files concatenate."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from cpuctl.cli.output import Document, Style, takes_every_character


def write(document: Document, style: Style) -> None:  # noqa: ARG001  # every renderer has this shape
    """Write the document as YAML, with escapes if stdout cannot encode every character."""
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    for number, piece in enumerate(_pieces(document)):
        yaml.dump(
            piece,
            sys.stdout,
            Dumper=dumper,
            sort_keys=False,
            explicit_start=number == 0,
            allow_unicode=takes_every_character(),
            default_flow_style=False,
        )


def _pieces(document: Document) -> Iterator[Any]:
    """Split a document into parts that, written one after the other, give the same text as the whole.

    PyYAML makes a tree of nodes from its input: for thousands of pods, ten times the size of the answer.
    """
    for key, value in document.items():
        if not isinstance(value, list) or not value:
            yield {key: value}
            continue
        yield {key: value[:1]}
        for item in value[1:]:
            yield [item]
