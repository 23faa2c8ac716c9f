"""What a container's CPU set must be, according to the kubelet's state.

Rule: kubelet v1.36 ``pkg/kubelet/cm/cpumanager`` and ``memorymanager``: a container gets the CPUs and the
NUMA nodes that are recorded for it, else the shared pool and no nodes at all; nothing empty is written.
"""

from __future__ import annotations

from cpuctl.audit.picture import POLICY_NONE, Expected, State
from cpuctl.cgroups.owners import Owner, Part
from cpuctl.checkpoints.model import MemoryStateFile
from cpuctl.cpuset import CPUSet

MOST_CHOICES = 64
"""Of different sets that the containers of one pod have; beyond, a nameless one cannot be judged."""


class Expectations:
    """What the kubelet gives containers, by one state."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._choices: dict[str, tuple[CPUSet, ...]] = {}

    def of(self, owner: Owner) -> Expected:
        """Return what the kubelet gives a container."""
        if owner.part is Part.SANDBOX:
            return Expected()
        mems = _mems(owner, self._state.memory) if self._state.memory else None
        cpu = self._state.cpu
        if cpu is None or cpu.policy_name == POLICY_NONE:
            return Expected(mems=mems)
        entries, pool = cpu.entries.get(owner.uid, {}), cpu.default_cpu_set
        if owner.container:
            own = entries.get(owner.container)
            return Expected(cpus=own or pool or None, exclusive=bool(own), mems=mems)
        if not entries:
            return Expected(cpus=pool or None, mems=mems)
        return Expected(choices=self._choices_of(owner.uid, pool), mems=mems)

    def _choices_of(self, uid: str, pool: CPUSet) -> tuple[CPUSet, ...]:
        if uid not in self._choices:
            sets = tuple(dict.fromkeys(cpus for cpus in (*self._state.entries[uid].values(), pool) if cpus))
            self._choices[uid] = sets if len(sets) <= MOST_CHOICES else ()
        return self._choices[uid]


def _mems(owner: Owner, state: MemoryStateFile) -> CPUSet | None:
    blocks = state.entries.get(owner.uid, {}).get(owner.container, ())
    return CPUSet.of(node for block in blocks for node in block.numa_affinity) or None
