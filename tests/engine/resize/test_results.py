"""What decides on a resize, release by release: infeasible, deferred or idle exactly as in real kubelets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from cpuctl.engine.node import Node
from cpuctl.engine.resize.handler import ResizePath, decide
from cpuctl.engine.resize.obstacles import whole_node
from cpuctl.engine.resize.outcome import (
    Condition,
    DecidedBy,
    ResizeOutcome,
    conditions_of,
    legacy_status,
)
from cpuctl.engine.resize.outcome import (
    ResizeResult as Result,
)
from cpuctl.engine.resize.rules import EXCLUSIVE_CPUS, IN_PLACE, ResizeRules
from cpuctl.kubelet.releases.behaviours import behaviours
from tests.support.pods import app
from tests.support.resizing import NO_POLICY, PREVIEW, RESTRICTED, Setting, admitted, held, pod_of, request

ALPHA: Mapping[str, bool] = {IN_PLACE: True}
BOTH: Mapping[str, bool] = {IN_PLACE: True, EXCLUSIVE_CPUS: True}
SINGLE: Mapping[str, Any] = {"topology_manager_policy": "single-numa-node"}
OLD_WORDS = "Resize is infeasible for Guaranteed Pods alongside CPU Manager static policy"
NEW_WORDS = 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"'
AFFINITY = "Resources cannot be allocated with Topology locality"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A kubelet, the resources of one container before and after, and the result.

    ``holds`` are the CPUs it has then, if they differ from those before.
    """

    name: str
    minor: int
    result: Result
    gates: Mapping[str, bool] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    before: str = "cpu=2 memory=1Gi"
    after: str = "cpu=4"
    by: DecidedBy = DecidedBy.RESIZE_HANDLER
    message: str = ""
    reason: str = ""
    holds: str = ""
    preview: bool = False


@dataclass(frozen=True, slots=True)
class Decided:
    """The node afterwards, the decision, its rules, and the CPUs before it."""

    node: Node
    outcome: ResizeOutcome
    rules: ResizeRules
    before: str


def decided(case: Case) -> Decided:
    setting = Setting(minor=case.minor, gates=case.gates, config=case.config)
    node = setting.node(fit=True)
    running = admitted(node, pod_of(app(case.before, case.before, "c")))
    rules = setting.rules(preview=case.preview)
    assert node.allocatable is not None
    capacity = whole_node(setting.machine, setting.kubelet.config, node.allocatable, behaviours(case.minor))
    before, path = held(node), ResizePath(kubelet=rules, capacity=capacity)
    return Decided(node, decide(node, request(running, c=case.after), path), rules, before)


MANAGERS, FIT = DecidedBy.MANAGERS, DecidedBy.NODE_FIT
BEFORE_ANY = [
    Case(name="1.27 ignores resizes", minor=27, result=Result.IGNORED,
         message="the kubelet ignores resizes: InPlacePodVerticalScaling is off"),
    Case(name="1.32 ignores resizes", minor=32, result=Result.IGNORED,
         message="the kubelet ignores resizes: InPlacePodVerticalScaling is off"),
    Case(name="1.33 reports it", minor=33, gates={IN_PLACE: False}, result=Result.INFEASIBLE,
         message="InPlacePodVerticalScaling is disabled"),
]  # fmt: skip
STATIC_CPUS = [
    Case(name="1.31 has no check", minor=31, gates=ALPHA, result=Result.NO_EFFECT, by=MANAGERS),
    Case(name="1.31, restricted", minor=31, gates=ALPHA, config=RESTRICTED, result=Result.DEFERRED,
         by=MANAGERS, reason="TopologyAffinityError", message=AFFINITY),
    Case(name="1.32 rejects", minor=32, gates=ALPHA, result=Result.INFEASIBLE, message=OLD_WORDS),
    Case(name="1.33 rejects", minor=33, result=Result.INFEASIBLE, message=OLD_WORDS),
    Case(name="1.33 also rejects memory", minor=33, after="memory=2Gi", result=Result.INFEASIBLE,
         message=OLD_WORDS),
    Case(name="1.33 also rejects shared containers", minor=33, before="cpu=1500m memory=1Gi",
         after="cpu=1700m", result=Result.INFEASIBLE, message=OLD_WORDS),
    Case(name="1.34 admits memory", minor=34, after="memory=2Gi", result=Result.ADMITTED, by=MANAGERS),
    Case(name="1.34 rejects", minor=34, result=Result.INFEASIBLE, message=NEW_WORDS),
    Case(name="1.36 also rejects shared containers", minor=36, before="cpu=1500m memory=1Gi",
         after="cpu=1700m", result=Result.INFEASIBLE, message=NEW_WORDS),
    Case(name="1.38 without the gate", minor=38, result=Result.INFEASIBLE, message=NEW_WORDS),
    Case(name="policy none", minor=36, config=NO_POLICY, result=Result.ADMITTED, by=MANAGERS),
]  # fmt: skip
GATE_WITHOUT_ALLOCATOR = [
    *(
        Case(name=f"1.{minor}, policy {policy}", minor=minor, gates=BOTH if minor < 33 else PREVIEW,
             config={"topology_manager_policy": policy}, result=Result.NO_EFFECT, by=MANAGERS)
        for minor in (32, 33, 36, 37) for policy in ("none", "best-effort")
    ),
    *(
        Case(name=f"1.{minor}, policy {policy}", minor=minor, gates=BOTH if minor < 33 else PREVIEW,
             config={"topology_manager_policy": policy}, result=Result.DEFERRED, by=MANAGERS,
             reason="TopologyAffinityError", message=AFFINITY)
        for minor in (32, 33, 36, 37) for policy in ("restricted", "single-numa-node")
    ),
    Case(name="from the shared pool", minor=36, gates=PREVIEW, before="cpu=1500m memory=1Gi",
         result=Result.ADMITTED, by=MANAGERS, holds="6-9"),
    Case(name="to the shared pool", minor=36, gates=PREVIEW, after="cpu=2500m", result=Result.NO_EFFECT,
         by=MANAGERS),
    Case(name="inside the shared pool", minor=36, gates=PREVIEW, before="cpu=1500m memory=1Gi",
         after="cpu=1700m", result=Result.ADMITTED, by=MANAGERS),
    Case(name="whole cores", minor=36, gates=PREVIEW, after="cpu=3", result=Result.DEFERRED, by=MANAGERS,
         config={"cpu_manager_policy_options": {"full-pcpus-only": "true"}}, reason="SMTAlignmentError",
         message="SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"),
]  # fmt: skip
ALLOCATOR = [
    Case(name="1.38", minor=38, gates=PREVIEW, result=Result.ADMITTED, by=MANAGERS, holds="6-9"),
    Case(name="1.38, restricted", minor=38, gates=PREVIEW, config=RESTRICTED, result=Result.ADMITTED,
         by=MANAGERS, holds="0-3"),
    Case(name="1.36 with the preview", minor=36, gates=PREVIEW, preview=True, result=Result.ADMITTED,
         by=MANAGERS, holds="6-9"),
    Case(name="the preview needs the gate", minor=36, preview=True, result=Result.INFEASIBLE,
         message=NEW_WORDS),
    Case(name="over two nodes", minor=38, gates=PREVIEW, config=SINGLE, after="cpu=8",
         result=Result.INFEASIBLE, by=MANAGERS, reason="TopologyAffinityError", message=AFFINITY),
    Case(name="too few cores", minor=38, gates=PREVIEW, after="cpu=9",
         config={"cpu_manager_policy_options": {"full-pcpus-only": "true"}}, result=Result.INFEASIBLE,
         by=MANAGERS, reason="SMTAlignmentError",
         message="SMT Alignment Error: requested 9 cpus not multiple cpus per core = 2"),
    Case(name="from the shared pool", minor=38, gates=PREVIEW, before="cpu=1500m memory=1Gi",
         after="cpu=2", result=Result.INFEASIBLE, by=MANAGERS, reason="inconsistentCPUAllocationError",
         message="inconsistentCPUAllocation Error: Not allowed to move a container from shared pool to"
         " exclusively allocated pool, (requested CPUs = 2, allocated CPUs = 1500m)"),
    Case(name="to the shared pool", minor=38, gates=PREVIEW, after="cpu=2500m", result=Result.INFEASIBLE,
         by=MANAGERS, reason="inconsistentCPUAllocationError",
         message="inconsistentCPUAllocation Error: Not allowed to move a container from exclusively allocated"
         " pool to shared pool, not allowed (requested CPUs = 2500m, allocated CPUs = 2)"),
    Case(name="inside the shared pool", minor=38, gates=PREVIEW, before="cpu=1500m memory=1Gi",
         after="cpu=1700m", result=Result.ADMITTED, by=MANAGERS),
    Case(name="memory alone", minor=38, gates=PREVIEW, after="memory=2Gi", result=Result.ADMITTED,
         by=MANAGERS),
]  # fmt: skip
NODE_SIZE = [
    Case(name="1.33: beyond the whole node", minor=33, config=NO_POLICY, after="cpu=13",
         result=Result.INFEASIBLE, message="Node didn't have enough capacity: cpu, requested: 13000, "
         "capacity: 12000"),
    Case(name="1.35: beyond the whole node", minor=35, config=NO_POLICY, after="memory=65Gi",
         result=Result.INFEASIBLE, message="Node didn't have enough capacity: memory, requested: "
         "69793218560, capacity: 68719476736"),
    Case(name="1.36 leaves that to the API server", minor=36, config=NO_POLICY, after="memory=65Gi",
         result=Result.DEFERRED, by=FIT, reason="OutOfmemory",
         message="Node didn't have enough resource: memory, requested: 69793218560, used: 0, "
         "capacity: 68719476736"),
]  # fmt: skip
ALL = [*BEFORE_ANY, *STATIC_CPUS, *GATE_WITHOUT_ALLOCATOR, *ALLOCATOR, *NODE_SIZE]


@pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case.minor}: {case.name}")
def test_the_result_of_a_resize(case: Case) -> None:
    found = decided(case)
    outcome = found.outcome
    assert (outcome.result, outcome.decided_by) == (case.result, case.by)
    assert (outcome.message, outcome.reason) == (case.message, case.reason)
    assert held(found.node) == (case.holds or found.before)


@pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case.minor}: {case.name}")
def test_the_kubelet_counts_what_it_has_granted(case: Case) -> None:
    node, outcome = (found := decided(case)).node, found.outcome
    granted = outcome.request.desired if outcome.result.accepted else outcome.request.running.allocated
    assert node.active["p"].containers == granted.containers


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("1.34 rejects", Condition(type="PodResizePending", reason="Infeasible", message=NEW_WORDS,
                                   observed_generation=2)),
        ("1.33 rejects", Condition(type="PodResizePending", reason="Infeasible", message=OLD_WORDS)),
        ("1.36, policy restricted", Condition(type="PodResizePending", reason="Deferred", message=AFFINITY,
                                              observed_generation=2)),
        ("1.36, policy none", Condition(type="PodResizeInProgress", observed_generation=2)),
        ("1.38", Condition(type="PodResizeInProgress", observed_generation=2)),
        ("1.32 rejects", "Infeasible"),
        ("1.31, restricted", "Deferred"),
        ("1.31 has no check", "InProgress"),
        ("1.32 ignores resizes", "Proposed"),
    ],
)  # fmt: skip
def test_what_the_pods_status_says(name: str, want: Condition | str) -> None:
    """Conditions exist since 1.33 and their observed generation since 1.34; before, there was one word."""
    found = decided(next(case for case in ALL if case.name == name))
    outcome, rules = found.outcome, found.rules
    if isinstance(want, str):
        assert (conditions_of(outcome, rules), legacy_status(outcome, rules)) == ((), want)
    else:
        assert (conditions_of(outcome, rules), legacy_status(outcome, rules)) == ((want,), None)


def test_a_resize_in_progress_has_neither_reason_nor_message() -> None:
    found = decided(Case(name="", minor=36, config=NO_POLICY, result=Result.ADMITTED))
    (condition,) = conditions_of(found.outcome, found.rules)
    assert (condition.type, condition.reason, condition.message) == ("PodResizeInProgress", "", "")
