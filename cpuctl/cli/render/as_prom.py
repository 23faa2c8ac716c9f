"""Prometheus' text exposition format, as node-exporter's textfile collector reads it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from cpuctl.cli.output import Document, Style

_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


def write(document: Document, style: Style) -> None:  # noqa: ARG001  # every renderer has this shape
    """Write the metrics of an answer, from ``metrics_text``."""
    sys.stdout.write(metrics_text(document))


def metrics_text(document: Document) -> str:
    """Return the metrics of an answer, with all series of a metric together; empty without metrics."""
    samples = sorted(document.get("metrics", ()), key=lambda sample: str(sample["name"]))
    return "".join(
        f"{line}\n"
        for name, series in groupby(samples, key=lambda sample: str(sample["name"]))
        for line in _lines(name, list(series))
    )


def _lines(name: str, series: list[Mapping[str, Any]]) -> Iterable[str]:
    yield f"# HELP {name} {series[0]['help'].translate(_ESCAPES)}"
    yield f"# TYPE {name} {series[0]['type']}"
    for sample in series:
        labels = ",".join(
            f'{label}="{value.translate(_ESCAPES)}"' for label, value in sample["labels"].items()
        )
        yield f"{name}{{{labels}}} {sample['value']}" if labels else f"{name} {sample['value']}"
