"""The content of a timeline: a node, its kubelet, pods, and events. Times are in nanoseconds."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias

from cpuctl.cpuset import CPUSet
from cpuctl.documents.document import Origin
from cpuctl.engine.outcome import KubeletFault, StartRefused
from cpuctl.golang.durations import MILLISECOND
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.sources import MachineSource
from cpuctl.phrases import named
from cpuctl.pods.model import Pod, ResourceRequirements
from cpuctl.pods.reading.manifests import DRAObject
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.dra.node import NodeClaims
    from cpuctl.engine.node import Node
    from cpuctl.pods.limit_ranges import LimitRange
    from cpuctl.pods.resource_quotas import ResourceQuota

ASSIGNED_CPUSET_GATE = "DownwardAPIAssignedResources"


class KubeletSetup(Record):
    """An installed kubelet: its configuration, or why it cannot load it.

    ``preview``: the gate of KEP-5554 enables its allocator in any release. ``grace_of_pods``: the delay is
    taken from the pods' own field, as announced, and a pending delay continues after a restart.
    """

    kubelet: Kubelet | StartRefused | KubeletFault
    release: KubeletVersion
    preview: bool = True
    grace_of_pods: bool = False

    @property
    def minor(self) -> int:
        """The minor version of the release."""
        return self.release.minor

    @property
    def version(self) -> str:
        """The name of the release."""
        return str(self.release)


class ApiServer(Record):
    """The API server, its release and gates; without ``validates``, pods are accepted as they are."""

    gates: FeatureGates
    validates: bool = True

    @property
    def knows_assigned_cpuset(self) -> bool:
        """Whether its release knows ``assigned.cpuset``."""
        return self.gates.stage(ASSIGNED_CPUSET_GATE) is not None

    @property
    def takes_assigned_cpuset(self) -> bool:
        """Whether it keeps the field in pods that are created or updated."""
        return self.gates.enabled(ASSIGNED_CPUSET_GATE)


BEST_HINT = "best"
"""The key of the merged hint, among those for resources."""


def hint_text(nodes: int | None, *, preferred: bool) -> str:
    """Format a topology hint: its NUMA nodes, and whether it is preferred."""
    where = "any nodes" if nodes is None else named(CPUSet(nodes), "node") if nodes else "nodes none"
    return f"{where} preferred" if preferred else where


def hints_text(hints: Iterable[tuple[int | None, bool]]) -> str:
    """Format the hints for one resource, sorted by NUMA nodes, as kubelets use different orders."""
    ordered = sorted({(nodes or 0, nodes is None, preferred) for nodes, preferred in hints})
    return "; ".join(
        hint_text(None if unbound else nodes, preferred=preferred) for nodes, unbound, preferred in ordered
    )


class TimelinePod(Record):
    """A pod of a manifest; ``exposed`` are the containers whose ``assigned.cpuset`` is in a volume."""

    pod: Pod
    exposed: frozenset[str] = frozenset()


class Admit(Record):
    """A pod is created on the node, or (``scheduled``) as soon as it fits there according to the scheduler.

    Its containers run at once, after its init containers, unless *start* is False.
    """

    pod: TimelinePod
    start: bool = True
    scheduled: bool = False


class Resize(Record):
    """Containers of a pod get new resources: ``PATCH`` of its subresource ``resize``."""

    pod: str
    resources: Mapping[str, ResourceRequirements]


class Update(Record):
    """The pod object is written again, with these containers exposed."""

    pod: str
    exposed: frozenset[str]


class Remove(Record):
    """A pod is deleted."""

    pod: str


class ContainerEvent(Record):
    """A container of a pod starts, or ends with an exit code."""

    pod: str
    container: str
    starts: bool
    code: int = 0


class KubeletAction(StrEnum):
    """An action on the kubelet."""

    STOP = "stop"
    START = "start"
    RESTART = "restart"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    RECONFIGURE = "reconfigure"
    REBOOT = "reboot"


class KubeletEvent(Record):
    """The kubelet stops, or starts with a setup; *takes* is how long it is stopped in between."""

    action: KubeletAction
    setup: KubeletSetup
    takes: int = 0


class ServerEvent(Record):
    """The API server is replaced."""

    server: ApiServer


class HotplugEvent(Record):
    """CPUs (masks) go offline or come back: visible to the kernel and to the next kubelet that starts."""

    offline: int = 0
    online: int = 0


class StateFileEdit(Record):
    """A state file is deleted (``text`` None) or replaced."""

    file: str
    text: str | None = None


class StateFilePatch(Record):
    """The content of ``cpu_manager_state`` is changed, with the correct checksum.

    ``entries`` are CPUs (masks) by the full name of a pod and container, None for an entry that is removed.
    """

    default: int | None = None
    entries: Mapping[tuple[str, str], int | None] = {}


Event: TypeAlias = (
    Admit
    | Resize
    | Update
    | Remove
    | ContainerEvent
    | KubeletEvent
    | ServerEvent
    | HotplugEvent
    | StateFileEdit
    | StateFilePatch
)

Expected: TypeAlias = "Mapping[str, Expected] | str | int | bool | None"
"""An expectation: a part of what ``views`` returns, in the same form."""


class Moment(Record):
    """An event or expectation at a time; ``where`` is its location in the file or the log."""

    at: int
    event: Event | None = None
    expect: Mapping[str, Expected] = {}
    where: Origin | str | None = None


class Timing(Record):
    """The duration of each step.

    ``volume_sync`` is the time from a pod's sync to the new content of its volumes (a kubelet checks every
    100 ms: ``pkg/kubelet/volumemanager/volume_manager.go``), ``pod_sync`` from a reason to sync a pod to its
    sync, ``reconcile_pass`` from the start of a pass of the CPU Manager to its end.
    """

    volume_sync: int = 100 * MILLISECOND
    pod_sync: int = 0
    reconcile_pass: int = 0


class InPlace(Protocol):
    """A policy that decides instead of the kubelet, for what-if replays."""

    def attach(self, node: "Node", source: MachineSource, kubelet: Kubelet) -> None:
        """Let it decide on a node instead of the kubelet."""


class Timeline(Record):
    """A whole timeline; ``moments`` are in order of time. ``running``: a kubelet starts with it.

    ``defers_actual``: a pod's status shows its new resources only when its CPU sets are applied, as KEP-6122
    requires; False shows what would happen otherwise. ``log`` names the log that it was created from.
    ``dra`` are the objects that affect pods' claims, and ``claims`` serves claims, None if no pod has any.
    ``in_place`` is the policy that decides instead of every kubelet that starts, None for real kubelets.
    ``assumed`` is why the kubelet is assumed to have a release other than the default, if none is named.
    """

    machine: MachineSource
    setup: KubeletSetup
    server: ApiServer
    moments: tuple[Moment, ...]
    until: int
    running: bool = True
    timing: Timing = Timing()
    cgroup_version: int = 2
    defers_actual: bool = True
    description: str = ""
    pods: Mapping[str, TimelinePod] = {}
    limit_ranges: "tuple[LimitRange, ...]" = ()
    quotas: "tuple[ResourceQuota, ...]" = ()
    log: str = ""
    dra: tuple[DRAObject, ...] = ()
    claims: "NodeClaims | None" = None
    in_place: InPlace | None = None
    assumed: str = ""
