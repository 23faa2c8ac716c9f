"""What a pod held before it is admitted again, and which part has no owner afterwards."""

from __future__ import annotations

import pytest

from cpuctl.checkpoints.model import MemoryBlock
from cpuctl.engine.cpu.state import CPUManagerState
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.memory.pod_level import allocate_bubble
from cpuctl.engine.memory.state import Blocks, MemoryManagerState
from cpuctl.engine.readmission import PodAllocation, Readmission, pod_allocation_of, readmission_of
from cpuctl.pods.model import StoredPod
from tests.support.changed import changed
from tests.support.memory import fresh_state, memory_machine, take
from tests.support.pod_level import divided
from tests.support.topologies import mask

GI = 1 << 30
GIB_AT_0: Blocks = (MemoryBlock(numa_affinity=(0,), type="memory", size=GI),)


def memory(*pods: StoredPod) -> MemoryManagerState:
    """Give each pod a GiB of node 0, all of it shared."""
    state = fresh_state(memory_machine([10 * GI]))
    for pod in pods:
        give(state, pod)
    return state


def give(state: MemoryManagerState, pod: StoredPod) -> None:
    assert isinstance(
        allocate_bubble(state, pod, lambda _: {}, {"memory": GI}, Hint(NodeMask(1), preferred=True)), dict
    )


P, Q = divided(1, "-", name="p"), divided(1, "-", name="q")
NO_CPUS, NO_MEMORY = CPUManagerState(mask("0-7")), memory()
WITH_CPUS = changed(
    CPUManagerState(mask("0-3")), assignments={"p": {"1": mask("4-7")}}, pod_entries={"p": mask("4-7")}
)


@pytest.mark.parametrize(
    ("cpu", "held", "wanted", "issues"),
    [
        (NO_CPUS, NO_MEMORY, None, ()),
        (NO_CPUS, memory(Q), None, ()),
        (
            WITH_CPUS,
            memory(Q),
            PodAllocation(cpus=mask("4-7"), memory=(), ownerless=0),
            ("kubernetes/kubernetes#140989",),
        ),
        (
            NO_CPUS,
            memory(P, Q),
            PodAllocation(cpus=0, memory=GIB_AT_0, ownerless=0),
            ("kubernetes/kubernetes#140906",),
        ),
        (
            WITH_CPUS,
            memory(P, P),
            PodAllocation(cpus=mask("4-7"), memory=GIB_AT_0, ownerless=1),
            ("kubernetes/kubernetes#140989", "kubernetes/kubernetes#140906"),
        ),
    ],
)
def test_what_a_pod_holds(
    cpu: CPUManagerState, held: MemoryManagerState, wanted: PodAllocation | None, issues: tuple[str, ...]
) -> None:
    """If memory is charged twice for one pod, one of the charges has no owner."""
    found = pod_allocation_of(cpu, held, "p")
    assert found == wanted
    assert found is None or found.issues == issues


def test_cpus_without_a_recorded_owner_are_lost() -> None:
    held = PodAllocation(cpus=mask("4-7"), memory=(), ownerless=0)
    again = changed(
        CPUManagerState(mask("0-1,7")),
        assignments={"p": {"1": mask("2-3,6")}},
        pod_entries={"p": mask("2-3,6")},
    )
    found = readmission_of(held, again, NO_MEMORY)
    assert found == Readmission(held=held, lost_cpus=mask("4-5"), lost_memory=())
    assert found.lost


def test_memory_that_is_charged_again_is_lost() -> None:
    state = memory(P)
    held = pod_allocation_of(NO_CPUS, state, "p")
    assert held is not None
    give(state, P)
    found = readmission_of(held, NO_CPUS, state)
    assert found == Readmission(held=held, lost_cpus=0, lost_memory=GIB_AT_0)
    assert found.lost


def test_allocations_of_others_in_the_meantime_are_not_a_loss() -> None:
    state = memory(P)
    held = pod_allocation_of(NO_CPUS, state, "p")
    assert held is not None
    give(state, Q)
    take(state, "ordinary", 1, memory=GI)
    found = readmission_of(held, NO_CPUS, state)
    assert found == Readmission(held=held, lost_cpus=0, lost_memory=())
    assert not found.lost


def test_earlier_losses_are_not_counted_again() -> None:
    state = memory(P, P)
    held = pod_allocation_of(NO_CPUS, state, "p")
    assert held is not None
    assert not readmission_of(held, NO_CPUS, state).lost
