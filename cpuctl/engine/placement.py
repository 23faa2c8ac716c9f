"""Where one container runs and what it gets: every manager adds to it, and all of it is reported.

Rule: KEP-5526 and kubelet v1.36 ``pkg/kubelet/cm``; quotas of exclusive CPUs are lifted since 1.33 (gate
DisableCPUQuotaWithExclusiveCPUs).
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from cpuctl.engine.masks import NO_CPUS, CPUMask, NodeMask
from cpuctl.engine.outcome import PickStep, Weighing
from cpuctl.engine.pod_level import guaranteed_equivalent
from cpuctl.phrases import POLICY_NONE
from cpuctl.pods.model import Container
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.checkpoints.model import MemoryBlock


class ExclusiveClaim(Record):
    """How many exclusive CPUs a container is due; 0 means the shared pool, ``why_not`` says why."""

    cpus: int
    why_not: str = ""


class Isolation(StrEnum):
    """What a container shares its CPUs with: nothing, its own pod, or the whole node."""

    CONTAINER = "container"
    POD = "pod"
    HOST = "host"


def isolation_of(container: Container, *, assigned: bool, divided: bool) -> Isolation:
    """Return a container's isolation; *divided* is whether its pod has CPUs as a whole (KEP-5526)."""
    if not assigned:
        return Isolation.HOST
    if not divided:
        return Isolation.CONTAINER
    own = guaranteed_equivalent(container) and container.resources.limits["cpu"].is_integral_cpu
    return Isolation.CONTAINER if own else Isolation.POD


class DeviceGrant(Record):
    """The devices of one resource that a container gets, counted by the mask of the nodes next to them.

    ``reused`` were an init container's. With ``by_chance`` the counts are one possibility of several: a
    kubelet leaves the choice to the device plugin or to chance.
    """

    resource: str
    by_nodes: Mapping[NodeMask, int]
    reused: int = 0
    by_chance: bool = False

    @property
    def total(self) -> int:
        """The number of devices."""
        return sum(self.by_nodes.values())


def cpuset_mems(blocks: Iterable["MemoryBlock"]) -> str:
    """List the NUMA nodes of all blocks as the kubelet does for the runtime: with commas, without ranges."""
    return ",".join(map(str, sorted({node for block in blocks for node in block.numa_affinity})))


_NO_CLAIM = ExclusiveClaim(0, POLICY_NONE)


class Placement(Record):
    """Where one container runs: its exclusive CPUs or a shared pool, its memory and its devices.

    ``cpus`` is a mask. ``in_pod_pool`` means that the pool is its own pod's (KEP-5526), not the node's.
    """

    container: Container
    claim: ExclusiveClaim = _NO_CLAIM
    cpus: CPUMask = NO_CPUS
    exclusive: bool = False
    in_pod_pool: bool = False
    steps: tuple[PickStep, ...] = ()
    weighings: tuple[Weighing, ...] = ()
    memory: tuple["MemoryBlock", ...] = ()
    why_no_memory: str = ""
    devices: tuple[DeviceGrant, ...] = ()

    @property
    def isolation(self) -> Isolation:
        """What the container shares its CPUs with."""
        if self.exclusive:
            return Isolation.CONTAINER
        return Isolation.POD if self.in_pod_pool else Isolation.HOST

    @property
    def cpuset_mems(self) -> str:
        """The value to which the kubelet sets ``cpuset.mems``; empty if it leaves it as it is."""
        return cpuset_mems(self.memory)


class PoolWarning(StrEnum):
    """What a pod's admission leaves of the shared pool, if that is worth a warning."""

    EMPTY = "empty"
    ONLY_RESERVED = "only reserved CPUs"
