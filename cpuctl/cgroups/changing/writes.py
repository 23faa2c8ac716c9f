"""From what containers are to have to single writes, in an order that is safe at every moment.

Which order that is, ``ordering`` says; here groups that have no list of their own, and groups that container
runtimes make below a container's, get their place in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from cpuctl.cgroups.changing.applying import Change
from cpuctl.cgroups.changing.ordering import StepReason, order_writes
from cpuctl.cgroups.desired import Wanted
from cpuctl.cgroups.groups import Cgroup, CpusetValues
from cpuctl.cgroups.hierarchies import CGROUPS, Hierarchies
from cpuctl.cgroups.names import ancestors
from cpuctl.cpuset import CPUSet

CPUS, MEMS = "cpuset.cpus", "cpuset.mems"


QuotaReason = Literal["lift the quota", "limit"]


class PlannedWrite(NamedTuple):
    """One write to a group of the kubelet's hierarchy, and which step this is."""

    path: str
    name: str
    before: str
    after: str
    why: StepReason | QuotaReason

    def change(self, at: Hierarchies) -> Change:
        """Return the change below the directory in which all hierarchies are mounted."""
        root = at.cpuset if self.name.startswith("cpuset.") else at.cpu
        return Change(f"{root.removeprefix(CGROUPS)}{self.path}", self.name, self.before, self.after)


def plan_writes(groups: Mapping[str, Cgroup], wanted: Iterable[Wanted], version: int) -> list[PlannedWrite]:
    """Order all writes; *groups* come parents first.

    Raise ValueError for sets that cannot be had together, and for groups that cannot have any.
    """
    wanted = list(wanted)
    _require_lists(groups, wanted)
    writes: list[PlannedWrite] = []
    for name in (CPUS, MEMS):
        lists = {path: _lists(group.cpuset, name) for path, group in groups.items()}
        targets = {one.path: cpus for one in wanted if (cpus := one.cpus if name == CPUS else one.mems)}
        goal = targets | dict(_followers(lists, targets))
        writes.extend(_ordered(name, lists, goal, version))
    return writes


def _require_lists(groups: Mapping[str, Cgroup], wanted: Iterable[Wanted]) -> None:
    """Refuse groups above which nobody has turned the controller on: on v2 such a group has no lists."""
    for one in wanted:
        group = groups.get(one.path)
        if group and ((one.cpus and group.cpuset.cpus is None) or (one.mems and group.cpuset.mems is None)):
            raise ValueError(f"{one.path} has no CPU set: the cpuset controller is off above it")


class _Lists(NamedTuple):
    """A group's own list, empty where it has none, and what is in force."""

    own: CPUSet
    effective: CPUSet


def _lists(values: CpusetValues, name: str) -> _Lists:
    own, effective = (values.cpus, values.effective) if name == CPUS else (values.mems, values.effective_mems)
    own = own or CPUSet()
    return _Lists(own, own if effective is None else effective)


def _followers(lists: Mapping[str, _Lists], targets: Mapping[str, CPUSet]) -> Iterator[tuple[str, CPUSet]]:
    """Let groups below a container go with it, as far as they have a list of their own."""
    goal = dict(targets)
    for path, here in lists.items():
        above = next((each for each in ancestors(path) if each in goal), "")
        if not above or path in goal or not here.own:
            continue
        alike = here.own == lists[above].own
        goal[path] = goal[above] if alike else here.own & goal[above] or goal[above]
        yield path, goal[path]


def _ordered(
    name: str, lists: Mapping[str, _Lists], goal: Mapping[str, CPUSet], version: int
) -> Iterator[PlannedWrite]:
    """Write what is in force already where it is only inherited, then all that changes."""
    above = {path for target in goal for path in ancestors(target)} if version == 1 else set()
    now = {path: here.own for path, here in lists.items() if here.own or path in above}
    texts = {path: str(here.own) for path, here in lists.items()}
    for path, cpus in goal.items():
        if path in lists and not lists[path].own and version != 1:
            # Without a list it has its parent's CPUs: those it loses, as if they were listed.
            now[path] = lists[path].effective
            if now[path] == cpus:
                texts[path] = str(cpus)
                yield PlannedWrite(path, name, "", str(cpus), "hold on")
    for write in order_writes(now, goal):
        before, texts[write.path] = texts.get(write.path, ""), str(write.after)
        yield PlannedWrite(write.path, name, before, str(write.after), write.why)
