"""A runtime's requests to a plugin during a replay of a timeline, and the plugin's answers.

Rule: ``pkg/api/api.proto`` of containerd/nri 8ec8b28: a plugin answers when a container is created or
stopped, and may update containers unprompted. Here it knows the decisions of the kubelet's managers, and
reports them at once: a kubelet that writes CPU sets itself does so with the next pass of its loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from cpuctl.engine.placement import cpuset_mems
from cpuctl.records import Record, replace
from cpuctl.timeline.pods.containers import own_or_shared
from cpuctl.timeline.world.scale_downs import Key
from cpuctl.timeline.world.world import PodLife, World


class RuntimeEvent(StrEnum):
    """The occasion of a plugin's message: a request of the runtime, or (the last) the plugin's own call."""

    CREATE = "CREATE_CONTAINER"
    STOP = "STOP_CONTAINER"
    UPDATE = "UPDATE_CONTAINERS"


class RuntimeCall(Record):
    """One answer, or call, at a time in nanoseconds.

    ``pod`` (``namespace/name``) and ``container`` are empty if it does not concern a single container.
    ``cpus`` is a mask and ``mems`` a list of NUMA nodes, both of a container that is created; if empty, they
    are left unchanged. ``updates`` are the CPUs (masks) that others move to, by pod and container.
    """

    at: int
    event: RuntimeEvent
    pod: str = ""
    container: str = ""
    cpus: int = 0
    mems: str = ""
    updates: Mapping[tuple[str, str], int] = {}


class _Running(Record):
    pod: str
    cpus: int


class RuntimeCalls:
    """The collected calls of a replay; ``running`` are the running containers with their CPUs."""

    def __init__(self) -> None:
        self.calls: list[RuntimeCall] = []
        self.running: dict[Key, _Running] = {}
        self.boot = 1

    def created(self, world: World, life: PodLife, container: str) -> None:
        """Answer for a new container; that for a pod's first one includes the changes by its admission."""
        assert world.kubelet is not None, "a kubelet has it created"
        key: Key = (life.uid, container)
        self._end(world, key)
        cpus = own_or_shared(world.kubelet, key)
        mems = cpuset_mems(world.kubelet.node.memory.state.assigned(*key) or ())
        updates = self._updates(world)
        self.running[key] = _Running(life.name, cpus)
        call = RuntimeCall(world.now, RuntimeEvent.CREATE, life.name, container, cpus, mems, updates)
        self.calls.append(call)

    def settled(self, world: World) -> None:
        """Report all other changes: stopped containers, and CPU sets that changed independently."""
        ended = self._end(world)
        updates = self._updates(world)
        if not updates:
            return
        if ended:
            self.calls[-ended] = replace(self.calls[-ended], updates=updates)
        else:
            self.calls.append(RuntimeCall(world.now, RuntimeEvent.UPDATE, updates=updates))

    def _end(self, world: World, again: Key | None = None) -> int:
        """Stop containers that no longer run, or are created *again*; return their number.

        A machine that goes down has no runtime that could send requests.
        """
        if world.boot != self.boot:
            self.boot = world.boot
            self.running.clear()
        ended = [key for key in self.running if key == again or not _runs(world, key)]
        for key in ended:
            pod = self.running.pop(key).pod
            self.calls.append(RuntimeCall(world.now, RuntimeEvent.STOP, pod, key[1]))
        return len(ended)

    def _updates(self, world: World) -> Mapping[tuple[str, str], int]:
        changed = dict(self._changed(world))
        for key, cpus in changed.items():
            self.running[key] = replace(self.running[key], cpus=cpus)
        return {(self.running[key].pod, key[1]): cpus for key, cpus in changed.items()}

    def _changed(self, world: World) -> Iterator[tuple[Key, int]]:
        """Yield the CPUs of containers that should run on other ones; a set can never be removed."""
        kubelet = world.kubelet
        if kubelet is None:
            return
        for key, running in self.running.items():
            # A kubelet that has just started has not readmitted every pod yet: only those it knows count.
            wanted = own_or_shared(kubelet, key) if key[0] in kubelet.node.active else 0
            if wanted and wanted != running.cpus:
                yield key, wanted


def _runs(world: World, key: Key) -> bool:
    life = world.pods.get(key[0])
    return life is not None and life.containers[key[1]].runs
