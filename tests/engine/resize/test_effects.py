"""Effects of a resize beyond CPU sets: restarts, the scheduler's count, cgroup values."""

from __future__ import annotations

import dataclasses

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.outcome import Admitted, Rejected
from cpuctl.engine.resize.effects import cgroup_change, changed_amounts, counted, restarting
from cpuctl.engine.resize.handler import ResizePath, decide
from cpuctl.engine.resize.outcome import DecidedBy, ResizeOutcome, ResizeResult
from cpuctl.engine.resize.pending import refused_after_restart
from cpuctl.engine.resize.rules import EXCLUSIVE_CPUS, ResizeRules
from cpuctl.engine.resize.running import POD, PodResize, RunningPod
from cpuctl.pods.cgroups.values import CgroupSettings
from cpuctl.pods.model import StoredPod
from cpuctl.records import replace
from tests.support.pods import app, resources
from tests.support.resizing import (
    NO_POLICY,
    RESTRICTED,
    Setting,
    admitted,
    changed,
    guaranteed,
    pod_of,
    request,
    with_policies,
)

SHARING = pod_of(app("cpu=1 memory=1Gi", "cpu=2 memory=2Gi", "c"))


def limits_of(pod: StoredPod, requests: str, limits: str) -> StoredPod:
    return pod._replace(containers=(app(requests, limits, "c"),))


@pytest.mark.parametrize(
    ("to", "names"),
    [
        (("cpu=1 memory=1Gi", "cpu=2 memory=2Gi"), ()),
        (("cpu=1000m memory=1024Mi", "cpu=2 memory=2Gi"), ()),
        (("cpu=2 memory=1Gi", "cpu=2 memory=2Gi"), (("requests", "cpu"),)),
        (("cpu=1 memory=2Gi", "cpu=2 memory=3Gi"), (("requests", "memory"), ("limits", "memory"))),
        (("cpu=1", "cpu=2 memory=2Gi"), (("requests", "memory"),)),
    ],
)
def test_changes_of_a_container(to: tuple[str, str], names: tuple[tuple[str, str], ...]) -> None:
    desired = limits_of(SHARING, *to)
    assert changed_amounts(PodResize(RunningPod.settled(SHARING), desired), "c") == names


def test_changes_at_pod_level() -> None:
    desired = SHARING._replace(resources=resources("cpu=3", "memory=4Gi"))
    found = changed_amounts(PodResize(RunningPod.settled(SHARING), desired), POD)
    assert found == (("requests", "cpu"), ("limits", "memory"))


@pytest.mark.parametrize(
    ("policy", "to", "minor", "resources_that_restart"),
    [
        ({"cpu"}, ("cpu=2 memory=1Gi", "cpu=2 memory=2Gi"), 36, ("cpu",)),
        ({"memory"}, ("cpu=2 memory=1Gi", "cpu=2 memory=2Gi"), 36, ()),
        ({"cpu", "memory"}, ("cpu=2 memory=2Gi", "cpu=2 memory=2Gi"), 36, ("cpu", "memory")),
        (set(), ("cpu=2 memory=2Gi", "cpu=2 memory=2Gi"), 36, ()),
        ({"memory"}, ("cpu=1 memory=2Gi", "cpu=2 memory=2Gi"), 32, ()),
        ({"memory"}, ("cpu=1 memory=2Gi", "cpu=2 memory=2Gi"), 33, ("memory",)),
        ({"memory"}, ("cpu=1 memory=1Gi", "cpu=2 memory=3Gi"), 32, ("memory",)),
    ],
)
def test_what_restarts_a_container(
    policy: set[str], to: tuple[str, str], minor: int, resources_that_restart: tuple[str, ...]
) -> None:
    """Memory requests are compared from 1.33 on."""
    running = RunningPod.settled(with_policies(SHARING, {"c": frozenset(policy)}))
    found = restarting(PodResize(running, limits_of(SHARING, *to)), "c", ResizeRules(minor=minor))
    assert found == resources_that_restart


def test_pod_level_resources_restart_nothing() -> None:
    desired = SHARING._replace(resources=resources("cpu=3", "memory=4Gi"))
    assert restarting(PodResize(RunningPod.settled(SHARING), desired), POD, ResizeRules()) == ()


def outcome_of(given: PodResize, result: ResizeResult) -> ResizeOutcome:
    return ResizeOutcome(request=given, result=result, decided_by=DecidedBy.MANAGERS)


@pytest.mark.parametrize(
    ("result", "to", "takes"),
    [
        (ResizeResult.ADMITTED, "4", ("2", "4", "4")),
        (ResizeResult.ADMITTED, "1", ("2", "2", "1")),
        (ResizeResult.NO_EFFECT, "4", ("2", "4", "4")),
        (ResizeResult.DEFERRED, "4", ("2", "4", "4")),
        (ResizeResult.DEFERRED, "1", ("2", "2", "2")),
        (ResizeResult.IGNORED, "4", ("2", "4", "4")),
        (ResizeResult.INFEASIBLE, "4", ("2", "2", "2")),
        (ResizeResult.FORBIDDEN, "4", ("2", "2", "2")),
    ],
)
def test_what_the_scheduler_counts(result: ResizeResult, to: str, takes: tuple[str, ...]) -> None:
    """The maximum of requested, granted and used amounts; what is infeasible does not count."""
    given = request(pod_of(guaranteed("2")), c=f"cpu={to}")
    reported = counted(outcome_of(given, result), ResizeRules())
    assert (
        tuple(str(each["cpu"]) for each in (reported.before, reported.meanwhile, reported.settled)) == takes
    )


def test_the_scheduler_counts_what_is_still_in_use() -> None:
    """A resize is requested while another is in progress."""
    small, large = pod_of(guaranteed("2")), pod_of(guaranteed("6"))
    running = replace(RunningPod.settled(small), actual=large)
    reported = counted(
        outcome_of(PodResize(running, changed(small, c="cpu=3")), ResizeResult.ADMITTED), ResizeRules()
    )
    assert [str(each["cpu"]) for each in (reported.before, reported.meanwhile, reported.settled)] == [
        "6",
        "6",
        "3",
    ]


def test_pod_level_requests_count_as_a_whole() -> None:
    small = SHARING._replace(resources=resources("cpu=3 memory=4Gi", "cpu=3 memory=4Gi"))
    large = small._replace(resources=resources("cpu=5 memory=4Gi", "cpu=5 memory=4Gi"))
    given = PodResize(RunningPod.settled(small), large)
    reported = counted(outcome_of(given, ResizeResult.ADMITTED), ResizeRules())
    assert [str(each["cpu"]) for each in (reported.before, reported.meanwhile, reported.settled)] == [
        "3",
        "5",
        "5",
    ]
    blind = counted(outcome_of(given, ResizeResult.ADMITTED), ResizeRules(pod_level_resources=False))
    assert [str(each["cpu"]) for each in (blind.before, blind.meanwhile, blind.settled)] == ["1", "1", "1"]


def test_the_quota_follows_if_cpus_are_shared() -> None:
    setting = Setting(minor=36, gates={}, config=NO_POLICY)
    node = setting.node()
    running = admitted(node, SHARING)
    more = PodResize(RunningPod.settled(running), limits_of(running, "cpu=2 memory=2Gi", "cpu=3 memory=4Gi"))
    outcome = decide(node, more, ResizePath(kubelet=setting.rules()))
    change = cgroup_change(outcome, CgroupSettings(), node.pod_rules)
    for place in (POD, "c"):
        old, new = change.before[place], change.after[place]
        assert (old.shares, old.quota, old.memory) == (1024, 200_000, 2 << 30)
        assert (new.shares, new.quota, new.memory) == (2048, 300_000, 4 << 30)


def test_exclusive_cpus_have_no_quota_before_and_after() -> None:
    setting = Setting()
    node = setting.node()
    running = admitted(node, pod_of(guaranteed("2")))
    outcome = decide(node, request(running, c="cpu=4"), ResizePath(kubelet=setting.rules()))
    assert outcome.result is ResizeResult.ADMITTED
    change = cgroup_change(outcome, CgroupSettings(minor=38), node.pod_rules)
    assert [(each["c"].shares, each["c"].quota) for each in (change.before, change.after)] == [
        (2048, -1),
        (4096, -1),
    ]
    assert change.after[POD].quota == -1


def test_nothing_is_written_for_a_rejected_resize() -> None:
    node = Setting().node()
    running = admitted(node, pod_of(guaranteed("2")))
    refused = ResizePath(kubelet=ResizeRules(static_cpus=True))
    outcome = decide(node, request(running, c="cpu=4"), refused)
    change = cgroup_change(outcome, CgroupSettings(), node.pod_rules)
    assert outcome.result is ResizeResult.INFEASIBLE
    assert change.before == change.after


@pytest.mark.parametrize(("manager", "survives"), [("restricted", False), ("best-effort", True)])
def test_a_restart_finds_cpus_that_have_not_followed(manager: str, *, survives: bool) -> None:
    """Resized while hints did not matter, admitted again where they do (kubernetes issue 140031)."""
    lenient = Setting(minor=36, gates={EXCLUSIVE_CPUS: True}, config={"topology_manager_policy": "none"})
    node = lenient.node()
    running = admitted(node, pod_of(guaranteed("2")))
    outcome = decide(node, request(running, c="cpu=4"), ResizePath(kubelet=lenient.rules()))
    assert (outcome.result, outcome.unfollowed) == (ResizeResult.NO_EFFECT, ("c",))
    strict = dataclasses.replace(lenient, config={"topology_manager_policy": manager}).node()
    assert strict.restore(node.state_file()) is None
    strict.resume(node.active.values())
    before = strict.copy()
    refused = refused_after_restart(strict, ["p"])
    if survives:
        assert refused == {}
    else:
        verdict = refused["p"]
        assert isinstance(verdict, Rejected)
        assert verdict.reason == "TopologyAffinityError"
    assert (strict.state, strict.active) == (before.state, before.active)


def test_a_restart_admits_cpus_that_have_followed() -> None:
    setting = Setting(config=RESTRICTED)
    node = setting.node()
    running = admitted(node, pod_of(guaranteed("2")))
    outcome = decide(node, request(running, c="cpu=4"), ResizePath(kubelet=setting.rules()))
    assert isinstance(outcome.verdict, Admitted)
    assert refused_after_restart(node, ["p"]) == {}
    again = setting.node()
    assert again.restore(node.state_file()) is None
    for admission in again.readmit(node.active.values()):
        assert [str(CPUSet(each.cpus)) for each in admission.placements] == ["0-3"]
