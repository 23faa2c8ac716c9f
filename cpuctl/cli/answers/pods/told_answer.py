"""What containers read of resources by the downward API, as a plain document."""

from __future__ import annotations

from typing import Any

from cpuctl.pods.downward_api import Told
from cpuctl.pods.field_ref import ResourceFieldRef


def reference_answer(ref: ResourceFieldRef) -> dict[str, Any]:
    """Describe one reference: whose variable or which file it is, and what it asks for."""
    return {
        "variable": None if ref.in_file else {"container": ref.reader, "name": ref.name},
        "file": {"volume": ref.volume, "path": ref.name} if ref.in_file else None,
        "resource": ref.resource,
        "container": ref.whose,
        "divisor": str(ref.divisor) if ref.divisor.sign else None,
    }


def value_answer(told: Told) -> dict[str, Any]:
    """Describe what is read: null where that is not known, or the kubelet's error."""
    return {"text": told.text, "error": told.error or None, "rule": told.rule or None}


def told_answer(ref: ResourceFieldRef, told: Told) -> dict[str, Any]:
    """Describe one reference and what is read there."""
    return reference_answer(ref) | value_answer(told)
