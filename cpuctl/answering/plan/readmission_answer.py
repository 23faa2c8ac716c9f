"""Warnings of pods that run, hold resources as a whole (KEP-5526), and are served anew by their kubelet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet
from cpuctl.engine.admission import Admission
from cpuctl.quantity import Format, Quantity

if TYPE_CHECKING:
    from cpuctl.answers.plan import PlanWarning
    from cpuctl.engine.readmission import Readmission


def readmission_warnings(admissions: Iterable[Admission]) -> Iterator[PlanWarning]:
    """Say what such a pod loses, or that it is rejected, and where that is known from."""
    for admission in admissions:
        if found := admission.readmission:
            name = admission.pod.full_name
            yield {
                "pod": name,
                "readmission": "lost" if found.lost else "refused",
                "lostCPUs": str(CPUSet(found.lost_cpus)),
                "lostMemory": [
                    {
                        "resource": block.type,
                        "bytes": block.size,
                        "numaNodes": block.node_list,
                    }
                    for block in found.lost_memory
                ],
                "message": f"pod {name} {_words(found)} ({', '.join(found.held.issues)}; mended in 1.38)",
            }


def _words(found: Readmission) -> str:
    if not found.lost:
        return "runs already, and this kubelet rejects it, as if its own share were not there for it"
    return (
        f"runs already, and this kubelet allocates to it anew: {' and '.join(_lost(found))} belong to nobody "
        "from then on, and the next start of the kubelet refuses its state files"
    )


def _lost(found: Readmission) -> Iterator[str]:
    if found.lost_cpus:
        yield f"CPUs {CPUSet(found.lost_cpus)}"
    for block in found.lost_memory:
        size, nodes = Quantity.from_value(block.size, Format.BINARY_SI), block.node_list
        yield f"{size} of {block.type} (NUMA node {nodes})"
