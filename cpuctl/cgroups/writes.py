"""From desired sets to single writes, in an order that is safe at every moment.

Rule: *Documentation/admin-guide/cgroup-v1/cpusets.rst*: a group stays inside its parent at every moment, or
the kernel rejects the write; v2 silently uses the parent's CPUs instead, so its groups are written in
the same order. A container first loses CPUs that it does not keep, then gets those freed by others. Groups
without their own list, and those that container runtimes make below a container's, get their place in
that order.

Rule for quotas: *Documentation/scheduler/sched-bwc.rst*: on v1 no group may have more than its parent,
so limits are raised from the top down and lowered from the bottom up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import reduce
from operator import or_
from typing import Literal, NamedTuple

from cpuctl.cgroups.applying import ValueChange
from cpuctl.cgroups.desired import DesiredGroup
from cpuctl.cgroups.groups import Cgroup, CpusetValues, driver_quota
from cpuctl.cgroups.hierarchies import CGROUPS, Hierarchies
from cpuctl.cgroups.names import ancestors
from cpuctl.cpuset import CPUSet

StepReason = Literal["wait", "give up", "make room", "take over"]


class Write(NamedTuple):
    """One group's CPU set before and after; ``why`` describes the step in two words."""

    path: str
    before: CPUSet
    after: CPUSet
    why: StepReason


def order_writes(now: Mapping[str, CPUSet], desired: Mapping[str, CPUSet]) -> list[Write]:
    """Order the writes that lead from the *now* sets to the *desired* ones.

    *now* has every group with its own CPU list, containers and groups above them, by path; a group above
    that cannot hold what is wanted below it grows, unless it is in *desired* itself. Raise ValueError for a
    wanted set that is empty, and for one that reaches beyond a wanted set above it.
    """
    goal = _with_ancestors(now, desired)
    return list(_Ordering(dict(now), goal, desired.keys()).writes())


def _with_ancestors(now: Mapping[str, CPUSet], desired: Mapping[str, CPUSet]) -> dict[str, CPUSet]:
    goal = dict(now) | dict(desired)
    for path, cpus in desired.items():
        if not cpus:
            raise ValueError(f"no CPUs are requested for {path}: a cgroup with tasks cannot have none")
        for above in ancestors(path):
            if above not in goal or cpus <= goal[above]:
                continue
            if above in desired:
                raise ValueError(f"CPUs {cpus} are requested for {path}, but only {goal[above]} for {above}")
            goal[above] |= cpus
    for path in _by_depth(goal):
        if path not in desired and goal[path] != now.get(path):
            goal[path] = _within(goal, path, goal[path])
    return goal


def _within(sets: Mapping[str, CPUSet], path: str, cpus: CPUSet) -> CPUSet:
    """Return those CPUs that all groups above have: on v2 a list may contain others without error."""
    for above in ancestors(path):
        cpus &= sets.get(above) or cpus
    return cpus


def _by_depth(paths: Iterable[str]) -> list[str]:
    """Sort groups so that each follows its ancestors."""
    return sorted(paths, key=lambda path: (path.count("/"), path))


class _Ordering:
    """The sets during the writes."""

    def __init__(self, now: dict[str, CPUSet], goal: dict[str, CPUSet], desired: Collection[str]) -> None:
        self.now = now
        self.goal = goal
        self.changing = {path for path in goal if now.get(path) != goal[path]}
        self.leaves = goal.keys() - {above for path in goal for above in ancestors(path)}
        self.holders = self.leaves.union(desired)

    def writes(self) -> Iterator[Write]:
        """Shrink containers, grow the groups above them, grow containers, shrink the groups above them."""
        yield from self._shrink_holders()
        for path in _by_depth(self.changing - self.leaves):
            space = _within(self.now, path, self._now(path) | self.goal[path])
            yield from self._write(path, space, "make room")
        yield from self._move_leaves()
        for path in reversed(_by_depth(self.changing - self.leaves)):
            yield from self._write(path, self.goal[path], "give up")

    def _shrink_holders(self) -> Iterator[Write]:
        """Shrink containers and the groups below them; on v1 threads run in both."""
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
        """Give containers their CPUs as these become free; if they wait in a cycle, start with the first."""
        moving = {path for path in self.changing & self.leaves if self._now(path) != self.goal[path]}
        shrinking = {path for path in moving if self._now(path) - self.goal[path]}
        waiting = _by_depth(moving)
        while waiting:
            free = next((path for path in waiting if not self._taken(path, shrinking)), waiting[0])
            waiting.remove(free)
            shrinking.discard(free)
            yield from self._write(free, self.goal[free], "take over")

    def _taken(self, path: str, shrinking: Iterable[str]) -> bool:
        """Return whether another group must first release a CPU that a group is to get."""
        gained = self.goal[path] - self._now(path)
        return any(
            not gained.isdisjoint(self._now(other) - self.goal[other]) for other in shrinking if other != path
        )

    def _now(self, path: str) -> CPUSet:
        return self.now.get(path, CPUSet())

    def _write(self, path: str, cpus: CPUSet, why: StepReason) -> Iterator[Write]:
        before = self._now(path)
        if before != cpus:
            self.now[path] = cpus
            yield Write(path, before, cpus, why)


CPUS, MEMS = "cpuset.cpus", "cpuset.mems"


QuotaReason = Literal["lift the quota", "limit"]


class PlannedWrite(NamedTuple):
    """One write to a group of the kubelet's hierarchy, and which step this is."""

    path: str
    name: str
    before: str
    after: str
    why: StepReason | QuotaReason

    def change(self, at: Hierarchies) -> ValueChange:
        """Return the change relative to the directory in which all hierarchies are mounted."""
        root = at.cpuset if self.name.startswith("cpuset.") else at.cpu
        return ValueChange(f"{root.removeprefix(CGROUPS)}{self.path}", self.name, self.before, self.after)


def plan_writes(
    groups: Mapping[str, Cgroup], desired: Iterable[DesiredGroup], version: int
) -> list[PlannedWrite]:
    """Order all writes; *groups* come parents first.

    Raise ValueError for sets that conflict, and for groups that cannot have any.
    """
    desired = list(desired)
    _require_lists(groups, desired)
    writes: list[PlannedWrite] = []
    for name in (CPUS, MEMS):
        lists = {path: _lists(group.cpuset, name) for path, group in groups.items()}
        targets = {one.path: cpus for one in desired if (cpus := one.cpus if name == CPUS else one.mems)}
        goal = targets | dict(_followers(lists, targets))
        writes.extend(_ordered(name, lists, goal, version))
    return writes


def _require_lists(groups: Mapping[str, Cgroup], desired: Iterable[DesiredGroup]) -> None:
    """Refuse groups above which the controller is not enabled: on v2 such a group has no lists."""
    for one in desired:
        group = groups.get(one.path)
        if group and ((one.cpus and group.cpuset.cpus is None) or (one.mems and group.cpuset.mems is None)):
            raise ValueError(f"{one.path} has no cpuset: the cpuset controller is disabled above it")


class _Lists(NamedTuple):
    """A group's own list, empty if it has none, and what is in force."""

    own: CPUSet
    effective: CPUSet


def _lists(values: CpusetValues, name: str) -> _Lists:
    own, effective = (values.cpus, values.effective) if name == CPUS else (values.mems, values.effective_mems)
    own = own or CPUSet()
    return _Lists(own, own if effective is None else effective)


def _followers(lists: Mapping[str, _Lists], targets: Mapping[str, CPUSet]) -> Iterator[tuple[str, CPUSet]]:
    """Let groups below a container follow it, if they have their own list."""
    goal = dict(targets)
    for path, here in lists.items():
        above = next((each for each in ancestors(path) if each in goal), "")
        if not above or path in goal or not here.own:
            continue
        equivalent = here.own == lists[above].own
        goal[path] = goal[above] if equivalent else here.own & goal[above] or goal[above]
        yield path, goal[path]


def _ordered(
    name: str, lists: Mapping[str, _Lists], goal: Mapping[str, CPUSet], version: int
) -> Iterator[PlannedWrite]:
    """Write the effective set first if it is only inherited, then all changes."""
    above = {path for target in goal for path in ancestors(target)} if version == 1 else set()
    now = {path: here.own for path, here in lists.items() if here.own or path in above}
    texts = {path: str(here.own) for path, here in lists.items()}
    for path, cpus in goal.items():
        if path in lists and not lists[path].own and version != 1:
            # Without a list it has its parent's CPUs: it loses some of those, as if they were listed.
            now[path] = lists[path].effective
            if now[path] == cpus:
                texts[path] = str(cpus)
                yield PlannedWrite(path, name, "", str(cpus), "wait")
    for write in order_writes(now, goal):
        before, texts[write.path] = texts.get(write.path, ""), str(write.after)
        yield PlannedWrite(write.path, name, before, str(write.after), write.why)


def plan_quotas(
    groups: Mapping[str, Cgroup], goal: Mapping[str, int | None], version: int
) -> list[PlannedWrite]:
    """Order the writes that give every group its quota in us; None means no quota.

    *version* is that of the control groups, 1 or 2.
    """
    looser: list[PlannedWrite] = []
    tighter: list[PlannedWrite] = []
    for path in sorted(goal):
        group = groups.get(path)
        if group is None or group.cpu.period is None:
            continue
        now, quota = group.cpu.quota, goal[path]
        target = None if quota is None else driver_quota(quota, group.cpu.period, group.role.driver)
        if target == now:
            continue
        loosens = target is None or (now is not None and target > now)
        write = _write(group, target, "lift the quota" if loosens else "limit", version)
        (looser if loosens else tighter).append(write)
    return [*looser, *reversed(tighter)]


def _write(group: Cgroup, target: int | None, why: QuotaReason, version: int) -> PlannedWrite:
    now, period = group.cpu.quota, group.cpu.period
    if version == 1:
        before, after = (str(-1 if quota is None else quota) for quota in (now, target))
        return PlannedWrite(group.path, "cpu.cfs_quota_us", before, after, why)
    before, after = (f"{'max' if quota is None else quota} {period}" for quota in (now, target))
    return PlannedWrite(group.path, "cpu.max", before, after, why)
