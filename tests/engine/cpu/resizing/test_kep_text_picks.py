"""Which CPUs a container gets if only a lack of CPUs or the Topology Manager may reject it (KEP-5554)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.resizing.kep import resize_by_reference
from cpuctl.engine.cpu.resizing.packed import KEPT
from cpuctl.engine.cpu.resizing.request import Resized
from cpuctl.engine.hints.topology_manager import Merged
from cpuctl.engine.outcome import Admitted, Rejected
from tests.support.resizing import (
    BEST_EFFORT,
    Setting,
    admitted,
    by_kep_text,
    changed,
    guaranteed,
    held,
    pod_of,
    with_memory,
)
from tests.support.topologies import CoreAt, machine_info, mask

THREE_NODES = with_memory(machine_info(CoreAt((cpu,), cpu // 4, cpu // 4) for cpu in range(12)))
CACHES = with_memory(machine_info(CoreAt((c, c + 12), c // 6, c // 6, c // 3) for c in range(12)))


def steps(resized: Resized, container: str) -> list[tuple[str, str]]:
    (placed,) = (each for each in resized.placements if each.container.name == container)
    return [(step.rule, str(CPUSet(step.cpus))) for step in placed.steps]


PICKED: Mapping[str, list[tuple[str, str]]] = {
    "": [(KEPT, "1,13"), ("whole cores", "2-6,14-18")],
    "distribute-cpus-across-numa": [
        (KEPT, "1,13"),
        ("up to 6 CPUs from each of 2 NUMA nodes", "2-3,6-8,14-15,18-20"),
    ],
    "distribute-cpus-across-cores": [
        (KEPT, "1-2"),
        ("single CPUs, by number in each socket", "3-7,13-17"),
    ],
    "prefer-align-cpus-by-uncorecache": [(KEPT, "1,13"), ("uncore caches", "3-7,15-19")],
}


@pytest.mark.parametrize("option", PICKED)
def test_the_policys_own_picker_chooses(option: str) -> None:
    options = {option: "true"} if option else {}
    config = {**BEST_EFFORT, "reserved_system_cpus": "0,12", "cpu_manager_policy_options": options}
    gates = {**Setting().gates, "CPUManagerPolicyAlphaOptions": True}
    node = Setting(machine=CACHES, gates=gates, config=config).node()
    running = admitted(node, pod_of(guaranteed("2")))
    assert steps(node.resize(changed(running, c="cpu=12"), by_kep_text), "c") == PICKED[option]


def test_a_container_beyond_the_affinity_of_its_pod_spills_over() -> None:
    """With what b gives up, NUMA node 0 is large enough for the pod, but a is placed before b gives it up."""
    config = {**BEST_EFFORT, "reserved_system_cpus": "0", "topology_manager_scope": "pod"}
    node = Setting(config=config).node()
    running = admitted(node, pod_of(guaranteed("2", "a"), guaranteed("1", "b")))
    node.resize(running := changed(running, b="cpu=2"), by_kep_text)
    assert (held(node, "a"), held(node, "b")) == ("2-3", "1,4")
    resized = node.resize(changed(running, a="cpu=4", b="cpu=1"), by_kep_text)
    assert [each.merged.hint.nodes for each in resized.hint_rounds if isinstance(each.merged, Merged)] == [
        0b01
    ]
    assert (held(node, "a"), held(node, "b")) == ("2-3,5-6", "1")
    assert steps(resized, "a") == [
        (KEPT, "2-3"),
        ("single CPUs, packed", "5"),
        ("single CPUs, packed", "6"),
    ]


@pytest.mark.parametrize(("policy", "want"), [("best-effort", "0-4"), ("none", "0-3,9")])
def test_what_is_near_the_affinity_comes_first(policy: str, want: str) -> None:
    """Without an affinity, the NUMA node with the fewest free CPUs comes first."""
    config = {"reserved_system_cpus": "8", "topology_manager_policy": policy}
    node = Setting(machine=THREE_NODES, config=config).node()
    running = admitted(node, pod_of(guaranteed("4")))
    assert held(node) == "0-3"
    assert node.resize(changed(running, c="cpu=5"), by_kep_text).verdict == Admitted()
    assert held(node) == want


def test_cpus_are_packed_if_equal_shares_are_impossible() -> None:
    """The distributed picker ends in an accounting error here (kubernetes issue 141237)."""
    sizes = [5, 3, 3, 3, 5]
    places = [node for node, size in enumerate(sizes) for _ in range(size)]
    machine = with_memory(machine_info(CoreAt((cpu,), at, at // 3) for cpu, at in enumerate(places)))
    options = {"distribute-cpus-across-numa": "true"}
    config = {"reserved_system_cpus": "12,16", "cpu_manager_policy_options": options}
    node = Setting(machine=machine, minor=36, config=config).node()
    running = admitted(node, pod_of(guaranteed("3")))
    node.state.assignments = {"p": {"c": mask("0,6,11")}}
    node.state.baselines = {"p": {"c": mask("0,6,11")}}
    node.state.default = node.topology.cpus & ~mask("0,6,11")
    wanted = changed(running, c="cpu=10")
    reference = node.copy().resize(wanted, resize_by_reference).verdict
    assert isinstance(reference, Rejected)
    assert "accounting error, too many CPUs allocated, remaining: -1" in reference.message
    assert node.resize(wanted, by_kep_text).verdict == Admitted()
    assert held(node) == "0-8,11"
