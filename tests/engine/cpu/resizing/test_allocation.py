"""Which CPUs a resize may use in the reference implementation, and its errors."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.cpu.resizing.allocation import ContainerCPUs, allocate_resized
from cpuctl.engine.masks import NO_CPUS, NodeMask
from cpuctl.engine.outcome import AllocationError, Picked
from tests.support.resizing import Setting, two_nodes
from tests.support.topologies import mask

NODE0, NODE1 = NodeMask(0b01), NodeMask(0b10)


def policy(**options: str) -> StaticPolicy:
    config = {"cpu_manager_policy_options": {name.replace("_", "-"): on for name, on in options.items()}}
    node = Setting(config=config, gates={"CPUManagerPolicyAlphaOptions": True}).node()
    assert node.policy is not None
    return node.policy


@dataclass(frozen=True)
class Case:
    """What a container has, was promised and may have, the count it requests, and the result."""

    name: str
    current: str | None
    baseline: str
    free: str
    count: int
    want: str
    affinity: NodeMask | None = None
    lent: str = ""


CASES = [
    Case("up: all that it has, and more", "0-1", "0-1", "2-10", 4, "0-3"),
    Case("up near the affinity", "6-7", "6-7", "0-5,8-10", 4, "6-9", NODE1),
    Case("up beyond the affinity never spills over", "6-9", "6-7", "0-5,10", 6,
         "requested CPUs to be retained 6-7 are not a subset of available CPUs 0-5", NODE1),
    Case("up does not use what is lent", "0-1", "0-1", "", 4,
         "not enough cpus available to satisfy request: requested=4, available=2", lent="2-3"),
    Case("the same", "0-3", "0-1", "4-10", 4, "0-3"),
    Case("down: a part of what it has", "0-5", "0-1", "6-10", 4, "0-3"),
    Case("down keeps what was promised", "0-5", "4-5", "6-10", 4, "0-1,4-5"),
    Case("down to the promise", "0-5", "2-3", "6-10", 2, "2-3"),
    Case("below the promise", "0-5", "0-3", "6-10", 2,
         "requested number of CPUs ( 2 ) are less than number of retained CPUs ( 4 )"),
    Case("fresh", None, "", "0-10", 2, "6-7"),
    Case("fresh, also from what is lent", None, "", "6-10", 2, "0-1", NODE0, lent="0-1"),
    Case("an affinity that omits what it has", "0-7", "0-3", "8-10", 6,
         "reusable CPUs 0-7 are not a subset of available CPUs 0-5", NODE0),
    Case("promised CPUs that it does not have", "0-3", "4-5", "6-10", 4,
         "requested CPUs to be retained 4-5 are not a subset of reusable CPUs 0-3"),
    Case("promised CPUs that it does not have, down", "0-3", "4-5", "6-10", 2,
         "requested CPUs to be retained 4-5 are not a subset of available CPUs 0-3"),
    Case("nothing promised", "0-3", "", "4-10", 6,
         "requested CPUs to be retained  are not a subset of reusable CPUs 0-3"),
    Case("too many, with an affinity to all", "1-2", "1-2", "3-10", 40,
         "requested CPUs to be retained 1-2 are not a subset of available CPUs ", NODE0 | NODE1),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_a_container_gets(case: Case) -> None:
    container_cpus = ContainerCPUs(
        current=None if case.current is None else mask(case.current),
        baseline=mask(case.baseline),
        free=mask(case.free),
        lent=mask(case.lent),
    )
    result = allocate_resized(policy(), container_cpus, case.count, case.affinity)
    got = str(CPUSet(result.cpus)) if isinstance(result, Picked) else result
    assert got == case.want or got == AllocationError(case.want)


def test_a_fresh_container_spills_over_the_affinity() -> None:
    """The steps near the affinity precede the others."""
    result = allocate_resized(
        policy(), ContainerCPUs(current=None, baseline=NO_CPUS, free=mask("1-3,7-9")), 5, NODE0
    )
    assert isinstance(result, Picked)
    assert [(step.rule, str(CPUSet(step.cpus))) for step in result.steps] == [
        ("whole cores", "2-3"),
        ("single CPUs, packed", "1"),
        ("whole cores", "8-9"),
    ]


def test_align_by_socket_treats_the_sockets_of_the_affinity_as_near() -> None:
    machine = two_nodes()
    assert len(machine.nodes) == 2
    result = allocate_resized(
        policy(align_by_socket="true"),
        ContainerCPUs(current=mask("6-7"), baseline=mask("6-7"), free=mask("0-5,8-10")),
        4,
        NODE1,
    )
    assert isinstance(result, Picked)
    assert str(CPUSet(result.cpus)) == "6-9"
