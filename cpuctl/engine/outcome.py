"""What a decision can be: values, never exceptions.

A kubelet's "no" is ``Rejected``; where the real kubelet would loop for ever or crash the answer is a
``KubeletFault``; where the input lacks what the answer depends on it is ``Undetermined``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class FaultKind(StrEnum):
    """How the real kubelet fails."""

    ENDLESS_LOOP = "endless loop"
    CRASH = "crash"


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletFault:
    """The kubelet would not answer at all: where in it, and why."""

    kind: FaultKind
    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Undetermined:
    """The input lacks what the answer depends on, or no kubelet's answer to it is known: why."""

    why: str


class RejectionReason(StrEnum):
    """The reasons a kubelet writes into the status of a pod it refuses."""

    TOPOLOGY_AFFINITY = "TopologyAffinityError"
    SMT_ALIGNMENT = "SMTAlignmentError"
    UNEXPECTED_ADMISSION = "UnexpectedAdmissionError"
    EMPTY_POD_SHARED_POOL = "EmptyPodSharedPoolError"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """The kubelet refuses the pod, with its reason and message; what was allocated before stays taken.

    ``reason`` is a ``RejectionReason`` or, where the node is too small, ``OutOf`` and the resource's name.
    ``container`` is empty where the pod as a whole is refused.
    """

    reason: str
    message: str
    container: str = ""
    details: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AllocationError:
    """The kubelet's error text for CPUs that cannot be picked."""

    message: str


@dataclass(frozen=True, slots=True)
class PickStep:
    """One rule of the picker that took CPUs (a mask): the evidence behind a placement."""

    rule: str
    cpus: int


@dataclass(frozen=True, slots=True)
class Picked:
    """The CPUs a picker chose, as a mask, and the steps that chose them."""

    cpus: int
    steps: tuple[PickStep, ...] = ()


PickResult = Picked | AllocationError | KubeletFault | Undetermined


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRefused:
    """The kubelet does not start: in which stage, its error text, and the settings to mend, by path."""

    stage: str
    error: str
    settings: tuple[tuple[str, ...], ...] = field(default=(), compare=False)
