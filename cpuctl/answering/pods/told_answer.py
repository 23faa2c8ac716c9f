"""What containers read of resources by the downward API, as a plain document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.pods.downward_api import Told
from cpuctl.pods.model import ResourceFieldRef

if TYPE_CHECKING:
    from cpuctl.answers.downward import (
        FileReference,
        Reading,
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


def value_answer(told: Told) -> ReadValue:
    """Describe what is read: null where that is not known, or the kubelet's error."""
    return {"text": told.text, "error": told.error or None, "rule": told.rule or None}


def told_answer(ref: ResourceFieldRef, told: Told) -> Reading:
    """Describe one reference and what is read there."""
    if ref.in_file:
        return {**file_answer(ref), **value_answer(told)}
    return {**variable_answer(ref), **value_answer(told)}
