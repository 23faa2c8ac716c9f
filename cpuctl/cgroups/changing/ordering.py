"""In which order CPU sets are written so that no container is ever left without CPUs, or with another's.

Rule: *Documentation/admin-guide/cgroup-v1/cpusets.rst*: a group stays inside its parent at every moment, or
the kernel refuses the write; v2 keeps quiet and gives the parent's CPUs instead, so its groups are written in
the same order. A container first loses what it is not to keep, then gets what others have given up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import reduce
from operator import or_
from typing import Literal, NamedTuple

from cpuctl.cgroups.names import ancestors
from cpuctl.cpuset import CPUSet

StepReason = Literal["hold on", "give up", "make room", "take over"]


class Write(NamedTuple):
    """One group's CPU set and what it becomes; ``why`` says in two words which step this is."""

    path: str
    before: CPUSet
    after: CPUSet
    why: StepReason


def order_writes(now: Mapping[str, CPUSet], wanted: Mapping[str, CPUSet]) -> list[Write]:
    """Order the writes that lead from the sets as they are *now* to those *wanted*.

    *now* has every group that has CPUs of its own, containers and groups above them, by path; a group above
    that cannot hold what is wanted below it grows, unless it is in *wanted* itself. Raise ValueError for a
    wanted set that is empty, and for one that reaches beyond a wanted set above it.
    """
    goal = _with_ancestors(now, wanted)
    return list(_Ordering(dict(now), goal, wanted.keys()).writes())


def _with_ancestors(now: Mapping[str, CPUSet], wanted: Mapping[str, CPUSet]) -> dict[str, CPUSet]:
    goal = dict(now) | dict(wanted)
    for path, cpus in wanted.items():
        if not cpus:
            raise ValueError(f"no CPUs are wanted for {path}: a group with tasks cannot be without")
        for above in ancestors(path):
            if above not in goal or cpus <= goal[above]:
                continue
            if above in wanted:
                raise ValueError(f"CPUs {cpus} are wanted for {path}, but only {goal[above]} for {above}")
            goal[above] |= cpus
    for path in _by_depth(goal):
        if path not in wanted and goal[path] != now.get(path):
            goal[path] = _within(goal, path, goal[path])
    return goal


def _within(sets: Mapping[str, CPUSet], path: str, cpus: CPUSet) -> CPUSet:
    """Return those CPUs that all groups above have: on v2 a list may have others, which is no error."""
    for above in ancestors(path):
        cpus &= sets.get(above) or cpus
    return cpus


def _by_depth(paths: Iterable[str]) -> list[str]:
    """Sort groups so that each follows those above it."""
    return sorted(paths, key=lambda path: (path.count("/"), path))


class _Ordering:
    """The sets as the writes go on."""

    def __init__(self, now: dict[str, CPUSet], goal: dict[str, CPUSet], wanted: Collection[str]) -> None:
        self.now = now
        self.goal = goal
        self.changing = {path for path in goal if now.get(path) != goal[path]}
        self.leaves = goal.keys() - {above for path in goal for above in ancestors(path)}
        self.holders = self.leaves.union(wanted)

    def writes(self) -> Iterator[Write]:
        """Shrink containers, grow what is above them, grow containers, shrink what is above them."""
        yield from self._shrink_holders()
        for path in _by_depth(self.changing - self.leaves):
            room = _within(self.now, path, self._now(path) | self.goal[path])
            yield from self._write(path, room, "make room")
        yield from self._move_leaves()
        for path in reversed(_by_depth(self.changing - self.leaves)):
            yield from self._write(path, self.goal[path], "give up")

    def _shrink_holders(self) -> Iterator[Write]:
        """Shrink containers and what is below them; on v1 threads run in both."""
        for path in reversed(_by_depth(self.changing & self.holders)):
            kept = self._now(path) & (self.goal[path] | self._below(path))
            if kept := _within(self.now, path, kept):
                yield from self._write(path, kept, "give up")

    def _below(self, path: str) -> CPUSet:
        if path in self.leaves:
            return CPUSet()
        below = (cpus for other, cpus in self.now.items() if other.startswith(f"{path}/"))
        return reduce(or_, below, CPUSet())

    def _move_leaves(self) -> Iterator[Write]:
        """Give containers their CPUs as these get free; of those that wait in a ring, the first."""
        moving = {path for path in self.changing & self.leaves if self._now(path) != self.goal[path]}
        givers = {path for path in moving if self._now(path) - self.goal[path]}
        waiting = _by_depth(moving)
        while waiting:
            free = next((path for path in waiting if not self._taken(path, givers)), waiting[0])
            waiting.remove(free)
            givers.discard(free)
            yield from self._write(free, self.goal[free], "take over")

    def _taken(self, path: str, givers: Iterable[str]) -> bool:
        """Tell whether a CPU that a group is to get has still to be given up by another."""
        gained = self.goal[path] - self._now(path)
        return any(
            not gained.isdisjoint(self._now(other) - self.goal[other]) for other in givers if other != path
        )

    def _now(self, path: str) -> CPUSet:
        return self.now.get(path, CPUSet())

    def _write(self, path: str, cpus: CPUSet, why: StepReason) -> Iterator[Write]:
        before = self._now(path)
        if before != cpus:
            self.now[path] = cpus
            yield Write(path, before, cpus, why)
