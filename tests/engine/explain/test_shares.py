"""How the CPUs of each NUMA node are divided, and what other pods hold."""

from __future__ import annotations

import pytest

from cpuctl.checkpoints.model import MemoryBlock
from cpuctl.cpuset import CPUSet
from cpuctl.engine.explain.explanation import Holder, NodeShare, holders, known_name, node_shares
from cpuctl.engine.node import Node
from tests.engine.explain.scenarios import (
    GIB,
    TWO_NODES,
    cards,
    memory_config,
    named,
    reported,
    scenario,
    whole,
    with_memory,
)
from tests.support.pods import app
from tests.support.topologies import mask

ASKED = named("asked", whole(2))


def written(share: NodeShare) -> dict[str, str]:
    parts = {
        "cpus": share.cpus,
        "reserved": share.reserved,
        "own": share.own,
        "held": share.held,
        "free": share.free,
    }
    return {name: str(CPUSet(cpus)) for name, cpus in parts.items()}


def test_every_node_is_split_up() -> None:
    """A core is two CPUs, n and n+8, and there are four cores per node."""
    replay = reported(scenario(TWO_NODES, named("a", whole(2)), ASKED, reserved_system_cpus="0-1"))
    first, second = node_shares(replay.after, ASKED)
    assert (first.node, second.node) == (0, 1)
    assert written(first) == {
        "cpus": "0-3,8-11",
        "reserved": "0-1",
        "own": "3,11",
        "held": "2,10",
        "free": "8-9",
    }
    assert written(second) == {
        "cpus": "4-7,12-15",
        "reserved": "",
        "own": "",
        "held": "",
        "free": "4-7,12-15",
    }


def test_reserved_cpus_of_the_shared_pool_are_not_free() -> None:
    replay = reported(scenario(TWO_NODES, ASKED, reserved_system_cpus="2-3"))
    assert written(node_shares(replay.before, ASKED)[0])["free"] == "0-1,8-11"


def block(size: int, *nodes: int, resource: str = "memory") -> MemoryBlock:
    return MemoryBlock(numa_affinity=nodes, type=resource, size=size)


def held_node() -> Node:
    """Let containers and pods hold CPUs and memory; only two of the pods run."""
    node = reported(scenario(with_memory(TWO_NODES, 10), ASKED, **memory_config())).before
    node.resume([named("high", whole(1)), named("asked", whole(1))])
    node.cpu.state.assignments = {
        "high": {"one": mask("4"), "two": mask("12-13")},
        "ended": {"one": mask("2,15")},
        "asked": {"main": mask("1")},
    }
    node.cpu.state.pod_entries = {"divided": mask("3,11")}
    node.memory.state.blocks = {
        "high": {"one": (block(GIB, 0), block(8, 0, resource="hugepages-2Mi")), "two": (block(GIB, 0, 1),)},
        "ended": {"one": (block(GIB, 1),), "two": (block(2 * GIB, 1),)},
        "divided": {"one": (block(GIB, 0),)},
        "asked": {"main": (block(GIB, 0),)},
        "memory": {"main": (block(5, 1),)},
    }
    node.memory.state.pod_blocks = {"divided": (block(4 * GIB, 0),), "whole": (block(7, 0, 1),)}
    return node


@pytest.mark.parametrize("uid", ["11111111-1111-4111-8111-111111111111", "0123456789abcdef0123456789abcdef"])
def test_a_pod_known_only_from_state_files_has_no_namespace(uid: str) -> None:
    assert known_name(named(uid, whole(1))) == uid
    assert known_name(named("high", whole(1))) == "default/high"


def test_holders_come_in_the_order_of_their_lowest_cpu() -> None:
    """Pods with memory only come first, by UID."""
    assert list(holders(held_node(), ASKED)) == [
        Holder(uid="memory", name="memory", cpus=0, memory={("memory", 0b10): 5}, running=False),
        Holder(uid="whole", name="whole", cpus=0, memory={("memory", 0b11): 7}, running=False),
        Holder(
            uid="ended", name="ended", cpus=mask("2,15"), memory={("memory", 0b10): 3 * GIB}, running=False
        ),
        Holder(
            uid="divided",
            name="divided",
            cpus=mask("3,11"),
            memory={("memory", 0b01): 4 * GIB},
            running=False,
        ),
        Holder(
            uid="high",
            name="default/high",
            cpus=mask("4,12-13"),
            memory={("memory", 0b01): GIB, ("hugepages-2Mi", 0b01): 8, ("memory", 0b11): GIB},
            running=True,
        ),
    ]


def test_a_pod_that_holds_only_cpus_is_a_holder() -> None:
    node = held_node()
    node.memory.state.blocks, node.memory.state.pod_blocks = {}, {}
    assert [(each.uid, dict(each.memory)) for each in holders(node, ASKED)] == [
        ("ended", {}),
        ("divided", {}),
        ("high", {}),
    ]


def test_pods_that_hold_devices_which_the_pod_requests_are_holders() -> None:
    card = "example.com/card=1"
    first, second = named("first", whole(1, more=card)), named("second", app(card, card))
    requesting, other = named("asked", whole(1, more=card)), named("asked", whole(1))
    for pod, devices in ((requesting, {("example.com/card", 0b1): 1}), (other, {})):
        replay = reported(scenario(TWO_NODES, first, second, pod, devices=cards(node0=2)))
        found = {each.uid: each.devices for each in holders(replay.after, pod)}
        assert found == ({"first": devices, "second": devices} if devices else {"first": {}})


def test_pods_that_a_restarted_kubelet_has_not_processed_are_waiting() -> None:
    node = held_node()
    found = {each.uid: each.waiting for each in holders(node, ASKED, waiting={"ended", "high"})}
    assert {uid for uid, waiting in found.items() if waiting} == {"ended"}
