"""The execution of a plan: containers run where it places them, all others in the remaining pool.

The pool is that of ``plan -o nri``: with the first container of a pod, it loses all CPUs of the pod. A
container's exclusive CPUs become free when it ends, except those that it shares with containers of its pod
that have not been created yet.
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
    """A plan's placement of a container; ``cpus`` is None in the pool, ``init``: it ends on its own."""

    cpus: CPUSet | None
    mems: str = ""
    init: bool = False


class PlannedPod(NamedTuple):
    """A plan's placement of a pod; ``cpus`` are those that all its containers share."""

    containers: Mapping[str, PlannedContainer]
    cpus: CPUSet = CPUSet()


class CarriedPlan(NamedTuple):
    """A plan; ``pool`` is what is left once all its pods exist, None if it does not assign CPUs.

    ``nodes`` are the CPUs of each NUMA node of the machine that it was created for.
    """

    pods: Mapping[PodName, PlannedPod]
    pool: CPUSet | None
    nodes: Mapping[int, CPUSet]


class PlannedPlaces:
    """A placer that follows a plan."""

    def __init__(self, plan: CarriedPlan) -> None:
        self._plan = plan
        self._there: dict[str, RuntimeContainer] = {}
        # By sandbox: a recreated pod of the same name may start while the old one is still ending.
        self._due: dict[str, tuple[PlannedPod, set[str]]] = {}
        self._touched = reduce(or_, map(_own, plan.pods.values()), plan.pool or CPUSet())
        self._pool: CPUSet | None = None

    @property
    def pool(self) -> CPUSet:
        """The CPUs that are not assigned exclusively."""
        # Every event checks every container, so the result of the loop over pods is cached.
        if self._pool is None:
            held = (_own(pod, due) for pod, due in self._due.values())
            self._pool = self._touched - reduce(or_, held, CPUSet())
        return self._pool

    def synchronize(self, containers: Sequence[RuntimeContainer]) -> Iterator[str]:
        """Replace the existing containers with these."""
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
        """Remove the CPUs of the container's pod from the pool."""
        self._pool = None
        self._there[container.id] = container
        pod = self._plan.pods.get(_pod(container))
        if pod is not None and container.name in pod.containers:
            _, due = self._due.setdefault(container.pod.id, (pod, set(pod.containers)))
            due.add(container.name)
        return ()

    def leave(self, container: RuntimeContainer) -> None:
        """Return CPUs to the pool that no other container of the pod has."""
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
        """Return all of a pod's CPUs to the pool, including those kept for later containers."""
        self._pool = None
        self._due.pop(sandbox, None)
        for each in [each for each in self._there.values() if each.pod.id == sandbox]:
            del self._there[each.id]

    def place(self, container: RuntimeContainer) -> Assignment:
        """Return where a container runs by the plan; one that is not in the plan runs in the pool."""
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
        """Leave a container unchanged if its CPUs are not in the plan: it existed before the plan."""
        now = container.setting.cpu_set
        if now and not now & self._touched:
            return Assignment(None, why=f"stays on CPUs {now}, which the plan does not assign")
        return Assignment(self.pool, why="is not in the plan, and runs in the shared pool")

    def _running(self, sandbox: str) -> set[str]:
        return {each.name for each in self._there.values() if each.pod.id == sandbox}


def _awaits_others(pod: PlannedPod, due: set[str]) -> bool:
    """Return whether a pod without running containers is between its init containers and the others."""
    return {name for name in pod.containers if not pod.containers[name].init} <= due


def _own(pod: PlannedPod, due: Iterable[str] | None = None) -> CPUSet:
    """Return the CPUs of a pod, or only those of its *due* containers."""
    names = pod.containers if due is None else due
    own = (pod.containers[name].cpus or CPUSet() for name in names)
    return reduce(or_, own, pod.cpus if names else CPUSet())


def _pod(container: RuntimeContainer) -> PodName:
    return container.pod.namespace, container.pod.name
