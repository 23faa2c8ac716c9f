"""Carrying out a plan: containers run where it says, all others in the pool that is left.

The pool is as ``plan -o nri`` has it: with the first container of a pod it loses all that the pod is to have.
What a container has of its own comes back when it ends, but for what containers of its pod that are still to
come share with it.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.nri.model import Place, RuntimeContainer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

PodName = tuple[str, str]
"""Namespace and name."""


class PlannedContainer(NamedTuple):
    """What a plan gives a container; ``cpus`` is None in the pool, ``init``: it ends by itself."""

    cpus: CPUSet | None
    mems: str = ""
    init: bool = False


class PlannedPod(NamedTuple):
    """What a plan gives a pod: ``cpus`` are those that all its containers share."""

    containers: Mapping[str, PlannedContainer]
    cpus: CPUSet = CPUSet()


class CarriedPlan(NamedTuple):
    """What a plan says: ``pool`` is what is left once all its pods are there, None where it says no CPUs.

    ``nodes`` are the CPUs of each NUMA node of the machine that it was made for.
    """

    pods: Mapping[PodName, PlannedPod]
    pool: CPUSet | None
    nodes: Mapping[int, CPUSet]


class PlannedPlaces:
    """Places containers by a plan."""

    def __init__(self, plan: CarriedPlan) -> None:
        self._plan = plan
        self._there: dict[str, RuntimeContainer] = {}
        self._due: dict[PodName, set[str]] = {}
        self._touched = reduce(or_, map(_own, plan.pods.values()), plan.pool or CPUSet())
        self._pool: CPUSet | None = None

    @property
    def pool(self) -> CPUSet:
        """What is nobody's own now."""
        # Every container is asked about at every event: pods are gone through once for all of them.
        if self._pool is None:
            held = (_own(self._plan.pods[name], due) for name, due in self._due.items())
            self._pool = self._touched - reduce(or_, held, CPUSet())
        return self._pool

    def synchronize(self, containers: Sequence[RuntimeContainer]) -> Iterator[str]:
        """Take these for the containers that there are."""
        self._pool = None
        self._there.clear()
        self._due.clear()
        for each in containers:
            yield from self.arrive(each)
        for name, due in self._due.items():
            planned, running = self._plan.pods[name].containers, self._running(name)
            init = {each for each in planned if planned[each].init}
            if running - init:
                due.difference_update(init - running)

    def arrive(self, container: RuntimeContainer) -> Iterable[str]:
        """Take from the pool what the container's pod has."""
        self._pool = None
        self._there[container.id] = container
        name = _pod(container)
        pod = self._plan.pods.get(name)
        if pod is not None and container.name in pod.containers:
            self._due.setdefault(name, set(pod.containers)).add(container.name)
        return ()

    def leave(self, container: RuntimeContainer) -> None:
        """Give back what no other container of the pod has."""
        self._pool = None
        self._there.pop(container.id, None)
        name = _pod(container)
        if name not in self._due or container.name in self._running(name):
            return
        self._due[name].discard(container.name)
        if not self._running(name) and not self._awaited(name):
            del self._due[name]

    def pod_gone(self, sandbox: str) -> None:
        """Give back all that a pod has, unless there is another of its name already."""
        self._pool = None
        for each in [each for each in self._there.values() if each.pod.id == sandbox]:
            del self._there[each.id]
        for name in [name for name in self._due if not self._running(name)]:
            del self._due[name]

    def place(self, container: RuntimeContainer) -> Place:
        """Return where a container runs by the plan; one that it does not know is in the pool."""
        pod = self._plan.pods.get(_pod(container))
        planned = pod.containers.get(container.name) if pod else None
        if self._plan.pool is None:
            return Place(None, planned.mems if planned else "")
        if planned is None:
            return self._stranger(container)
        if planned.cpus is None:
            return Place(self.pool, planned.mems)
        return Place(planned.cpus, planned.mems, own=True)

    def _stranger(self, container: RuntimeContainer) -> Place:
        """Leave one alone that has CPUs which the plan does not speak of: it was there when it was made."""
        now = _parsed(container.setting.cpus)
        if now and not now & self._touched:
            return Place(None, why=f"is left on CPUs {now}, which the plan does not give away")
        return Place(self.pool, why="is not in the plan, and runs in the pool")

    def _running(self, pod: PodName) -> set[str]:
        return {each.name for each in self._there.values() if _pod(each) == pod}

    def _awaited(self, pod: PodName) -> bool:
        """Return whether a pod with no running container is between its init containers and the others."""
        planned = self._plan.pods[pod].containers
        return {name for name in planned if not planned[name].init} <= self._due[pod]


def _own(pod: PlannedPod, due: Iterable[str] | None = None) -> CPUSet:
    """Return the CPUs that are a pod's own, or those of its containers that are due."""
    names = pod.containers if due is None else due
    own = (pod.containers[name].cpus or CPUSet() for name in names)
    return reduce(or_, own, pod.cpus if names else CPUSet())


def _pod(container: RuntimeContainer) -> PodName:
    return container.pod.namespace, container.pod.name


def _parsed(text: str) -> CPUSet:
    try:
        return CPUSet.parse(text)
    except ValueError:
        return CPUSet()
