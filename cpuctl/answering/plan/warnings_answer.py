"""The warnings of a plan: each says what an admission costs, breaks or leaves in doubt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.answering.memory_answer import huge_page_warnings
from cpuctl.answering.topology.devices_answer import device_warnings
from cpuctl.cpuset import CPUSet
from cpuctl.engine.memory.manager_start import wrapped_amounts
from cpuctl.engine.placement import PoolWarning
from cpuctl.phrases import all_of, named, taken_text
from cpuctl.quantity import Format, Quantity

if TYPE_CHECKING:
    from cpuctl.answers.plan import PlanWarning
    from cpuctl.engine.admission import Admission
    from cpuctl.engine.node import Node
    from cpuctl.engine.readmission import Readmission

_POOL_WARNINGS = {
    PoolWarning.EMPTY: (
        "takes the last CPUs of the shared pool: containers without exclusive CPUs have none left, and a "
        "kubelet restarted now would reject its own state file (default cpuset cannot be empty)"
    ),
    PoolWarning.ONLY_RESERVED: (
        "takes the last free CPUs: containers without exclusive CPUs share the reserved CPUs with the system"
    ),
}


def plan_warnings(node: Node, admissions: Sequence[Admission]) -> Iterator[PlanWarning]:
    """Yield what to know about the admissions, in their order, and about the node after them."""
    for admission in admissions:
        yield from cpu_warnings(node, admission)
        yield from _wrapped_memory(admission)
    yield from _overdrawn(node)
    yield from _readmission_warnings(admissions)
    yield from device_warnings(admissions)
    yield from huge_page_warnings(node)
    yield from _claim_warnings(node)


def cpu_warnings(node: Node, admission: Admission) -> Iterator[PlanWarning]:
    """Warn if an admitted pod takes the last free CPUs, or CPUs that are reserved or another pod's."""
    name = admission.pod.full_name
    if admission.pool_warning is not None:
        yield {
            "pod": name,
            "sharedPool": admission.pool_warning.value,
            "message": f"pod {name} {_POOL_WARNINGS[admission.pool_warning]}",
        }
    if taken := admission.taken_from_others:
        cpus = CPUSet(taken)
        text = f"pod {name} gets {named(cpus)}, which {taken_text(cpus)}{node.cpu.overlap_note(taken)}"
        yield {"pod": name, "takenCPUs": str(cpus), "message": text}


def _wrapped_memory(admission: Admission) -> Iterator[PlanWarning]:
    name = admission.pod.full_name
    for container, resources in admission.wrapped_memory.items():
        asked = f"{all_of(resources)} {'are' if len(resources) > 1 else 'is'} requested by a container"
        text = (
            f"pod {name}: {asked} but not by spec.resources, "
            f"so what is left for container {container} wraps around: the kubelet records nearly 2^64 bytes"
        )
        yield {"pod": name, "message": text}


def _overdrawn(node: Node) -> Iterator[PlanWarning]:
    for beyond in wrapped_amounts(node.memory.state.tables):
        text = f"reservedMemory and huge pages take more {beyond} than it has: the kubelet's sums wrap around"
        yield {"message": f"{text}, and it hands out memory that does not exist"}


def _readmission_warnings(admissions: Iterable[Admission]) -> Iterator[PlanWarning]:
    """Warn of what such a pod loses, or of its rejection, with the issues that report it."""
    for admission in admissions:
        if found := admission.readmission:
            name = admission.pod.full_name
            yield {
                "pod": name,
                "readmission": "lost" if found.lost else "rejected",
                "lostCPUs": str(CPUSet(found.lost_cpus)),
                "lostMemory": [
                    {
                        "resource": block.type,
                        "bytes": block.size,
                        "numaNodes": block.node_list,
                    }
                    for block in found.lost_memory
                ],
                "message": f"pod {name} {_lost_text(found)} ({', '.join(found.held.issues)}; fixed in 1.38)",
            }


def _lost_text(found: Readmission) -> str:
    if not found.lost:
        return "is running, but this kubelet rejects it, ignoring what it already holds"
    return (
        f"is running, but this kubelet allocates resources to it again: {all_of(_lost(found))} are "
        "then lost, and at its next start the kubelet rejects its state files"
    )


def _lost(found: Readmission) -> Iterator[str]:
    if found.lost_cpus:
        yield f"CPUs {CPUSet(found.lost_cpus)}"
    for block in found.lost_memory:
        size, nodes = Quantity.from_value(block.size, Format.BINARY_SI), block.node_list
        yield f"{size} of {block.type} (NUMA node {nodes})"


def _claim_warnings(node: Node) -> Iterator[PlanWarning]:
    if node.claims is None:
        return

    from cpuctl.answering.dra_answer import claim_warnings
    from cpuctl.operations.plan_inputs import claims_of

    claims = claims_of(node)
    if claims is None:
        return
    unstarted = (
        (each.pod.full_name, f"pod {each.pod.full_name} is admitted but does not start: {each.problem}")
        for each in claims.pods.values()
        if each.problem
    )
    for pod, message in (*unstarted, *claim_warnings(claims, claims.pods.values())):
        yield {"pod": pod, "message": message}
