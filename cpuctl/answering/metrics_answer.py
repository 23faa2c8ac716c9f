"""The metrics of a node as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.engine.metrics import samples
from cpuctl.engine.node import Node

if TYPE_CHECKING:
    from cpuctl.answers.metrics import Metric


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
