"""The observer's copies of the kernel's files, read here without cpuctl's help."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

Counters = dict[str, tuple[float, dict[str, float]]]
"""Counters by subject: the time of the copy, and the counters whose growth is added up."""
Fact = tuple[str, str]
"""A fault of the node: an audit's code for it, and its subject."""

_EXCLUSIVE_POD = "/kubepods.slice/kubepods-pod"
_MIB = 1024
"""KiB; this much memory on other nodes is acceptable, as documented."""


def cpus_of(text: str) -> frozenset[int]:
    """Read the kernel's list format."""
    found: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def cpus_of_mask(text: str) -> frozenset[int]:
    """Read the kernel's hexadecimal masks."""
    bits = int(text.strip().replace(",", ""), 16)
    return frozenset(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)


class Round(NamedTuple):
    """One round of the observer; ``raw`` is its unchanged output."""

    raw: Mapping[str, Any]

    @property
    def at(self) -> float:
        """When the round began."""
        return float(self.raw["at"])

    @property
    def until(self) -> float:
        """When the round ended."""
        return float(self.raw["until"])

    @property
    def thorough(self) -> bool:
        """Whether all threads and groups were read."""
        return "tasks" in self.raw

    def copy(self, path: str, group: str = "") -> tuple[float, str] | None:
        """Return the time and the text of a file, or of one of a control group."""
        files = self.raw["groups"].get(group, {}).get("files", {}) if group else self.raw["files"]
        found = files.get(path)
        return None if found is None else (float(found[0]), str(found[1]))

    def text(self, path: str, group: str = "") -> str:
        """Return the text of a file, empty if there was none."""
        found = self.copy(path, group)
        return found[1] if found else ""

    def sha256(self, path: str) -> str:
        """Return the checksum of a file's text."""
        return hashlib.sha256(self.text(path).encode()).hexdigest()

    @property
    def entries(self) -> dict[str, dict[str, str]]:
        """The exclusive CPUs in the kubelet's state, by the pod's UID and the container."""
        state = json.loads(self.text("/var/lib/kubelet/cpu_manager_state"))
        return dict(state.get("entries") or {})

    @property
    def pool(self) -> str:
        """The shared pool in the kubelet's state."""
        return str(json.loads(self.text("/var/lib/kubelet/cpu_manager_state"))["defaultCpuSet"])

    @property
    def exclusive(self) -> frozenset[int]:
        """All exclusive CPUs according to the kubelet's state."""
        return frozenset().union(*(cpus_of(cpus) for pod in self.entries.values() for cpus in pod.values()))

    def facts(self) -> frozenset[Fact]:
        """Return the node's faults, by rules as short as in the documentation."""
        return frozenset((*self._hardware(), *self._groups(), *self._threads(), *self._interrupts()))

    def _hardware(self) -> Iterator[Fact]:
        online = cpus_of(self.text("/sys/devices/system/cpu/online"))
        for cpu in (self.exclusive | cpus_of(self.pool)) - online:
            yield "cpus-offline", str(cpu)

    def _groups(self) -> Iterator[Fact]:
        holders = {f"pod{uid.replace('-', '_')}.slice" for uid in self.entries}
        for path in self.raw["groups"]:
            quota = self.text("cpu.max", path).split()
            if quota and quota[0] != "max" and any(holder in path for holder in holders):
                yield "quota-on-exclusive", path
            # If a group's CPUs are offline, its remaining CPUs are effective.
            configured = cpus_of(self.text("cpuset.cpus", path))
            wanted = self._due(path)
            if wanted is not None and configured and configured != wanted:
                yield "cpuset-differs", path
        for pid, amounts in self.raw.get("memory", {}).items():
            path = self.raw["tasks"][pid]["group"]
            allowed = cpus_of(self.text("cpuset.mems.effective", path))
            if sum(kib for node, kib in amounts.items() if int(node) not in allowed) > _MIB:
                yield "memory-spill", path

    def _due(self, path: str) -> frozenset[int] | None:
        """Return the CPUs that the state has for a container's group; None for other groups."""
        if not path.endswith(".scope"):
            return None
        for uid, containers in self.entries.items():
            # In these pods, only the container has exclusive CPUs, and a sandbox belongs to no container.
            if uid.replace("-", "_") in path and len(containers) == 1 and self.raw["groups"][path]["threads"]:
                return None if "cri-containerd-a0" in path else cpus_of(next(iter(containers.values())))
        return None

    def _threads(self) -> Iterator[Fact]:
        for tid, task in self.raw.get("tasks", {}).items():
            if task["kernel"] or not cpus_of(task["allowed"]) & self.exclusive:
                continue
            if not task["group"].startswith("/kubepods.slice/"):
                yield "foreign-processes", tid

    def _interrupts(self) -> Iterator[Fact]:
        for number in self.acting():
            comes = cpus_of(self.text(f"/proc/irq/{number}/effective_affinity_list"))
            may = cpus_of(self.text(f"/proc/irq/{number}/smp_affinity_list"))
            # An interrupt that may no longer arrive there stays until its next event, and moves with that.
            if comes & may & self.exclusive:
                yield "interrupt", number
            elif may & self.exclusive:
                yield "interrupts-allowed", number
        if cpus_of_mask(self.text("/proc/irq/default_smp_affinity")) & self.exclusive:
            yield "interrupts-default", ""
        if cpus_of_mask(self.text("/sys/devices/virtual/workqueue/cpumask")) & self.exclusive:
            yield "kernel-work", ""

    def acting(self) -> Iterator[str]:
        """Return the interrupts with a handler, which follows controller and trigger.

        0, the early boot timer, is left out.
        """
        heading, *lines = self.text("/proc/interrupts").splitlines()
        columns = len(heading.split())
        for line in lines:
            words = line.split()
            if words[0][:-1].isdigit() and words[0] != "0:" and len(words) > columns + 3:
                yield words[0][:-1]

    def kernel_threads(self) -> dict[str, frozenset[int]]:
        """Return where the kernel's own threads may run, by their names."""
        tasks = self.raw.get("tasks", {}).values()
        return {task["comm"]: cpus_of(task["allowed"]) for task in tasks if task["kernel"]}


def read_rounds(path: Path) -> list[Round]:
    """Read the observer's output; the last line may be cut off, because the observer was killed."""
    rounds: list[Round] = []
    with gzip.open(path) as file, suppress(EOFError, ValueError):
        rounds.extend(Round(json.loads(line)) for line in file)
    return rounds


Counting = Callable[[Round], Counters]


def pairs(text: str) -> dict[str, float]:
    """Parse lines of a name and a number."""
    words = (line.split() for line in text.splitlines())
    return {each[0]: float(each[1]) for each in words if len(each) == 2}


def busy(found: Round) -> Counters:
    """Return the seconds in which each CPU was not idle, since some moment."""
    copied = found.copy("/proc/stat")
    assert copied is not None
    at, text = copied
    counters: Counters = {}
    for line in text.splitlines()[1:]:
        name, *fields = line.split()
        idle = (int(fields[3]) + int(fields[4]) + int(fields[7])) / 100
        counters[name.removeprefix("cpu")] = (at, {"": at - idle})
    return counters


def waited_on_cpus(found: Round) -> Counters:
    """Seconds for which tasks have waited on each CPU's run queue."""
    copied = found.copy("/proc/schedstat")
    assert copied is not None
    at, text = copied
    lines = (line.split() for line in text.splitlines() if re.match(r"cpu\d", line))
    return {line[0].removeprefix("cpu"): (at, {"": int(line[8]) / 1e9}) for line in lines}


def interrupts(found: Round) -> Counters:
    """The number of device interrupts on each CPU."""
    copied = found.copy("/proc/interrupts")
    assert copied is not None
    at, text = copied
    heading, *lines = text.splitlines()
    cpus = [word.removeprefix("CPU") for word in heading.split()]
    counters: Counters = {cpu: (at, {}) for cpu in cpus}
    for line in lines:
        name, *words = line.split()
        if name[:-1].isdigit():
            for cpu, count in zip(cpus, words, strict=False):
                counters[cpu][1][name] = int(count)
    return counters


def of_groups(name: str, divisor: float = 1.0, *, above: bool = False) -> Counting:
    """Make a function that reads one number of the cpu.stat of each Guaranteed container's group.

    *above*: or of its pod's, if that is more.
    """

    def read(found: Round) -> Counters:
        counters: Counters = {}
        for path in containers(found):
            copied = found.copy("cpu.stat", path)
            if copied is None:
                continue
            value = pairs(copied[1]).get(name, 0.0)
            if above:
                value = max(value, pairs(found.text("cpu.stat", path.rpartition("/")[0])).get(name, 0.0))
            counters[path] = (copied[0], {"": value / divisor})
        return counters

    return read


def containers(found: Round) -> list[str]:
    """Return the groups of containers in Guaranteed pods."""
    return [path for path in found.raw["groups"] if path.startswith(_EXCLUSIVE_POD) and ".scope" in path]


def of_threads(name: str, divisor: float = 1.0) -> Counting:
    """Make a function that reads a counter of each thread of the containers in Guaranteed pods."""

    def read(found: Round) -> Counters:
        counters: Counters = {}
        for path in containers(found):
            counts = found.raw["groups"][path]["counts"]
            known = {tid: each[name] / divisor for tid, each in counts.items() if each[name] is not None}
            if known:
                at = sum(each["at"] for each in counts.values()) / len(counts)
                counters[path] = (at, known)
        return counters

    return read


def stalled(found: Round) -> Counters:
    """Seconds in which some thread waited: of the node, of all pods, of a class, of containers."""
    names = {"node": "", "pods": "/kubepods.slice", "burstable": "/kubepods.slice/kubepods-burstable.slice"}
    counters: Counters = {}
    for name, path in {**names, **{path: path for path in containers(found)}}.items():
        copied = found.copy("cpu.pressure" if path else "/proc/pressure/cpu", path)
        if copied is not None:
            total = re.search(r"some .*total=(\d+)", copied[1])
            assert total is not None
            counters[name] = (copied[0], {"": int(total[1]) / 1e6})
    return counters


def numa(name: str) -> Counting:
    """Make a function that reads a number of pages of each NUMA node."""

    def read(found: Round) -> Counters:
        counters: Counters = {}
        for path in found.raw["files"]:
            if (node := re.fullmatch(r".*/node(\d+)/numastat", path)) and (copied := found.copy(path)):
                counters[node[1]] = (copied[0], {"": pairs(copied[1])[name]})
        return counters

    return read


def ran(tid: int, key: str) -> Counting:
    """Make a function that reads the seconds of CPU time of one thread, under some key."""

    def read(found: Round) -> Counters:
        task = found.raw["outside"].get(str(tid))
        return {key: (float(task["at"]), {"": task["ran"] / 1e9})} if task else {}

    return read
