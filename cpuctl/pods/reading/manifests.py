"""Conversion of manifests to pods: Pod objects, lists of them, and every workload with a pod template.

LimitRange, ResourceQuota and RuntimeClass objects among them are read, too. The pods of KubeVirt's virtual
machines are created once all texts are read.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from cpuctl import option_names
from cpuctl.documents.cursor import Cursor
from cpuctl.documents.document import Document
from cpuctl.documents.loading import load_documents
from cpuctl.errors import InputError
from cpuctl.pods.identity import with_uids
from cpuctl.pods.model import Pod, RuntimeClass
from cpuctl.pods.reading.pods import decode_name, decode_pod
from cpuctl.pods.reading.workloads import (
    KUBEVIRT_MACHINES,
    KubeVirtObject,
    decides_on_machines,
    decode_workload,
    is_workload,
)
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from cpuctl.pods.limit_ranges import LimitRange
    from cpuctl.pods.reading.namespace_objects import NamespaceObject
    from cpuctl.pods.resource_quotas import ResourceQuota

_NAMESPACED = ("LimitRange", "ResourceQuota")
_RUNTIME_CLASS = "RuntimeClass"

MAX_PODS = 100_000
"""Pods accepted in total: a bound against manifests that multiply, beyond any legitimate one."""
MAX_PARTS = 2_000_000
"""Containers, amounts and other objects accepted in total, counting those of every replica."""
MAX_CHECKS = 10_000_000
"""Containers of a namespace times amounts of its LimitRanges and ResourceQuotas: all are compared."""


class Skipped(Record):
    """An object without known pods; *why* is the reason why its pods cannot be read."""

    kind: str
    why: str = ""


class DRAObject(NamedTuple):
    """An object that affects pods' claims; it is read when claims are requested."""

    kind: str
    at: Cursor


_DRA_GROUP = "resource.k8s.io"
_DRA_KINDS = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")

_Item: TypeAlias = "list[Pod] | Skipped | NamespaceObject | KubeVirtObject | DRAObject | RuntimeClass"


class Manifests(Record):
    """The pods of some manifests in order, the objects that govern them, and all others.

    ``kubevirt`` are KubeVirt's objects whose pods are not created yet; ``notes`` are findings about those
    that are, and ``computed`` is the rules they follow. ``dra`` are the objects that affect claims.
    """

    pods: tuple[Pod, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    limit_ranges: tuple["LimitRange", ...] = ()
    quotas: tuple["ResourceQuota", ...] = ()
    kubevirt: tuple[KubeVirtObject, ...] = ()
    dra: tuple[DRAObject, ...] = ()
    runtime_classes: tuple[RuntimeClass, ...] = ()
    notes: tuple[str, ...] = ()
    computed: str = ""


class Allowance:
    """The remaining amount that may be read from one text or several together."""

    def __init__(self) -> None:
        self.pods = MAX_PODS
        self.parts = MAX_PARTS

    def spend(self, item: _Item, document: Document) -> None:
        """Count one object's result; raise InputError with the location of its document beyond the limits."""
        pods, parts = (len(item), _parts(item)) if isinstance(item, list) else (0, 1)
        self.pods, self.parts = self.pods - pods, self.parts - parts
        if self.pods < 0:
            raise InputError(f"more than {MAX_PODS:,} pods", where=document.where(()))
        if self.parts < 0:
            message = f"more than {MAX_PARTS:,} containers, amounts and other objects"
            raise InputError(message, where=document.where(()))


def _parts(replicas: list[Pod]) -> int:
    """Count the containers and quantities of identical pods."""
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
    """Raise InputError for kubectl's human-readable output."""
    head = text[:200].decode("utf-8", "replace") if isinstance(text, bytes) else text[:200]
    if _TABLE_HEAD.match(head):
        raise InputError(
            "found a kubectl table, expected manifests", where=source, hint="add -o json to kubectl"
        )


def decode_manifests(text: str | bytes, source: str, allowance: Allowance | None = None) -> Manifests:
    """Read one text, which may contain no pods; UIDs are left as they are.

    Raise InputError for kubectl's human-readable output.
    """
    allowance = allowance or Allowance()
    refuse_kubectl_table(text, source)
    governing: list[NamespaceObject] = []
    skipped: list[Skipped] = []
    pods: list[Pod] = []
    kubevirt: list[KubeVirtObject] = []
    dra: list[DRAObject] = []
    classes: list[RuntimeClass] = []
    for document in load_documents(text, source):
        for item in _objects(Cursor.at_root(document), ""):
            allowance.spend(item, document)
            if isinstance(item, list):
                pods += item
            elif isinstance(item, KubeVirtObject):
                kubevirt.append(replace(item, position=len(pods)))
            elif isinstance(item, DRAObject):
                dra.append(item)
            elif isinstance(item, RuntimeClass):
                classes.append(item)
            elif isinstance(item, Skipped):
                skipped.append(item)
            else:
                governing.append(item)
    limit_ranges, quotas = _by_kind(governing)
    return Manifests(
        pods=tuple(pods),
        skipped=tuple(skipped),
        limit_ranges=limit_ranges,
        quotas=quotas,
        kubevirt=tuple(kubevirt),
        dra=tuple(dra),
        runtime_classes=tuple(classes),
    )


def _by_kind(
    governing: Sequence["NamespaceObject"],
) -> tuple[tuple["LimitRange", ...], tuple["ResourceQuota", ...]]:
    if not governing:
        return (), ()

    from cpuctl.pods.reading.namespace_objects import by_kind

    return by_kind(governing)


def finished(parts: Iterable[Manifests], source: str) -> Manifests:
    """Join the results of several texts, create the pods of virtual machines, and fill in UIDs.

    Raise InputError if two pods share one, and for a virtual machine that cannot be read.
    """
    parts, notes, computed = _with_machines(list(parts), source)
    try:
        pods = with_uids(pod for part in parts for pod in part.pods)
    except ValueError as error:
        raise InputError(str(error), where=source) from None
    classes = tuple(item for part in parts for item in part.runtime_classes)
    found = Manifests(
        pods=_classed(pods, classes),
        skipped=tuple(item for part in parts for item in part.skipped),
        limit_ranges=tuple(item for part in parts for item in part.limit_ranges),
        quotas=tuple(item for part in parts for item in part.quotas),
        kubevirt=tuple(item for part in parts for item in part.kubevirt),
        dra=tuple(item for part in parts for item in part.dra),
        runtime_classes=classes,
        notes=notes,
        computed=computed,
    )
    _refuse_too_many_checks(found, source)
    return found


def _classed(pods: tuple[Pod, ...], classes: tuple[RuntimeClass, ...]) -> tuple[Pod, ...]:
    if not classes:
        return pods

    from cpuctl.pods.runtime_classes import with_runtime_classes

    return with_runtime_classes(pods, classes)


def _with_machines(parts: list[Manifests], source: str) -> tuple[list[Manifests], tuple[str, ...], str]:
    """Insert the pods of virtual machines in place of the machines, now that all inputs are read."""
    objects = [item for part in parts for item in part.kubevirt]
    if not any(item.kind in KUBEVIRT_MACHINES for item in objects):
        return parts, (), ""

    from cpuctl.pods.reading.kubevirt import KubeVirtContext

    around = KubeVirtContext(
        objects,
        [quota for part in parts for quota in part.quotas],
        [pod for part in parts for pod in part.pods],
    )
    notes: list[str] = []
    made_parts, number = [], sum(len(part.pods) for part in parts)
    for part in parts:
        pods, skipped = list(part.pods), list(part.skipped)
        for item in reversed([each for each in part.kubevirt if each.kind in KUBEVIRT_MACHINES]):
            made = around.pods_of(item)
            number += len(made.pods)
            if number > MAX_PODS:
                raise InputError(f"more than {MAX_PODS:,} pods", where=source)
            pods[item.position : item.position] = made.pods
            notes[:0] = made.notes
            if not made.pods:
                skipped.append(Skipped(item.kind, made.why))
        made_parts.append(replace(part, pods=tuple(pods), skipped=tuple(skipped)))
    return made_parts, tuple(dict.fromkeys((*around.notes, *notes))), around.computed


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


_USED_ELSEWHERE = {
    "KubeletConfiguration": f"specify the kubelet's configuration with {option_names.KUBELET_CONFIG}",
    "Devices": "cpuctl plan -h shows the option for devices",
    "Node": "cpuctl fleet plan -h shows the option for nodes",
    "Timeline": "use the file with cpuctl replay FILE",
}


def no_pods(found: Manifests, source: str) -> InputError:
    """Return the error for input without a pod, which names the objects found instead."""
    named = {item.kind for item in found.skipped}
    named |= {type(item).__name__ for item in (*found.limit_ranges, *found.quotas, *found.runtime_classes)}
    named |= {item.kind for item in found.kubevirt} | {item.kind for item in found.dra}
    kinds = ", ".join(sorted(named))
    whys = [item.why for item in found.skipped if item.why and item.kind in KUBEVIRT_MACHINES]
    hint = f"found only {kinds}{f': {whys[0]}' if whys else ''}" if kinds else ""
    hint += next((f": {use}" for kind, use in _USED_ELSEWHERE.items() if kind in named), "")
    return InputError("no pods: expected a Pod, a list of pods or a workload", where=source, hint=hint)


def _objects(cursor: Cursor, kind_in_list: str) -> Iterator[_Item]:
    """Decode one object; the items of a typed list (``PodList``) may omit their kind."""
    kind = cursor.optional("kind", Cursor.text, "") or kind_in_list
    if not kind:
        hint = cursor.misspelling_of("kind")
        raise cursor.error("kind is missing: expected a Kubernetes object", hint=hint)
    group = cursor.optional("apiVersion", Cursor.text, "").rpartition("/")[0]
    if kind.endswith("List") and cursor.get("items") is not None:
        for item in cursor.required("items").items():
            yield from _objects(item, kind.removesuffix("List"))
    elif kind == "Pod" and not group:
        yield [decode_pod(cursor)]
    elif is_workload(kind, group):
        yield list(decode_workload(cursor, kind))
    elif is_governing(kind, group):
        yield decode_governing(cursor, kind)
    elif (decides := dra_object(cursor, kind)) is not None:
        yield decides
    elif decides_on_machines(kind, group):
        yield KubeVirtObject(kind, cursor)
        if kind == "Namespace":
            yield Skipped(kind)
    else:
        yield _custom_resource(cursor, kind, group)


def is_governing(kind: str, group: str) -> bool:
    """Return whether an object of a kind and API group governs the creation of pods."""
    return (kind in _NAMESPACED and not group) or (kind == _RUNTIME_CLASS and group == "node.k8s.io")


def decode_governing(cursor: Cursor, kind: str) -> "NamespaceObject | RuntimeClass":
    """Read such an object; raise InputError with the location of a missing or invalid value."""
    if kind == _RUNTIME_CLASS:
        return _runtime_class(cursor)

    from cpuctl.pods.reading.namespace_objects import decode_namespace_object

    return decode_namespace_object(cursor, kind)


def _runtime_class(cursor: Cursor) -> RuntimeClass:
    name, overhead = decode_name(cursor.required("metadata")), cursor.get("overhead")
    amounts = None if overhead is None else overhead.optional("podFixed", Cursor.quantities, {})
    return RuntimeClass(name, known=True, overhead=amounts)


def dra_object(cursor: Cursor, kind: str) -> DRAObject | None:
    """Return an object that affects claims; None for every other."""
    group = cursor.optional("apiVersion", Cursor.text, "").rpartition("/")[0]
    return DRAObject(kind, cursor) if kind in _DRA_KINDS and group == _DRA_GROUP else None


def _custom_resource(cursor: Cursor, kind: str, group: str) -> list[Pod] | Skipped:
    """Read an object of an unknown kind, if it has a pod template."""
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
