"""The smallest change to a pod after which a container is due exclusive CPUs.

``exclusive_claim`` decides that, for the changed pod too: advice that would not help is not given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from cpuctl.engine.cpu.exclusive_claim import exclusive_claim
from cpuctl.engine.placement import ExclusiveClaim
from cpuctl.pods.model import Container, ResourceRequirements, StoredPod
from cpuctl.pods.qos import Qos, pod_qos
from cpuctl.pods.requests import container_requests
from cpuctl.pods.stored import AmountField, AmountSource
from cpuctl.quantity import Quantity
from cpuctl.records import replace

_ZERO = Quantity()
_COUNTED = ("cpu", "memory")
_EXAMPLES = {"cpu": Quantity.parse("100m"), "memory": Quantity.parse("64Mi")}
_ONE = Quantity.from_value(1)

MOST_CONTAINERS = 100
"""Changes examine all containers for each one: a pod with more, which is unrealistic, gets no advice."""

Claims = Callable[[StoredPod, Container, Qos], ExclusiveClaim]
"""Function that returns what a container is due, like ``exclusive_claim``."""


class AllocationUnit(NamedTuple):
    """How many CPUs a node allocates together: those of a core with ``full-pcpus-only``, or one.

    ``by_pod``: a pod gets what it has as a whole in this unit, and its containers get any part of that.
    """

    cpus: int = 1
    by_pod: bool = False

    def divides(self, cpus: Quantity) -> bool:
        """Return whether the node can allocate this number of CPUs."""
        return cpus.is_integral_cpu and cpus.value % self.cpus == 0

    def rounded_up(self, cpus: Quantity) -> Quantity:
        """Return the smallest number of CPUs, at least this many, that the node can allocate."""
        return Quantity.from_value(-(-cpus.value // self.cpus) * self.cpus)


_SINGLE_CPUS = AllocationUnit()


class SpecEdit(NamedTuple):
    """One edit of a pod's spec, at a path in it; ``free``: any other amount works, too.

    ``after`` is None, and the place empty, for removing ``spec.resources``.
    """

    path: str
    place: AmountField
    before: Quantity | None = None
    after: Quantity | None = None
    free: bool = False


_ALL_OF_THE_POD = AmountField("", "limits", "")
"""The place of a change that removes a pod's own resources: both sides, and nothing that defaults fill in."""


class ExclusiveAdvice(NamedTuple):
    """What a container is due and, if that is nothing, what to change and how many CPUs it then gets.

    If nothing is due and there are no changes, no change to the pod alone would help, or it has too many
    containers to search for one.
    """

    claim: ExclusiveClaim
    changes: tuple[SpecEdit, ...] = ()
    count_after: int = 0


def advise(
    pod: StoredPod,
    container: Container,
    *,
    qos: Qos | None = None,
    claims: Claims = exclusive_claim,
    sources: Mapping[AmountField, AmountSource] | None = None,
    unit: AllocationUnit = _SINGLE_CPUS,
) -> ExclusiveAdvice:
    """Look for the fewest amounts to change in *pod*, which has its API defaults set.

    *qos* is the pod's class if it is already known. *sources* shows where its amounts come from: values that
    follow from others do not have to be written; without it all are written. CPUs are changed to what the
    node can allocate in its *unit*.
    """
    qos = qos or pod_qos(pod)
    claim = claims(pod, container, qos)
    if claim.cpus or len(pod.all_containers) > MOST_CONTAINERS:
        return ExclusiveAdvice(claim=claim)
    computed = pod._replace(qos_class=None)
    candidates = [
        *_whole_pod(computed, unit),
        *_container_edits(computed, container, unit),
        *_with_pod(computed, container, unit),
        _changed(computed, container.name, unit),
    ]
    written = [(changed, _written(changes, changed, sources)) for changed, changes in candidates]
    for changed, changes in sorted(written, key=lambda candidate: len(candidate[1])):
        then = next(each for each in changed.all_containers if each.name == container.name)
        cpus = claims(changed, then, pod_qos(changed)).cpus
        if cpus and _is_allocated(changed, unit):
            return ExclusiveAdvice(claim=claim, changes=changes, count_after=cpus)
    return ExclusiveAdvice(claim=claim)


def _is_allocated(pod: StoredPod, unit: AllocationUnit) -> bool:
    """Return whether the node can allocate what a pod has as a whole, if that is allocated."""
    if not unit.by_pod or pod.resources is None:
        return True
    return unit.divides(pod.resources.requests.get("cpu", _ZERO))


def _written(
    changes: tuple[SpecEdit, ...], changed: StoredPod, sources: Mapping[AmountField, AmountSource] | None
) -> tuple[SpecEdit, ...]:
    """Leave out requests that follow from a limit, or for the pod, from its containers' requests."""
    if sources is None:
        return changes
    written = {place for place, source in sources.items() if source.how == "written"}
    summed = container_requests(changed)
    return tuple(
        change
        for change in changes
        if change.place.side != "requests"
        or change.place in written
        or not (change.place.container or summed.get(change.place.resource, change.after) == change.after)
    )


def _whole_pod(pod: StoredPod, unit: AllocationUnit) -> Iterator[tuple[StoredPod, tuple[SpecEdit, ...]]]:
    """Round up the CPUs that a pod has as a whole, if they are not a whole number."""
    request = pod.resources.requests.get("cpu", _ZERO) if pod.resources else _ZERO
    if pod.resources is None or request.is_integral_cpu or pod.resources.limits.get("cpu") != request:
        return
    whole = unit.rounded_up(request)
    changes = tuple(
        SpecEdit(f"spec.resources.{side}.cpu", AmountField("", side, "cpu"), request, whole)
        for side in ("requests", "limits")
    )
    requests, limits = ({**side, "cpu": whole} for side in (pod.resources.requests, pod.resources.limits))
    yield pod._replace(resources=replace(pod.resources, requests=requests, limits=limits)), changes


def _container_edits(
    pod: StoredPod, container: Container, unit: AllocationUnit
) -> Iterator[tuple[StoredPod, tuple[SpecEdit, ...]]]:
    """Change only the container, if its pod has resources as a whole, which decide its QoS class."""
    if pod.resources is None:
        return
    own = _SINGLE_CPUS if unit.by_pod else unit
    changes: list[SpecEdit] = []

    def edited(path: str, each: Container) -> Container:
        edits = list(_edits(path, each, own)) if each.name == container.name else []
        changes.extend(edits)
        return replace(each, resources=_applied(each.resources, edits))

    inits = tuple(edited(f"spec.initContainers[{n}]", each) for n, each in enumerate(pod.init_containers))
    apps = tuple(edited(f"spec.containers[{n}]", each) for n, each in enumerate(pod.containers))
    yield pod._replace(init_containers=inits, containers=apps), tuple(changes)


def _with_pod(
    pod: StoredPod, container: Container, unit: AllocationUnit
) -> Iterator[tuple[StoredPod, tuple[SpecEdit, ...]]]:
    """Change the container, and what its pod has as a whole to amounts that make it Guaranteed."""
    for inner, changes in _container_edits(pod, container, unit):
        assert inner.resources is not None
        for rounding in (None, unit):
            own = list(_edits_of_pod(inner, inner.resources, rounding))
            if own:
                yield inner._replace(resources=_applied(inner.resources, own)), (*own, *changes)


def _edits_of_pod(
    pod: StoredPod, resources: ResourceRequirements, unit: AllocationUnit | None
) -> Iterator[SpecEdit]:
    """Make a pod's own amounts equal; with a *unit* also round up its CPUs, as scope pod requires."""
    for name in _COUNTED:
        request, limit = (side.get(name, _ZERO) for side in (resources.requests, resources.limits))
        needed = sum((each.resources.requests.get(name, _ZERO) for each in pod.containers), _ZERO)
        wanted = limit if limit.sign > 0 else request if request.sign > 0 else needed
        if unit and name == "cpu":
            wanted = unit.rounded_up(wanted)
        absent = name not in resources.requests and name not in resources.limits
        for side, before in resources.sides:
            if before.get(name) != wanted and not (absent and side == "requests"):
                place = AmountField("", side, name)
                yield SpecEdit(f"spec.resources.{side}.{name}", place, before.get(name), wanted)


def _changed(pod: StoredPod, name: str, unit: AllocationUnit) -> tuple[StoredPod, tuple[SpecEdit, ...]]:
    """Make requests equal limits in every container, with whole CPUs in the one called *name*."""
    changes: list[SpecEdit] = []
    if pod.resources is not None:
        changes.append(SpecEdit("spec.resources", _ALL_OF_THE_POD))

    def edited(path: str, container: Container) -> Container:
        edits = list(_edits(path, container, unit if container.name == name else None))
        changes.extend(edits)
        return replace(container, resources=_applied(container.resources, edits))

    inits = tuple(edited(f"spec.initContainers[{n}]", each) for n, each in enumerate(pod.init_containers))
    apps = tuple(edited(f"spec.containers[{n}]", each) for n, each in enumerate(pod.containers))
    return pod._replace(init_containers=inits, containers=apps, resources=None), tuple(changes)


def _edits(path: str, container: Container, unit: AllocationUnit | None) -> Iterator[SpecEdit]:
    """Make a container's requests equal its limits; with a *unit* also choose CPUs that can be exclusive."""
    resources = container.resources
    for name in _COUNTED:
        request, limit = (side.get(name, _ZERO) for side in (resources.requests, resources.limits))
        rounding = unit if name == "cpu" else None
        wanted = _wanted_cpus(request, limit, rounding) if rounding else _wanted(name, request, limit)
        free = not request.sign and not limit.sign and (rounding is None or rounding.cpus == 1)
        absent = name not in resources.requests and name not in resources.limits
        for side, before in resources.sides:
            # The API server uses a limit as the request if none is set.
            if before.get(name) != wanted and not (absent and side == "requests"):
                place = AmountField(container.name, side, name)
                yield SpecEdit(f"{path}.resources.{side}.{name}", place, before.get(name), wanted, free)


def _wanted(name: str, request: Quantity, limit: Quantity) -> Quantity:
    """Choose the amount for both request and limit: the limit if there is one."""
    if limit.sign > 0:
        return limit
    return request if request.sign > 0 else _EXAMPLES[name]


def _wanted_cpus(request: Quantity, limit: Quantity, unit: AllocationUnit) -> Quantity:
    """Choose CPUs to allocate: the limit or the request if that is possible, else the request rounded up."""
    for amount in (limit, request):
        if amount.sign > 0 and unit.divides(amount):
            return amount
    given = request if request.sign > 0 else limit
    return unit.rounded_up(given if given.sign > 0 else _ONE)


def _applied(resources: ResourceRequirements, changes: list[SpecEdit]) -> ResourceRequirements:
    sides = {"requests": dict(resources.requests), "limits": dict(resources.limits)}
    for change in changes:
        assert change.after is not None
        sides[change.place.side][change.place.resource] = change.after
    for resource, limit in sides["limits"].items():
        sides["requests"].setdefault(resource, limit)
    return replace(resources, requests=sides["requests"], limits=sides["limits"])
