"""What a decision reports besides its result, and what is named as having decided."""

from __future__ import annotations

import dataclasses

import pytest

from cpuctl.engine.cpu.resizing.request import Departure
from cpuctl.engine.outcome import FaultKind, KubeletFault
from cpuctl.engine.resize.handler import ResizePath, decide
from cpuctl.engine.resize.outcome import CPUShare, DecidedBy, ResizeResult
from cpuctl.engine.resize.rules import IN_PLACE
from cpuctl.engine.resize.semantics import Semantics
from cpuctl.engine.resize.server_side import ResizeServer
from cpuctl.records import replace
from tests.support.pods import app, resources
from tests.support.resizing import (
    NO_POLICY,
    PREVIEW,
    RESTRICTED,
    Setting,
    admitted,
    guaranteed,
    held,
    pod_of,
    request,
)

CRITICAL = 2_000_000_000
RELEASED = Setting(minor=36, gates=PREVIEW)
TWO = CPUShare(0b11 << 6, 0b11 << 6, 0b11 << 6)
"""A container that was given two CPUs and keeps them."""
FAULT = KubeletFault(kind=FaultKind.ENDLESS_LOOP, where="somewhere", why="for a test")


def path(setting: Setting, semantics: Semantics = Semantics.KEP) -> ResizePath:
    return ResizePath(kubelet=setting.rules(), semantics=semantics)


@pytest.mark.parametrize(
    ("setting", "to", "server", "result"),
    [
        (Setting(), "2", None, ResizeResult.UNCHANGED),
        (Setting(minor=36, gates={}), "4", None, ResizeResult.INFEASIBLE),
        (Setting(minor=32, gates={}), "4", None, ResizeResult.IGNORED),
        (Setting(), "4", ResizeServer(in_place=False), ResizeResult.FORBIDDEN),
    ],
)
def test_a_resize_that_reaches_no_manager_leaves_the_cpus_unchanged(
    setting: Setting, to: str, server: ResizeServer | None, result: ResizeResult
) -> None:
    node = setting.node()
    running = admitted(node, pod_of(guaranteed("2"), guaranteed("500m", "d")))
    outcome = decide(node, request(running, c=f"cpu={to}"), replace(path(setting), server=server))
    assert (outcome.result, outcome.shares) == (result, {"c": TWO})
    assert (outcome.preview, outcome.placements, outcome.delay) == (False, (), 0)
    assert outcome.request.running.spec == running


@pytest.mark.parametrize(("manager", "rounds"), [("none", []), ("best-effort", ["c", "d"])])
@pytest.mark.parametrize("setting", [RELEASED, Setting()], ids=["released", "preview"])
def test_hints_and_placements_are_reported(setting: Setting, manager: str, rounds: list[str]) -> None:
    """Without a Topology Manager there are no rounds of hints."""
    used = dataclasses.replace(setting, config={"topology_manager_policy": manager})
    node = used.node()
    running = admitted(node, pod_of(guaranteed("2"), guaranteed("500m", "d")))
    outcome = decide(node, request(running, c="memory=2Gi"), path(used))
    assert (outcome.result, outcome.decided_by, outcome.preview) == (
        ResizeResult.ADMITTED, DecidedBy.MANAGERS, setting.minor == 38
    )  # fmt: skip
    assert [each.container.name for each in outcome.hint_rounds if each.container] == rounds
    assert [(each.container.name, each.exclusive) for each in outcome.placements] == [
        ("c", True),
        ("d", False),
    ]


def test_cpus_before_and_after_are_reported_with_the_baseline() -> None:
    setting = RELEASED
    node = setting.node()
    running = admitted(node, pod_of(guaranteed("1500m", "a"), guaranteed("2", "b"), guaranteed("500m", "c")))
    outcome = decide(node, request(running, a="cpu=2"), path(setting))
    assert outcome.shares == {"a": CPUShare(None, 0b11 << 8, 0b11 << 8), "b": TWO}
    assert (outcome.result, outcome.unfollowed) == (ResizeResult.ADMITTED, ())


def test_a_container_may_have_no_baseline() -> None:
    """A state file may hold baselines of other containers only."""
    node, again = Setting().node(), Setting().node()
    running, other = (admitted(node, pod_of(guaranteed("2"), name=name)) for name in ("p", "q"))
    file = node.state_file()
    assert again.restore(replace(file, baselines={"q": file.baselines["q"]})) is None
    again.resume([running, other])
    outcome = decide(again, request(running, c="cpu=2"), path(Setting()))
    assert outcome.shares == {"c": replace(TWO, baseline=None)}


def test_containers_of_a_divided_pod_are_not_due_a_number_of_cpus() -> None:
    """KEP-5526: what they have is part of their pod's CPUs."""
    gates = {**PREVIEW, "PodLevelResourceManagers": True}
    config = {"topology_manager_policy": "best-effort", "topology_manager_scope": "pod"}
    setting = Setting(minor=36, gates=gates, config=config)
    node = setting.node()
    parts = pod_of(guaranteed("2", "a"), guaranteed("1500m", "b"))
    running = admitted(node, parts._replace(resources=resources(*["cpu=4 memory=4Gi"] * 2)))
    outcome = decide(node, request(running, a="memory=2Gi"), path(setting))
    assert (outcome.result, outcome.unfollowed, len(outcome.shares)) == (ResizeResult.ADMITTED, (), 2)


def test_all_containers_whose_cpus_do_not_follow_are_named() -> None:
    node = RELEASED.node()
    running = admitted(node, pod_of(guaranteed("1", "a"), guaranteed("2", "b"), guaranteed("1", "c")))
    outcome = decide(node, request(running, a="cpu=2", c="cpu=1500m"), path(RELEASED))
    assert (outcome.result, outcome.unfollowed) == (ResizeResult.NO_EFFECT, ("a", "c"))


def test_a_kubelet_that_hangs_decides_nothing() -> None:
    setting = Setting(minor=36, gates={}, config=NO_POLICY)
    node = setting.node()
    running = admitted(node, pod_of(guaranteed("2")))
    node.fault = FAULT
    outcome = decide(node, request(running, c="cpu=4"), path(setting))
    assert (outcome.result, outcome.message, outcome.reason) == (ResizeResult.FAULT, "for a test", "")
    assert (outcome.decided_by, outcome.unfollowed, node.active["p"]) == (DecidedBy.MANAGERS, (), running)


NO_ROOM = (
    "it does not fit (Node didn't have enough resource: memory, requested: 69793218560, used: 0, capacity: "
)


@pytest.mark.parametrize(
    ("setting", "decided_by"),
    [(Setting(minor=36, gates={}, config=NO_POLICY), DecidedBy.MANAGERS), (Setting(), DecidedBy.NODE_FIT)],
)
def test_preemption_for_a_critical_pod_is_unknown(setting: Setting, decided_by: DecidedBy) -> None:
    node = setting.node(fit=True)
    running = admitted(node, pod_of(guaranteed("2"), priority=CRITICAL))
    outcome = decide(node, request(running, c="memory=65Gi"), path(setting))
    assert (outcome.result, outcome.decided_by) == (ResizeResult.UNKNOWN, decided_by)
    assert outcome.message.startswith(NO_ROOM)
    assert node.active["p"] == running


@pytest.mark.parametrize("semantics", list(Semantics))
def test_a_missing_affinity_is_final_under_both_semantics(semantics: Semantics) -> None:
    setting = Setting(config={"topology_manager_policy": "single-numa-node"})
    node = setting.node()
    running = admitted(node, pod_of(guaranteed("2")))
    before = held(node)
    outcome = decide(node, request(running, c="cpu=8"), path(setting, semantics))
    assert (outcome.result, outcome.reason) == (ResizeResult.INFEASIBLE, "TopologyAffinityError")
    assert (outcome.departures, held(node)) == ((), before)


def test_managers_decide_before_the_fit_is_checked() -> None:
    """If both reject the pod, the reason is that of the managers."""
    setting = Setting(config=RESTRICTED)
    node = setting.node(fit=True)
    running = admitted(node, pod_of(guaranteed("4")))
    outcome = decide(node, request(running, c="cpu=2 memory=65Gi"), path(setting))
    assert (outcome.result, outcome.decided_by, outcome.preview) == (
        ResizeResult.INFEASIBLE,
        DecidedBy.MANAGERS,
        True,
    )
    assert outcome.departures == (Departure.FINAL,)
    assert (node.active["p"], held(node)) == (running, "0-3")


@pytest.mark.parametrize(("semantics", "holds"), [(Semantics.KEP, "6-7"), (Semantics.REFERENCE, "2-3,6-7")])
def test_a_rejection_midway_leaves_traces_only_with_the_reference(semantics: Semantics, holds: str) -> None:
    node = Setting().node()
    running = admitted(node, pod_of(guaranteed("2", "a"), guaranteed("4", "b")))
    outcome = decide(node, request(running, a="cpu=4", b="cpu=2"), path(Setting(), semantics))
    assert (outcome.reason, held(node, "a")) == ("prohibitedCPUAllocationError", holds)
    assert (Departure.NOTHING_KEPT in outcome.departures) is (semantics is Semantics.KEP)


@pytest.mark.parametrize("semantics", list(Semantics))
def test_a_pod_that_does_not_fit_and_moves_no_cpus_has_no_departures(semantics: Semantics) -> None:
    setting = Setting()
    node = setting.node(fit=True)
    running = admitted(node, pod_of(guaranteed("2")))
    outcome = decide(node, request(running, c="memory=65Gi"), path(setting, semantics))
    assert (outcome.result, outcome.decided_by, outcome.preview) == (
        ResizeResult.DEFERRED,
        DecidedBy.NODE_FIT,
        True,
    )
    assert (outcome.departures, node.active["p"]) == ((), running)
    assert [each.container.name for each in outcome.placements] == ["c"]


@pytest.mark.parametrize(("level", "decided_by"), [(True, DecidedBy.NODE_FIT), (False, DecidedBy.MANAGERS)])
def test_pod_level_resources_are_compared_with_the_node(*, level: bool, decided_by: DecidedBy) -> None:
    """If its kubelet takes them into account."""
    setting = Setting()
    node = setting.node(fit=True)
    node.pod_rules = replace(node.pod_rules, pod_level=level)
    running = pod_of(app("cpu=1", "cpu=2", "c"))._replace(resources=resources("memory=65Gi"))
    node.resume([running])
    outcome = decide(node, request(running, c="cpu=2"), path(setting))
    assert (outcome.decided_by, outcome.result.accepted) == (decided_by, decided_by is DecidedBy.MANAGERS)


@pytest.mark.parametrize(("minor", "gates"), [(32, {IN_PLACE: True}), (36, {})])
def test_several_errors_of_the_api_server_are_one_list(minor: int, gates: dict[str, bool]) -> None:
    setting = Setting(minor=minor, gates=gates, config=NO_POLICY)
    node = setting.node()
    running = admitted(node, pod_of(guaranteed("2")))
    server = ResizeServer(minor=minor, node_resizes=False)
    one = request(running, c="cpu=4")
    two = replace(
        one, desired=running._replace(containers=(app("cpu=1 memory=1Gi", "cpu=2 memory=1Gi", "c"),))
    )
    reported = [decide(node, each, replace(path(setting), server=server)).message for each in (one, two)]
    no_node = "spec: Forbidden: Pod running on node without support for resize"
    other = 'spec: Invalid value: "Guaranteed": Pod QOS Class may not change as a result of resizing'
    assert reported == [no_node, f"[{other}, {no_node}]"]
