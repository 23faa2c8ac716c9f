"""A runtime's requests as moments of a timeline, with the pods as far as their containers show them.

A container's shares, quota and memory limit show its requests and limits, if the kubelet writes them;
requests that it does not write stay unknown and are listed. The kubelet's CPU sets are the expectations.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.documents.document import Value
from cpuctl.errors import InputError
from cpuctl.golang.durations import SECOND
from cpuctl.pods.cgroups.linux_resources import DEFAULT_PERIOD, shares_of
from cpuctl.pods.model import Container, ContainerKind, Pod, QosClass, ResourceRequirements
from cpuctl.pods.qos import pod_qos
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from cpuctl.timeline.model import Admit, ContainerEvent, Event, Expected, Moment, Remove, Resize, TimelinePod
from cpuctl.timeline.runtime_log import Objects, RuntimeRequest, member, number_of, text_of

_LEAST_SHARES, _MOST_SHARES = shares_of(0), shares_of(256_000)
"""The shares that a kubelet writes without a request, and for 256 CPUs or more."""
_GUARANTEED_SCORE, _BEST_EFFORT_SCORE = -997, 1000
_PAGES = {"KB": "Ki", "MB": "Mi", "GB": "Gi"}
_DISTURBED = 10 * SECOND
"""The shared pool is compared only if no pod is added or removed within this time: sandboxes and the
kubelet's loop take time.
"""


class RuntimeHistory(NamedTuple):
    """A log of requests as part of a timeline, and its gaps.

    ``pods`` are by full name. ``running`` is the number of pods that existed when the log began, which are
    created by the first moments; ``assigned`` are the CPUs that containers had then, by UID and container.
    ``made`` are the pods without a manifest, of which ``taken_as_init`` have containers that had ended before
    another appeared, ``without_memory`` unknown memory requests, and ``capped`` shares that mean 256 CPUs or
    more. ``unseen`` are manifests whose pod never appeared.
    """

    moments: tuple[Moment, ...]
    pods: Mapping[str, TimelinePod]
    assigned: Mapping[str, Mapping[str, CPUSet]]
    running: int
    made: tuple[str, ...]
    taken_as_init: tuple[str, ...]
    without_memory: tuple[str, ...]
    capped: tuple[str, ...]
    unseen: tuple[str, ...]


@dataclass(slots=True)
class _LoggedContainer:
    name: str
    resources: Value
    score: int | None
    runs: bool = True
    init: bool = False


@dataclass(slots=True)
class _LoggedPod:
    """A pod; ``latest`` is the index of the request that created its latest sandbox or container."""

    name: str
    uid: str
    parent: str
    latest: int = 0
    containers: dict[str, _LoggedContainer] = field(default_factory=dict)

    @property
    def qos_class(self) -> QosClass | None:
        """The class by its control group, or by its containers' OOM scores; None if neither shows it."""
        if "kubepods" in self.parent:
            classes = {"burstable": QosClass.BURSTABLE, "besteffort": QosClass.BEST_EFFORT}
            return next((each for word, each in classes.items() if word in self.parent), QosClass.GUARANTEED)
        scores = {each.score for each in self.containers.values()} - {None}
        if not scores:
            return None
        if _GUARANTEED_SCORE in scores:
            return QosClass.GUARANTEED
        return QosClass.BEST_EFFORT if scores == {_BEST_EFFORT_SCORE} else QosClass.BURSTABLE


def runtime_history(
    requests: Sequence[RuntimeRequest], source: str, manifests: Mapping[str, TimelinePod]
) -> RuntimeHistory | None:
    """Convert requests to moments, with manifests by full name; None if they concern no pod."""
    reading = _Reading(source)
    for place, request in enumerate(requests):
        reading.take(place, request)
    if not reading.pods:
        return None
    return _HistoryWriter(reading, requests, manifests).history()


class _Reading:
    """The pods and containers that appear in the requests."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.objects = Objects(source)
        self.pods: dict[str, _LoggedPod] = {}
        self.sandboxes: dict[str, str] = {}
        self.running: dict[int, list[tuple[str, Value]]] = {}

    def take(self, place: int, request: RuntimeRequest) -> None:
        """Record the pods and containers of a request."""
        match request.name:
            case "Synchronize":
                self._synchronize(place, request)
            case "RunPodSandbox":
                self.pod(request, place)
            case "CreateContainer":
                if (pod := self.pod(request, place)) is not None:
                    self._come(pod, self.objects.of(request, "container"))
            case "StopContainer" | "RemoveContainer":
                pod, name = self.pod(request), self.container(request)
                if pod is not None and name in pod.containers:
                    pod.containers[name].runs = False
            case _:
                pass

    def pod(self, request: RuntimeRequest, place: int | None = None) -> _LoggedPod | None:
        """Return the pod of a request, None if it names none; with a *place*, it is (re)created there."""
        return self._logged_pod(self.objects.of(request, "pod"), place)

    def container(self, request: RuntimeRequest) -> str:
        """Return the name of a request's container."""
        return text_of(member(self.objects.of(request, "container"), "name"))

    def _logged_pod(self, found: Value, place: int | None) -> _LoggedPod | None:
        name, namespace = text_of(member(found, "name")), text_of(member(found, "namespace"))
        if not name or not namespace:
            return None
        full = f"{namespace}/{name}"
        uid = text_of(member(found, "uid")) or full
        if uid not in self.pods:
            if place is None:
                return None
            self.pods[uid] = _LoggedPod(full, uid, text_of(member(found, "linux", "cgroup_parent")))
        pod = self.pods[uid]
        if place is not None:
            pod.latest = place
            self.sandboxes[text_of(member(found, "id"))] = uid
        return pod

    def _come(self, pod: _LoggedPod, found: Value) -> None:
        """Record a container; those of its pod that have ended by then are assumed to be init containers."""
        name = text_of(member(found, "name"))
        if not name:
            return
        if name in pod.containers:
            pod.containers[name].runs = True
            return
        for other in pod.containers.values():
            other.init |= not other.runs
        score = number_of(member(found, "linux", "oom_score_adj"))
        pod.containers[name] = _LoggedContainer(name, member(found, "linux", "resources"), score)

    def _synchronize(self, place: int, request: RuntimeRequest) -> None:
        """Record the containers that run already, in order of their creation."""
        listed = self.objects.of(request, "containers")
        containers = sorted(
            listed if isinstance(listed, list) else (),
            key=lambda each: number_of(member(each, "created_at")) or 0,
        )
        pods = self.objects.of(request, "pods")
        for found in pods if isinstance(pods, list) else ():
            self._logged_pod(found, place)
        came: list[tuple[str, Value]] = []
        for found in containers:
            pod = self.pods.get(self.sandboxes.get(text_of(member(found, "pod_sandbox_id")), ""))
            if pod is not None and member(found, "state") not in (4, "CONTAINER_STOPPED"):
                self._come(pod, found)
                came.append((pod.uid, found))
        self.running[place] = came


class _HistoryWriter:
    """A converter of the requests that were read to moments."""

    def __init__(
        self, reading: _Reading, requests: Sequence[RuntimeRequest], manifests: Mapping[str, TimelinePod]
    ) -> None:
        self.reading, self.requests = reading, requests
        self.begin = requests[0].at
        self.moments: list[Moment] = []
        self.present: dict[str, str] = {}
        self.replaced: set[str] = set()
        self.started: set[tuple[str, str]] = set()
        self.assigned: dict[str, dict[str, CPUSet]] = {}
        self.running = 0
        logged = reading.pods.values()
        self.given = {each.uid: manifests[each.name] for each in logged if each.name in manifests}
        self.unseen = tuple(manifests.keys() - {each.name for each in logged})
        self.pods = {each.uid: self._pod(each) for each in logged}
        self.exclusive = {uid: frozenset(_exclusive(each.pod)) for uid, each in self.pods.items()}
        self.turns = sorted(self._turns())

    def history(self) -> RuntimeHistory:
        """Process the requests again, now that all containers of all pods are known."""
        for place, request in enumerate(self.requests):
            self._take(place, request)
        made = [each for uid, each in self.reading.pods.items() if uid not in self.given]
        return RuntimeHistory(
            moments=tuple(self.moments),
            pods={
                **{each.pod.full_name: each for each in self.pods.values()},
                **{name: self.pods[uid] for name, uid in self.present.items()},
            },
            assigned=self.assigned,
            running=self.running,
            made=_names_of(made),
            taken_as_init=_names_of(
                each for each in made if any(one.init for one in each.containers.values())
            ),
            without_memory=_names_of(each for each in made if each.qos_class is QosClass.BURSTABLE),
            capped=_names_of(each for each in made if any(map(_is_capped, each.containers.values()))),
            unseen=self.unseen,
        )

    def _pod(self, logged: _LoggedPod) -> TimelinePod:
        if logged.uid in self.given:
            given = self.given[logged.uid]
            return replace(given, pod=given.pod._replace(uid=logged.uid))
        return TimelinePod(_pod_of(logged))

    def _turns(self) -> Iterator[int]:
        """Yield the times at which CPUs may change owners: when sandboxes are created or removed."""
        for request in self.requests:
            if request.name in ("RunPodSandbox", "StopPodSandbox", "RemovePodSandbox"):
                pod = self.reading.pod(request)
                if pod is not None and self.exclusive[pod.uid]:
                    yield request.at

    def _take(self, place: int, request: RuntimeRequest) -> None:
        """Convert a request; those without a pod or for an unknown pod are skipped."""
        if request.name == "Synchronize":
            self._synchronize(request, self.reading.running[place])
        elif (pod := self.reading.pod(request)) is None or pod.uid in self.replaced:
            return
        elif request.name == "RunPodSandbox":
            self._admit(request, pod.uid)
        elif request.name in ("StopPodSandbox", "RemovePodSandbox"):
            if place > pod.latest and pod.name in self.present:
                del self.present[pod.name]
                self._happen(request, Remove(pod.name))
        elif (name := self.reading.container(request)) in self._names(pod.uid):
            self._take_container(request, pod, name)

    def _take_container(self, request: RuntimeRequest, pod: _LoggedPod, name: str) -> None:
        if request.name == "CreateContainer":
            self._admit(request, pod.uid)
            self._create(request, pod, name)
        elif (pod.uid, name) not in self.started:
            return
        elif request.name == "UpdateContainer":
            self._resize(request, pod, name)
        elif request.name == "StopContainer" and self._is_init(pod.uid, name):
            self._happen(request, ContainerEvent(pod.name, name, starts=False))

    def _names(self, uid: str) -> set[str]:
        return {each.name for each in self.pods[uid].pod.all_containers}

    def _is_init(self, uid: str, name: str) -> bool:
        """Return whether a container's end matters: others restart, or end with the pod."""
        kinds = {each.name: each.kind for each in self.pods[uid].pod.all_containers}
        return kinds[name] is ContainerKind.INIT

    def _synchronize(self, request: RuntimeRequest, running: Sequence[tuple[str, Value]]) -> None:
        """Start the containers that ran when the plugin connected, initially on the CPUs that they had."""
        beginning = not self.moments
        newest = {self.reading.pods[uid].name: uid for uid, _ in running}
        self.replaced.update(uid for uid, _ in running if uid not in newest.values())
        for uid in newest.values():
            self._admit(request, uid)
        if beginning:
            self.running = len(self.moments)
        for uid, found in running:
            name = text_of(member(found, "name"))
            if uid in self.replaced or (uid, name) in self.started or name not in self._names(uid):
                continue
            if beginning and name in self.exclusive[uid] and (cpus := self._cpus(request, found)):
                self.assigned.setdefault(uid, {})[name] = cpus
            self._start(request, uid, name, {})

    def _admit(self, request: RuntimeRequest, uid: str) -> None:
        """Create a pod; one of the same name that still runs must have been force-deleted before.

        The kubelet considers that one removed from then on, although its containers have not ended yet.
        """
        name = self.reading.pods[uid].name
        before = self.present.get(name)
        if before == uid:
            return
        if before is not None:
            self.replaced.add(before)
            self._happen(request, Remove(name))
        self.present[name] = uid
        self._happen(request, Admit(self.pods[uid], start=False))

    def _create(self, request: RuntimeRequest, pod: _LoggedPod, name: str) -> None:
        """Start a container for the first time: later starts do not change the owners of CPUs."""
        cpus = self._cpus(request, self.reading.objects.of(request, "container"))
        expected: dict[str, Expected] = {}
        first = (pod.uid, name) not in self.started
        if first:
            expected["pods"] = {pod.name: {"phase": "Running"}}
        if name in self.exclusive[pod.uid] or (first and self._is_undisturbed(request.at)):
            expected["containers"] = {f"{pod.name}/{name}": {"cgroup": str(cpus)}}
        if first:
            self._start(request, pod.uid, name, expected)
        elif expected:
            self.moments.append(Moment(request.at - self.begin, expect=expected, where=self._place(request)))

    def _start(self, request: RuntimeRequest, uid: str, name: str, expected: Mapping[str, Expected]) -> None:
        self.started.add((uid, name))
        event = ContainerEvent(self.reading.pods[uid].name, name, starts=True)
        self.moments.append(Moment(request.at - self.begin, event, expected, self._place(request)))

    def _resize(self, request: RuntimeRequest, pod: _LoggedPod, name: str) -> None:
        """Resize a pod in place if a container gets new amounts: most updates only change CPU sets."""
        found = self.reading.objects.of(request, "resources")
        if (number_of(member(found, "cpu", "shares")) or 0) < _LEAST_SHARES:
            return
        wanted = _resources(found, pod.qos_class)
        if pod.qos_class is not QosClass.GUARANTEED:
            requests = {each: amount for each, amount in wanted.requests.items() if each != "memory"}
            wanted = replace(wanted, requests=requests)
        self._happen(request, Resize(pod.name, {name: wanted}))

    def _is_undisturbed(self, at: int) -> bool:
        """Return whether no pod with exclusive CPUs is added or removed so close that the pool is unclear."""
        return bisect_left(self.turns, at - _DISTURBED) == bisect_right(self.turns, at + _DISTURBED)

    def _cpus(self, request: RuntimeRequest, found: Value) -> CPUSet:
        text = text_of(member(found, "linux", "resources", "cpu", "cpus"))
        try:
            return CPUSet.parse(text)
        except ValueError as error:
            raise InputError(f"cpus: {error}", where=self._place(request)) from None

    def _happen(self, request: RuntimeRequest, event: Event) -> None:
        self.moments.append(Moment(request.at - self.begin, event, where=self._place(request)))

    def _place(self, request: RuntimeRequest) -> str:
        return f"{self.reading.source} line {request.line}"


def _names_of(pods: Iterable[_LoggedPod]) -> tuple[str, ...]:
    """Return the names of pods, each once: a recreated pod has the same name."""
    return tuple(dict.fromkeys(each.name for each in pods))


def _exclusive(pod: Pod) -> Iterator[str]:
    """Yield the names of the containers that a static policy gives exclusive CPUs."""
    if pod_qos(pod).qos_class is not QosClass.GUARANTEED:
        return
    for each in pod.all_containers:
        cpus = each.resources.requests.get("cpu", each.resources.limits.get("cpu", Quantity()))
        if cpus.is_integral_cpu and cpus.milli_value:
            yield each.name


def _pod_of(logged: _LoggedPod) -> Pod:
    """Return the pod that the kubelet must have had, as far as can be seen."""
    namespace, _, name = logged.name.partition("/")
    containers = [
        Container(
            name=each.name,
            kind=ContainerKind.INIT if each.init else ContainerKind.APP,
            resources=_resources(each.resources, logged.qos_class),
        )
        for each in logged.containers.values()
    ]
    return Pod(
        name=name,
        namespace=namespace,
        uid=logged.uid,
        containers=tuple(each for each in containers if each.kind is ContainerKind.APP),
        init_containers=tuple(each for each in containers if each.kind is ContainerKind.INIT),
        origin="the runtime's requests",
    )


def _resources(found: Value, qos_class: QosClass | None) -> ResourceRequirements:
    """Turn a container's cgroup values back into requests and limits.

    Memory requests are not written anywhere: those of a Guaranteed pod equal its limits, others are unknown.
    """
    request, limit = _requested_milli(found), _limited_milli(found)
    limits = dict(_huge_pages(found))
    memory = number_of(member(found, "memory", "limit")) or 0
    if memory > 0:
        limits["memory"] = Quantity.from_value(memory)
    requests = dict(limits)
    if qos_class is QosClass.GUARANTEED:
        # A kubelet may lift the quota of exclusive CPUs, and shares are capped at 256 CPUs.
        request = limit = max(request, limit)
    elif memory > 0:
        requests["memory"] = Quantity()
    if limit:
        limits["cpu"] = Quantity.from_milli(limit)
    if request or limit:
        requests["cpu"] = Quantity.from_milli(request)
    return ResourceRequirements(requests=requests, limits=limits)


def _requested_milli(found: Value) -> int:
    """Convert shares back to milli-CPUs; each amount has distinct shares."""
    shares = number_of(member(found, "cpu", "shares")) or 0
    return -(-shares * 1000 // 1024) if shares > _LEAST_SHARES else 0


def _limited_milli(found: Value) -> int:
    quota = number_of(member(found, "cpu", "quota")) or 0
    period = number_of(member(found, "cpu", "period")) or DEFAULT_PERIOD
    return -(-quota * 1000 // period) if quota > 0 and period > 0 else 0


def _is_capped(logged: _LoggedContainer) -> bool:
    shares = number_of(member(logged.resources, "cpu", "shares")) or 0
    return shares >= _MOST_SHARES and not _limited_milli(logged.resources)


def _huge_pages(found: Value) -> Iterator[tuple[str, Quantity]]:
    listed = member(found, "hugepage_limits")
    for each in listed if isinstance(listed, list) else ():
        size, limit = text_of(member(each, "page_size")), number_of(member(each, "limit")) or 0
        if limit > 0 and size[:-2].isdigit() and size[-2:] in _PAGES:
            yield f"hugepages-{size[:-2]}{_PAGES[size[-2:]]}", Quantity.from_value(limit)
