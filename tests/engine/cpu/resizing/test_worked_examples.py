"""KEP-5554's examples, and more that were worked out by hand, step by step on one node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from cpuctl.engine.cpu.resizing.kep import resize_by_kep, resize_by_reference
from cpuctl.engine.cpu.resizing.request import Departure
from cpuctl.engine.outcome import Admitted, Rejected
from tests.support.resizing import (
    Setting,
    admitted,
    changed,
    guaranteed,
    held,
    pod_of,
    two_nodes,
    with_memory,
)
from tests.support.topologies import CoreAt, machine_info, mask

KEP_NODE = two_nodes()
TWENTY = with_memory(machine_info(CoreAt((core, core + 10)) for core in range(10)))
TOPOLOGY_AFFINITY, PROHIBITED = "TopologyAffinityError", "prohibitedCPUAllocationError"


@dataclass(frozen=True)
class Story:
    """A container's successive sizes, and the CPUs that it has after each, or the reason for a rejection."""

    name: str
    first: tuple[int, str]
    steps: tuple[tuple[int, str], ...]
    setting: Setting = field(default_factory=Setting)


def on(machine: Any = KEP_NODE, **config: Any) -> Setting:
    return Setting(machine=machine, config=config)


FULL_CORES: Mapping[str, str] = {"full-pcpus-only": "true"}
STORIES = [
    Story(
        "the KEP's diagram",
        (2, "0-1"),
        (
            (4, "0-3"),
            (6, "0-5"),
            (8, TOPOLOGY_AFFINITY),
            (4, "0-3"),
            (1, PROHIBITED),
            (2, "0-1"),
        ),
        on(topology_manager_policy="single-numa-node", cpu_manager_policy_options=FULL_CORES),
    ),
    Story(
        "down does not undo up in reverse order",
        (2, "6-7"),
        ((8, "0-7"), (10, "0-9"), (6, "0-1,6-9"), (5, "0,6-9"), (2, "6-7")),
        on(),
    ),
    Story(
        "cores are completed on the way up and broken up last on the way down",
        (2, "1,11"),
        (
            (4, "1-2,11-12"),
            (5, "1-3,11-12"),
            (6, "1-3,11-13"),
            (16, "1-8,11-18"),
            (5, "1-3,11-12"),
            (3, "1,3,11"),
        ),
        on(TWENTY, reserved_system_cpus="0,10"),
    ),
    Story(
        "a half used core comes first",
        (3, "1-2,11"),
        ((4, "1-2,11-12"),),
        on(TWENTY, reserved_system_cpus="0,10"),
    ),
]


@pytest.mark.parametrize("semantics", [resize_by_kep, resize_by_reference])
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_a_container_changes_size_step_by_step(story: Story, semantics: Any) -> None:
    """Both readings of the KEP agree on these stories."""
    node = story.setting.node()
    size, cpus = story.first
    running = admitted(node, pod_of(guaranteed(str(size))))
    assert held(node) == cpus
    for count, want in story.steps:
        before = held(node)
        verdict = node.resize(changed(running, c=f"cpu={count}"), semantics).verdict
        if isinstance(verdict, Rejected):
            assert (str(verdict.reason), held(node)) == (want, before)
        else:
            assert (isinstance(verdict, Admitted), held(node)) == (True, want), count
        assert node.state.baseline("p", "c") == mask(cpus)


def test_a_preset_container_keeps_the_cpus_that_it_was_promised() -> None:
    node = on(TWENTY, reserved_system_cpus="0,10").node()
    running = admitted(node, pod_of(guaranteed("4")))
    assert held(node) == "1-2,11-12"
    node.state.baselines["p"]["c"] = mask("2,12")
    for count, want in ((3, "1-2,12"), (2, "2,12"), (6, "1-3,11-13")):
        assert isinstance(node.resize(changed(running, c=f"cpu={count}")).verdict, Admitted)
        assert held(node) == want


def test_the_keps_story_of_two_pods() -> None:
    """CPUs of a removed pod are free for others; a container that shrinks keeps what it got first."""
    flat = with_memory(machine_info(CoreAt((cpu,)) for cpu in range(16)))
    node = on(flat, reserved_system_cpus="0").node()
    one = admitted(node, pod_of(guaranteed("2"), name="one"))
    assert held(node, uid="one") == "1-2"
    node.resize(one := changed(one, c="cpu=4"))
    assert (held(node, uid="one"), str(node.state_file().default_cpu_set)) == ("1-4", "0,5-15")
    node.resize(changed(one, c="cpu=2"))
    assert held(node, uid="one") == "1-2"
    two = admitted(node, pod_of(guaranteed("2", "c1"), guaranteed("2", "c2"), name="two"))
    assert (held(node, "c1", "two"), held(node, "c2", "two")) == ("3-4", "5-6")
    node.remove("one")
    node.resize(two := changed(two, c2="cpu=4"))
    assert held(node, "c2", "two") == "1-2,5-6"
    node.resize(changed(two, c1="cpu=4", c2="cpu=2"))
    assert (held(node, "c1", "two"), held(node, "c2", "two")) == ("3-4,7-8", "5-6")
    assert str(node.state_file().default_cpu_set) == "0-2,9-15"


@pytest.mark.parametrize("policy", ["restricted", "best-effort"])
def test_the_reference_rejects_a_smaller_size_that_the_kep_allows(policy: str) -> None:
    """Its hint omits a NUMA node that the container is on; the KEP only needs a part of its CPUs."""
    node = on(topology_manager_policy=policy, reserved_system_cpus="11").node()
    running = admitted(node, pod_of(guaranteed("4")))
    node.resize(running := changed(running, c="cpu=8"))
    assert held(node) == "0-7"
    reference = node.copy().resize(changed(running, c="cpu=6"), resize_by_reference)
    assert isinstance(reference.verdict, Rejected)
    assert "reusable CPUs 0-7 are not a subset of available CPUs 0-5" in reference.verdict.message
    kep = node.resize(changed(running, c="cpu=6"))
    assert (kep.verdict, kep.departures, held(node)) == (Admitted(), (Departure.POSSIBLE,), "0-5")
