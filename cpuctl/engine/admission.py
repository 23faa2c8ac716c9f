"""What admitting one pod comes to: the verdict, and everything it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from cpuctl.engine.cpu_provider import CPUAnswer
from cpuctl.engine.exclusive_claim import ExclusiveClaim
from cpuctl.engine.outcome import KubeletFault, PickStep, Rejected, Undetermined
from cpuctl.engine.topology_manager import Merged
from cpuctl.pods.model import Container, Pod
from cpuctl.pods.qos import Qos


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where one container runs: its exclusive CPUs, or the shared pool as it was when it was admitted."""

    container: Container
    claim: ExclusiveClaim
    cpus: int
    exclusive: bool
    steps: tuple[PickStep, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One round of the Topology Manager: for a container or (None) the pod, hints and what they come to."""

    container: Container | None
    cpu: CPUAnswer
    merged: Merged | KubeletFault


@dataclass(frozen=True, slots=True)
class Admitted:
    """The kubelet runs the pod."""


Verdict = Admitted | Rejected | KubeletFault | Undetermined


class PoolWarning(StrEnum):
    """What a pod's admission leaves of the shared pool, where that is worth a warning."""

    EMPTY = "empty"
    ONLY_RESERVED = "only reserved CPUs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """One decision: the verdict, hints asked for, what each container got until then, what is left."""

    pod: Pod
    qos: Qos
    verdict: Verdict
    placements: tuple[Placement, ...]
    asked: tuple[Asked, ...]
    shared_pool: int
    pool_warning: PoolWarning | None = None
