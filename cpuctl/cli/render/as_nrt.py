"""NodeResourceTopologies: the objects themselves, for ``kubectl apply -f -``."""

from __future__ import annotations

from cpuctl.cli.output import Document, Style
from cpuctl.cli.render.as_yaml import write as write_yaml


def write(document: Document, style: Style) -> None:
    """Write one object, or a List of them, as YAML."""
    write_yaml(document, style)
