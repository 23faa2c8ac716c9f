"""The answers of a Node Resource Interface plugin, in the form that runtimes' own tools use: JSON."""

from __future__ import annotations

from cpuctl.cli.output import Document, Style
from cpuctl.cli.render.as_json import write as write_json


def write(document: Document, style: Style) -> None:
    """Write it as JSON."""
    write_json(document, style)
