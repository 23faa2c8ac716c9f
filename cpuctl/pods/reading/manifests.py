"""Manifests to pods: Pod objects, lists of them, and every workload that carries a pod template.

LimitRange and ResourceQuota objects beside them are read, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.document import Document
from cpuctl.documents.loading import load_documents
from cpuctl.errors import InputError
from cpuctl.pods.identity import with_uids
from cpuctl.pods.model import Pod
from cpuctl.pods.reading.pods import decode_pod
from cpuctl.pods.reading.workloads import decode_workload, is_workload

if TYPE_CHECKING:
    from cpuctl.pods.namespace_limits import LimitRange, ResourceQuota
    from cpuctl.pods.reading.namespace_objects import NamespaceObject

_GOVERNING = ("LimitRange", "ResourceQuota")

MAX_PODS = 100_000
"""Pods accepted in all: a bound for manifests that multiply, not for honest ones."""
MAX_PARTS = 2_000_000
"""Containers, amounts and other objects accepted in all, those of every replica counted."""
MAX_CHECKS = 10_000_000
"""Containers of a namespace times amounts of its LimitRanges and ResourceQuotas: each looks at each."""


class Skipped(NamedTuple):
    """An object that makes no pods, as far as anybody can tell; *why* where its pods cannot be read."""

    kind: str
    why: str = ""


_Item: TypeAlias = "list[Pod] | Skipped | NamespaceObject"


class Manifests(NamedTuple):
    """The pods of some manifests, in their order, what governs their namespaces, and all other objects."""

    pods: tuple[Pod, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    limit_ranges: tuple[LimitRange, ...] = ()
    quotas: tuple[ResourceQuota, ...] = ()


class Allowance:
    """How much may still be read, of one text or of several together."""

    def __init__(self) -> None:
        self.pods = MAX_PODS
        self.parts = MAX_PARTS

    def spend(self, item: _Item, document: Document) -> None:
        """Count what one object made; raise InputError with the place of its document beyond the limits."""
        pods, parts = (len(item), _parts(item)) if isinstance(item, list) else (0, 1)
        self.pods, self.parts = self.pods - pods, self.parts - parts
        if self.pods < 0:
            raise InputError(f"more than {MAX_PODS:,} pods", where=document.where(()))
        if self.parts < 0:
            message = f"more than {MAX_PARTS:,} containers, amounts and other objects"
            raise InputError(message, where=document.where(()))


def _parts(replicas: list[Pod]) -> int:
    """Count the containers and amounts of pods that are all alike."""
    if not replicas:
        return 0
    pod = replicas[0]
    requirements = [each.resources for each in pod.all_containers]
    if pod.resources is not None:
        requirements.append(pod.resources)
    amounts = sum(len(each.requests) + len(each.limits) for each in requirements) + len(pod.overhead)
    return len(replicas) * (len(pod.all_containers) + amounts)


_TABLE_HEAD = re.compile(r"(?:NAMESPACE +)?NAME +[A-Z][A-Z. -]+(?:\n|$)")


def refuse_kubectl_table(text: str | bytes, source: str) -> None:
    """Raise InputError for what kubectl prints to people."""
    head = text[:200].decode("utf-8", "replace") if isinstance(text, bytes) else text[:200]
    if _TABLE_HEAD.match(head):
        raise InputError(
            "this is a table of kubectl's, expected manifests", where=source, hint="add -o json to kubectl"
        )


def decode_manifests(text: str | bytes, source: str, allowance: Allowance | None = None) -> Manifests:
    """Read one text, which may hold no pod at all; UIDs are left as they are.

    Raise InputError for what kubectl prints to people.
    """
    allowance = allowance or Allowance()
    refuse_kubectl_table(text, source)
    items: list[_Item] = []
    for document in load_documents(text, source):
        for item in _objects(Cursor.at_root(document), ""):
            allowance.spend(item, document)
            items.append(item)
    limit_ranges, quotas = _by_kind([item for item in items if not isinstance(item, (list, Skipped))])
    return Manifests(
        pods=tuple(pod for item in items if isinstance(item, list) for pod in item),
        skipped=tuple(item for item in items if isinstance(item, Skipped)),
        limit_ranges=limit_ranges,
        quotas=quotas,
    )


def _by_kind(
    governing: Sequence[NamespaceObject],
) -> tuple[tuple[LimitRange, ...], tuple[ResourceQuota, ...]]:
    if not governing:
        return (), ()

    from cpuctl.pods.reading.namespace_objects import by_kind

    return by_kind(governing)


def finished(parts: Iterable[Manifests], source: str) -> Manifests:
    """Join what several texts gave and fill in UIDs; raise InputError where two pods share one."""
    parts = list(parts)
    try:
        pods = with_uids(pod for part in parts for pod in part.pods)
    except ValueError as error:
        raise InputError(str(error), where=source) from None
    found = Manifests(
        pods=pods,
        skipped=tuple(item for part in parts for item in part.skipped),
        limit_ranges=tuple(item for part in parts for item in part.limit_ranges),
        quotas=tuple(item for part in parts for item in part.quotas),
    )
    _refuse_too_many_checks(found, source)
    return found


def _refuse_too_many_checks(found: Manifests, source: str) -> None:
    weights: Counter[str] = Counter()
    governing: tuple[NamespaceObject, ...] = (*found.limit_ranges, *found.quotas)
    for item in governing:
        weights[item.namespace] += item.weight
    containers: Counter[str] = Counter()
    for pod in found.pods:
        containers[pod.namespace] += len(pod.all_containers)
    if sum(weight * containers[namespace] for namespace, weight in weights.items()) > MAX_CHECKS:
        message = f"more than {MAX_CHECKS:,} checks of containers by LimitRanges and ResourceQuotas"
        raise InputError(message, where=source)


def no_pods(found: Manifests, source: str) -> InputError:
    """Make the error for input without a pod, naming what was there instead."""
    named = {item.kind for item in found.skipped}
    named |= {type(item).__name__ for item in (*found.limit_ranges, *found.quotas)}
    kinds = ", ".join(sorted(named))
    hint = f"found only {kinds}" if kinds else ""
    return InputError("no pods: expected a Pod, a list of pods or a workload", where=source, hint=hint)


def _objects(cursor: Cursor, kind_in_list: str) -> Iterator[_Item]:
    """Decode one object; the items of a typed list (``PodList``) may leave out their kind."""
    kind = cursor.optional("kind", Cursor.text, "") or kind_in_list
    if not kind:
        raise cursor.error("kind is missing: expected a Kubernetes object")
    group = cursor.optional("apiVersion", Cursor.text, "").rpartition("/")[0]
    if kind.endswith("List") and cursor.get("items") is not None:
        for item in cursor.required("items").items():
            yield from _objects(item, kind.removesuffix("List"))
    elif kind == "Pod" and not group:
        yield [decode_pod(cursor)]
    elif is_workload(kind, group):
        yield list(decode_workload(cursor, kind))
    elif kind in _GOVERNING and not group:
        from cpuctl.pods.reading.namespace_objects import decode_namespace_object

        yield decode_namespace_object(cursor, kind)
    else:
        yield _custom_resource(cursor, kind, group)


def _custom_resource(cursor: Cursor, kind: str, group: str) -> list[Pod] | Skipped:
    """Read an object of a kind that is not known, where it carries a pod template."""
    from cpuctl.pods.reading.custom_resources import (
        UnreadableTemplateError,
        decode_custom_resource,
        is_custom,
    )

    if not is_custom(group):
        return Skipped(kind)
    try:
        return decode_custom_resource(cursor, kind, group) or Skipped(kind)
    except UnreadableTemplateError as error:
        return Skipped(kind, str(error))
