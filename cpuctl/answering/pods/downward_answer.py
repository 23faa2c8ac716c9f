"""What containers read of resources by the downward API, as a plain document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.pods.downward_api import DownwardValue
from cpuctl.pods.model import ResourceFieldRef

if TYPE_CHECKING:
    from cpuctl.answers.downward import (
        DownwardItem,
        FileReference,
        ReadValue,
        ResourceReference,
        VariableReference,
    )


def variable_answer(ref: ResourceFieldRef) -> VariableReference:
    """Describe a reference that a variable makes, and what it asks for."""
    return {
        "variable": {"container": ref.reader, "name": ref.name},
        "file": None,
        **_asked(ref),
    }


def file_answer(ref: ResourceFieldRef) -> FileReference:
    """Describe a reference that a file makes, and what it asks for."""
    return {"variable": None, "file": {"volume": ref.volume, "path": ref.name}, **_asked(ref)}


def _asked(ref: ResourceFieldRef) -> ResourceReference:
    return {
        "resource": ref.resource,
        "container": ref.whose,
        "divisor": str(ref.divisor) if ref.divisor.sign else None,
    }


def value_answer(value: DownwardValue) -> ReadValue:
    """Describe what is read: null where that is not known, or the kubelet's error."""
    return {"text": value.text, "error": value.error or None, "rule": value.rule or None}


def downward_answer(ref: ResourceFieldRef, value: DownwardValue) -> DownwardItem:
    """Describe one reference and what is read there."""
    if ref.in_file:
        return {**file_answer(ref), **value_answer(value)}
    return {**variable_answer(ref), **value_answer(value)}
