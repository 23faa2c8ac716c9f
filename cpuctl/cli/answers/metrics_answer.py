"""The metrics of a node as plain data."""

from __future__ import annotations

from typing import Any

from cpuctl.engine.metrics import samples
from cpuctl.engine.node import Node


def metrics_answer(node: Node) -> list[dict[str, Any]]:
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
