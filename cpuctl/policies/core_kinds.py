"""What-if: performance cores for containers with exclusive CPUs, efficiency cores for the shared pool.

Source: cpuctl's own. No kubelet distinguishes core types, so a container may get CPUs of both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cpuctl.cpuset import CPUSet
from cpuctl.policies.model import CPU, PodView, View
from cpuctl.policies.static import Static, packed


class CoreKinds(Static):
    """Assign exclusive CPUs on performance cores; never mix core types in a container.

    With ``fallback``, a container that does not fit on performance cores gets only efficiency cores. A
    machine with one core type is treated as the kubelet does.
    """

    source = "cpuctl"

    def __init__(self, *, fallback: bool = False) -> None:
        self.fallback = fallback

    def filter(self, pod: PodView, cpu: CPU, view: View) -> bool:
        """Keep efficiency cores for the shared pool."""
        return self.fallback or cpu.kind != "efficiency"

    def select(self, scores: Mapping[int, float], view: View) -> Iterator[CPUSet]:
        """Pick as the kubelet does, from cores of one type."""
        rules = self.rules(view)
        for kind in ("", "performance", "efficiency"):
            equivalent = CPUSet.of(cpu for cpu in scores if view.topology.cpus[cpu].kind == kind)
            if len(equivalent) >= view.need:
                yield packed(view.topology, equivalent, view.need, rules)
