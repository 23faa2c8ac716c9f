"""What a running pod's object says of resizes beside its resources: policies, generation, status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from cpuctl.checkpoints.model import RecordedPod
from cpuctl.documents.cursor import Cursor
from cpuctl.documents.document import Origin
from cpuctl.engine.resize.running import POD, RunningPod, with_requirements
from cpuctl.pods.model import Pod, ResourceRequirements
from cpuctl.quantity import Quantity

_PENDING, _IN_PROGRESS = "PodResizePending", "PodResizeInProgress"
_STATUSES = ("initContainerStatuses", "containerStatuses")
_TEMPLATES = (("spec",), ("spec", "template", "spec"), ("spec", "jobTemplate", "spec", "template", "spec"))


def running_pod(pod: Pod) -> RunningPod:
    """Take a pod that was read from its object; one that was made from words has what it asks for.

    Raise InputError with the place of a member that is not what it must be.
    """
    running = RunningPod.settled(pod)
    if not isinstance(pod.origin, Origin):
        return running
    root = _at(Cursor.at_root(pod.origin.document), pod.origin.path)
    metadata, status = root.get("metadata"), root.get("status")
    running = replace(running, restarts=_restarts(root))
    if metadata is not None:
        running = replace(running, generation=metadata.optional("generation", Cursor.integer, 1))
    return running if status is None else _with_status(running, status)


def with_checkpoints(
    running: RunningPod, allocated: RecordedPod | None, actuated: RecordedPod | None
) -> RunningPod:
    """Put in what the kubelet's own files say it has granted, and has told the runtime."""
    granted = running.allocated if allocated is None else _recorded(running.spec, allocated)
    told = running.actuated if actuated is None else _recorded(running.spec, actuated)
    return replace(running, allocated=granted, actuated=told)


def _recorded(spec: Pod, recorded: RecordedPod) -> Pod:
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


def _at(cursor: Cursor, path: tuple[str | int, ...]) -> Cursor:
    for step in path:
        cursor = cursor.items()[step] if isinstance(step, int) else cursor.required(step)
    return cursor


def _restarts(root: Cursor) -> dict[str, frozenset[str]]:
    """Read the resize policies of all containers, in a pod or in the template of one."""
    return {
        container.required("name").text(): container.optional("resizePolicy", _policies, frozenset())
        for path in _TEMPLATES
        for container in _containers(root, path)
    }


def _containers(root: Cursor, path: tuple[str, ...]) -> Iterator[Cursor]:
    spec: Cursor | None = root
    for step in path:
        spec = None if spec is None else spec.get(step)
    for kind in ("initContainers", "containers"):
        group = None if spec is None else spec.get(kind)
        yield from () if group is None else group.items()


def _policies(policies: Cursor) -> frozenset[str]:
    return frozenset(
        policy.required("resourceName").text()
        for policy in policies.items()
        if policy.required("restartPolicy").text() == "RestartContainer"
    )


def _with_status(running: RunningPod, status: Cursor) -> RunningPod:
    """Put in what the kubelet has reported: what it has granted and what the runtime has."""
    conditions = {each.required("type").text(): each for each in _items(status, "conditions")}
    pending = conditions.get(_PENDING)
    if pending is not None:
        running = replace(running, waiting_since=pending.optional("lastTransitionTime", Cursor.text, ""))
    actual = dict(_reported(status, "resources", running.spec))
    granted = dict(_reported(status, "allocatedResources", running.spec))
    if not granted and pending is not None:
        # Releases that do not report it: while a resize is pending, what runs is what was granted.
        granted = actual
    settled = pending is None and _IN_PROGRESS not in conditions
    current = with_requirements(running.spec, granted if settled else granted | actual)
    return replace(
        running,
        allocated=with_requirements(running.spec, granted),
        actuated=current,
        actual=current,
    )


def _items(status: Cursor, name: str) -> list[Cursor]:
    group = status.get(name)
    return [] if group is None else group.items()


def _reported(status: Cursor, name: str, spec: Pod) -> Iterator[tuple[str, ResourceRequirements]]:
    """Yield resources by container, those of the pod itself under ``POD``, where the status has them."""
    places = [(POD, status)]
    places += [(each.required("name").text(), each) for kind in _STATUSES for each in _items(status, kind)]
    asked = {each.name: each.resources for each in spec.all_containers}
    if spec.resources is not None:
        asked[POD] = spec.resources
    for container, place in places:
        found = place.get(name)
        if found is not None and container in asked:
            yield container, _requirements(found, place, asked[container])


def _requirements(found: Cursor, place: Cursor, asked: ResourceRequirements) -> ResourceRequirements:
    """Read requests and limits, or (``allocatedResources``) requests alone, beside the limits in force."""
    resources = place.get("resources")
    limits = asked.limits if resources is None else _amounts(resources, "limits", asked.limits)
    if found.get("requests") is None and found.get("limits") is None:
        requests = {name: amount.quantity() for name, amount in found.members().items()}
    else:
        requests = dict(_amounts(found, "requests", asked.requests))
    return replace(asked, requests={**asked.requests, **requests}, limits=limits)


def _amounts(resources: Cursor, side: str, asked: Mapping[str, Quantity]) -> Mapping[str, Quantity]:
    """Read one side; amounts that the runtime does not report are those that are asked for."""
    found = resources.get(side)
    told = {} if found is None else {name: amount.quantity() for name, amount in found.members().items()}
    return {**asked, **{name: amount for name, amount in told.items() if name in asked}}
