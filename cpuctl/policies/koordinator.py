"""What-if: CPUs as Koordinator's scheduler chooses them for pods of the classes LSE and LSR.

Source: koordinator ``pkg/scheduler/plugins/nodenumaresource/cpu_accumulator.go``. There, the scheduler
chooses CPUs by the annotations of each pod; here, the policy's options apply to all pods. CPUs are never
shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from cpuctl.cpuset import CPUSet
from cpuctl.policies.model import Policy, Rejection, Topology, View

_CHOICES = {
    "bind": ("full", "spread"),
    "numa": ("most-allocated", "least-allocated"),
    "exclusive": ("none", "core", "numa-node"),
}


class Koordinator(Policy):
    """Allocate whole cores, or spread over cores, on one NUMA node if possible.

    ``bind`` is ``full`` for whole cores, ``spread`` for one CPU per core if possible. ``numa``
    prefers nodes with the fewest free CPUs (``most-allocated``) or with the most (``least-allocated``);
    ``exclusive`` avoids cores (``core``) or NUMA nodes (``numa-node``) where other containers
    have exclusive CPUs, if possible; ``required`` rejects requests that are not whole cores.
    """

    choices = MappingProxyType(_CHOICES)
    source = "koordinator pkg/scheduler/plugins/nodenumaresource/cpu_accumulator.go"

    def __init__(
        self,
        bind: str = "full",
        numa: str = "most-allocated",
        exclusive: str = "none",
        *,
        required: bool = False,
    ) -> None:
        self.options = {"bind": bind, "numa": numa, "exclusive": exclusive}
        self.required = required

    def select(self, scores: Mapping[int, float], view: View) -> Iterator[CPUSet]:
        """Accumulate CPUs; raise Rejection for bad options, or if required whole cores are missing."""
        for name, choices in _CHOICES.items():
            if self.options[name] not in choices:
                raise Rejection(f"{name}: expected one of {', '.join(choices)}, found {self.options[name]}")
        topology, free = view.topology, CPUSet.of(scores)
        full = self.options["bind"] == "full" or topology.cpus_per_core == 1
        taken = self._whole(view, free) if full else self._spread(view, free)
        taken |= self._leftovers(topology, free, taken, view.need - len(taken))
        cores = [topology.cores[topology.cpus[cpu].core] for cpu in taken]
        if self.required and full and any(core - taken for core in cores):
            raise Rejection(f"fewer than {view.need} CPUs are free in whole cores")
        yield taken

    def _whole(self, view: View, free: CPUSet) -> CPUSet:
        """Take whole cores: of one NUMA node, of one socket, of whole sockets, of the fullest socket."""
        topology = view.topology
        whole = CPUSet.of(cpu for core in topology.cores.values() if core <= free for cpu in core)
        if found := self._in_one(view, whole, lambda inside: self._by_cores(topology, inside)):
            return found
        taken = CPUSet()
        for socket in sorted(topology.sockets.values(), key=lambda cpus: -len(cpus & whole)):
            if 0 < len(socket & whole) <= view.need - len(taken):
                taken |= socket & whole
        for socket in sorted(topology.sockets.values(), key=lambda cpus: len(cpus & whole - taken)):
            for core in topology.cores.values():
                if core <= socket & whole - taken and len(core) <= view.need - len(taken):
                    taken |= core
        return taken

    def _spread(self, view: View, free: CPUSet) -> CPUSet:
        """Take CPUs of one NUMA node, or of one socket, each round using a core once."""
        found = self._in_one(view, free, lambda inside: _rounds(self._by_cores(view.topology, inside), view))
        return found or CPUSet()

    def _in_one(self, view: View, free: CPUSet, ordered: Callable[[CPUSet], list[int]]) -> CPUSet | None:
        """Take from the first NUMA node, else the first socket, that has enough: exclusively, if possible."""
        topology = view.topology
        nodes = [topology.numa_nodes[node] for node in self._nodes(topology, free)]
        for elements in (nodes, sorted(topology.sockets.values(), key=lambda cpus: self._rank(cpus & free))):
            for allowed in (free - self._taken_by_others(view), free):
                for element in elements:
                    if len(element & allowed) >= view.need:
                        return CPUSet.of(ordered(element & allowed)[: view.need])
        return None

    def _nodes(self, topology: Topology, free: CPUSet) -> list[int]:
        """Order NUMA nodes by free CPUs, then by those of their socket, then by id."""

        def rank(node: int) -> tuple[int, int, int]:
            cpus = topology.numa_nodes[node]
            sockets = [socket & free for socket in topology.sockets.values() if socket & cpus]
            return self._rank(cpus & free), self._rank(CPUSet.of(cpu for s in sockets for cpu in s)), node

        return sorted(topology.numa_nodes, key=rank)

    def _rank(self, cpus: CPUSet) -> int:
        return len(cpus) if self.options["numa"] == "most-allocated" else -len(cpus)

    def _taken_by_others(self, view: View) -> CPUSet:
        """Return the CPUs of cores, or of NUMA nodes, on which others have CPUs."""
        levels = {"none": {}, "core": view.topology.cores, "numa-node": view.topology.numa_nodes}
        held = CPUSet.of(cpu for each in view.holders for cpu in each.cpus)
        near = (cpus for cpus in levels[self.options["exclusive"]].values() if cpus & held)
        return CPUSet.of(cpu for cpus in near for cpu in cpus)

    def _by_cores(self, topology: Topology, free: CPUSet) -> list[int]:
        """List CPUs core by core, those with more free CPUs first."""
        cores = [core & free for core in topology.cores.values() if core & free]
        return [cpu for core in sorted(cores, key=lambda cpus: -len(cpus)) for cpu in core]

    def _leftovers(self, topology: Topology, free: CPUSet, taken: CPUSet, need: int) -> CPUSet:
        """Take single CPUs: near those taken, then by the order of sockets and nodes, in used cores."""

        def rank(cpu: int) -> tuple[bool, int, int, int, int]:
            at = topology.cpus[cpu]
            socket, node = topology.sockets[at.socket], topology.numa_nodes[at.numa_node]
            core = topology.cores[at.core] & free - taken
            used = bool(socket & taken)
            return not used, self._rank(socket & free), self._rank(node & free), len(core), cpu

        return CPUSet.of(sorted(free - taken, key=rank)[: max(need, 0)])


def _rounds(cpus: Iterable[int], view: View) -> list[int]:
    """Group CPUs into rounds: the first of every core, then the second."""
    seen: dict[int, int] = {}
    placed: list[tuple[int, int, int]] = []
    for cpu in cpus:
        core = view.topology.cpus[cpu].core
        placed.append((seen.get(core, 0), len(placed), cpu))
        seen[core] = seen.get(core, 0) + 1
    return [cpu for _, _, cpu in sorted(placed)]
