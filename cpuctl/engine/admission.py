"""What admitting one pod comes to: the verdict, and everything it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.engine.changeable import ByContent
from cpuctl.engine.cpu.exclusive_claim import POLICY_NONE, ExclusiveClaim
from cpuctl.engine.cpu.isolation import Isolation
from cpuctl.engine.memory.state import cpuset_mems
from cpuctl.engine.outcome import Forbidden, KubeletFault, PickStep, Rejected, Undetermined
from cpuctl.pods.model import Container, Pod
from cpuctl.pods.qos import Qos

if TYPE_CHECKING:
    from cpuctl.checkpoints.model import MemoryBlock
    from cpuctl.engine.devices.allocation import DeviceGrant
    from cpuctl.engine.hints.topology_manager import Answer, MergeResult
    from cpuctl.engine.readmission import Readmission

_NO_CLAIM = ExclusiveClaim(0, POLICY_NONE)


class Placement(NamedTuple):
    """Where one container runs: its exclusive CPUs or a shared pool, its memory and its devices.

    ``cpus`` is a mask. ``in_pod_pool`` says that the pool is its own pod's (KEP-5526), not the node's.
    """

    container: Container
    claim: ExclusiveClaim = _NO_CLAIM
    cpus: int = 0
    exclusive: bool = False
    in_pod_pool: bool = False
    steps: tuple[PickStep, ...] = ()
    memory: tuple[MemoryBlock, ...] = ()
    why_no_memory: str = ""
    devices: tuple[DeviceGrant, ...] = ()

    @property
    def isolation(self) -> Isolation:
        """Whom the container shares its CPUs with."""
        if self.exclusive:
            return Isolation.CONTAINER
        return Isolation.POD if self.in_pod_pool else Isolation.HOST

    @property
    def cpuset_mems(self) -> str:
        """What the kubelet makes ``cpuset.mems``; empty leaves it as it is."""
        return cpuset_mems(self.memory)


class Asked(NamedTuple):
    """One round of the Topology Manager: for a container or (None) the pod, hints and what they come to.

    ``answers`` has the hints of each provider by its name, in the order in which they were asked.
    """

    container: Container | None
    answers: Mapping[str, Answer]
    merged: MergeResult

    @property
    def preferred(self) -> bool:
        """Whether every provider prefers the NUMA nodes that came out."""
        return not isinstance(self.merged, KubeletFault | Undetermined) and self.merged.hint.preferred


class Admitted(ByContent):
    """The kubelet runs the pod."""


Verdict = Admitted | Rejected | Forbidden | KubeletFault | Undetermined


class PoolWarning(StrEnum):
    """What a pod's admission leaves of the shared pool, where that is worth a warning."""

    EMPTY = "empty"
    ONLY_RESERVED = "only reserved CPUs"


class Admission(NamedTuple):
    """One decision: the verdict, the hints asked for, and what each container got until then.

    ``pod_cpus`` are the CPUs (a mask) that the pod holds as a whole (KEP-5526), 0 for most. ``readmission``
    is set where it held something before and the kubelet went on as if it did not. ``taken_from_others`` are
    CPUs (a mask) that it got though they are reserved or another pod's.
    """

    pod: Pod
    qos: Qos
    verdict: Verdict
    placements: tuple[Placement, ...]
    asked: tuple[Asked, ...]
    pod_cpus: int
    pool_warning: PoolWarning | None
    taken_from_others: int
    readmission: Readmission | None

    @property
    def wrapped_memory(self) -> Mapping[str, tuple[str, ...]]:
        """Name the resources by container of which the kubelet's sums have wrapped around.

        Sums are unsigned: what a container requests beyond a pod's total leaves 2^64 minus that.
        """
        wrapped = {
            each.container.name: tuple(block.type for block in each.memory if block.size >> 63)
            for each in self.placements
        }
        return {name: types for name, types in wrapped.items() if types}
