"""The resources that containers read by the downward API, as a plain document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet
from cpuctl.pods.downward_api import DownwardContext, DownwardValue
from cpuctl.pods.model import ResourceFieldRef
from cpuctl.quantity import Quantity

if TYPE_CHECKING:
    from cpuctl.answers.downward import (
        DownwardItem,
        FileReference,
        ReadValue,
        ResourceReference,
        VariableReference,
    )
    from cpuctl.engine.node import Node


def downward_context(node: Node, held: Mapping[str, int]) -> DownwardContext:
    """Return the values of *node*; *held* are containers' exclusive CPUs (masks), 0 for those that share."""
    known = node.allocatable
    return DownwardContext(
        minor=node.pod_rules.minor,
        allocatable=None
        if known is None
        else {
            name: Quantity.from_milli(amount) if name == "cpu" else Quantity.from_value(amount)
            for name, amount in known.amounts.items()
        },
        assigned={name: str(CPUSet(cpus)) for name, cpus in held.items()},
    )


def variable_answer(ref: ResourceFieldRef) -> VariableReference:
    """Describe a variable's reference, and what it requests."""
    return {
        "variable": {"container": ref.reader, "name": ref.name},
        "file": None,
        **_requested(ref),
    }


def file_answer(ref: ResourceFieldRef) -> FileReference:
    """Describe a file's reference, and what it requests."""
    return {"variable": None, "file": {"volume": ref.volume, "path": ref.name}, **_requested(ref)}


def _requested(ref: ResourceFieldRef) -> ResourceReference:
    return {
        "resource": ref.resource,
        "container": ref.owner,
        "divisor": str(ref.divisor) if ref.divisor.sign else None,
    }


def value_answer(value: DownwardValue) -> ReadValue:
    """Describe the value read: null if unknown, or the kubelet's error."""
    return {"text": value.text, "error": value.error or None, "rule": value.rule or None}


def downward_answer(ref: ResourceFieldRef, value: DownwardValue) -> DownwardItem:
    """Describe one reference and the value read through it."""
    if ref.in_file:
        return {**file_answer(ref), **value_answer(value)}
    return {**variable_answer(ref), **value_answer(value)}
