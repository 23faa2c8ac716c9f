"""The smallest change to a pod after which a container is due exclusive CPUs, and the node can allocate them.

``exclusive_claim`` decides that, for the changed pod too: advice that would not help is not given. A pod that
becomes Guaranteed can give other containers exclusive CPUs as well, so that all of them are considered.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from cpuctl.engine.cpu.exclusive_claim import exclusive_claim
from cpuctl.engine.placement import ExclusiveClaim
from cpuctl.pods.defaulting import decoding_steps, storing_steps
from cpuctl.pods.model import Container, Pod, ResourceRequirements, StoredPod
from cpuctl.pods.qos import Qos, pod_qos
from cpuctl.pods.requests import container_requests
from cpuctl.pods.rules import ServerRules
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


class AdviceRules(NamedTuple):
    """What a changed pod must satisfy: the kubelet's claims and unit, and the API server's validation."""

    claims: Claims = exclusive_claim
    unit: AllocationUnit = _SINGLE_CPUS
    server: ServerRules = ServerRules()


_DEFAULT_RULES = AdviceRules()


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
    sources: Mapping[AmountField, AmountSource] | None = None,
    rules: AdviceRules = _DEFAULT_RULES,
) -> ExclusiveAdvice:
    """Look for the fewest amounts to change in *pod*, which has its API defaults set.

    *qos* is the pod's class if it is already known. *sources* shows where its amounts come from: values that
    follow from others do not have to be written; without it all are written.
    """
    claim = rules.claims(pod, container, qos or pod_qos(pod))
    if claim.cpus or len(pod.all_containers) > MOST_CONTAINERS:
        return ExclusiveAdvice(claim=claim)
    search = _Search(pod._replace(qos_class=None), container.name, sources, rules)
    for changed, changes in sorted(search.changed_pods(), key=lambda candidate: len(candidate[1])):
        claims = search.claims(changed)
        if claims[container.name] and search.is_allocatable(changed, claims) and search.is_valid(changed):
            return ExclusiveAdvice(claim=claim, changes=changes, count_after=claims[container.name])
    return ExclusiveAdvice(claim=claim)


_Candidate = tuple[StoredPod, tuple[SpecEdit, ...]]
"""A changed pod, and the changes."""
_Change = Callable[[Collection[str]], _Candidate]
"""Function that changes a pod, the named containers included."""


class _Search(NamedTuple):
    """The changes of a pod that could give the container called *name* exclusive CPUs.

    *lowers* is whether limits are lowered to requests if possible, instead of requests raised to limits.
    """

    pod: StoredPod
    name: str
    sources: Mapping[AmountField, AmountSource] | None
    rules: AdviceRules
    lowers: bool = False

    def changed_pods(self) -> Iterator[_Candidate]:
        """Yield changed pods as they are stored, each with the changes to write."""
        if self.pod.resources is not None:
            # Requests raised to limits are preferred, but may exceed what the pod has as a whole.
            yield from self.with_pod_level()
            yield from self._replace(lowers=True).with_pod_level()
        yield self._in_units(self._without_pod_level)

    def with_pod_level(self) -> Iterator[_Candidate]:
        """Yield changed pods that keep what they have as a whole, or have other amounts of it."""
        yield self._in_units(self._with_containers)
        yield self._in_units(self._with_pod)

    def _in_units(self, change: _Change) -> _Candidate:
        """Make a change that includes the containers that get CPUs by it which cannot be allocated."""
        changed, changes = self._stored(*change({self.name}))
        uneven = self._uneven(changed, self.claims(changed))
        return self._stored(*change({self.name, *uneven})) if uneven else (changed, changes)

    def claims(self, pod: StoredPod) -> dict[str, int]:
        """Return how many exclusive CPUs each container is due."""
        qos = pod_qos(pod)
        return {each.name: self.rules.claims(pod, each, qos).cpus for each in pod.all_containers}

    def _uneven(self, pod: StoredPod, claims: Mapping[str, int]) -> set[str]:
        if self.rules.unit.by_pod and pod.resources is not None:
            return set()
        return {name for name, cpus in claims.items() if cpus % self.rules.unit.cpus}

    def is_allocatable(self, pod: StoredPod, claims: Mapping[str, int]) -> bool:
        """Return whether the node allocates such numbers of CPUs, to each container or the whole pod."""
        unit = self.rules.unit
        if unit.by_pod and pod.resources is not None:
            return unit.divides(pod.resources.requests.get("cpu", _ZERO))
        return not self._uneven(pod, claims)

    def is_valid(self, pod: StoredPod) -> bool:
        """Return whether the API server accepts the pod as far as it accepted it before the change."""
        if pod.resources is None:
            return True

        from cpuctl.pods.validation.refusals import invalid_parts

        before, after = (invalid_parts(each, self.rules.server) for each in (self.pod, pod))
        return set(after) <= set(before)

    def _stored(self, changed: StoredPod, changes: tuple[SpecEdit, ...]) -> _Candidate:
        """Leave out changes that follow from others, and derive what is not written again."""
        if self.sources is None:
            return changed, changes
        written = {place for place, source in self.sources.items() if source.how == "written"}
        changes = _written(changes, changed, written)
        if changed.resources is None:
            return changed, changes
        written |= {change.place for change in changes}
        requests, limits = (
            {name: amount for name, amount in amounts.items() if AmountField("", side, name) in written}
            for side, amounts in changed.resources.sides
        )
        steps = (*decoding_steps(self.rules.server), *storing_steps(self.rules.server))
        bare: Pod = changed._replace(resources=replace(changed.resources, requests=requests, limits=limits))
        return StoredPod(reduce(lambda each, step: step.apply(each), steps, bare)), changes

    def _with_containers(self, names: Collection[str]) -> _Candidate:
        """Change only these containers, if the pod has resources as a whole, which decide its QoS class."""
        unit = _SINGLE_CPUS if self.rules.unit.by_pod else self.rules.unit
        return self._edited(names, unit)

    def _with_pod(self, names: Collection[str]) -> _Candidate:
        """Change containers, and what their pod has as a whole to amounts that make it Guaranteed."""
        inner, changes = self._with_containers(names)
        assert inner.resources is not None
        unit = self.rules.unit if self.rules.unit.by_pod else None
        own = tuple(_edits_of_pod(inner, inner.resources, unit))
        return inner._replace(resources=_applied(inner.resources, own)), (*own, *changes)

    def _without_pod_level(self, _: Collection[str]) -> _Candidate:
        """Make requests equal limits in every container: without pod-level resources, all of them count."""
        changed, changes = self._edited({each.name for each in self.pod.all_containers}, self.rules.unit)
        if self.pod.resources is None:
            return changed, changes
        removal = SpecEdit("spec.resources", _ALL_OF_THE_POD)
        return changed._replace(resources=None), (removal, *changes)

    def _edited(self, names: Collection[str], unit: AllocationUnit) -> _Candidate:
        """Make requests equal limits in these containers, with CPUs to allocate in the one advised."""
        changes: list[SpecEdit] = []

        def edited(path: str, each: Container) -> Container:
            if each.name not in names:
                return each
            edits = tuple(_edits(path, each, unit, due=each.name == self.name, lowers=self.lowers))
            changes.extend(edits)
            return replace(each, resources=_applied(each.resources, edits))

        pod = self.pod
        inits = tuple(edited(f"spec.initContainers[{n}]", each) for n, each in enumerate(pod.init_containers))
        apps = tuple(edited(f"spec.containers[{n}]", each) for n, each in enumerate(pod.containers))
        return pod._replace(init_containers=inits, containers=apps), tuple(changes)


def _written(
    changes: tuple[SpecEdit, ...], changed: StoredPod, written: Collection[AmountField]
) -> tuple[SpecEdit, ...]:
    """Leave out requests that follow from a limit, or for the pod, from its containers' requests."""
    summed = container_requests(changed)
    return tuple(
        change
        for change in changes
        if change.place.side != "requests"
        or change.place in written
        or not (change.place.container or summed.get(change.place.resource, change.after) == change.after)
    )


def _edits_of_pod(
    pod: StoredPod, resources: ResourceRequirements, unit: AllocationUnit | None
) -> Iterator[SpecEdit]:
    """Make a pod's own amounts equal, and enough for its containers; a *unit* is what its CPUs come in."""
    for name in _COUNTED:
        request, limit = (side.get(name, _ZERO) for side in (resources.requests, resources.limits))
        wanted = _wanted_of_pod(pod, name, (limit, request), unit if name == "cpu" else None)
        absent = name not in resources.requests and name not in resources.limits
        for side, before in resources.sides:
            if before.get(name) != wanted and not (absent and side == "requests"):
                place = AmountField("", side, name)
                yield SpecEdit(f"spec.resources.{side}.{name}", place, before.get(name), wanted)


def _wanted_of_pod(
    pod: StoredPod, name: str, given: tuple[Quantity, Quantity], unit: AllocationUnit | None
) -> Quantity:
    """Choose an amount that was *given* if its containers fit into it, else the smallest in which they do."""
    limits = (each.resources.limits.get(name, _ZERO) for each in pod.containers)
    needed = max(container_requests(pod).get(name, _ZERO), *limits)
    for amount in given:
        if amount.sign > 0 and amount >= needed and (unit is None or unit.divides(amount)):
            return amount
    least = max(needed, *given)
    return least if unit is None else unit.rounded_up(least)


def _edits(
    path: str, container: Container, unit: AllocationUnit, *, due: bool, lowers: bool
) -> Iterator[SpecEdit]:
    """Make a container's requests equal its limits; if it is *due* exclusive CPUs, to whole ones."""
    resources = container.resources
    for name in _COUNTED:
        request, limit = (side.get(name, _ZERO) for side in (resources.requests, resources.limits))
        given = [each for each in ((request, limit) if lowers else (limit, request)) if each.sign > 0]
        if name == "cpu":
            wanted = _wanted_cpus(given, unit, due=due)
        else:
            wanted = given[0] if given else _EXAMPLES[name]
        free = not given and (name != "cpu" or unit.cpus == 1)
        absent = name not in resources.requests and name not in resources.limits
        for side, before in resources.sides:
            # The API server uses a limit as the request if none is set.
            if before.get(name) != wanted and not (absent and side == "requests"):
                place = AmountField(container.name, side, name)
                yield SpecEdit(f"{path}.resources.{side}.{name}", place, before.get(name), wanted, free)


def _wanted_cpus(given: Sequence[Quantity], unit: AllocationUnit, *, due: bool) -> Quantity:
    """Choose the first *given* number of CPUs that the node can allocate, else the lowest rounded up.

    If no exclusive CPUs are *due*, a fraction is fine as well: it stays in the shared pool.
    """
    for amount in given:
        if unit.divides(amount) or not (due or amount.is_integral_cpu):
            return amount
    if given:
        return unit.rounded_up(min(given))
    return unit.rounded_up(_ONE) if due else _EXAMPLES["cpu"]


def _applied(resources: ResourceRequirements, changes: Iterable[SpecEdit]) -> ResourceRequirements:
    sides = {"requests": dict(resources.requests), "limits": dict(resources.limits)}
    for change in changes:
        assert change.after is not None
        sides[change.place.side][change.place.resource] = change.after
    for resource, limit in sides["limits"].items():
        sides["requests"].setdefault(resource, limit)
    return replace(resources, requests=sides["requests"], limits=sides["limits"])
