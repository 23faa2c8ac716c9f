"""New CPUs for pods that cannot keep theirs: as many as are lost, one for one, near what they keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.masks import CPUMask, NodeMask
from cpuctl.engine.outcome import Picked
from cpuctl.engine.state_checks.cpu_findings import CPUHolder, union
from cpuctl.engine.state_checks.findings import REMOVE_ONE
from cpuctl.engine.state_checks.owners import Owners
from cpuctl.phrases import named


class NotRepaired(NamedTuple):
    """Why no state is safe, and what to do instead."""

    reason: str
    advice: str


Moves = Mapping[str, Mapping[int, int]]
"""By UID, the CPU that replaces each one that is moved."""


def moves_of(holders: Iterable[CPUHolder], owners: Owners, policy: StaticPolicy) -> Moves | NotRepaired:
    """Find a new place for every CPU that a pod may not keep; it keeps all others.

    CPUs that several pods hold stay with the first pod by UID.
    """
    parts: dict[str, list[CPUHolder]] = {}
    # Containers come before the pod as a whole, so that each gets the CPUs near its own.
    for held in sorted(holders, key=lambda held: not held.container):
        parts.setdefault(held.uid, []).append(held)
    return _Search(owners, policy, parts).run()


def moved(cpus: CPUSet, moves: Mapping[int, int], leaving: CPUSet) -> CPUSet:
    """Replace the old CPUs with the new ones; *leaving* are all that are moved."""
    there = cpus & leaving
    return (cpus - there) | CPUSet.of(moves[cpu] for cpu in there) if there else cpus


class _Search:
    """A search for moves; ``parts`` is what every pod holds, ``taken`` what some pod keeps or has got."""

    def __init__(
        self, owners: Owners, policy: StaticPolicy, parts: Mapping[str, Sequence[CPUHolder]]
    ) -> None:
        self.owners = owners
        self.policy = policy
        self.parts = parts
        self.taken = CPUSet()

    def run(self) -> Moves | NotRepaired:
        lost = dict(self._lost())
        moves: dict[str, dict[int, int]] = {}
        for uid, cpus in lost.items():
            own: dict[int, int] = {}
            left = cpus
            for held in self.parts[uid]:
                if here := held.cpus & left:
                    found = self._found(held, here)
                    if found is None:
                        return self._too_few(held, here)
                    own.update(zip(here, found, strict=True))
                    left -= here
            moves[uid] = own
        return moves

    def _lost(self) -> Iterator[tuple[str, CPUSet]]:
        usable = CPUSet(self.policy.allocatable)
        for uid, parts in sorted(self.parts.items()):
            cpus = union(held.cpus for held in parts)
            kept = (cpus & usable) - self.taken
            self.taken |= kept
            if cpus - kept:
                yield uid, cpus - kept

    def _found(self, held: CPUHolder, lost: CPUSet) -> CPUSet | None:
        """Take as many free CPUs as are *lost*, near what is kept; None if there are too few.

        Threads of cores that the holder already has come first, then what the kubelet would take.
        """
        free = CPUSet(self.policy.allocatable) - self.taken
        if len(free) < len(lost):
            return None
        mates = free & CPUSet(self.policy.topology.siblings(CPUMask((held.cpus - lost).mask)))
        found = first(mates, len(lost))
        if missing := len(lost) - len(found):
            found |= self._picked(free - found, missing, self._near(held, lost))
        self.taken |= found
        return found

    def _picked(self, free: CPUSet, count: int, near: NodeMask | None) -> CPUSet:
        picked = self.policy.pick(CPUMask(free.mask), count, near)
        found = CPUSet(picked.cpus) if isinstance(picked, Picked) else CPUSet()
        if len(found) == count and found <= free:
            return found
        # With uneven cores the kubelet takes CPUs that are not free (kubernetes issue 124066).
        nodes = CPUSet(self.policy.near(near or NodeMask(0)))
        return first(chain(free & nodes, free - nodes), count)

    def _near(self, held: CPUHolder, lost: CPUSet) -> NodeMask | None:
        """Return the NUMA nodes of what a holder keeps or, if it keeps nothing, of what it had."""
        nodes = self.policy.topology.numa_nodes
        for cpus in (held.cpus - lost, lost):
            if near := sum(1 << node for node, mask in nodes.items() if mask & cpus.mask):
                return NodeMask(near)
        return None

    def _too_few(self, held: CPUHolder, lost: CPUSet) -> NotRepaired:
        free = len(CPUSet(self.policy.allocatable) - self.taken)
        who = self.owners.name(held.uid, held.container)
        return NotRepaired(
            f"{who} cannot keep {named(lost)}; other CPUs free for exclusive use: {free}",
            REMOVE_ONE,
        )


def first(cpus: Iterable[int], count: int) -> CPUSet:
    """Return the first of some CPUs, at most *count*."""
    return CPUSet.of(islice(cpus, count))
