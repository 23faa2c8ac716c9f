"""The answer of ``cpuctl top``."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from cpuctl.answers.audit import Owner
from cpuctl.answers.values import ApiVersion, Bounds, Count, CPUList, Sources

Rate = Annotated[float, Bounds(0), "Per second; for times, seconds per second: 1 is all the time."]


class Top(TypedDict):
    """A node over some seconds. What the kernel does not report is null, never 0."""

    apiVersion: ApiVersion
    kind: Literal["Top"]
    sources: Sources
    node: str | None
    """Its host name."""
    time: str
    """The end of these seconds (RFC 3339)."""
    seconds: Rate
    """Length of the sample. Interrupts, run queues and threads may be from a longer time: they are read
    less often on machines with more than 128 CPUs and in containers with more than 256 threads.
    """
    cgroupVersion: Literal[1, 2] | None
    cpuManagerPolicy: str | None
    """The policy in the kubelet's state; null: unknown."""
    containers: list[Container]
    """Those with exclusive CPUs, in the order of their CPUs."""
    sharedPool: CPUs | None
    """null: none is known."""
    reserved: CPUs | None
    """From the kubelet's configuration; also part of the shared pool, unless strict-cpu-reservation is set.
    """
    pressure: list[PressureOf]
    """Waiting for CPUs (PSI): the node, all pods, Burstable and BestEffort; empty if unknown."""
    numaNodes: list[NUMANode]
    cpus: list[CPU]
    """All that are online."""
    unknown: list[Unknown]


class Unknown(TypedDict):
    what: str
    """What is null because of it."""
    why: str


class Container(Owner):
    """A container with exclusive CPUs."""

    path: str | None
    """Its group, from the hierarchy's root; null: it has none now, or it is unknown."""
    cpus: CPUList
    numaNodes: CPUList
    """NUMA nodes of its CPUs."""
    loads: list[Rate | None]
    """Share of time that each of its CPUs was busy, in their order, with any threads."""
    used: Rate | None
    """CPU time used by the container, in CPUs."""
    others: Rate | None
    """Time that its CPUs spent on others, in CPUs: busy time without interrupts, minus
    what it used. Exact to about 0.02; null if it shares CPUs with another container.
    """
    steal: Rate | None
    """Time that the hypervisor took from its CPUs, in CPUs."""
    throttledPeriods: Rate | None
    """Periods per second in which it or its pod was throttled."""
    throttled: Rate | None
    """Throttled time, in seconds per second; the kernel counts each CPU that waits."""
    pressure: Pressure | None
    """Of its own group."""
    threads: Count | None
    runQueueDelay: Rate | None
    """Seconds per second that its threads waited for a CPU, all together."""
    migrations: Rate | None
    """How often one of its threads moved to another CPU."""
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
    """The CPU that it ran on when it was seen."""
    kernel: bool
    ran: Rate
    """Its CPU time since it was last read, on any CPU, in CPUs."""


class Interrupts(TypedDict):
    """Interrupts per second on its CPUs."""

    devices: Rate
    timer: Rate
    """The kernel's own ticks: with nohz_full they stop."""
    others: Rate
    """Interrupts between CPUs: to schedule, to call functions, to flush translations."""
    most: list[Interrupt]
    """The most frequent device interrupts."""


class Interrupt(TypedDict):
    name: str
    """Its number."""
    title: str
    """Its description in /proc/interrupts."""
    rate: Rate


class CPUs(TypedDict):
    """Several CPUs together; shares are of their total time."""

    cpus: CPUList
    busy: Rate | None
    steal: Rate | None
    runQueueDelay: Rate | None
    """Seconds per second that threads waited there, on all CPUs together."""
    interrupts: Rate | None
    """Of devices."""


class Pressure(TypedDict):
    some: Rate
    """Share of time in which some thread waited for a CPU."""
    full: Rate | None
    """Share of time in which none ran; null if the kernel does not report it."""
    average: Rate
    """Average of some over the last ten seconds, from the kernel (avg10)."""


class PressureOf(Pressure):
    of: str


class NUMANode(TypedDict):
    """Pages per second."""

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
    """One that is online."""

    cpu: Count
    socket: int | None
    numaNode: int | None
    l3: int | None
    """The lowest CPU with the same L3 cache."""
    core: int
    """The lowest CPU of the same core."""
    owner: Literal["exclusive", "shared", "reserved", "none"]
    """Its owner; a CPU that is both reserved and in the shared pool counts as reserved."""
    containers: list[Count]
    """Containers that have it exclusively, as indices into containers."""
    runQueueDelay: Rate | None
    interrupts: Rate | None
    """Of devices, a second."""
