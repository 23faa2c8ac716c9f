"""Timelines as YAML or JSON (schema: ``cpuctl schema timeline``), with their pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.errors import CpuctlError, InputError, UsageError
from cpuctl.machine.sources import MachineSource
from cpuctl.pods.identity import with_uids
from cpuctl.pods.model import Pod
from cpuctl.pods.reading.manifests import DRAObject, dra_object
from cpuctl.pods.reading.pods import decode_pod
from cpuctl.pods.rules import ASSIGNED_CPUSET
from cpuctl.records import Record, replace
from cpuctl.timeline.model import Moment, Timeline, TimelinePod, Timing
from cpuctl.timeline.reading.events import ACTIONS, EventReader
from cpuctl.timeline.reading.expectations import ExpectationReader
from cpuctl.timeline.reading.fields import duration, refuse_others, require_container
from cpuctl.timeline.reading.kubelets import KubeletReader, ReadFile, read_server, server_like

if TYPE_CHECKING:
    from cpuctl.pods.limit_ranges import LimitRange
    from cpuctl.pods.reading.namespace_objects import NamespaceObject
    from cpuctl.pods.resource_quotas import ResourceQuota

API_VERSION, KIND = "cpuctl/v1alpha1", "Timeline"
MAX_EVENTS = 100_000

ReadMachine: TypeAlias = Callable[[str], MachineSource]
"""Read the machine that a timeline names, relative to the timeline's own location."""

_MEMBERS = (
    "apiVersion",
    "kind",
    "description",
    "machine",
    "cgroupVersion",
    "kubelet",
    "apiServer",
    "timing",
    "defersActualResources",
    "pods",
    "events",
    "until",
)
_TIMING = ("volumeSync", "podSync", "reconcilePass")


MAX_PODS = 10_000
_GOVERNING = ("LimitRange", "ResourceQuota")


class TimelineLoaders(Record):
    """The loaders of what a timeline names: machines and files."""

    machine: ReadMachine
    file: ReadFile


def _require_timeline(root: Cursor) -> None:
    try:
        root.required("kind").one_of([KIND])
    except InputError as error:
        hint = "cpuctl replay -h shows how to create a timeline, and what else can be replayed"
        raise InputError(error.message, where=error.where, hint=error.hint or hint) from None


def read_timeline(text: bytes | str, source: str, outside: TimelineLoaders) -> Timeline:
    """Read a timeline; raise InputError with file, line and path for an invalid value."""
    documents = load_documents(text, source)
    root = Cursor.at_root(documents[0])
    _require_timeline(root)
    if len(documents) > 1:
        raise Cursor.at_root(documents[1]).error(
            f"expected one object of kind {KIND}, found a second document"
        )
    root.required("apiVersion").one_of([API_VERSION])
    refuse_others(root, _MEMBERS)
    machine = _machine(root.required("machine"), outside.machine)
    kubelets = KubeletReader(outside.file)
    kubelet = root.get("kubelet")
    setup = kubelets.first(_empty(root) if kubelet is None else kubelet)
    server = read_server(root.get("apiServer"), server_like(setup))
    listed = root.optional("pods", read_pods, NamedPods())
    pods = listed.pods
    reader = EventReader(machine.machine, pods, kubelets, server)
    moments = _moments(root.required("events"), reader)
    return Timeline(
        machine=machine,
        setup=setup,
        server=server,
        moments=moments,
        until=_until(root, moments),
        running=kubelet is None or kubelet.optional("running", Cursor.boolean, True),
        timing=root.optional("timing", _timing, Timing()),
        cgroup_version=root.optional("cgroupVersion", lambda at: at.integer(minimum=1, maximum=2), 2),
        defers_actual=root.optional("defersActualResources", Cursor.boolean, True),
        description=root.optional("description", Cursor.text, ""),
        pods=pods,
        limit_ranges=listed.limit_ranges,
        quotas=listed.quotas,
        dra=listed.dra,
        assumed=kubelets.assumed,
    )


def _empty(root: Cursor) -> Cursor:
    return Cursor(root.document, {}, ("kubelet",))


def _machine(cursor: Cursor, read: ReadMachine) -> MachineSource:
    try:
        return read(cursor.text())
    except CpuctlError as error:
        raise error.within(cursor.where) from None


def _timing(cursor: Cursor) -> Timing:
    refuse_others(cursor, _TIMING)
    known = Timing()
    return Timing(
        volume_sync=cursor.optional("volumeSync", duration, known.volume_sync),
        pod_sync=cursor.optional("podSync", duration, known.pod_sync),
        reconcile_pass=cursor.optional("reconcilePass", duration, known.reconcile_pass),
    )


def _moments(events: Cursor, reader: EventReader) -> tuple[Moment, ...]:
    """Read the events, sorted by time; those of equal times keep their order."""
    items = events.items()
    if len(items) > MAX_EVENTS:
        raise events.error(f"more than {MAX_EVENTS:,} events")
    timed = sorted(((duration(item.required("at")), item) for item in items), key=lambda each: each[0])
    expectations = ExpectationReader(reader.machine, reader.pods)
    return tuple(_moment(at, item, reader, expectations) for at, item in timed)


def _moment(at: int, item: Cursor, reader: EventReader, expectations: ExpectationReader) -> Moment:
    refuse_others(item, ("at", "note", "expect", *ACTIONS))
    item.optional("note", Cursor.text, "")  # for human readers: only its type is checked
    return Moment(
        at=at,
        event=reader.read(item),
        expect=item.optional("expect", expectations.read, {}),
        where=item.origin,
    )


def _until(root: Cursor, moments: tuple[Moment, ...]) -> int:
    """Return the end of the timeline: by default, and at the earliest, its last event."""
    last = moments[-1].at if moments else 0
    until = root.get("until")
    if until is None:
        return last
    end = duration(until)
    if end < last:
        raise until.error("expected a time not before the last event")
    return end


class NamedPods(Record):
    """The pods that events name, by full name, and the objects that govern namespaces and claims."""

    pods: Mapping[str, TimelinePod] = {}
    limit_ranges: tuple[LimitRange, ...] = ()
    quotas: tuple[ResourceQuota, ...] = ()
    dra: tuple[DRAObject, ...] = ()


def read_pods(pods: Cursor) -> NamedPods:
    """Read the list; raise InputError for invalid items and duplicate names."""
    found: dict[str, TimelinePod] = {}
    governing: list[NamespaceObject] = []
    dra: list[DRAObject] = []
    for item in pods.items():
        if (decides := _dra_object(item)) is not None:
            dra.append(decides)
            continue
        if (kind := _governing_kind(item)) is not None:
            from cpuctl.pods.reading.namespace_objects import decode_namespace_object

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
    by_name = {pod.full_name: replace(found[pod.full_name], pod=pod) for pod in identified}
    if not governing:
        return NamedPods(by_name, dra=tuple(dra))

    from cpuctl.pods.reading.namespace_objects import by_kind

    return NamedPods(by_name, *by_kind(governing), tuple(dra))


def _dra_object(item: Cursor) -> DRAObject | None:
    if isinstance(item.value, str):
        return None
    return dra_object(item, item.optional("kind", Cursor.text, ""))


def _governing_kind(item: Cursor) -> str | None:
    kind = None if isinstance(item.value, str) else item.optional("kind", Cursor.text, "")
    return kind if kind in _GOVERNING else None


def _pods(item: Cursor) -> tuple[TimelinePod, ...]:
    if not isinstance(item.value, str):
        item.optional("kind", lambda kind: kind.one_of(["Pod", *_GOVERNING]), "Pod")
        pod = decode_pod(item)
        _require_grace(item, pod)
        return (TimelinePod(pod, _exposed_containers(item, pod)),)

    from cpuctl.pods.reading.template import pods_from_template

    try:
        return tuple(TimelinePod(pod) for pod in pods_from_template(item.value))
    except UsageError as error:
        raise item.error(error.message, hint=error.hint) from None


def _require_grace(item: Cursor, pod: Pod) -> None:
    if pod.scale_down_grace is not None and not 0 <= pod.scale_down_grace <= 10:
        grace = item.required("spec").required("scaleDownGracePeriodSeconds")
        raise grace.expected("a whole number from 0 to 10")


def _exposed_containers(item: Cursor, pod: Pod) -> frozenset[str]:
    """Return the names of the containers whose CPUs a downward API volume exposes (KEP-6122)."""
    found = {each.container for each in pod.field_refs if each.in_file and each.resource == ASSIGNED_CPUSET}
    for name in found:
        require_container(item, TimelinePod(pod), name)
    return frozenset(found)
