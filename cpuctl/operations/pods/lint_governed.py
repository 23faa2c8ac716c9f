"""What LimitRanges and ResourceQuotas among linted manifests say of the pods beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, cast

from cpuctl.documents.cursor import Cursor
from cpuctl.errors import InputError
from cpuctl.pods.rules import PodRules
from cpuctl.pods.stored import stored_pod
from cpuctl.pods.validation.custom_pods import refuses_pods_of
from cpuctl.pods.validation.finding import Finding, Spot
from cpuctl.pods.validation.objects import ManifestObject, objects_of

if TYPE_CHECKING:
    from cpuctl.documents.document import Document, Value
    from cpuctl.engine.pod_server import PodServer
    from cpuctl.pods.governing.limit_range import LimitRange
    from cpuctl.pods.governing.resource_quota import ResourceQuota
    from cpuctl.pods.model import Pod, StoredPod
    from cpuctl.pods.validation.lint import Linted

GOVERNING = ("LimitRange", "ResourceQuota")


class Governing(NamedTuple):
    """All that governs namespaces among the documents."""

    limit_ranges: tuple[LimitRange, ...] = ()
    quotas: tuple[ResourceQuota, ...] = ()


def governing_objects(documents: Iterable[Document]) -> Governing:
    """Collect the objects that govern namespaces; what cannot be read of them is told where they stand."""
    from cpuctl.pods.reading.namespace_objects import by_kind, decode_namespace_object

    found = []
    for document, item in _governing(documents):
        try:
            found.append(decode_namespace_object(_cursor(document, item), item.kind))
        except InputError:
            continue
    return Governing(*by_kind(found))


def governing_findings(document: Document, item: ManifestObject) -> Iterator[Finding]:
    """Tell why an object that governs a namespace is none."""
    from cpuctl.pods.governing.limit_range import LimitRange
    from cpuctl.pods.reading.namespace_objects import decode_namespace_object

    if not is_governing(item):
        return
    try:
        read = decode_namespace_object(_cursor(document, item), item.kind)
    except InputError as error:
        yield item.place.rejected(f"bad-{_code(item.kind)}", str(error), fix=error.hint)
        return
    for problem in read.problems if isinstance(read, LimitRange) else ():
        yield Spot(item.place.path, "").rejected(f"bad-{_code(item.kind)}", problem)


def is_governing(item: ManifestObject) -> bool:
    """Tell whether an object governs a namespace; items of a typed list need not name their version."""
    return item.kind in GOVERNING and not item.group


def running_pods(documents: Iterable[Document], rules: PodRules) -> Iterator[StoredPod]:
    """Yield the pods that the cluster has already: quotas have counted them."""
    for document in documents:
        for item in objects_of(document):
            if isinstance(item, ManifestObject):
                yield from (stored_pod(pod, rules) for pod in _pods(document, item) if pod.phase)


def governed_findings(
    document: Document, linted: Linted, rules: PodRules, server: PodServer
) -> Iterator[Finding]:
    """Create the pods of an object, and tell what LimitRanges and quotas refuse of them."""
    draft, item = linted.draft, linted.item
    if draft is None or item is None or draft.pod.static:
        return
    spot = Spot(draft.spec.path, "")
    pods = [stored_pod(pod, rules, server.limit_ranges) for pod in _pods(document, item)]
    created = [server.create(pod) for pod in pods]
    if draft.stored and not draft.is_template:
        return
    for code, texts in (
        ("limit-range", [each.beyond_limits for each in created]),
        ("resource-quota", [each.beyond_quotas for each in created]),
    ):
        refused = [each for each in texts if each]
        note = "" if item.kind == "Pod" else _pods_rejected(item, len(refused), len(pods))
        yield from (spot.rejected(code, text, note=note) for text in (refused[0] if refused else ()))


def _pods_rejected(item: ManifestObject, refused: int, number: int) -> str:
    which = "its pods" if refused == number else f"{refused} of its {number} pods"
    if item.template is not None:
        return refuses_pods_of(item.kind, which)
    return f"the API server takes the {item.kind}, and rejects {which}"


def _pods(document: Document, item: ManifestObject) -> Iterable[Pod]:
    """Read the pods of an object as a plan does; one that cannot be read makes none."""
    from cpuctl.pods.reading.custom_resources import pods_of_template
    from cpuctl.pods.reading.pods import decode_pod
    from cpuctl.pods.reading.workloads import decode_workload

    cursor = _cursor(document, item)
    try:
        if item.template is not None:
            return pods_of_template(cursor, item.template, item.kind, item.group)
        if not item.spec_steps:
            return ()
        return (decode_pod(cursor),) if item.kind == "Pod" else decode_workload(cursor, item.kind)
    except InputError:
        return ()


def _governing(documents: Iterable[Document]) -> Iterator[tuple[Document, ManifestObject]]:
    for document in documents:
        for item in objects_of(document):
            if isinstance(item, ManifestObject) and is_governing(item):
                yield document, item


def _cursor(document: Document, item: ManifestObject) -> Cursor:
    return Cursor(document, cast("Value", item.value), item.place.path)


def _code(kind: str) -> str:
    return "limit-range" if kind == "LimitRange" else "resource-quota"
