"""The small node of the audit's tests while it runs: its files on disk, with counters that tests advance."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cpuctl.answering.top_answer import current
from cpuctl.cgroups.names import Driver
from cpuctl.inputs.live_node import NodeInputs
from cpuctl.inputs.sources import Sources
from cpuctl.operations.top import RunningNode, load_running_node
from tests.audit.node_tree import PODS, NodeTree, clean_node, with_kubelet_files

_TICKS = 100
"""One second."""
CPUS = range(8)
SERVER_THREADS = (90, 91)


def counting_node(version: int = 2) -> NodeTree:
    return with_kubelet_files(clean_node(version, Driver.SYSTEMD if version == 2 else Driver.CGROUPFS))


@dataclass
class Running:
    """A node below a directory. ``missing`` are parts of the paths of files that its kernel does not have."""

    root: Path
    tree: NodeTree
    missing: tuple[str, ...] = ()
    now: float = 100.0
    spent: dict[int, dict[str, float]] = field(default_factory=dict)
    used: float = 5.0
    throttled: tuple[int, float] = (0, 0.0)
    came: dict[str, dict[int, int]] = field(default_factory=dict)
    ran: dict[int, float] = field(default_factory=dict)
    on: dict[int, int] = field(default_factory=lambda: {90: 1, 91: 5})
    waited: dict[int, float] = field(default_factory=dict)
    moved: dict[int, int] = field(default_factory=dict)
    stalled: float = 1.0
    missed: int = 7
    offline: tuple[int, ...] = ()
    group: str = ""
    """The path of the database's container, if it is not the first one any more."""

    def write(self) -> None:
        """Write the current values, in place, as a kernel's files change."""
        self.tree.files |= self._counters()
        for path, text in self.tree.files.items():
            if any(part in path for part in self.missing):
                continue
            file = self.root / path
            if not file.exists() or file.read_text() != text:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)

    def start(self, *, thorough: bool = False) -> RunningNode:
        """Observe it for the first time."""
        self.write()
        (self.root / "pods.json").write_text(json.dumps(PODS))
        inputs = NodeInputs(root=str(self.root), pods=str(self.root / "pods.json"))
        node = load_running_node(inputs, Sources(), thorough=thorough)
        node._clock = lambda: self.now
        node._sampler._clock = lambda: self.now
        node._discovered = self.now
        assert node.take() is None
        return node

    def pass_time(self, seconds: float, busy: Mapping[int, Mapping[str, float]] = {}) -> None:
        """Let time pass in which CPUs spend parts of it on given work; the rest they are idle."""
        self.now += seconds
        for cpu in CPUS:
            shares = busy.get(cpu, {})
            spent = self.spent.setdefault(cpu, {})
            for name, part in {**shares, "idle": 1 - sum(shares.values())}.items():
                spent[name] = spent.get(name, 0.0) + part * seconds * _TICKS

    @property
    def online(self) -> list[int]:
        """The CPUs that are online."""
        return [cpu for cpu in CPUS if cpu not in self.offline]

    def _counters(self) -> dict[str, str]:
        files = {
            "proc/stat": self._stat(),
            "proc/schedstat": "version 15\ntimestamp 1\n"
            + "".join(f"cpu{cpu} 0 0 0 0 0 0 1000 {cpu * 1000} 5\ndomain0 ff 1 2 3\n" for cpu in self.online),
            "sys/devices/system/cpu/online": ",".join(map(str, self.online)) + "\n",
            "proc/interrupts": self._interrupts(),
            "proc/pressure/cpu": self._pressure(),
            "proc/sys/kernel/hostname": "node7\n",
        }
        for node in (0, 1):
            files[f"sys/devices/system/node/node{node}/numastat"] = (
                f"numa_hit 100\nnuma_miss 3\nnuma_foreign {self.missed}\nother_node 1\n"
            )
        return files | self._group_counters() | self._thread_counters()

    def _stat(self) -> str:
        names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
        lines = ["cpu 1 2 3 4 5 6 7 8 9 10"]
        for cpu in self.online:
            spent = self.spent.get(cpu, {})
            lines.append(f"cpu{cpu} " + " ".join(str(round(1000 + spent.get(name, 0))) for name in names))
        return "\n".join([*lines, "intr 12345 0 0", "ctxt 5", ""])

    def _interrupts(self) -> str:
        titles = {
            "24": "PCI-MSI 524288-edge      eth0",
            "25": "PCI-MSI 1-edge nvme0q1",
            "LOC": "Local timer interrupts",
        }
        lines = ["     " + "".join(f"{f'CPU{cpu}':>11}" for cpu in self.online)]
        for name, title in titles.items():
            counts = "".join(f"{10 + self.came.get(name, {}).get(cpu, 0):>11}" for cpu in self.online)
            lines.append(f"{name:>4}:{counts}   {title}")
        return "\n".join([*lines, "ERR:          0", ""])

    def _pressure(self) -> str:
        total = round(self.stalled * 1e6)
        averages = "avg60=0.00 avg300=0.00"
        return f"some avg10=1.50 {averages} total={total}\nfull avg10=0.00 {averages} total=0\n"

    def _group_counters(self) -> dict[str, str]:
        at, group = self.tree.at("cpu"), self.group or self.tree.server
        periods, seconds = self.throttled
        quota = f"nr_periods 9\nnr_throttled {periods}\n"
        if self.tree.version == 1:
            return {
                f"{at}{group}/cpuacct.usage": f"{round(self.used * 1e9)}\n",
                f"{at}{group}/cpu.stat": f"{quota}throttled_time {round(seconds * 1e9)}\n",
                f"{self.tree.at('cpuset')}{group}/tasks": "".join(f"{tid}\n" for tid in SERVER_THREADS),
            }
        used = f"usage_usec {round(self.used * 1e6)}\nuser_usec 1\nsystem_usec 1\n"
        return {
            f"{at}{group}/cpu.stat": f"{used}{quota}throttled_usec {round(seconds * 1e6)}\n",
            f"{at}{group}/cpu.pressure": self._pressure(),
            f"{at}{group}/cgroup.threads": "".join(f"{tid}\n" for tid in SERVER_THREADS),
            f"{at}/kubepods.slice/cpu.pressure": self._pressure(),
        }

    def _thread_counters(self) -> dict[str, str]:
        files: dict[str, str] = {}
        for path in list(self.tree.files):
            parts = path.split("/")
            if len(parts) == 5 and parts[0] == "proc" and parts[2] == "task":
                files |= self._thread(int(parts[1]), int(parts[3]))
        return files

    def _thread(self, pid: int, tid: int) -> dict[str, str]:
        ran, kernel = round(self.ran.get(tid, 1.0) * 1e9), 0x20_0000 if pid < 60 and pid != 1 else 0
        name = self.tree.files[f"proc/{pid}/task/{tid}/status"].splitlines()[0].split("\t")[1]
        ticks = round(self.ran.get(tid, 1.0) * _TICKS)
        schedstat = f"{ran} {round(self.waited.get(tid, 0.0) * 1e9)} 7\n"
        stat = (
            f"{tid} ({name}) S 1 1 1 0 -1 {kernel} 0 0 0 0 {ticks} 0 0 0 20 0 1 0 55 {'0 ' * 15}17 "
            f"{self.on.get(tid, 0)} 0 0 0 0 0\n"
        )
        return {
            f"proc/{pid}/task/{tid}/stat": stat,
            f"proc/{pid}/task/{tid}/schedstat": schedstat,
            f"proc/{tid}/schedstat": schedstat,
            f"proc/{tid}/sched": f"{name} ({tid}, #threads: 1)\nnr_migrations :  {self.moved.get(tid, 0)}\n",
        }


def moments_of(running: Running, count: int) -> list[Any]:
    """Observe a node for some seconds, in which CPU 1 becomes increasingly busy."""
    node, documents = running.start(), []
    for number in range(count):
        running.pass_time(1, {1: {"user": number / count}})
        running.write()
        window = node.take()
        assert window is not None
        documents.append(current(node.top, window, Sources().entries))
    return documents
