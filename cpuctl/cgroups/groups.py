"""The current values of the kubelet's cgroups: CPU sets, weights, quotas and memory limits.

Files: *Documentation/admin-guide/cgroup-v2.rst* and *Documentation/admin-guide/cgroup-v1/*.
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import NamedTuple

from cpuctl.cgroups.hierarchies import Hierarchies, is_interface_file
from cpuctl.cgroups.names import Driver, Role, role_of
from cpuctl.cpuset import CPUSet, list_problem
from cpuctl.errors import InputError
from cpuctl.machine.kernel_text import within_limit
from cpuctl.machine.recording_layout import RECORD_AGAIN
from cpuctl.machine.tree import Tree
from cpuctl.pods.cgroups.linux_resources import systemd_quota
from cpuctl.records import Record

MAX_GROUPS = 100_000
MAX_VISITED = 400_000
_MAX_DEPTH = 40
_PAGE_FILE = r"hugetlb\.[0-9]{1,5}[KMGTP]?B\.(max|limit_in_bytes|current|usage_in_bytes)"
_ON_NODE = r" N([0-9]{1,4})=([0-9]{1,20})(?= |$)"
_UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40, "PB": 1 << 50}
_EXCLUSIVE = "cpuset.cpus.exclusive"
_PARTITIONS = frozenset({"root", "isolated"})
_V1_NO_LIMIT = 1 << 62
"""The v1 limit from which on the kernel means "no limit"."""


class CpusetValues(Record):
    """A cgroup's CPU set: what was requested, and what is in effect.

    ``cpus`` and ``mems`` are empty on v2 if the parent's apply; a value is None if there is no such file.
    ``partition`` is v2's, as written: ``member``, ``root``, ``isolated``, or why it is invalid. ``exclusive``
    and ``effective_exclusive`` are v2's since Linux 6.7: CPUs that only partitions may take.
    """

    cpus: CPUSet | None = None
    effective: CPUSet | None = None
    mems: CPUSet | None = None
    effective_mems: CPUSet | None = None
    partition: str = ""
    exclusive: CPUSet | None = None
    effective_exclusive: CPUSet | None = None

    @property
    def is_partition(self) -> bool:
        """Whether it is the root of a partition that the kernel reports as valid."""
        return self.partition in _PARTITIONS

    @property
    def invalid_partition(self) -> str:
        """Why the kernel has not made the requested partition; empty otherwise."""
        kind, _, why = self.partition.partition(" invalid")
        return (why.strip(" ()") or "no reason given") if kind != self.partition else ""

    @property
    def taken(self) -> CPUSet:
        """The CPUs that a valid partition has taken from the groups above it, and so from all others.

        Rule: *cgroup-v2.rst*, ``cpuset.cpus.exclusive.effective``; older kernels have ``effective`` alone.
        """
        if not self.is_partition:
            return CPUSet()
        return self.effective_exclusive or self.effective or self.cpus or CPUSet()


class CpuValues(Record):
    """A group's share of CPU time: ``shares`` on v1 or ``weight`` on v2; quota and period in us.

    ``quota`` is None if nothing limits it, and if the file is not there ``period`` is None, too.
    """

    shares: int | None = None
    weight: int | None = None
    quota: int | None = None
    period: int | None = None


class PagesUsed(Record):
    """The bytes of huge pages that a group and its descendants use; by NUMA node if the kernel reports it."""

    total: int
    by_node: Mapping[int, int] | None = None


class MemoryValues(Record):
    """A group's memory bounds in bytes; None if there is no bound, or no such file.

    ``known``: the group has such files. ``hugepages`` are limits by page size, both in bytes;
    ``hugepages_used`` has only the sizes with known values.
    """

    known: bool = True
    limit: int | None = None
    high: int | None = None
    low: int | None = None
    minimum: int | None = None
    hugepages: Mapping[int, int | None] = {}
    hugepages_used: Mapping[int, PagesUsed] = {}


class Cgroup(NamedTuple):
    """One group at or below ``kubepods``; ``path`` begins with a slash, at its hierarchy's root."""

    path: str
    role: Role
    cpuset: CpusetValues
    cpu: CpuValues
    memory: MemoryValues

    @property
    def parent(self) -> str:
        """The path of the group above."""
        return self.path.rpartition("/")[0] or "/"


def driver_quota(quota: int, period: int, driver: Driver) -> int:
    """Return the quota that a driver writes (us, as *period*): systemd rounds up to hundredths of a CPU."""
    return quota if driver is Driver.CGROUPFS else systemd_quota(quota, period)


def no_progress(_done: int) -> None:
    """Report nothing."""


class Groups(NamedTuple):
    """The groups of a node: the ``kubelet``'s at or below any ``kubepods``, parents first.

    ``others`` are the CPU sets of those outside that have their own list, or are to be a partition, by
    path, and of the root.
    """

    kubelet: tuple[Cgroup, ...]
    others: Mapping[str, CpusetValues]


def read_groups(
    tree: Tree,
    hierarchies: Hierarchies,
    progress: Callable[[int], None] = no_progress,
    pods: Container[str] | None = None,
) -> Groups:
    """Read every group of the kubelet, and the CPU sets of the others, by path.

    If *pods* are given, by UID, the groups of other pods are left out, as are groups that vanish meanwhile.
    Raise InputError for a file that is not the kernel's, and if there are more groups than any node
    has.
    """
    reader = _Reader(tree, hierarchies)
    found: list[Cgroup] = []
    others: dict[str, CpusetValues] = {}
    for path, names in _walk(tree, hierarchies.cpuset or hierarchies.cpu, pods):
        role = role_of(path)
        if role is None:
            cpuset = reader.cpuset(path, names)
            if path == "/" or cpuset.cpus or cpuset.exclusive or cpuset.partition not in ("", "member"):
                others[path] = cpuset
        else:
            found.append(reader.read(path, role, names))
            progress(len(found))
            if len(found) > MAX_GROUPS:
                raise InputError(f"contains more than {MAX_GROUPS} kubelet cgroups", where=hierarchies.cpuset)
    return Groups(tuple(found), others)


def _walk(tree: Tree, root: str, pods: Container[str] | None) -> Iterator[tuple[str, Sequence[str]]]:
    """Walk a hierarchy, siblings in order of their names, each group before its children."""
    waiting, visited = [("", 0)], 0
    while waiting:
        path, depth = waiting.pop()
        if pods is not None and (role := role_of(path)) and role.uid and role.uid not in pods:
            continue
        names = tree.names(root + path)
        visited += 1
        if visited > MAX_VISITED:
            raise InputError(f"contains more than {MAX_VISITED} cgroups", where=root)
        groups = [name for name in names if not is_interface_file(name)] if depth < _MAX_DEPTH else []
        waiting.extend((f"{path}/{name}", depth + 1) for name in reversed(groups))
        yield path or "/", names


class _Reader:
    """Reads the files of one group, from one or several hierarchies."""

    def __init__(self, tree: Tree, hierarchies: Hierarchies) -> None:
        self.tree = tree
        self.at = hierarchies

    def read(self, path: str, role: Role, names: Sequence[str]) -> Cgroup:
        two = self.at.version == 2
        return Cgroup(
            path=path,
            role=role,
            cpuset=self.cpuset(path, names),
            cpu=self._cpu_v2(path) if two else self._cpu_v1(path),
            memory=self._memory_v2(path, names) if two else self._memory_v1(path),
        )

    def cpuset(self, path: str, names: Sequence[str]) -> CpusetValues:
        """Read the CPU set of a group whose files have these *names*."""
        two = self.at.version == 2
        effective = ("cpuset.cpus.effective", "cpuset.mems.effective")
        if not two:
            effective = ("cpuset.effective_cpus", "cpuset.effective_mems")
        return CpusetValues(
            cpus=self._list(path, "cpuset.cpus"),
            effective=self._list(path, effective[0]),
            mems=self._list(path, "cpuset.mems"),
            effective_mems=self._list(path, effective[1]),
            partition=(self._text(self.at.cpuset, path, "cpuset.cpus.partition") or "") if two else "",
            exclusive=self._list(path, _EXCLUSIVE) if _EXCLUSIVE in names else None,
            effective_exclusive=(
                self._list(path, f"{_EXCLUSIVE}.effective") if f"{_EXCLUSIVE}.effective" in names else None
            ),
        )

    def _cpu_v2(self, path: str) -> CpuValues:
        quota, _, period = (self._text(self.at.cpu, path, "cpu.max") or "").partition(" ")
        return CpuValues(
            weight=self._number(self.at.cpu, path, "cpu.weight"),
            quota=_amount(quota, path, "cpu.max"),
            period=_amount(period, path, "cpu.max"),
        )

    def _cpu_v1(self, path: str) -> CpuValues:
        quota = self._number(self.at.cpu, path, "cpu.cfs_quota_us")
        return CpuValues(
            shares=self._number(self.at.cpu, path, "cpu.shares"),
            quota=None if quota == -1 else quota,
            period=self._number(self.at.cpu, path, "cpu.cfs_period_us"),
        )

    def _memory_v2(self, path: str, names: Sequence[str]) -> MemoryValues:
        root = self.at.memory
        return MemoryValues(
            known="memory.max" in names,
            limit=self._number(root, path, "memory.max"),
            high=self._number(root, path, "memory.high"),
            low=self._number(root, path, "memory.low"),
            minimum=self._number(root, path, "memory.min"),
            hugepages={
                size: self._number(self.at.hugetlb, path, name) for size, name in _page_files(names, ".max")
            },
            hugepages_used=self._pages_used(path, names, ".current"),
        )

    def _memory_v1(self, path: str) -> MemoryValues:
        names = self.tree.names(self.at.hugetlb + path) if self.at.hugetlb else ()
        return MemoryValues(
            known=self._text(self.at.memory, path, "memory.limit_in_bytes") is not None,
            limit=self._v1_limit(self.at.memory, path, "memory.limit_in_bytes"),
            hugepages={
                size: self._v1_limit(self.at.hugetlb, path, name)
                for size, name in _page_files(names, ".limit_in_bytes")
            },
            hugepages_used=self._pages_used(path, names, ".usage_in_bytes"),
        )

    def _pages_used(self, path: str, names: Sequence[str], suffix: str) -> dict[int, PagesUsed]:
        """Read the usage and, since Linux 5.17, its NUMA nodes: the last line includes the groups below."""
        found = {}
        for size, name in _page_files(names, suffix):
            total = self._number(self.at.hugetlb, path, name)
            statistics = self._text(self.at.hugetlb, path, f"{name.removesuffix(suffix)}.numa_stat") or ""
            nodes = re.findall(_ON_NODE, statistics.rpartition("\n")[2], re.ASCII)
            if total is not None:
                by_node = {int(node): int(used) for node, used in nodes}
                found[size] = PagesUsed(total, by_node or None)
        return found

    def _v1_limit(self, root: str, path: str, name: str) -> int | None:
        limit = self._number(root, path, name)
        return None if limit is None or limit >= _V1_NO_LIMIT else limit

    def _list(self, path: str, name: str) -> CPUSet | None:
        text = self._text(self.at.cpuset, path, name)
        if text is None:
            return None
        try:
            return within_limit(CPUSet.parse(text))
        except ValueError as error:
            raise InputError(
                f"is not a valid kernel CPU list: {list_problem(error)}",
                where=f"{self.at.cpuset}{path}/{name}",
                hint=RECORD_AGAIN,
            ) from None

    def _number(self, root: str, path: str, name: str) -> int | None:
        return _amount(self._text(root, path, name) or "", path, name)

    def _text(self, root: str, path: str, name: str) -> str | None:
        text = self.tree.read(f"{root}{path.rstrip('/')}/{name}") if root else None
        return None if text is None else text.strip()


def _amount(text: str, path: str, name: str) -> int | None:
    """Read a number; ``max`` and a missing file mean None."""
    if text in ("", "max"):
        return None
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 20):
        raise InputError(f"expected a number or max, found {text[:40]!r}", where=f"{path}/{name}")
    return int(text)


def _page_files(names: Sequence[str], suffix: str) -> list[tuple[int, str]]:
    """Find the limits of huge pages among a group's files, by page size in bytes."""
    limits = [name for name in names if name.startswith("hugetlb.") and name.endswith(suffix)]
    files = [name for name in limits if re.fullmatch(_PAGE_FILE, name, re.ASCII)]
    return sorted((_page_size(name.split(".")[1]), name) for name in files)


def _page_size(word: str) -> int:
    """Read ``2MB`` as bytes."""
    digits = word.rstrip("BKMGTP")
    return int(digits) * _UNITS[word.removeprefix(digits)]
