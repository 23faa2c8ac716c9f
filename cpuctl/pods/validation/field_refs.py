"""References of the downward API to a container's resources, in variables and in files of volumes.

Rule: ``validateContainerResourceFieldSelector`` and ``validateContainerResourceDivisor`` in
``pkg/apis/core/validation``, 1.36.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from cpuctl.diagnostics import Component
from cpuctl.pods.downward_api import not_found, unsupported_inside
from cpuctl.pods.rules import ASSIGNED_CPUSET, ASSIGNED_CPUSET_SINCE, PodRules, ServerRules
from cpuctl.pods.validation.finding import FieldPath, Finding
from cpuctl.quantity import Quantity
from cpuctl.records import Record

_CODE = "resource-field-ref"
_RESOURCES = tuple(
    f"{side}.{name}" for side in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_ASSIGNED_NOTES = {
    ASSIGNED_CPUSET: f"available in volumes from 1.{ASSIGNED_CPUSET_SINCE} on, but never in environment "
    "variables (KEP-6122)",
    "assigned.memset": "not in any release yet: KEP-6122 announces it for its second alpha",
}
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_OF_CPUS = ("1m", "1")
_OF_BYTES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_WORDS = {"cpu": "cpu", "memory": "memory", "ephemeral-storage": "local ephemeral storage"}


class FieldRef(Record):
    """A ``resourceFieldRef``; in a volume it must name a container."""

    field_path: FieldPath
    resource: str
    container: str
    divisor: Quantity
    in_volume: bool = False


def check_field_ref(ref: FieldRef, rules: ServerRules) -> Iterator[Finding]:
    """Check one reference: its container, its resource, then its divisor."""
    known = (ASSIGNED_CPUSET,) if rules.knows_assigned and ref.in_volume else ()
    resource = ref.field_path.child("resource")
    if ref.in_volume and not ref.container:
        yield ref.field_path.child("containerName").required(_CODE)
    elif not ref.resource:
        yield resource.required(_CODE)
    elif ref.resource not in (*_RESOURCES, *known) and not ref.resource.startswith(_HUGE_PAGES):
        note = _ASSIGNED_NOTES.get(ref.resource, "")
        yield resource.unsupported(_CODE, ref.resource, _RESOURCES, note=note)
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
        yield ref.field_path.child("divisor").invalid(_CODE, ref.resource, why)


def check_known_containers(refs: Iterable[FieldRef], names: Collection[str]) -> Iterator[Finding]:
    """Report references to containers that are not among the pod's *names*.

    The API server accepts them. A kubelet looks up the container when it starts one that has the variable, or
    sets up the volume (``ExtractResourceValueByContainerName`` in ``pkg/api/v1/resource``).
    """
    for ref in refs:
        if ref.container and ref.container not in names:
            what = "no container of the pod starts" if ref.in_volume else "the container does not start"
            yield ref.field_path.child("containerName").rejected(
                "resource-field-ref-container",
                not_found(ref.container),
                by=Component.KUBELET,
                fix="use the name of a container or init container of the pod",
                note=f"{what} until this is fixed",
            )


def check_assigned_support(
    refs: Iterable[FieldRef], rules: PodRules, *, stored: bool, static: bool
) -> Iterator[Finding]:
    """Report where ``assigned.cpuset`` is dropped on its way to the node, or stops the pod there (KEP-6122).

    *stored* pods come from an API server, *static* ones never reach one.
    """
    server, node = rules.server, rules.node
    for ref in refs:
        if ref.resource != ASSIGNED_CPUSET or not server.knows_assigned:
            continue
        field_path = ref.field_path.child("resource")
        gate = f"feature gate DownwardAPIAssignedResources is disabled in API server 1.{server.minor}"
        if not static and not server.takes_assigned:
            if not stored:
                detail = (
                    f"{gate}: {ASSIGNED_CPUSET} is dropped when the pod is created, so the file is missing"
                )
                yield field_path.warning("assigned-cpuset-dropped", detail)
                continue
            detail = f"{gate}: the pod keeps {ASSIGNED_CPUSET} and its file until the pod is updated"
            yield field_path.warning("assigned-cpuset-kept", detail)
        if node.minor < ASSIGNED_CPUSET_SINCE:
            note = f"kubelet 1.{node.minor} cannot set up the volume, so no container starts"
            yield field_path.rejected(
                "assigned-cpuset-unknown-to-kubelet",
                unsupported_inside(ref.resource),
                by=Component.KUBELET,
                note=note,
            )
