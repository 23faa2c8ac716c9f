"""The answer of ``cpuctl top``."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from cpuctl.answers.audit import Owner
from cpuctl.answers.values import ApiVersion, Bounds, Count, CPUList, Sources

Rate = Annotated[float, Bounds(0), "Times a second, or seconds a second: 1 is all the time."]


class Top(TypedDict):
    """A node as it has run for some seconds. What a kernel does not tell is null, never 0."""

    apiVersion: ApiVersion
    kind: Literal["Top"]
    sources: Sources
    node: str | None
    """Its host name."""
    time: str
    """The end of these seconds (RFC 3339)."""
    seconds: Rate
    """How long it was looked at. Interrupts, run queues and threads may be those of a longer time: they are
    read less often on machines with more than 128 CPUs, and in containers with more than 256 threads.
    """
    cgroupVersion: Literal[1, 2] | None
    cpuManagerPolicy: str | None
    """That of the kubelet's state; null: it is not known."""
    containers: list[Container]
    """Those with exclusive CPUs, in the order of their CPUs."""
    sharedPool: CPUs | None
    """null: there is none that is known."""
    reserved: CPUs | None
    """By the kubelet's configuration; they are in the shared pool, too, unless it is strict."""
    pressure: list[PressureOf]
    """Waiting for CPUs (PSI): the node, all pods, the two lower QoS classes; empty where nothing tells."""
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
    """Its group, from the hierarchy's root; null: it has none now, or nobody knows which."""
    cpus: CPUList
    numaNodes: CPUList
    """Those that its CPUs are on."""
    loads: list[Rate | None]
    """How much of the time each of its CPUs was busy, in their order, whoever used it."""
    used: Rate | None
    """The CPU time that the container has had, in CPUs."""
    others: Rate | None
    """The time that its CPUs have spent on somebody else, in CPUs: what they were busy, but for interrupts,
    less what it has used. Exact to a hundredth or two; null where it shares CPUs with another container.
    """
    steal: Rate | None
    """What the hypervisor has taken from its CPUs, in CPUs."""
    throttledPeriods: Rate | None
    """Periods a second in which it, or its pod, was throttled."""
    throttled: Rate | None
    """For how long, in seconds a second; of several CPUs that wait at once, the kernel counts each."""
    pressure: Pressure | None
    """Of its own group."""
    threads: Count | None
    runQueueDelay: Rate | None
    """Seconds a second that its threads were ready to run, and waited for a CPU, all together."""
    migrations: Rate | None
    """How often one of its threads went to another CPU."""
    foreign: list[ForeignThread] | None
    """Threads that are not its own and have run on its CPUs; those of the kernel only where they took a
    thousandth of one. With --once all threads are looked at, else in turn, which takes some seconds: who
    stays a moment may go unseen, but not the time it has taken (others).
    """
    interrupts: Interrupts | None
    numaMisses: Rate | None
    """Pages a second that were wanted from its NUMA nodes, and came from others (numa_foreign): all who run
    there together.
    """


class ForeignThread(TypedDict):
    tid: Count
    pid: Count
    comm: str
    cgroup: str
    cpu: Count
    """The one that it ran on when it was seen."""
    kernel: bool
    ran: Rate
    """The CPU time that it has had since it was looked at before, wherever, in CPUs."""


class Interrupts(TypedDict):
    """How many a second have come to its CPUs."""

    devices: Rate
    timer: Rate
    """The kernel's own ticks: with nohz_full they stop."""
    others: Rate
    """What CPUs send each other: to schedule, to call functions, to flush translations."""
    most: list[Interrupt]
    """Those of devices that have come most often."""


class Interrupt(TypedDict):
    name: str
    """Its number."""
    title: str
    """What /proc/interrupts says of it."""
    rate: Rate


class CPUs(TypedDict):
    """Several CPUs together; shares are those of all of their time."""

    cpus: CPUList
    busy: Rate | None
    steal: Rate | None
    runQueueDelay: Rate | None
    """Seconds a second that threads waited there, on all of them together."""
    interrupts: Rate | None
    """Of devices."""


class Pressure(TypedDict):
    some: Rate
    """The part of the time in which some thread waited for a CPU."""
    full: Rate | None
    """That in which none ran; null where the kernel does not tell."""
    average: Rate
    """Of some, over the last ten seconds, by the kernel (avg10)."""


class PressureOf(Pressure):
    of: str


class NUMANode(TypedDict):
    """Pages a second."""

    id: Count
    misses: Rate | None
    """That came from here, and were wanted from another node (numa_miss)."""
    foreign: Rate | None
    """That were wanted from here, and came from another node (numa_foreign)."""
    otherNode: Rate | None
    """That came from here to a thread on another node (other_node)."""


class Shares(TypedDict):
    """What a CPU has spent its time on; null where nothing tells."""

    busy: Rate | None
    """On anything: what is not idle, nor stolen. Ticks tell how much of it was user, system and irq."""
    user: Rate | None
    system: Rate | None
    irq: Rate | None
    """Serving interrupts, soft ones too."""
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
    """Whose it is; one that is reserved and in the shared pool is called reserved."""
    containers: list[Count]
    """Those that have it for their own, as they are counted above, from 0."""
    runQueueDelay: Rate | None
    interrupts: Rate | None
    """Of devices, a second."""
