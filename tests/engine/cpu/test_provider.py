"""What the CPU Manager tells the Topology Manager about a container, and about a pod as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.cpu.provider import CPUAnswer, container_hints, pod_count, pod_hints
from cpuctl.engine.cpu.state import CPUManagerState
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.outcome import KubeletFault
from cpuctl.kubelet.policy_options import CPUPolicyOptions
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.kubelet.reservations import CPUReservation
from cpuctl.pods.model import Container, ContainerKind, Pod
from tests.support.changed import changed
from tests.support.pods import stored
from tests.support.topologies import mask, regular

APP, INIT, SIDECAR = ContainerKind.APP, ContainerKind.INIT, ContainerKind.SIDECAR
TWO_NODES = StaticPolicy.construct(
    regular(sockets=2, cores=4),
    CPUPolicyOptions(),
    CPUReservation(1, CPUSet.parse("0")),
    behaviours(36),
)
POD = stored(
    Pod(
        name="pod",
        uid="pod",
        init_containers=(Container(name="first", kind=INIT),),
        containers=(Container(name="main"), Container(name="other")),
    )
)


def state(default: str, **held: str) -> CPUManagerState:
    assigned = {name: mask(cpus) for name, cpus in held.items()}
    return changed(CPUManagerState(mask(default)), assignments={"pod": assigned} if assigned else {})


def shown(answer: CPUAnswer | KubeletFault) -> str:
    """Show the nodes of every hint, ``T`` for preferred; ``any`` for no preference."""
    if answer is None:
        return "any"
    assert isinstance(answer, dict)
    hints = answer["cpu"]
    return " ".join(f"{CPUSet(hint.nodes or 0)}{'T' if hint.preferred else ''}" for hint in hints)


@dataclass(frozen=True, slots=True)
class ForContainer:
    name: str
    default: str
    count: int
    hints: str
    held: dict[str, str] = field(default_factory=dict)
    reusable: str = ""


CONTAINERS = [
    ForContainer("no exclusive CPUs", "0-7", 0, "any"),
    ForContainer("reserved CPUs do not count", "0-7", 4, "1T 0-1"),
    ForContainer("taken CPUs do not count", "0-1,4-5", 2, "1T 0-1", {"other": "2-3,6-7"}),
    ForContainer("too few CPUs are left", "0-1", 2, ""),
    ForContainer("its own CPUs, and nothing else", "0-3,6-7", 2, "1T 0-1", {"main": "4-5"}),
    ForContainer("its own CPUs are fewer than it asks for", "0-3,5-7", 2, "", {"main": "4"}),
    ForContainer("CPUs of init containers have to be used", "0,4-7", 2, "0T 0-1", {"first": "1-3"}, "1-3"),
]


@pytest.mark.parametrize("case", CONTAINERS, ids=lambda case: case.name)
def test_container(case: ForContainer) -> None:
    known = state(case.default, **case.held)
    known.remember_reuse("pod", INIT, mask(case.reusable))
    assert shown(container_hints(TWO_NODES, known, POD, POD.containers[0], case.count)) == case.hints


@dataclass(frozen=True, slots=True)
class ForPod:
    name: str
    default: str
    hints: str
    held: dict[str, str] = field(default_factory=dict)
    claims: dict[str, int] = field(default_factory=lambda: {"main": 2, "other": 1})
    reusable: str = ""


PODS = [
    ForPod("nothing exclusive", "0-7", "any", claims={}),
    ForPod("the sum of its containers", "0-2,4-7", "1T 0-1"),
    ForPod("all of its CPUs, and nothing else", "0-3,7", "1T 0-1", {"main": "4-5", "other": "6"}),
    ForPod("some of its CPUs and free ones", "0-3,6", "1T 0-1", {"main": "4-5"}),
    ForPod("a container has fewer than it asks for", "0-3,5-7", "", {"main": "4"}),
    ForPod("CPUs of init containers have to be used", "0,4-7", "0T 0-1", reusable="1-3"),
    ForPod("a container has CPUs that asks for none", "0-3,5-7", "", {"first": "4"}),
]


@pytest.mark.parametrize("case", PODS, ids=lambda case: case.name)
def test_pod(case: ForPod) -> None:
    known = state(case.default, **case.held)
    known.remember_reuse("pod", INIT, mask(case.reusable))

    def claims(container: Container) -> int:
        return case.claims.get(container.name, 0)

    answer = pod_hints(TWO_NODES, known, POD, claims, pod_count(POD.all_containers, claims))
    assert shown(answer) == case.hints


@pytest.mark.parametrize(
    ("containers", "count"),
    [
        ([], 0),
        ([(APP, 2), (APP, 3)], 5),
        ([(INIT, 4), (INIT, 6), (APP, 5)], 6),
        ([(SIDECAR, 1), (INIT, 4), (APP, 2)], 5),
        ([(INIT, 4), (SIDECAR, 1), (APP, 2)], 4),
        ([(INIT, 2), (SIDECAR, 2), (SIDECAR, 1), (APP, 2)], 5),
    ],
)
def test_a_pod_needs_its_peak(containers: list[tuple[ContainerKind, int]], count: int) -> None:
    """Sidecars run on, beside the init containers after them and beside the app containers."""
    made = [Container(name=f"{index}:{cpus}", kind=kind) for index, (kind, cpus) in enumerate(containers)]
    assert pod_count(made, lambda container: int(container.name.partition(":")[2])) == count


def test_alignment_by_socket_goes_with_the_policy() -> None:
    options = CPUPolicyOptions(align_by_socket=True)
    reserved = CPUReservation(1, CPUSet.parse("0"))
    static = StaticPolicy.construct(regular(sockets=2, nodes=2, cores=4), options, reserved, behaviours(36))
    answer = container_hints(static, static.fresh_state(), POD, POD.containers[0], 2)
    assert isinstance(answer, dict)
    assert isinstance(answer["cpu"], CPUHints)
    assert answer["cpu"].prefers(NodeMask(0b11))
