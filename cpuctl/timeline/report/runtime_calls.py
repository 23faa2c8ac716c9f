"""What a runtime would ask a plugin while a timeline is played, and what the plugin would answer.

Rule: ``pkg/api/api.proto`` of containerd/nri 8ec8b28: a plugin answers when a container is created or
stopped, and may update containers of its own accord. Here it knows what the kubelet's managers decide, and
tells it at once: a kubelet that writes CPU sets itself does so with the next pass of its loop.
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
    """What a plugin speaks of: a request of the runtime, or (the last) a call of its own."""

    CREATE = "CREATE_CONTAINER"
    STOP = "STOP_CONTAINER"
    UPDATE = "UPDATE_CONTAINERS"


class RuntimeCall(Record):
    """One answer, or call, at a time in nanoseconds.

    ``pod`` (``namespace/name``) and ``container`` are empty if it is about no container alone. ``cpus`` is
    a mask and ``mems`` a list of NUMA nodes, both of a container that is created; nothing is to be left as it
    is. ``updates`` are the CPUs (masks) that others move to, by pod and container.
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
    """Collects the calls of a replay; ``running`` are the containers that run, and the CPUs they have."""

    def __init__(self) -> None:
        self.calls: list[RuntimeCall] = []
        self.running: dict[Key, _Running] = {}
        self.boot = 1

    def created(self, world: World, life: PodLife, container: str) -> None:
        """Answer for a container that comes; the first one of its pod brings what its admission changed."""
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
        """Report what else has changed: containers that have stopped, and sets that moved without them."""
        ended = self._end(world)
        updates = self._updates(world)
        if not updates:
            return
        if ended:
            self.calls[-ended] = replace(self.calls[-ended], updates=updates)
        else:
            self.calls.append(RuntimeCall(world.now, RuntimeEvent.UPDATE, updates=updates))

    def _end(self, world: World, again: Key | None = None) -> int:
        """Let containers stop that do not run, or are created *again*; return how many do.

        A machine that goes down has no runtime that could ask.
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
        """Yield the CPUs of containers that are to run elsewhere; no set can be taken back."""
        kubelet = world.kubelet
        if kubelet is None:
            return
        for key, running in self.running.items():
            # A kubelet that has just started has not taken every pod back yet: what it knows counts.
            wanted = own_or_shared(kubelet, key) if key[0] in kubelet.node.active else 0
            if wanted and wanted != running.cpus:
                yield key, wanted


def _runs(world: World, key: Key) -> bool:
    life = world.pods.get(key[0])
    return life is not None and life.containers[key[1]].runs
