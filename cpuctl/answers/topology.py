"""The answer of ``cpuctl topology``."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict, final

from cpuctl.answers.start import Start
from cpuctl.answers.values import ApiVersion, Bounds, Count, CPUList, Found, Graded, Pattern, Sources

PageSize = Annotated[str, Pattern("^[1-9][0-9]*[KMG]i$")]
HugePages = Annotated[dict[PageSize, Count], "Number of huge pages by page size."]
CoreType = Literal["performance", "efficiency"]
ColumnName = Literal[
    "CPU",
    "NODE",
    "SOCKET",
    "CORE",
    "L1D",
    "L1I",
    "L2",
    "L3",
    "ONLINE",
    "TYPE",
    "SIBLINGS",
    "ISOLATED",
    "NOHZ",
    "CAPACITY",
    "MAXKHZ",
    "MINKHZ",
    "KUBELET-NODE",
    "KUBELET-SOCKET",
    "KUBELET-CORE",
    "KUBELET-L3",
]


class _Chosen(TypedDict, total=False):
    columns: list[ColumnName]
    """Only with --columns: the requested ones."""
    memory: Memory
    """Only with --numa-memory: memory as the kubelet's Memory Manager counts it before it has pods."""


class Topology(_Chosen):
    """A machine as its kernel describes it, with the kubelet's counts."""

    apiVersion: ApiVersion
    kind: Literal["Topology"]
    sources: Sources
    summary: Summary
    kubelet: KubeletView | Unseen
    numaNodes: list[NumaNode]
    sockets: list[Socket]
    caches: list[Cache]
    cpus: list[CPU]
    findings: list[Finding]
    """What is unusual, and what it means for the kubelet."""


class Finding(Graded, Found):
    """Warnings are about what the kubelet interprets differently than expected; notes are informational."""

    file: str
    """The kernel's file; an asterisk stands for many CPUs or nodes; may be empty."""


class Summary(TypedDict):
    model: str | None
    architecture: str | None
    cpus: Count
    online: CPUList
    offline: CPUList
    present: CPUList | None
    possible: CPUList | None
    isolated: CPUList
    nohzFull: CPUList
    cores: int | None
    """Null if not recorded."""
    threadsPerCore: list[Count]
    """Empty if cores are not recorded."""
    sockets: int | None
    """Null if not recorded."""
    numaNodes: int | None
    """Null if not recorded."""
    l3Caches: int | None
    """Null if not recorded."""
    performanceCPUs: CPUList | None
    efficiencyCPUs: CPUList | None
    coreKindsGuessed: bool
    """Whether performance and efficiency CPUs are guessed from the maximum frequency, because the kernel does
    not report kinds.
    """
    memoryBytes: int | None
    hugepages: HugePages
    hugepagesRecorded: bool
    """Whether huge pages are recorded; if not, an empty list means unknown, not none."""
    synthetic: str | None
    """The machine as one line, for -m."""
    whyNotSynthetic: str | None


class TopologyCounts(TypedDict):
    cpus: Count
    cores: Count
    sockets: Count
    numaNodes: Count
    uncoreCaches: Count | None
    """Null if caches are not recorded."""
    cpusPerCore: Count


@final
class KubeletView(TopologyCounts):
    differences: list[str]
    """Where the kubelet's view of the CPUs differs from the kernel's."""
    labels: dict[str, KubeletLabel]
    """The kubelet's own numbers, by CPU; a core is its smallest CPU number."""


class KubeletLabel(TypedDict):
    node: int
    socket: int
    core: int
    uncoreCache: int | None
    """Null if caches are not recorded."""


@final
class Unseen(TypedDict):
    """Why there is no view: the kubelet does not accept the machine, or what it needs is not recorded."""

    error: str


class NumaNode(TypedDict):
    id: Annotated[int, Bounds(0, 1023)]
    cpus: CPUList
    memoryBytes: int | None
    freeBytes: int | None
    hugepages: HugePages
    freeHugepages: HugePages
    distances: list[Count]
    """Relative distances to the NUMA nodes, in their order; 10 is the node itself."""


class Socket(TypedDict):
    id: int
    cpus: CPUList


class Cache(TypedDict):
    level: int | None
    type: str
    id: int | None
    sizeBytes: int | None
    cpus: CPUList


class PlacedCPU(TypedDict):
    cpu: Count
    online: bool
    node: int | None
    socket: int | None
    core: int | None
    l3: int | None


class CPU(PlacedCPU):
    """A CPU of a machine. Cores and caches are numbered from 0 by their lowest CPU."""

    siblings: CPUList | None
    type: CoreType | None
    typeGuessed: bool
    """Whether the type is guessed from the maximum frequency, because the kernel does not report it."""
    isolated: bool
    nohzFull: bool
    capacity: int | None
    """The kernel's cpu_capacity: 1024 for the strongest CPUs."""
    maxKHz: int | None
    minKHz: int | None
    l1d: int | None
    l1i: int | None
    l2: int | None


class Marks(TypedDict):
    shared: bool
    marks: list[str]
    """One mark for each pod that holds the CPU."""


class HeldCPU(PlacedCPU, Marks):
    """A CPU of a machine, and its owner in the kubelet's state file."""


class HeldMap(TypedDict):
    cpus: list[HeldCPU]
    notOnMachine: CPUList
    """CPUs in the state file that the machine does not have."""


class PicturedCPU(CPU, Marks):
    """A CPU in a picture of a plan."""


class Memory(TypedDict):
    policy: str
    """memoryManagerPolicy; only the policy Static accounts for memory."""
    start: Start
    """Whether the kubelet would start with this configuration."""
    amounts: list[Amounts]
    """In bytes, by NUMA node and resource."""


class Amounts(TypedDict):
    numaNode: int
    resource: str
    total: int | None
    """Null if not recorded."""
    reserved: int
    """Memory reserved by reservedMemory."""
    hugePages: int | None
    """Memory used for huge pages; null if they are not recorded."""
    allocatable: int | None
    """What pods can get; null if the kubelet's number has wrapped around or is unknown."""
    overcommitted: Count
    """By how much reservations and huge pages exceed the total."""
    free: int | None
    """Free memory now, according to the kernel; null if not recorded."""


class PCIDevices(TypedDict):
    """The table of ``topology devices``; other formats print a file for --devices."""

    pci: list[PCIDevice]


class PCIDevice(TypedDict):
    address: str
    kind: str
    vendor: str
    device: str
    numaNode: int | None
    virtual: bool
    resource: str | None
