"""A figure of cpuctl's own, as monitoring systems want it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cpuctl.engine.metrics import samples
from cpuctl.engine.node import Node
from cpuctl.visible_text import printable

if TYPE_CHECKING:
    from cpuctl.answers.metrics import Metric


def gauge(name: str, help_: str, labels: Mapping[str, str], value: int) -> Metric:
    """Describe a sample; all of one name have the same labels."""
    return {
        "name": f"cpuctl_{name}",
        "help": help_,
        "type": "gauge",
        # Names in files are anybody's: none of them steers a terminal.
        "labels": {label: printable(text) for label, text in labels.items()},
        "value": value,
    }


def metrics_answer(node: Node) -> list[Metric]:
    """List what the kubelet's own series would read now."""
    return [
        {
            "name": sample.name,
            "type": sample.kind,
            "help": sample.help,
            "labels": dict(sample.labels),
            "value": sample.value,
        }
        for sample in samples(node)
    ]
