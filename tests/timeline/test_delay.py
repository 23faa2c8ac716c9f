"""The delay of one container: what decides it, what is held back meanwhile, what ends it."""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.resizing.kep import resize_by_reference
from cpuctl.engine.cpu.state import CPUManagerState
from cpuctl.engine.masks import CPUMask
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Rejected
from cpuctl.engine.start import start_node
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.pods.model import StoredPod
from cpuctl.timeline.world.scale_downs import Timers
from tests.support.pods import app, pod
from tests.support.topologies import CoreAt, machine_info, mask
from tests.timeline.replaying import GATES

KEY = ("u", "c")


def sized(name: str, *cpus: int) -> StoredPod:
    containers = [
        app(f"cpu={count} memory=1Gi", f"cpu={count} memory=1Gi", name=f"c{number}")
        for number, count in enumerate(cpus)
    ]
    return pod(*containers, name=name)._replace(uid=name)


def started(delay: str = "5s", **options: str) -> Node:
    """Start a kubelet on eight cores of two CPUs, n and n+8, with the first core reserved."""
    info = machine_info(CoreAt(cpus=(core, core + 8)) for core in range(8))
    reported = KubeletConfiguration(
        cpu_manager_policy="static",
        reserved_system_cpus="0,8",
        cpu_manager_policy_options={"scale-delay-time": delay, **options},
        feature_gates=GATES,
    )
    node = start_node(info, Kubelet(version=KubeletVersion(37), config=reported))
    assert isinstance(node, Node), node
    return node


def held(node: Node, uid: str, container: str = "c0") -> str:
    return str(CPUSet(node.state.assigned(uid, container) or 0))


def kept(node: Node, uid: str, container: str = "c0") -> str | None:
    awaited = node.state.awaited(uid, container)
    return None if awaited is None else str(CPUSet(awaited))


def grown() -> Node:
    """Return a node with a pod that was admitted with two CPUs and has four."""
    node = started()
    node.admit(sized("p", 2))
    assert isinstance(node.resize(sized("p", 4)).verdict, Admitted)
    assert held(node, "p") == "1-2,9-10"
    return node


def test_a_container_that_shrinks_keeps_its_cpus() -> None:
    node = grown()
    assert isinstance(node.resize(sized("p", 2)).verdict, Admitted)
    assert (held(node, "p"), kept(node, "p")) == ("1-2,9-10", "1,9")
    assert not node.state.default & mask("1-2,9-10")
    assert str(node.state_file().entries["p"]["c0"]) == "1-2,9-10"


def test_held_back_cpus_are_not_assigned_to_others() -> None:
    node = grown()
    node.resize(sized("p", 2))
    verdict = node.admit(sized("q", 12)).verdict
    assert isinstance(verdict, Rejected)
    assert "requested=12, available=10" in verdict.message
    node.cpu.settle("p", "c0")
    assert isinstance(node.admit(sized("q", 12)).verdict, Admitted)


def test_settled_cpus_are_shared_again() -> None:
    node = grown()
    node.resize(sized("p", 2))
    assert node.cpu.settle("p", "c0") == mask("2,10")
    assert (held(node, "p"), kept(node, "p")) == ("1,9", None)
    assert node.state.default & mask("2,10") == mask("2,10")
    assert node.cpu.metrics.exclusive == 2
    assert node.cpu.settle("p", "c0") == 0


@pytest.mark.parametrize(
    ("sizes", "held_then", "kept_then"),
    [
        ((2, 3), "1-2,9-10", "1-2,9"),
        ((3, 2), "1-2,9-10", "1,9"),
        ((2, 4), "1-2,9-10", None),
        ((2, 6), "1-3,9-11", None),
    ],
    ids=["up, but lower", "further down", "back", "beyond"],
)
def test_consecutive_sizes_start_from_the_containers_current_cpus(
    sizes: tuple[int, int], held_then: str, kept_then: str | None
) -> None:
    node = grown()
    for size in sizes:
        assert isinstance(node.resize(sized("p", size)).verdict, Admitted)
    assert (held(node, "p"), kept(node, "p")) == (held_then, kept_then)


def test_the_reference_implementation_does_the_same() -> None:
    node = grown()
    for size in (2, 3):
        assert isinstance(node.resize(sized("p", size), resize_by_reference).verdict, Admitted)
    assert (held(node, "p"), kept(node, "p")) == ("1-2,9-10", "1-2,9")
    node.resize(sized("p", 4), resize_by_reference)
    assert kept(node, "p") is None


def test_a_growing_sibling_does_not_get_held_back_cpus() -> None:
    node = started()
    node.admit(sized("p", 2, 2))
    node.resize(sized("p", 6, 2))
    before = held(node, "p", "c0")
    node.resize(sized("p", 2, 6))
    assert held(node, "p", "c0") == before
    assert not mask(before) & (node.state.assigned("p", "c1") or 0)


def test_whole_cores_count_cpus_that_a_container_still_has() -> None:
    """A pod returns to four CPUs that it never released, although no other core is free."""
    node = started(**{"full-pcpus-only": "true"})
    node.admit(sized("p", 2))
    node.resize(sized("p", 4))
    node.admit(sized("filler", 10))
    node.resize(sized("p", 2))
    assert isinstance(node.resize(sized("p", 4)).verdict, Admitted)
    assert kept(node, "p") is None


def test_a_refused_resize_changes_nothing() -> None:
    node = grown()
    node.resize(sized("p", 3))
    assert isinstance(node.resize(sized("p", 1)).verdict, Rejected)
    assert kept(node, "p") == "1-2,9"


def test_without_a_delay_nothing_is_pending() -> None:
    node = started("0s")
    node.admit(sized("p", 2))
    node.resize(sized("p", 4))
    node.resize(sized("p", 2))
    assert (held(node, "p"), kept(node, "p")) == ("1,9", None)


def test_a_removed_pod_waits_for_nothing() -> None:
    node = grown()
    node.resize(sized("p", 2))
    node.remove("p")
    node.clean_up()
    assert node.state.pending == {}
    assert node.state.default == node.topology.cpus


def test_a_copy_waits_independently() -> None:
    node = grown()
    node.resize(sized("p", 2))
    other = node.copy()
    other.cpu.settle("p", "c0")
    assert kept(node, "p") == "1,9"


def waiting(*containers: str) -> CPUManagerState:
    state = CPUManagerState(CPUMask(0))
    for name in containers:
        state.assign("u", name, CPUMask(0b111))
        state.postpone("u", name, CPUMask(0b1))
    return state


def test_timers_are_due_when_their_time_has_passed_but_not_before() -> None:
    timers = Timers()
    timers.restart(waiting("c"), "u", ["c"], 5)
    assert (timers.take_due(4), timers.next()) == ([], 5)
    assert (timers.take_due(5), timers.next()) == ([KEY], None)


def test_a_resize_restarts_all_timers_of_its_pod() -> None:
    timers = Timers()
    timers.restart(waiting("c", "d"), "u", ["c", "d"], 5)
    timers.restart(waiting("d"), "u", ["c", "d"], 8)
    assert timers.due == {("u", "d"): 8}


def test_timers_of_other_pods_continue() -> None:
    timers = Timers()
    timers.due["v", "c"] = 3
    timers.restart(waiting("c"), "u", ["c"], 5)
    timers.forget("u")
    assert timers.due == {("v", "c"): 3}
