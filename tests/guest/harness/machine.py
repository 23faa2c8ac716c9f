"""The hardware of a guest, and QEMU's options for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Cgroup = Literal["v2", "v1", "hybrid"]

# An Intel name makes QEMU describe caches per die (CPUID leaf 4), which Linux shows in sysfs; under
# emulation AMD's models lose their threads.
_CPU_MODEL = "max,vendor=GenuineIntel,family=6,model=106,stepping=6,l3-cache=on"

# Quiet, no second probe for hardware that does not exist, and no watchdog for emulated CPUs.
_KERNEL_PARAMETERS = (
    "console=ttyS0 quiet loglevel=4 panic=-1 nokaslr mitigations=off audit=0 selinux=0 apparmor=0 "
    "random.trust_cpu=on nowatchdog rcupdate.rcu_cpu_stall_suppress=1 tsc=reliable no_timer_check"
)


@dataclass(frozen=True, slots=True)
class GuestNode:
    """A NUMA node: CPUs in the list format (may be empty) and memory in MiB (may be 0)."""

    cpus: str
    mib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestMachine:
    """A machine to boot: siblings are neighbours, every die has its own L3 cache.

    ``distances`` is the whole square, or empty for the kernel's defaults. ``parameters`` are added to the
    kernel's command line (``isolcpus=3``). Nodes need 400 MiB in all.
    """

    sockets: int
    dies: int = 1
    cores: int
    threads: int
    nodes: tuple[GuestNode, ...]
    distances: tuple[tuple[int, ...], ...] = ()
    cgroup: Cgroup = "v2"
    parameters: str = ""

    @property
    def cpus(self) -> int:
        """The number of CPUs."""
        return self.sockets * self.dies * self.cores * self.threads

    def kernel_parameters(self) -> str:
        """Return the kernel's command line; ``init`` reads the cgroup version from it."""
        return f"{_KERNEL_PARAMETERS} guest_cgroup={self.cgroup} {self.parameters}".rstrip()

    def qemu_words(self) -> Iterator[str]:
        """Yield QEMU's options for CPUs, memory and NUMA nodes."""
        shape = f"sockets={self.sockets},dies={self.dies},cores={self.cores},threads={self.threads}"
        yield from ("-cpu", _CPU_MODEL, "-smp", f"{self.cpus},{shape}")
        yield from ("-m", f"{sum(node.mib for node in self.nodes)}M")
        for number, node in enumerate(self.nodes):
            yield from _node_words(number, node)
        for source, row in enumerate(self.distances):
            for target, distance in enumerate(row):
                if source != target:
                    yield from ("-numa", f"dist,src={source},dst={target},val={distance}")


def even_nodes(count: int, *, cpus: int, mib: int) -> tuple[GuestNode, ...]:
    """Return *count* nodes with *cpus* consecutive CPUs and *mib* MiB each."""
    return tuple(GuestNode(f"{first}-{first + cpus - 1}", mib) for first in range(0, count * cpus, cpus))


def _node_words(number: int, node: GuestNode) -> Iterator[str]:
    words = f"node,nodeid={number}"
    if node.mib:
        yield from ("-object", f"memory-backend-ram,id=memory{number},size={node.mib}M")
        words += f",memdev=memory{number}"
    yield from ("-numa", words + "".join(f",cpus={part}" for part in node.cpus.split(",") if part))
