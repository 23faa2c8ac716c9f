"""What admitting one pod comes to: the verdict, and everything it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.engine.outcome import Verdict
from cpuctl.engine.placement import Placement, PoolWarning
from cpuctl.pods.model import StoredPod
from cpuctl.pods.qos import Qos

if TYPE_CHECKING:
    from cpuctl.engine.hints.topology_manager import HintRound
    from cpuctl.engine.readmission import Readmission


class Admission(NamedTuple):
    """One decision: the verdict, the hints asked for, and what each container got until then.

    ``pod_cpus`` are the CPUs (a mask) that the pod holds as a whole (KEP-5526), 0 for most. ``readmission``
    is set where it held something before and the kubelet went on as if it did not. ``taken_from_others`` are
    CPUs (a mask) that it got though they are reserved or another pod's.
    """

    pod: StoredPod
    qos: Qos
    verdict: Verdict
    placements: tuple[Placement, ...]
    asked: tuple[HintRound, ...]
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
