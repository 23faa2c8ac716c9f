"""Which CPUs pods must give up, and which they get in their place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.masks import CPUMask, NodeMask
from cpuctl.engine.outcome import Picked
from cpuctl.engine.state_checks.cpu_subject import Held, union
from cpuctl.engine.state_checks.findings import REMOVE_ONE
from cpuctl.engine.state_checks.owners import Owners
from cpuctl.engine.state_repair.actions import NotRepaired

Moves = Mapping[str, Mapping[int, int]]
"""By UID, the CPU that takes the place of another."""


def moves_of(holders: Iterable[Held], owners: Owners, policy: StaticPolicy) -> Moves | NotRepaired:
    """Find a new place for every CPU that a pod may not keep; it keeps all others.

    Of CPUs that several pods hold, the first by UID keeps them.
    """
    parts: dict[str, list[Held]] = {}
    # Containers come before the pod as a whole: what is near each of them goes to them.
    for held in sorted(holders, key=lambda held: not held.container):
        parts.setdefault(held.uid, []).append(held)
    return _Search(owners, policy, parts).run()


def moved(cpus: CPUSet, moves: Mapping[int, int], leaving: CPUSet) -> CPUSet:
    """Put the new CPUs in the place of the old ones; *leaving* are all that are moved."""
    there = cpus & leaving
    return (cpus - there) | CPUSet.of(moves[cpu] for cpu in there) if there else cpus


class _Search:
    """``parts`` is what every pod holds, ``taken`` what somebody keeps or has got."""

    def __init__(self, owners: Owners, policy: StaticPolicy, parts: Mapping[str, Sequence[Held]]) -> None:
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

    def _found(self, held: Held, lost: CPUSet) -> CPUSet | None:
        """Take as many free CPUs, near what is kept; None where they are too few.

        Threads of cores that the holder has already come first, then what the kubelet would take.
        """
        free = CPUSet(self.policy.allocatable) - self.taken
        if len(free) < len(lost):
            return None
        mates = free & CPUSet(self.policy.topology.siblings(CPUMask((held.cpus - lost).mask)))
        found = _first(mates, len(lost))
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
        return _first(chain(free & nodes, free - nodes), count)

    def _near(self, held: Held, lost: CPUSet) -> NodeMask | None:
        """Return the NUMA nodes of what a holder keeps or, where it keeps nothing, of what it had."""
        nodes = self.policy.topology.numa_nodes
        for cpus in (held.cpus - lost, lost):
            if near := sum(1 << node for node, mask in nodes.items() if mask & cpus.mask):
                return NodeMask(near)
        return None

    def _too_few(self, held: Held, lost: CPUSet) -> NotRepaired:
        free = len(CPUSet(self.policy.allocatable) - self.taken)
        who = self.owners.name(held.uid, held.container)
        return NotRepaired(
            f"{who} cannot keep CPUs {lost}, and only {free} CPUs are free that may be exclusive",
            REMOVE_ONE,
        )


def _first(cpus: Iterable[int], count: int) -> CPUSet:
    return CPUSet.of(islice(cpus, count))
