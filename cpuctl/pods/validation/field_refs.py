"""What the downward API is asked to tell of a container's resources: in variables, and in files of volumes.

Rule: ``validateContainerResourceFieldSelector`` and ``validateContainerResourceDivisor`` in
``pkg/apis/core/validation``, 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.named_tuple import NamedTuple
from cpuctl.pods.rules import ServerRules
from cpuctl.pods.validation.finding import Finding, Spot
from cpuctl.quantity import Quantity

_CODE = "resource-field-ref"
_RESOURCES = tuple(
    f"{side}.{name}" for side in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_ASSIGNED = ("assigned.cpuset", "assigned.memset")
"""What volumes may tell from 1.37 on (KEP-6122)."""
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_OF_CPUS = ("1m", "1")
_OF_BYTES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_WORDS = {"cpu": "cpu", "memory": "memory", "ephemeral-storage": "local ephemeral storage"}


class FieldRef(NamedTuple):
    """A ``resourceFieldRef``; in a volume it has to name a container."""

    spot: Spot
    resource: str
    container: str
    divisor: Quantity
    in_volume: bool = False


def check_field_ref(ref: FieldRef, rules: ServerRules) -> Iterator[Finding]:
    """Check one reference: its container, its resource, then its divisor."""
    known = _ASSIGNED if rules.tells_assigned and ref.in_volume else ()
    resource = ref.spot.child("resource")
    if ref.in_volume and not ref.container:
        yield ref.spot.child("containerName").required(_CODE)
    elif not ref.resource:
        yield resource.required(_CODE)
    elif ref.resource not in (*_RESOURCES, *known) and not ref.resource.startswith(_HUGE_PAGES):
        yield resource.unsupported(_CODE, ref.resource, _RESOURCES)
    yield from _check_divisor(ref)


def _check_divisor(ref: FieldRef) -> Iterator[Finding]:
    if not ref.divisor.sign:
        return
    if ref.resource.startswith(_HUGE_PAGES):
        name = "hugepages"
    elif ref.resource in _RESOURCES:
        name = _WORDS[ref.resource.partition(".")[2]]
    else:
        return
    known = _OF_CPUS if name == "cpu" else _OF_BYTES
    if str(ref.divisor) not in known:
        listed = " and ".join(known) if name == "cpu" else ", ".join(known)
        why = f"only divisor's values {listed} are supported with the {name} resource"
        yield ref.spot.child("divisor").invalid(_CODE, ref.resource, why)
