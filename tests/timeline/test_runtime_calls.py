"""Requests and answers of a runtime's plugin for the shipped timelines, against the kubelets' decisions."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpuctl.inputs.sources import Sources
from cpuctl.operations.replay import TimelineInputs, load_timeline
from cpuctl.timeline.pods.containers import own_or_shared
from cpuctl.timeline.report.runtime_calls import RuntimeCall, RuntimeCalls, RuntimeEvent
from cpuctl.timeline.simulation import Simulation
from tests.timeline.replaying import container, document, read, replay

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "fixtures/timelines").glob("*.yaml"))


def played(timeline_file: Path) -> Simulation:
    return replay(load_timeline(TimelineInputs(str(timeline_file)), Sources()), RuntimeCalls())


def followed(calls: list[RuntimeCall], *, boots: int) -> dict[tuple[str, str], int]:
    """Apply calls as a runtime does: return the CPUs of the containers that run in the end.

    A machine that has gone down has no containers left, and none of them was stopped.
    """
    sets: dict[tuple[str, str], int] = {}
    for call in calls:
        key = (call.pod, call.container)
        if call.event is RuntimeEvent.CREATE:
            assert key not in sets or boots > 1, f"{key} is created twice"
            sets[key] = call.cpus
        elif call.event is RuntimeEvent.STOP:
            del sets[key]
        assert call.updates.keys() <= sets.keys(), "only what runs can be updated"
        assert key not in call.updates, "the container that comes is adjusted, not updated"
        sets |= call.updates
    return sets


@pytest.mark.parametrize("name", SHIPPED, ids=lambda path: path.stem)
def test_following_the_answers_gives_the_kubelets_decisions(name: Path) -> None:
    simulation = played(name)
    world, calls = simulation.world, simulation.calls
    assert calls is not None
    sets = followed(calls.calls, boots=world.boot)
    running = {
        (life.name, one): (life.uid, one)
        for life in world.pods.values()
        for one, container in life.containers.items()
        if container.runs
    }
    assert sets.keys() == running.keys()
    if world.kubelet is not None:
        decided = {each: own_or_shared(world.kubelet, key) for each, key in running.items()}
        assert sets == {each: cpus or sets[each] for each, cpus in decided.items()}


def test_shipped_timelines_contain_calls() -> None:
    (story,) = (each for each in SHIPPED if each.stem == "several-containers")
    calls = played(story).calls
    assert calls is not None
    assert {each.event for each in calls.calls} >= {RuntimeEvent.CREATE, RuntimeEvent.UPDATE}


def test_a_machine_that_goes_down_makes_no_calls() -> None:
    timeline = read(document({"at": "0s", "admit": "dpdk"}, {"at": "1s", "kubelet": "reboot"}, until="5s"))
    simulation = replay(timeline, RuntimeCalls())
    assert simulation.calls is not None
    assert [(each.at, each.event) for each in simulation.calls.calls] == [
        (0, RuntimeEvent.CREATE),
        (1_000_000_000, RuntimeEvent.CREATE),
    ]
    assert container(simulation)["cgroup"] == "1,11"


def test_init_containers_start_and_end_before_the_others() -> None:
    pod = {
        "metadata": {"name": "dpdk"},
        "spec": {
            "initContainers": [{"name": "first", "resources": {"limits": {"cpu": 4, "memory": "1Gi"}}}],
            "containers": [{"name": "app", "resources": {"limits": {"cpu": 2, "memory": "1Gi"}}}],
        },
    }
    timeline = read(document({"at": "0s", "admit": "dpdk"}, pods=[pod]))
    simulation = replay(timeline, RuntimeCalls())
    assert simulation.calls is not None
    assert [(each.event.value, each.container, each.cpus.bit_count()) for each in simulation.calls.calls] == [
        ("CREATE_CONTAINER", "first", 4),
        ("STOP_CONTAINER", "first", 0),
        ("CREATE_CONTAINER", "app", 2),
    ]
