"""The pods of a timeline: manifests, or short descriptions as ``cpuctl plan -T`` takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from cpuctl.documents.cursor import Cursor
from cpuctl.errors import UsageError
from cpuctl.pods.governing.limit_range import LimitRange
from cpuctl.pods.governing.resource_quota import ResourceQuota
from cpuctl.pods.identity import with_uids
from cpuctl.pods.model import Pod
from cpuctl.pods.reading.namespace_objects import NamespaceObject, by_kind, decode_namespace_object
from cpuctl.pods.reading.pods import decode_pod
from cpuctl.pods.reading.template import pods_from_template
from cpuctl.pods.rules import ASSIGNED_CPUSET
from cpuctl.timeline.model import TimelinePod
from cpuctl.timeline.reading.fields import require_container

MAX_PODS = 10_000
_GOVERNING = ("LimitRange", "ResourceQuota")


class Listed(NamedTuple):
    """The pods that events name, by full name, and what governs their namespaces."""

    pods: Mapping[str, TimelinePod] = {}
    limit_ranges: tuple[LimitRange, ...] = ()
    quotas: tuple[ResourceQuota, ...] = ()


def read_pods(pods: Cursor) -> Listed:
    """Read the list; raise InputError for what cannot be used and for names given twice."""
    found: dict[str, TimelinePod] = {}
    governing: list[NamespaceObject] = []
    for item in pods.items():
        if (kind := _governing_kind(item)) is not None:
            governing.append(decode_namespace_object(item, kind))
            continue
        for pod in _pods(item):
            if pod.pod.full_name in found:
                raise item.error(f"pod {pod.pod.full_name} is listed twice")
            found[pod.pod.full_name] = pod
        if len(found) > MAX_PODS:
            raise item.error(f"more than {MAX_PODS:,} pods")
    try:
        identified = with_uids(each.pod for each in found.values())
    except ValueError as error:
        raise pods.error(str(error)) from None
    return Listed(
        {pod.full_name: found[pod.full_name]._replace(pod=pod) for pod in identified}, *by_kind(governing)
    )


def _governing_kind(item: Cursor) -> str | None:
    kind = None if isinstance(item.value, str) else item.optional("kind", Cursor.text, "")
    return kind if kind in _GOVERNING else None


def _pods(item: Cursor) -> tuple[TimelinePod, ...]:
    if not isinstance(item.value, str):
        item.optional("kind", lambda kind: kind.one_of(["Pod", *_GOVERNING]), "Pod")
        pod = decode_pod(item)
        _require_grace(item, pod)
        return (TimelinePod(pod, _exposed_containers(item, pod)),)
    try:
        return tuple(TimelinePod(pod) for pod in pods_from_template(item.value))
    except UsageError as error:
        raise item.error(error.message, hint=error.hint) from None


def _require_grace(item: Cursor, pod: Pod) -> None:
    if pod.scale_down_grace is not None and not 0 <= pod.scale_down_grace <= 10:
        grace = item.required("spec").required("scaleDownGracePeriodSeconds")
        raise grace.expected("a whole number from 0 to 10")


def _exposed_containers(item: Cursor, pod: Pod) -> frozenset[str]:
    """Name the containers whose CPUs a volume of the downward API tells (KEP-6122)."""
    found = {each.container for each in pod.field_refs if each.in_file and each.resource == ASSIGNED_CPUSET}
    for name in found:
        require_container(item, TimelinePod(pod), name)
    return frozenset(found)
