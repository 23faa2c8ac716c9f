"""The answer of ``cpuctl top``."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from cpuctl.answers.audit import Owner
from cpuctl.answers.values import ApiVersion, Bounds, Count, CPUList, Sources

Rate = Annotated[float, Bounds(0), "A rate per second; for times, in seconds per second: 1 is all the time."]


class Top(TypedDict):
    """The CPU use of a node over a few seconds. What the kernel does not report is null, never 0."""

    apiVersion: ApiVersion
    kind: Literal["Top"]
    sources: Sources
    node: str | None
    """The node's host name."""
    time: str
    """The end of the sample (RFC 3339)."""
    seconds: Rate
    """Length of the sample. Interrupts, run queues and threads may cover a longer time: they are read less
    often on machines with more than 128 CPUs and in containers with more than 256 threads.
    """
    cgroupVersion: Literal[1, 2] | None
    cpuManagerPolicy: str | None
    """The policy in the kubelet's state file; null if unknown."""
    containers: list[Container]
    """Containers with exclusive CPUs, in the order of their CPUs."""
    sharedPool: CPUs | None
    """Null if unknown."""
    reserved: CPUs | None
    """From the kubelet's configuration; also part of the shared pool, unless strict-cpu-reservation is set.
    """
    pressure: list[PressureOf]
    """Waiting for CPUs (PSI): the node, all pods, Burstable and BestEffort pods; empty if unknown."""
    numaNodes: list[NUMANode]
    cpus: list[CPU]
    """All online CPUs."""
    unknown: list[Unknown]


class Unknown(TypedDict):
    what: str
    """The values that are null because of it."""
    why: str


class Container(Owner):
    """A container with exclusive CPUs."""

    path: str | None
    """The container's cgroup, relative to the root of the hierarchy; null if it has none now, or if it is
    unknown.
    """
    cpus: CPUList
    numaNodes: CPUList
    """NUMA nodes of its CPUs."""
    loads: list[Rate | None]
    """Share of time that each of its CPUs was busy with any threads, in the order of the CPUs."""
    used: Rate | None
    """CPU time used by the container, in CPUs."""
    others: Rate | None
    """Time that its CPUs spent on others, in CPUs: busy time without interrupts, minus
    what it used. Accurate to about 0.02; null if it shares CPUs with another container.
    """
    steal: Rate | None
    """Time that the hypervisor took from its CPUs, in CPUs."""
    throttledPeriods: Rate | None
    """Periods per second in which it or its pod was throttled."""
    throttled: Rate | None
    """Throttled time, in seconds per second; the kernel counts each CPU that waits."""
    pressure: Pressure | None
    """Pressure of its own cgroup."""
    threads: Count | None
    runQueueDelay: Rate | None
    """Time that its threads waited for a CPU, all together, in seconds per second."""
    migrations: Rate | None
    """How often one of its threads moved to another CPU, per second."""
    foreign: list[ForeignThread] | None
    """Threads of others that ran on its CPUs; kernel threads only if they used a thousandth of
    a CPU. With --once all threads are read, otherwise in turn, over some seconds: a
    short-lived thread may be missed, but its time is counted (others).
    """
    interrupts: Interrupts | None
    numaMisses: Rate | None
    """Pages per second requested from its NUMA nodes but allocated elsewhere (numa_foreign), for all
    containers there.
    """


class ForeignThread(TypedDict):
    tid: Count
    pid: Count
    comm: str
    cgroup: str
    cpu: Count
    """The CPU that the thread ran on when it was seen."""
    kernel: bool
    used: Rate
    """CPU time of the thread since it was last read, on any CPU, in CPUs."""


class Interrupts(TypedDict):
    """Interrupts per second on its CPUs."""

    devices: Rate
    timer: Rate
    """The kernel's timer ticks; they stop with nohz_full."""
    others: Rate
    """Interrupts between CPUs: for scheduling, function calls and TLB flushes."""
    mostFrequent: list[Interrupt]
    """The most frequent device interrupts."""


class Interrupt(TypedDict):
    name: str
    """Number of the interrupt."""
    title: str
    """Description in /proc/interrupts."""
    rate: Rate


class CPUs(TypedDict):
    """Several CPUs together; shares are of their total time."""

    cpus: CPUList
    busy: Rate | None
    steal: Rate | None
    runQueueDelay: Rate | None
    """Time that threads waited there, on all CPUs together, in seconds per second."""
    interrupts: Rate | None
    """Device interrupts per second."""


class Pressure(TypedDict):
    some: Rate
    """Share of time in which some thread waited for a CPU."""
    full: Rate | None
    """Share of time in which none ran; null if the kernel does not report it."""
    average: Rate
    """Average of some over the last ten seconds, from the kernel (avg10)."""


class PressureOf(Pressure):
    scope: str


class NUMANode(TypedDict):
    """A NUMA node; rates are pages per second."""

    id: Count
    misses: Rate | None
    """Allocated here, but requested from another node (numa_miss)."""
    foreign: Rate | None
    """Requested here, but allocated on another node (numa_foreign)."""
    otherNode: Rate | None
    """Allocated here by a thread on another node (other_node)."""


class Shares(TypedDict):
    """What a CPU spent its time on; null if unknown."""

    busy: Rate | None
    """Everything except idle and steal. The split into user, system and irq is by ticks."""
    user: Rate | None
    system: Rate | None
    irq: Rate | None
    """Serving interrupts, including soft ones."""
    iowait: Rate | None
    steal: Rate | None


class CPU(Shares):
    """An online CPU."""

    cpu: Count
    socket: int | None
    numaNode: int | None
    l3: int | None
    """The lowest CPU with the same L3 cache."""
    core: int
    """The lowest CPU of the same core."""
    owner: Literal["exclusive", "shared", "reserved", "none"]
    """The owner of the CPU; a CPU that is both reserved and in the shared pool counts as reserved."""
    containers: list[Count]
    """Containers that have it exclusively, as indices into containers."""
    runQueueDelay: Rate | None
    interrupts: Rate | None
    """Device interrupts per second."""
