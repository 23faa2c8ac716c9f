"""The content of the kubelet's state files, as values."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from cpuctl.cpuset import CPUSet
from cpuctl.quantity import Quantity
from cpuctl.records import Record

DRAIN: Final = "drain the node and delete the file"
"""The last resort for a file on which no kubelet starts and which cannot be repaired."""
FROM_NODE: Final = "from the node (kubectl delete pod --force while the kubelet is down)"
"""Without a kubelet, a deleted pod stays listed as terminating: nobody confirms that it is gone."""


class CPUStateFile(Record):
    """``cpu_manager_state``: the shared pool, and exclusive CPUs by pod UID and container name.

    ``pod_entries`` are the CPUs of pods that hold some as a whole (KEP-5526), ``baselines`` the CPUs that
    a container was guaranteed at admission and keeps through every resize (KEP-5554).
    """

    policy_name: str
    default_cpu_set: CPUSet
    entries: Mapping[str, Mapping[str, CPUSet]] = {}
    pod_entries: Mapping[str, CPUSet] = {}
    baselines: Mapping[str, Mapping[str, CPUSet]] = {}


def node_list(nodes: Iterable[int]) -> str:
    """Write NUMA nodes as the kernel's lists do, ``0-1,4``.

    Numbers that no set can hold come first: -1 is the package for which the kernel has no number.
    """
    below: list[int] = []
    known: list[int] = []
    for node in nodes:
        (known if node >= 0 else below).append(node)
    return ",".join((*map(str, sorted({*below})), *filter(None, [str(CPUSet.of(known))])))


def named_nodes(nodes: Collection[int]) -> str:
    """Write ``NUMA node 0`` or ``NUMA nodes 0-1``."""
    return f"NUMA node{'s' if len(nodes) > 1 else ''} {node_list(nodes)}"


class MemoryBlock(Record):
    """Memory or huge pages (``type`` is the resource name) of ``size`` bytes on a set of NUMA nodes."""

    numa_affinity: tuple[int, ...]
    type: str
    size: int

    @property
    def node_list(self) -> str:
        """Write the NUMA nodes as a list."""
        return node_list(self.numa_affinity)


class MemoryTable(Record):
    """One NUMA node's amounts of one resource, in bytes; sums wrap at 64 bits as the kubelet's do.

    ``allocatable`` is the total that pods may get, ``reserved`` the part that they have got.
    """

    total: int
    system_reserved: int
    allocatable: int
    reserved: int
    free: int


class MemoryNode(Record):
    """One NUMA node of the Memory Manager: its tables by resource, and the group (``cells``) it is in.

    ``number_of_assignments`` counts the blocks on it: one for every resource of a container or, if a pod
    holds memory as a whole, of the pod.
    """

    number_of_assignments: int
    memory_map: Mapping[str, MemoryTable]
    cells: tuple[int, ...]


class MemoryStateFile(Record):
    """``memory_manager_state``: tables by NUMA node, and memory by pod UID and container name.

    ``pod_entries`` are the blocks of pods that hold memory as a whole (KEP-5526).
    """

    policy_name: str
    machine_state: Mapping[int, MemoryNode] = {}
    entries: Mapping[str, Mapping[str, tuple[MemoryBlock, ...]]] = {}
    pod_entries: Mapping[str, tuple[MemoryBlock, ...]] = {}


class RecordedResources(Record):
    """Limits and requests of a container or a pod, and the resource claims it uses: name and request."""

    limits: Mapping[str, Quantity] = {}
    requests: Mapping[str, Quantity] = {}
    claims: tuple[tuple[str, str], ...] = ()


class RecordedPod(Record):
    """A pod's allocation: resources by container, of the pod as a whole, and sizes of volumes in memory.

    ``volume_limits`` (KEP-6030) are in bytes by volume, None if the file has null.
    """

    containers: Mapping[str, RecordedResources] = {}
    pod_level: RecordedResources | None = None
    volume_limits: Mapping[str, Quantity | None] = {}


class PodsStateFile(Record):
    """``allocated_pods_state`` or ``actuated_pods_state``: the resources promised or actuated, by pod UID.

    ``pod_status_manager_state``, their predecessor, is of the same kind; up to 1.31 it also has the status of
    each pod's resize (``resizes``), but no limits.
    """

    pods: Mapping[str, RecordedPod] = {}
    resizes: Mapping[str, str] = {}


class DeviceEntry(Record):
    """The devices of one resource that a container holds: their names by NUMA node, -1 if they have none."""

    pod_uid: str
    container: str
    resource: str
    devices: Mapping[int, tuple[str, ...]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all devices, sorted."""
        return tuple(sorted(name for names in self.devices.values() for name in names))


class DevicesStateFile(Record):
    """``kubelet_internal_checkpoint``: the devices of each container, and those that were ``registered``."""

    entries: tuple[DeviceEntry, ...] = ()
    registered: Mapping[str, tuple[str, ...]] = {}


class ClaimEntry(Record):
    """A prepared resource claim, the pods that refer to it, and its devices by name."""

    uid: str
    name: str
    namespace: str
    pod_uids: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()


class ClaimsStateFile(Record):
    """``dra_manager_state``: the claims of the DRA manager."""

    claims: tuple[ClaimEntry, ...] = ()


class UnreadableState(Record):
    """A state file that a kubelet refuses to load: ``error`` is its text."""

    error: str


SavedCPUState = CPUStateFile | UnreadableState | None
"""The CPU Manager's file as a kubelet finds it at start; None if there is no file."""

SavedMemoryState = MemoryStateFile | UnreadableState | None
"""The Memory Manager's file as a kubelet finds it at start; None if there is no file."""
