"""How a resize changes the CPU Manager's state, as in the reference implementation."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.resizing.kep import resize_by_kep, resize_by_reference
from cpuctl.engine.cpu.resizing.reference import Resizing
from cpuctl.engine.cpu.resizing.request import Resized
from cpuctl.engine.cpu.state import DelayRules
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted
from cpuctl.pods.model import StoredPod
from tests.support.pods import init, sidecar
from tests.support.resizing import Setting, admitted, changed, guaranteed, held, pod_of
from tests.support.topologies import mask

Reading = Callable[[Resizing], Resized]
READINGS: list[Reading] = [resize_by_reference, resize_by_kep]


def four_each(seconds: int = 0) -> tuple[Node, StoredPod]:
    """Return a pod with two containers that grew from two CPUs to four; they give up CPUs after the delay."""
    node = Setting(config={"topology_manager_policy": "best-effort"}).node()
    node.delays = DelayRules(of_node=seconds * 10**9)
    running = admitted(node, pod_of(guaranteed("2", "a"), guaranteed("2", "b")))
    node.resize(running := changed(running, a="cpu=4", b="cpu=4"))
    assert (held(node, "a"), held(node, "b"), shared(node)) == ("0-1,4-5", "2-3,6-7", "8-11")
    return node, running


def shared(node: Node) -> str:
    return str(CPUSet(node.state.default))


def pending(node: Node) -> dict[str, str]:
    return {name: str(CPUSet(cpus)) for name, cpus in node.state.pending.get("p", {}).items()}


@pytest.mark.parametrize("reading", READINGS)
def test_cpus_are_shared_again_at_once_or_after_the_delay(reading: Reading) -> None:
    """A container that keeps its size loses nothing, now or later (KEP-6122)."""
    node, running = four_each()
    node.resize(changed(running, a="cpu=3"), reading)
    assert (held(node, "a"), shared(node), pending(node)) == ("0-1,4", "5,8-11", {})
    node, running = four_each(seconds=30)
    node.resize(changed(running, a="cpu=3"), reading)
    assert (held(node, "a"), shared(node), pending(node)) == ("0-1,4-5", "8-11", {"a": "0-1,4"})


def test_a_container_that_grows_loses_nothing_later() -> None:
    """The other container still gives up its CPUs."""
    node, running = four_each(seconds=30)
    assert node.resize(running := changed(running, a="cpu=3", b="cpu=3")).verdict == Admitted()
    assert pending(node) == {"a": "0-1,4", "b": "2-3,6"}
    assert node.resize(changed(running, a="cpu=5")).verdict == Admitted()
    assert (held(node, "a"), pending(node)) == ("0-1,4-5,10", {"b": "2-3,6"})


@pytest.mark.parametrize("reading", READINGS)
def test_an_unchanged_size_leaves_the_shared_pool_alone(reading: Reading) -> None:
    """This holds even if a CPU is in the pool by mistake."""
    node, running = four_each()
    node.state.default |= mask("4")
    assert node.resize(running, reading).verdict == Admitted()
    assert (held(node, "a"), shared(node)) == ("0-1,4-5", "4,8-11")


def test_the_reference_implementation_lends_what_another_container_has() -> None:
    """On every resize, an init container lends all of its CPUs to a container that had none."""
    both, half = "cpu=3 memory=1Gi", "cpu=1500m memory=1Gi"
    node = Setting(config={"reserved_system_cpus": "0"}).node()
    running = admitted(node, pod_of(init(both, both, "i"), sidecar(half, half, "s"), guaranteed("2", "a")))
    assert (held(node, "i"), held(node, "s"), held(node, "a")) == ("1-3", "shared", "2-3")
    assert node.resize(changed(running, s="cpu=2"), resize_by_reference).verdict == Admitted()
    assert (held(node, "s"), held(node, "a")) == ("2-3", "2-3")
