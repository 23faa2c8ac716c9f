"""The round that fails only where KEP-5554 allows it: its hints, its CPUs, and the containers it skips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.cpu.state import DelayRules
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Rejected
from cpuctl.pods.model import Container, StoredPod
from tests.support.pods import init, sidecar
from tests.support.resizing import (
    BEST_EFFORT,
    RESTRICTED,
    Setting,
    admitted,
    by_kep_text,
    changed,
    guaranteed,
    held,
    pod_of,
)
from tests.support.topologies import mask

CANNOT = (
    "ResizeAllocateCPUs Error: Skip resize, unable to resize container exclusively allocated pool, "
    "(podUID = p, containerName = {}, topologyError = {})"
)


def on(reserved: str = "0", **config: Any) -> Setting:
    """Return a setting on two NUMA nodes of three cores each, CPUs 0 to 5 and 6 to 11."""
    return Setting(config={"reserved_system_cpus": reserved, **config})


def three() -> tuple[Container, ...]:
    """Return containers that get CPUs 2-3 and 4-5, and one in the shared pool."""
    return guaranteed("2", "a"), guaranteed("2", "b"), guaranteed("500m", "c")


def with_init(cpus: str) -> tuple[Container, ...]:
    both = f"cpu={cpus} memory=1Gi"
    return init(both, both, "i"), sidecar("cpu=2 memory=1Gi", "cpu=2 memory=1Gi", "s"), guaranteed("2", "a")


Round = tuple[str, str, str, int]
"""The container that hints are for (empty for the pod), free CPUs, CPUs that stay, and the total."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """New sizes, the hint rounds in both scopes, and what every container has afterwards."""

    name: str
    to: Mapping[str, str]
    by_container: tuple[Round, ...]
    by_pod: Round
    want: Mapping[str, str]
    pod: tuple[Container, ...] = field(default_factory=three)
    grown: Mapping[str, str] = field(default_factory=dict)
    ended: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


CASES = [
    Case(
        name="nothing changes",
        to={},
        by_container=(),
        by_pod=("", "1,6-11", "2-5", 4),
        want={"a": "2-3", "b": "4-5", "c": ""},
    ),
    Case(
        name="up: what is free",
        to={"a": "cpu=4"},
        by_container=(("a", "1,6-11", "2-3", 4),),
        by_pod=("", "1,6-11", "2-5", 6),
        want={"a": "2-3,6-7", "b": "4-5", "c": ""},
    ),
    Case(
        name="the sockets of NUMA nodes count",
        to={"a": "cpu=4"},
        by_container=(("a", "1,6-11", "2-3", 4),),
        by_pod=("", "1,6-11", "2-5", 6),
        want={"a": "2-3,6-7", "b": "4-5", "c": ""},
        options={"align-by-socket": "true"},
    ),
    Case(
        name="down: what it may give up; then up with what is left",
        grown={"a": "cpu=4"},
        to={"a": "cpu=3", "b": "cpu=4"},
        by_container=(("a", "6-7", "2-3", 3), ("b", "1,7-11", "4-5", 4)),
        by_pod=("", "1,6-11", "2-5", 7),
        want={"a": "2-3,6", "b": "4-5,8-9", "c": ""},
    ),
    Case(
        name="a running init container counts if it needs the most",
        pod=with_init("6"),
        to={"a": "cpu=3"},
        by_container=(("a", "1-5", "8-9", 3),),
        by_pod=("", "1-5", "6-11", 6),
        want={"i": "6-11", "s": "6-7", "a": "1,8-9"},
    ),
    Case(
        name="an ended init container gets nothing, and others do not get its share",
        pod=with_init("3"),
        ended="i",
        to={"a": "cpu=4"},
        by_container=(("a", "1,9-11", "4-5", 4),),
        by_pod=("", "1,6-11", "2-5", 6),
        want={"i": "", "s": "2-3", "a": "4-5,10-11"},
    ),
]


def start(case: Case, scope: str) -> tuple[Node, StoredPod]:
    config = {**BEST_EFFORT, "topology_manager_scope": scope, "cpu_manager_policy_options": case.options}
    gates = {**Setting().gates, "CPUManagerPolicyAlphaOptions": True}
    node = Setting(config={"reserved_system_cpus": "0", **config}, gates=gates).node()
    running = admitted(node, pod_of(*case.pod))
    if case.grown:
        running = changed(running, **case.grown)
        assert node.resize(running, by_kep_text).verdict == Admitted()
    node.remove_container("p", case.ended)
    return node, running


@pytest.mark.parametrize("scope", ["container", "pod"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_hint_rounds_and_placements(case: Case, scope: str) -> None:
    """Hints are for containers that change, or once for the pod without its ended init containers."""
    node, running = start(case, scope)
    resized = node.resize(changed(running, **case.to), by_kep_text)
    assert resized.verdict == Admitted()
    align = bool(case.options)
    rounds = case.by_container if scope == "container" else (case.by_pod,)
    assert [
        (each.container and each.container.name, each.answers["cpu"]) for each in resized.hint_rounds
    ] == [
        (
            who or None,
            {"cpu": CPUHints.generate(node.topology, mask(free), mask(kept), count, align_by_socket=align)},
        )
        for who, free, kept, count in rounds
    ]
    assert {each.container.name: str(CPUSet(each.cpus)) for each in resized.placements} == case.want
    assert {name: held(node, name) for name in case.want} == {
        name: cpus or "shared" for name, cpus in case.want.items()
    }


def rejection(node: Node, pod: StoredPod) -> tuple[str, str, str]:
    """Return the container whose new size is rejected, with reason and message."""
    verdict = node.resize(pod, by_kep_text).verdict
    assert isinstance(verdict, Rejected)
    return verdict.container, str(verdict.reason), verdict.message


@pytest.mark.parametrize(("scope", "who"), [("container", "a"), ("pod", "")])
def test_the_topology_managers_policy_may_reject(scope: str, who: str) -> None:
    node = on(**RESTRICTED, topology_manager_scope=scope).node()
    running = admitted(node, pod_of(*three()))
    locality = "Resources cannot be allocated with Topology locality"
    assert rejection(node, changed(running, a="cpu=4")) == (who, "TopologyAffinityError", locality)


def test_a_resize_to_more_cpus_than_available_is_rejected() -> None:
    node = on().node()
    running = admitted(node, pod_of(*three()))
    want = "not enough cpus available to satisfy request: requested=10, available=9"
    reported = "a", "ResizeAllocateCPUsError", CANNOT.format("a", want)
    assert rejection(node, changed(running, a="cpu=10")) == reported
    assert node.resize(changed(running, a="cpu=9"), by_kep_text).verdict == Admitted()


def test_a_resize_below_the_promise_is_rejected() -> None:
    node = on().node()
    running = admitted(node, pod_of(*three()))
    want = "requested number of CPUs ( 1 ) are less than number of retained CPUs ( 2 )"
    reported = "b", "ResizeAllocateCPUsError", CANNOT.format("b", want)
    assert rejection(node, changed(running, a="cpu=4", b="cpu=1")) == reported


@pytest.mark.parametrize("to", ["2", "3"])
def test_a_container_without_its_promised_cpus_is_rejected(to: str) -> None:
    """It does not matter what it requests: the state is wrong."""
    node = on().node()
    running = admitted(node, pod_of(*three()))
    node.state.baselines["p"]["a"] = mask("2,9")
    want = "requested CPUs to be retained 2,9 are not a subset of reusable CPUs 2-3"
    reported = "a", "ResizeAllocateCPUsError", CANNOT.format("a", want)
    assert rejection(node, changed(running, a=f"cpu={to}", b="cpu=4")) == reported


def test_full_cores_include_those_that_the_container_has() -> None:
    node = on("0-1", cpu_manager_policy_options={"full-pcpus-only": "true"}).node()
    admitted(node, pod_of(guaranteed("4"), name="other"))
    running = admitted(node, pod_of(guaranteed("2")))
    want = "not enough free physical CPUs: available physical CPUs = 6, requested CPUs = 8, CPUs per core = 2"
    reported = "c", "SMTAlignmentError", f"SMT Alignment Error: {want}"
    assert rejection(node, changed(running, c="cpu=8")) == reported
    assert node.resize(changed(running, c="cpu=6"), by_kep_text).verdict == Admitted()


def test_a_container_resized_back_keeps_the_cpus_it_was_to_give_up() -> None:
    """The pending resize that would take CPUs from it later (KEP-6122) is cancelled."""
    node = on().node()
    node.delays = DelayRules(of_node=10**9)
    running = admitted(node, pod_of(guaranteed("2", "a"), guaranteed("2", "b")))
    node.resize(running := changed(running, a="cpu=4", b="cpu=4"), by_kep_text)
    node.resize(running := changed(running, a="cpu=3", b="cpu=3"), by_kep_text)
    before = dict(node.state.pending["p"])
    assert before.keys() == {"a", "b"}
    node.resize(changed(running, a="cpu=4"), by_kep_text)
    assert node.state.pending == {"p": {"b": before["b"]}}


def test_an_ended_init_container_with_an_impossible_size_does_not_block_others() -> None:
    node = on("11").node()
    running = admitted(node, pod_of(*with_init("3")))
    node.remove_container("p", "i")
    assert (held(node, "s"), held(node, "a")) == ("6-7", "8-9")
    assert node.resize(changed(running, i="cpu=30", a="cpu=9"), by_kep_text).verdict == Admitted()
    assert held(node, "a") == "0-5,8-10"
