"""A running pod with what it has been granted and has, as its status or its kubelet's files say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from cpuctl.checkpoints.model import RecordedPod
from cpuctl.engine.resize.running import POD, RunningPod, requirements, with_requirements
from cpuctl.pods.model import ResourceRequirements, StoredPod
from cpuctl.pods.running import Amounts, ReportedResources
from cpuctl.quantity import Quantity

_Found = dict[str, ResourceRequirements]
_Read = Callable[[ReportedResources, ResourceRequirements], ResourceRequirements | None]


def running_pod(pod: StoredPod) -> RunningPod:
    """Take a pod with what its status reports; one without a status has what it asks for."""
    running, status = RunningPod.settled(pod), pod.resize
    if status is None:
        return running
    granted, actual = _reported(pod, _granted), _reported(pod, _in_force)
    if not granted and status.pending:
        # Releases that do not report it: while a resize is pending, what runs is what was granted.
        granted = actual
    settled = not (status.pending or status.in_progress)
    current = with_requirements(pod, granted if settled else granted | actual)
    return running._replace(
        allocated=with_requirements(pod, granted),
        actuated=current,
        actual=current,
        waiting_since=status.waiting_since,
    )


def with_checkpoints(
    running: RunningPod, allocated: RecordedPod | None, actuated: RecordedPod | None
) -> RunningPod:
    """Put in what the kubelet's own files say it has granted, and has reported the runtime."""
    granted = running.allocated if allocated is None else _recorded(running.spec, allocated)
    current = running.actuated if actuated is None else _recorded(running.spec, actuated)
    return running._replace(allocated=granted, actuated=current)


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
    """Return resources by container, those of the pod itself under ``POD``, where the status has them."""
    asked, found = requirements(pod), {}
    for name, reported in _places(pod):
        wanted = asked.get(name)
        amounts = None if wanted is None else read(reported, wanted)
        if amounts is not None:
            found[name] = amounts
    return found


def _places(pod: StoredPod) -> Iterator[tuple[str, ReportedResources]]:
    if pod.resize is not None:
        yield POD, pod.resize.pod_level
    yield from ((each.name, each.resources) for each in pod.statuses if not each.ephemeral)


def _granted(reported: ReportedResources, asked: ResourceRequirements) -> ResourceRequirements | None:
    """Take the requests that are granted; of limits only those in force are reported.

    One that is to be the request is so already: no resize changes the QoS class.
    """
    if reported.granted is None:
        return None
    requests, limits = {**asked.requests, **reported.granted}, _of(reported.limits, asked.limits)
    same = {name for name, limit in asked.limits.items() if asked.requests.get(name) == limit}
    return asked._replace(requests=requests, limits={**limits, **{name: requests[name] for name in same}})


def _in_force(reported: ReportedResources, asked: ResourceRequirements) -> ResourceRequirements | None:
    if reported.requests is None and reported.limits is None:
        return None
    return asked._replace(
        requests=_of(reported.requests, asked.requests), limits=_of(reported.limits, asked.limits)
    )


def _of(reported: Amounts, asked: Mapping[str, Quantity]) -> Mapping[str, Quantity]:
    """Take what is told of amounts that are asked for; the runtime does not report all of them."""
    return {**asked, **{name: amount for name, amount in (reported or {}).items() if name in asked}}
