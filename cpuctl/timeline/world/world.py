"""The simulated node: pods in the API server and the runtime, files on disk, and the running kubelet."""

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
    """The state of a container in its runtime."""

    WAITING = "waiting"
    RUNNING = "running"
    TERMINATED = "terminated"


class Phase(StrEnum):
    """The phase in a pod's status; ``Unscheduled`` is a pod without a node."""

    UNSCHEDULED = "Unscheduled"
    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class ContainerLife:
    """One container: ``cgroup`` is its last written ``cpuset.cpus`` while it runs (a mask, 0 for never).

    ``milli`` are the milli-CPUs that its ``cpu.weight`` represents. ``file`` is the content of its downward
    API file, None if it has none. ``returns``: it ran when the machine went down. ``exit_code`` is set from
    its end, at the time ``ended``, until it restarts. ``allocated`` are the allocatedResources that the last
    kubelet that stopped left in its status.
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
        """Whether it has processes."""
        return self.state is ContainerState.RUNNING


class PodLife:
    """One pod: its desired, allocated and actual resources, its status, and its containers.

    ``number`` is the order of creation. It is ``bound`` to the node, ``admitted`` once a kubelet accepted it,
    and ``deleted`` if that happened while no kubelet ran. ``starts``: its containers run as soon as it is
    admitted. ``ended`` is the phase in which it ended, and ``failed`` shows that a kubelet refused it.
    ``hints`` are those of its latest admission, by container or for the whole pod, if the timeline is a log.
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
        """The pod's UID."""
        return self.running.spec.uid

    @property
    def name(self) -> str:
        """``namespace/name``."""
        return self.running.spec.full_name

    @property
    def runs(self) -> bool:
        """Whether a kubelet has admitted it and still manages it."""
        return self.admitted and not self.terminal

    @property
    def terminal(self) -> bool:
        """Whether it has ended or was refused by a kubelet."""
        return self.failed or self.ended is not None

    @property
    def exits(self) -> dict[str, int | None]:
        """The exit codes of its containers, None for those that have not ended."""
        return {name: each.exit_code for name, each in self.containers.items()}

    @property
    def phase(self) -> Phase:
        """The phase in its status."""
        if self.terminal:
            return self.ended or Phase.FAILED
        if not self.bound:
            return Phase.UNSCHEDULED
        runs = any(each.runs for each in self.containers.values())
        # A container that waits for its restart counts as running.
        apps = (self.containers[each.name] for each in self.running.spec.containers)
        return Phase.RUNNING if runs or any(each.exit_code is not None for each in apps) else Phase.PENDING


class Runtime(Protocol):
    """A listener that is called when a container is created."""

    def created(self, world: World, life: PodLife, container: str) -> None:
        """Handle a new container, for which all decisions have been made."""


class World:
    """The complete state at one moment.

    ``online`` are the online CPUs (a mask), ``now`` the nanoseconds since the timeline began, ``why_down`` is
    why a kubelet that should run does not, ``starts_at`` when one starts, ``boot`` counts starts of the
    machine. ``allocatable`` was last reported in the node's status. ``pods`` are the existing ones, by UID;
    ``names`` also has former ones. ``api_server`` creates them, ``refused`` are the names of those that it
    did not store. ``claims`` serves resource claims under any kubelet, None if no pod has any; ``claimants``
    are the containers (UID and name) that have run on CPUs of claims. ``runtime``, if given, is called for
    containers that are created.
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
        """Return the pod that currently has a full name."""
        return next((life for life in self.pods.values() if life.name == name), None)

    def on_node(self) -> Iterator[PodLife]:
        """Yield the pods of the node that a kubelet should run, the oldest first."""
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
        """Return the CPUs that a running container may use; without any, cgroup v2 uses its parent's."""
        return life.cgroup & self.online or self.online


def cpus_text(mask: int) -> str:
    """Format a mask as a CPU list."""
    return str(CPUSet(mask))


def some_cpus(mask: int) -> str:
    """Return ``CPU 3``, ``CPUs 1-2,4``, or ``all CPUs`` for a set that was never written."""
    if not mask:
        return "all CPUs"
    return f"{'CPU' if mask.bit_count() == 1 else 'CPUs'} {cpus_text(mask)}"


def kubelet_stops(world: World) -> None:
    """Stop the kubelet, which loses the data in its memory."""
    if world.kubelet is None:
        return
    for key in world.kubelet.timers.due.keys() - world.disk.waits.keys():
        world.scale_downs.finish(key, ScaleDownEnd.INTERRUPTED)
    _leave_statuses(world, world.kubelet)
    world.kubelet = None


def _leave_statuses(world: World, kubelet: KubeletProcess) -> None:
    """Keep the statuses that a kubelet has written, as far as the API server stores them."""
    recorded = kubelet.reports_allocated_resources and reports_allocated_resources(world.server.gates)
    for life in world.pods.values():
        if life.uid not in kubelet.node.active:
            continue
        for container in life.running.allocated.all_containers:
            one = life.containers[container.name]
            created = one.state is not ContainerState.WAITING or one.exit_code is not None
            one.allocated = container.resources.requests if recorded and created else None


def pod_with_status(life: PodLife, pod: StoredPod) -> StoredPod:
    """Return a pod with the status that its *life* had when its kubelet stopped."""
    statuses = [
        ContainerStatus(name, RunState(each.state), resources=ReportedResources(granted=each.allocated))
        for name, each in life.containers.items()
    ]
    return pod._replace(statuses=tuple(statuses))


def kubelet_fails(world: World, why: NotRunning) -> None:
    """Stop the kubelet because of a failure, and record why."""
    kubelet_stops(world)
    match why:
        case StartRefused(stage=stage, error=error):
            world.why_down = error
            world.record(
                EntryKind.KUBELET_FAILED,
                f"the kubelet does not start: {error}",
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
