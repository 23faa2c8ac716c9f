"""A running pod, its desired resources, and what it has been granted according to its status or files.

KEP-1287 distinguishes four states: desired (the spec), allocated (what the kubelet has granted), actuated
(what it has sent to the runtime) and actual (what the runtime reports).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeVar

from cpuctl.checkpoints.model import RecordedPod
from cpuctl.pods.model import Container, Pod, ResourceRequirements, StoredPod
from cpuctl.pods.running import Amounts, ReportedResources
from cpuctl.quantity import Quantity
from cpuctl.records import Record, replace

_Pod = TypeVar("_Pod", bound=Pod)
RESIZABLE: Final = ("cpu", "memory")
"""What can be resized."""
_NONE: frozenset[str] = frozenset()
POD = ""
"""Stands for the pod as a whole where resources are named by container."""


class RunningPod(Record):
    """A pod with its ``allocated`` resources; ``spec`` already has the desired ones.

    ``actuated`` has what was sent to the runtime, ``actual`` what the runtime reports. ``waiting_since`` is
    when a resize of the pod became pending, according to its status.
    """

    spec: StoredPod
    allocated: StoredPod
    actuated: StoredPod
    actual: StoredPod
    generation: int
    waiting_since: str = ""

    @classmethod
    def settled(cls, pod: StoredPod) -> "RunningPod":
        """Return a pod that already has its desired resources."""
        return cls(spec=pod, allocated=pod, actuated=pod, actual=pod, generation=pod.generation)

    def changed(self, change: Callable[[StoredPod], StoredPod]) -> "RunningPod":
        """Return the pod with the same change made to all its versions."""
        return replace(
            self,
            spec=change(self.spec),
            allocated=change(self.allocated),
            actuated=change(self.actuated),
            actual=change(self.actual),
        )

    def restarts(self, container: str) -> frozenset[str]:
        """Name the resources whose change restarts a container (``resizePolicy``)."""
        return next((each.restarts for each in self.spec.all_containers if each.name == container), _NONE)


class PodResize(Record):
    """A running pod, and the same pod with its desired resources."""

    running: RunningPod
    desired: StoredPod

    @property
    def generation(self) -> int:
        """The generation of the pod with the desired resources: one higher if they are new to its spec."""
        known = same_resources(self.running.spec, self.desired)
        return self.running.generation + (not known)

    @property
    def is_new(self) -> bool:
        """Whether the desired resources differ from the allocated ones."""
        return not same_resources(self.running.allocated, self.desired)


def requirements(pod: Pod) -> dict[str, ResourceRequirements | None]:
    """Return everything in a pod that can be resized, by container; ``POD`` names the pod-level resources."""
    return {POD: pod.resources} | {each.name: each.resources for each in pod.all_containers}


def same_resources(one: Pod, other: Pod) -> bool:
    """Return whether two versions of a pod have the same resources, however these are written."""
    return requirements(one) == requirements(other)


def with_requirements(pod: _Pod, wanted: Mapping[str, ResourceRequirements]) -> _Pod:
    """Return the pod with other resources of some containers, or (``POD``) of the pod itself."""

    def renewed(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(replace(each, resources=wanted.get(each.name, each.resources)) for each in containers)

    return pod._replace(
        containers=renewed(pod.containers),
        init_containers=renewed(pod.init_containers),
        resources=wanted.get(POD, pod.resources),
    )


_Found = dict[str, ResourceRequirements]
_Read = Callable[[ReportedResources, ResourceRequirements], ResourceRequirements | None]


def running_pod(pod: StoredPod) -> RunningPod:
    """Return a pod with what its status reports; one without a status has what it requests."""
    running, status = RunningPod.settled(pod), pod.resize
    if status is None:
        return running
    granted, actual = _reported(pod, _granted), _reported(pod, _in_force)
    if not granted and status.pending:
        # For releases that do not report it: while a resize is pending, what runs is what was granted.
        granted = actual
    settled = not (status.pending or status.in_progress)
    current = with_requirements(pod, granted if settled else granted | actual)
    return replace(
        running,
        allocated=with_requirements(pod, granted),
        actuated=current,
        actual=current,
        waiting_since=status.waiting_since,
    )


def with_checkpoints(
    running: RunningPod, allocated: RecordedPod | None, actuated: RecordedPod | None
) -> RunningPod:
    """Return the pod with what the kubelet's own files record as granted and as actuated."""
    granted = running.allocated if allocated is None else _recorded(running.spec, allocated)
    current = running.actuated if actuated is None else _recorded(running.spec, actuated)
    return replace(running, allocated=granted, actuated=current)


def _recorded(spec: StoredPod, recorded: RecordedPod) -> StoredPod:
    known = {each.name: each.resources.claims for each in spec.all_containers}
    found = {
        name: ResourceRequirements(requests=each.requests, limits=each.limits, claims=known[name])
        for name, each in recorded.containers.items()
        if name in known
    }
    if spec.resources is not None and recorded.pod_level is not None:
        level = recorded.pod_level
        found[POD] = ResourceRequirements(requests=level.requests, limits=level.limits)
    return with_requirements(spec, found)


def _reported(pod: StoredPod, read: _Read) -> _Found:
    """Return resources by container, those of the pod itself under ``POD``, if the status has them."""
    requested, found = requirements(pod), {}
    for name, reported in _places(pod):
        wanted = requested.get(name)
        amounts = None if wanted is None else read(reported, wanted)
        if amounts is not None:
            found[name] = amounts
    return found


def _places(pod: StoredPod) -> Iterator[tuple[str, ReportedResources]]:
    if pod.resize is not None:
        yield POD, pod.resize.pod_level
    yield from ((each.name, each.resources) for each in pod.statuses if not each.ephemeral)


def _granted(reported: ReportedResources, requested: ResourceRequirements) -> ResourceRequirements | None:
    """Return the granted requests, with the limits in force: granted limits are not reported.

    A limit that equals the request in the spec also equals the granted one: no resize changes the QoS class.
    """
    if reported.granted is None:
        return None
    requests, limits = {**requested.requests, **reported.granted}, _of(reported.limits, requested.limits)
    same = {name for name, limit in requested.limits.items() if requested.requests.get(name) == limit}
    return replace(requested, requests=requests, limits={**limits, **{name: requests[name] for name in same}})


def _in_force(reported: ReportedResources, requested: ResourceRequirements) -> ResourceRequirements | None:
    if reported.requests is None and reported.limits is None:
        return None
    return replace(
        requested,
        requests=_of(reported.requests, requested.requests),
        limits=_of(reported.limits, requested.limits),
    )


def _of(reported: Amounts, requested: Mapping[str, Quantity]) -> Mapping[str, Quantity]:
    """Return requested amounts as they are reported; the runtime does not report all of them."""
    return {**requested, **{name: amount for name, amount in (reported or {}).items() if name in requested}}
