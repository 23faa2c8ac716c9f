"""Carrying out a plan: containers run where it places them, all others in the remaining pool.

The pool is as ``plan -o nri`` has it: with the first container of a pod, it loses all CPUs of the pod. A
container's exclusive CPUs become free when it ends, except those that it shares with containers of its pod
that are still to come.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.nri.model import Assignment, RuntimeContainer

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
    """What a plan says: ``pool`` is what is left once all its pods are there, None if it says no CPUs.

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
        # By sandbox: a recreated pod of the same name starts over while the old one may still be ending.
        self._due: dict[str, tuple[PlannedPod, set[str]]] = {}
        self._touched = reduce(or_, map(_own, plan.pods.values()), plan.pool or CPUSet())
        self._pool: CPUSet | None = None

    @property
    def pool(self) -> CPUSet:
        """The CPUs that are not assigned exclusively."""
        # Every container is asked about at every event: pods are gone through once for all of them.
        if self._pool is None:
            held = (_own(pod, due) for pod, due in self._due.values())
            self._pool = self._touched - reduce(or_, held, CPUSet())
        return self._pool

    def synchronize(self, containers: Sequence[RuntimeContainer]) -> Iterator[str]:
        """Take these as the existing containers."""
        self._pool = None
        self._there.clear()
        self._due.clear()
        for each in containers:
            yield from self.arrive(each)
        for sandbox, (pod, due) in self._due.items():
            init = {name for name in pod.containers if pod.containers[name].init}
            running = self._running(sandbox)
            if (running & pod.containers.keys()) - init:
                due.difference_update(init - running)

    def arrive(self, container: RuntimeContainer) -> Iterable[str]:
        """Take from the pool what the container's pod has."""
        self._pool = None
        self._there[container.id] = container
        pod = self._plan.pods.get(_pod(container))
        if pod is not None and container.name in pod.containers:
            _, due = self._due.setdefault(container.pod.id, (pod, set(pod.containers)))
            due.add(container.name)
        return ()

    def leave(self, container: RuntimeContainer) -> None:
        """Give back what no other container of the pod has."""
        self._pool = None
        self._there.pop(container.id, None)
        sandbox = container.pod.id
        if sandbox not in self._due or container.name in self._running(sandbox):
            return
        pod, due = self._due[sandbox]
        due.discard(container.name)
        if not self._running(sandbox) and not _awaits_others(pod, due):
            del self._due[sandbox]

    def pod_gone(self, sandbox: str) -> None:
        """Give back all that a pod has, also what was kept for containers that were still to come."""
        self._pool = None
        self._due.pop(sandbox, None)
        for each in [each for each in self._there.values() if each.pod.id == sandbox]:
            del self._there[each.id]

    def place(self, container: RuntimeContainer) -> Assignment:
        """Return where a container runs by the plan; one that it does not know is in the pool."""
        pod = self._plan.pods.get(_pod(container))
        planned = pod.containers.get(container.name) if pod else None
        if self._plan.pool is None:
            return Assignment(None, planned.mems if planned else "")
        if planned is None:
            return self._unplanned(container)
        if planned.cpus is None:
            return Assignment(self.pool, planned.mems)
        return Assignment(planned.cpus, planned.mems, own=True)

    def _unplanned(self, container: RuntimeContainer) -> Assignment:
        """Leave one alone that has CPUs which the plan does not speak of: it was there when it was made."""
        now = container.setting.cpu_set
        if now and not now & self._touched:
            return Assignment(None, why=f"stays on CPUs {now}, which the plan does not assign")
        return Assignment(self.pool, why="is not in the plan, and runs in the shared pool")

    def _running(self, sandbox: str) -> set[str]:
        return {each.name for each in self._there.values() if each.pod.id == sandbox}


def _awaits_others(pod: PlannedPod, due: set[str]) -> bool:
    """Return whether a pod in which nothing runs is between its init containers and the others."""
    return {name for name in pod.containers if not pod.containers[name].init} <= due


def _own(pod: PlannedPod, due: Iterable[str] | None = None) -> CPUSet:
    """Return the CPUs that are a pod's own, or those of its containers that are due."""
    names = pod.containers if due is None else due
    own = (pod.containers[name].cpus or CPUSet() for name in names)
    return reduce(or_, own, pod.cpus if names else CPUSet())


def _pod(container: RuntimeContainer) -> PodName:
    return container.pod.namespace, container.pod.name
