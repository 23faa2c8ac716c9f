"""Containers whose CPUs are of both kinds of cores: the kubelet knows no kinds, and mixes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet
from cpuctl.engine.admission import Admission
from cpuctl.engine.outcome import Admitted

if TYPE_CHECKING:
    from cpuctl.answers.explanation import MixedCores
    from cpuctl.machine.model import Machine


def mixed_cores(machine: Machine, admissions: Sequence[Admission]) -> Iterator[MixedCores]:
    """Name containers with CPUs of performance and of efficiency cores, their own or in their pod's pool."""
    kinds = machine.core_kinds
    if not kinds.performance or not kinds.efficiency:
        return
    guessed = " (guessed from their frequencies)" if kinds.guessed else ""
    for admission in admissions:
        for placed in admission.placements if isinstance(admission.verdict, Admitted) else ():
            own = CPUSet(placed.cpus if placed.exclusive or placed.in_pod_pool else 0)
            fast, slow = own & kinds.performance, own & kinds.efficiency
            if fast and slow:
                pod, name = admission.pod.full_name, placed.container.name
                message = (
                    f"pod {pod}: container {name} spans performance cores (CPUs {fast}) and efficiency cores "
                    f"(CPUs {slow}){guessed}: no kubelet tells them apart"
                )
                yield {
                    "pod": pod,
                    "container": name,
                    "performanceCPUs": str(fast),
                    "efficiencyCPUs": str(slow),
                    "message": message,
                }
