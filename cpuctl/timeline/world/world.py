"""The simulated node: pods as API server and runtime have them, files on disk, and the kubelet that runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Protocol

from cpuctl.cpuset import CPUSet
from cpuctl.engine.node_fit import Allocatable
from cpuctl.engine.outcome import KubeletFault, StartRefused, Undetermined
from cpuctl.engine.pod_rules import reports_allocated_resources, server_rules
from cpuctl.engine.pod_server import PodServer
from cpuctl.engine.resize.outcome import Condition, ConditionType
from cpuctl.engine.resize.running import RunningPod
from cpuctl.pods.model import StoredPod
from cpuctl.pods.running import Amounts, ContainerStatus, ReportedResources, RunState
from cpuctl.timeline.model import Timeline
from cpuctl.timeline.world.disk import Disk
from cpuctl.timeline.world.entries import Detail, EntryKind, HistoryEntry
from cpuctl.timeline.world.kubelet_process import KubeletProcess
from cpuctl.timeline.world.scale_downs import ScaleDownEnd, ScaleDowns

NotRunning = StartRefused | KubeletFault | Undetermined


class ContainerState(StrEnum):
    """What a container's runtime says of it."""

    WAITING = "waiting"
    RUNNING = "running"
    TERMINATED = "terminated"


class Phase(StrEnum):
    """What a pod's status says; ``Unscheduled`` is a pod without a node."""

    UNSCHEDULED = "Unscheduled"
    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class ContainerLife:
    """One container: ``cgroup`` is its ``cpuset.cpus`` as last written (a mask, 0 for never), while it runs.

    ``milli`` are the CPUs that its ``cpu.weight`` stands for. ``file`` is what the downward API tells inside,
    None if no such file is there. ``returns``: it ran when the machine went down. ``exit_code`` is set
    from its end, the time ``ended``, until it starts again. ``allocated`` is what the last kubelet that
    stopped has left in its status as allocatedResources.
    """

    def __init__(self) -> None:
        self.state = ContainerState.WAITING
        self.cgroup = 0
        self.milli = 0
        self.file: str | None = None
        self.returns = False
        self.exit_code: int | None = None
        self.ended = 0
        self.allocated: Amounts = None

    @property
    def runs(self) -> bool:
        """Whether there are processes in it."""
        return self.state is ContainerState.RUNNING


class PodLife:
    """One pod: what it is to have, was granted and has; what its status says; its containers.

    ``number`` is the order of creation. ``bound`` to the node, ``admitted`` once a kubelet took it, and
    ``deleted`` while none ran. ``starts``: its containers run as soon as it is admitted. ``ended`` is the
    phase in which it came to its end, and ``failed`` says that a kubelet refused it. ``hints`` are those of
    its latest admission, by container or for the whole pod, if the timeline is a log.
    """

    def __init__(
        self, stored: StoredPod, exposed: frozenset[str], number: int, *, starts: bool, bound: bool
    ) -> None:
        self.running = RunningPod.settled(stored)
        self.exposed = exposed
        self.number = number
        self.starts = starts
        self.bound = bound
        self.admitted = False
        self.failed = False
        self.ended: Phase | None = None
        self.deleted = False
        self.reason = ""
        self.message = ""
        self.containers = {each.name: ContainerLife() for each in stored.all_containers}
        self.conditions: dict[ConditionType, Condition] = {}
        self.hints: Mapping[str, Mapping[str, str]] = {}

    @property
    def uid(self) -> str:
        """Its UID."""
        return self.running.spec.uid

    @property
    def name(self) -> str:
        """``namespace/name``."""
        return self.running.spec.full_name

    @property
    def runs(self) -> bool:
        """Whether a kubelet has taken it, and looks after it."""
        return self.admitted and not self.terminal

    @property
    def terminal(self) -> bool:
        """Whether it is over: refused by a kubelet, or come to its end."""
        return self.failed or self.ended is not None

    @property
    def exits(self) -> dict[str, int | None]:
        """The exit codes of its containers, None for those that have not ended."""
        return {name: each.exit_code for name, each in self.containers.items()}

    @property
    def phase(self) -> Phase:
        """What its status says."""
        if self.terminal:
            return self.ended or Phase.FAILED
        if not self.bound:
            return Phase.UNSCHEDULED
        runs = any(each.runs for each in self.containers.values())
        # One that waits to be started again counts as running.
        apps = (self.containers[each.name] for each in self.running.spec.containers)
        return Phase.RUNNING if runs or any(each.exit_code is not None for each in apps) else Phase.PENDING


class Runtime(Protocol):
    """What is called when a container is created."""

    def created(self, world: World, life: PodLife, container: str) -> None:
        """Take notice of a container that comes, with what is decided about it."""


class World:
    """Everything there is at one moment.

    ``online`` are the CPUs that run (a mask), ``now`` the nanoseconds since the timeline began, ``why_down``
    says why no kubelet runs that should, ``starts_at`` when one comes up, ``boot`` counts starts of the
    machine. ``allocatable`` is what the node's status reported last. ``pods`` are those that exist, by UID;
    ``names`` also has those that did. ``api_server`` creates them, ``refused`` are names of those that it did
    not store. ``claims`` serves resource claims, whichever kubelet runs, None if no pod has any;
    ``claimants`` are the containers (UID and name) that have run on CPUs of theirs. ``runtime`` is called
    for containers that are created, if it is given.
    """

    def __init__(self, timeline: Timeline, runtime: Runtime | None = None) -> None:
        self.timeline = timeline
        self.runtime = runtime
        self.setup = timeline.setup
        self.server = timeline.server
        self.online = timeline.machine.machine.online.mask
        self.now = 0
        self.boot = 1
        self.kubelet: KubeletProcess | None = None
        self.why_down = ""
        self.starts_at: int | None = None
        self.allocatable: Allocatable | None = None
        self.pods: dict[str, PodLife] = {}
        self.names: dict[str, str] = {}
        self.api_server = PodServer(
            server_rules(timeline.server.gates), timeline.limit_ranges, timeline.quotas
        )
        self.refused: list[str] = []
        self.disk = Disk()
        self.entries: list[HistoryEntry] = []
        self.scale_downs = ScaleDowns()
        self.claims = timeline.claims.copy() if timeline.claims is not None else None
        self.claimants: set[tuple[str, str]] = set()

    def find(self, name: str) -> PodLife | None:
        """Find the pod that has a full name now."""
        return next((life for life in self.pods.values() if life.name == name), None)

    def on_node(self) -> Iterator[PodLife]:
        """Yield the pods of the node, the oldest first: those that a kubelet is to run."""
        yield from sorted(
            (life for life in self.pods.values() if life.bound and not life.terminal and not life.deleted),
            key=lambda life: life.number,
        )

    def record(
        self,
        kind: EntryKind,
        text: str,
        life: PodLife | None = None,
        container: str = "",
        **details: str | int | None,
    ) -> None:
        """Add an entry."""
        data: Detail = details
        pod = life.name if life is not None else ""
        self.entries.append(
            HistoryEntry(at=self.now, kind=kind, text=text, pod=pod, container=container, details=data)
        )

    def effective(self, life: ContainerLife) -> int:
        """Return the CPUs that a running container may use; without any, cgroup v2 takes its parent's."""
        return life.cgroup & self.online or self.online


def cpus_text(mask: int) -> str:
    """Write a mask as a list."""
    return str(CPUSet(mask))


def some_cpus(mask: int) -> str:
    """Write ``CPU 3``, ``CPUs 1-2,4``, or ``all CPUs`` for a set that was never written."""
    if not mask:
        return "all CPUs"
    return f"{'CPU' if mask.bit_count() == 1 else 'CPUs'} {cpus_text(mask)}"


def kubelet_stops(world: World) -> None:
    """Let the kubelet end; what it kept in memory only is lost."""
    if world.kubelet is None:
        return
    for key in world.kubelet.timers.due.keys() - world.disk.waits.keys():
        world.scale_downs.finish(key, ScaleDownEnd.INTERRUPTED)
    _leave_statuses(world, world.kubelet)
    world.kubelet = None


def _leave_statuses(world: World, kubelet: KubeletProcess) -> None:
    """Let statuses stay as a kubelet has written them, as far as the API server keeps that."""
    recorded = kubelet.reports_allocated_resources and reports_allocated_resources(world.server.gates)
    for life in world.pods.values():
        if life.uid not in kubelet.node.active:
            continue
        for container in life.running.allocated.all_containers:
            one = life.containers[container.name]
            created = one.state is not ContainerState.WAITING or one.exit_code is not None
            one.allocated = container.resources.requests if recorded and created else None


def pod_with_status(life: PodLife, pod: StoredPod) -> StoredPod:
    """Return a pod with what the status of its *life* said when its kubelet stopped."""
    statuses = [
        ContainerStatus(name, RunState(each.state), resources=ReportedResources(granted=each.allocated))
        for name, each in life.containers.items()
    ]
    return pod._replace(statuses=tuple(statuses))


def kubelet_fails(world: World, why: NotRunning) -> None:
    """Let the kubelet end for a reason of its own."""
    kubelet_stops(world)
    match why:
        case StartRefused(stage=stage, error=error):
            world.why_down = error
            world.record(
                EntryKind.KUBELET_FAILED,
                f"the kubelet does not start ({stage}): {error}",
                error=error,
                stage=stage,
            )
        case KubeletFault(kind=kind, where=where, why=error):
            world.why_down = error
            world.record(
                EntryKind.KUBELET_FAILED,
                f"the kubelet fails ({kind} in {where}): {error}",
                error=error,
                stage=where,
            )
        case Undetermined(text=error):
            world.why_down = error
            world.record(
                EntryKind.KUBELET_FAILED,
                f"whether the kubelet starts is unknown: {error}",
                error=error,
                stage="",
            )
