"""What is looked at when a state of the CPU Manager is checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_
from typing import NamedTuple

from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cpuset import CPUSet
from cpuctl.engine.state_checks.owners import Owners


class Held(NamedTuple):
    """Exclusive CPUs and who holds them; a pod as a whole has no container."""

    uid: str
    container: str
    cpus: CPUSet

    @property
    def owner(self) -> tuple[str, str]:
        """The UID and the container, without the CPUs."""
        return self.uid, self.container


class CPUSubject(NamedTuple):
    """A state as a kubelet reads it, and all that its file says; who runs on the node.

    ``held`` is who holds exclusive CPUs in it: every pod as a whole, then its containers.
    """

    state: CPUStateFile
    whole: CPUStateFile
    owners: Owners
    held: tuple[Held, ...]

    @classmethod
    def of(cls, state: CPUStateFile, whole: CPUStateFile, owners: Owners) -> CPUSubject:
        """Sort the holders out."""
        return cls(state=state, whole=whole, owners=owners, held=tuple(holders(state)))

    @property
    def exclusive(self) -> CPUSet:
        """The CPUs that somebody holds."""
        return union(held.cpus for held in self.held)

    def names_of(self, cpus: CPUSet) -> str:
        """Name who holds some of these CPUs, containers rather than their pod; nothing where nobody does."""
        found = [held for held in self.held if held.cpus & cpus]
        named = {held.uid for held in found if held.container}
        return self.owners.names([held.owner for held in found if held.container or held.uid not in named])


def union(sets: Iterable[CPUSet]) -> CPUSet:
    """Put sets together."""
    return reduce(or_, sets, CPUSet())


def holders(state: CPUStateFile) -> Iterator[Held]:
    """Yield who holds exclusive CPUs: every pod as a whole, then its containers."""
    for uid in sorted({*state.pod_entries, *state.entries}):
        if uid in state.pod_entries:
            yield Held(uid, "", state.pod_entries[uid])
        for name, cpus in sorted(state.entries.get(uid, {}).items()):
            yield Held(uid, name, cpus)
