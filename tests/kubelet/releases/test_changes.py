"""What affects a configuration when its kubelet changes from one minor to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.configuration.schema import SINCE
from cpuctl.kubelet.releases.changes import ChangeSubject, VersionChanges, version_changes
from cpuctl.kubelet.releases.differences import DIFFERENCES
from cpuctl.kubelet.version import KubeletVersion

STATIC = {"cpu_manager_policy": "static"}


@dataclass(frozen=True, kw_only=True)
class Reported:
    """The settings of a configuration that are not defaults, and the gates it sets."""

    config: Mapping[str, Any] = field(default_factory=dict)
    gates: Mapping[str, bool] = field(default_factory=dict)
    set_fields: frozenset[str] = frozenset()
    drop_ins: bool = False
    may_have_books: bool = True
    cgroup_version: int | None = None
    cpu_state_v1: bool = False

    def changes(self, before: int, after: int) -> VersionChanges:
        subject = ChangeSubject(
            config=KubeletConfiguration(**self.config),
            gates=self.gates,
            set_fields=self.set_fields,
            uses_drop_ins=self.drop_ins,
            may_have_books=self.may_have_books,
            cgroup_version=self.cgroup_version,
            cpu_state_v1=self.cpu_state_v1,
        )
        return version_changes(subject, KubeletVersion(before), KubeletVersion(after), SINCE)


def noticed(changes: VersionChanges) -> set[str]:
    """Name the changes of every kind that concern the configuration."""
    return {
        *(change.gate for change in changes.gates if change.concerns),
        *(change.option for change in changes.options if change.concerns),
        *(change.name for change in changes.behaviours if change.concerns),
        *(change.field for change in changes.fields if change.concerns),
    }


def test_a_release_compared_with_itself() -> None:
    assert Reported(config=STATIC).changes(36, 36) == VersionChanges(
        gates=(), options=(), behaviours=(), fields=()
    )


@pytest.mark.parametrize(("version", "shown"), [(None, True), (1, True), (2, False)])
def test_rules_for_cgroup_v1_do_not_concern_a_host_with_cgroup_v2(version: int | None, shown: bool) -> None:
    fields = frozenset({"failCgroupV1", "singleProcessOOMKill"})
    rules = Reported(set_fields=fields, cgroup_version=version).changes(31, 35).rules
    settings = {each.rule.field for each in rules if each.concerns}
    assert settings == (fields if shown else frozenset())


def test_a_host_with_cgroup_v1_that_is_accepted_cannot_break_a_rule() -> None:
    accepting = Reported(
        config={"fail_cgroup_v1": False}, set_fields=frozenset({"failCgroupV1"}), cgroup_version=1
    )
    assert [each for each in accepting.changes(31, 35).rules if each.concerns] == []


def test_formats_of_state_files() -> None:
    written = {"writes_cpu_checkpoint_v4", "writes_memory_checkpoint_v3"}
    none = Reported().changes(36, 37)
    assert noticed(none) >= written, "the managers write files with the policies none and None, too"
    assert "rejects_cpu_checkpoint_v1" not in noticed(Reported(config=STATIC).changes(36, 37))
    assert "rejects_cpu_checkpoint_v1" in noticed(Reported(cpu_state_v1=True).changes(36, 37))
    assert "drops_flat_device_state" not in noticed(Reported(config=STATIC).changes(30, 31))


def test_rules_that_are_added_removed_and_reworded() -> None:
    up = Reported(set_fields=frozenset({"containerLogMaxFiles"})).changes(32, 33).rules
    (came,) = (each for each in up if each.rule.stage == "configValidation" and each.concerns)
    (went,) = (each for each in up if each.rule.stage == "kubelet" and each.concerns)
    assert (came.rule.field, came.since, came.known) == ("containerLogMaxFiles", 33, True)
    assert (went.rule.field, went.since, went.known) == ("containerLogMaxFiles", 33, False)
    assert {each.rule.field for each in up if not each.concerns} >= {"userNamespaces.idsPerPod"}
    down = Reported().changes(33, 32).rules
    assert {(each.rule.text, each.known) for each in down} == {(each.rule.text, each.known) for each in up}
    assert not any(each.concerns for each in down)
    assert Reported().changes(36, 38).rules == ()


def test_gates() -> None:
    changes = {change.gate: change for change in Reported(gates={"CPUManager": True}).changes(32, 35).gates}
    gone = changes["CPUManager"]
    assert (gone.before and gone.before.stage, gone.after) == ("g", None)
    assert (gone.on_before, gone.on_after, gone.setting) == (True, True, True)
    assert gone.problem == "unrecognized feature gate: CPUManager"
    assert gone.concerns
    later = {change.gate: change for change in Reported().changes(34, 35).gates}
    locked = later["InPlacePodVerticalScaling"]
    assert locked.after is not None
    assert (locked.after.locked, locked.setting, locked.problem, locked.concerns) == (True, None, "", False)


def test_a_gate_that_the_configuration_sets_does_not_change() -> None:
    reported = Reported(config=STATIC, gates={"DisableCPUQuotaWithExclusiveCPUs": False})
    change = next(
        each for each in reported.changes(34, 36).gates if each.gate == "DisableCPUQuotaWithExclusiveCPUs"
    )
    assert (change.on_before, change.on_after, change.problem) == (False, False, "")


def test_a_gate_that_gets_locked_is_on_even_if_it_is_set_to_false() -> None:
    reported = Reported(config=STATIC, gates={"DisableCPUQuotaWithExclusiveCPUs": False})
    change = next(
        each for each in reported.changes(34, 37).gates if each.gate == "DisableCPUQuotaWithExclusiveCPUs"
    )
    assert (change.on_before, change.on_after) == (False, True)
    assert change.problem == (
        "cannot set feature gate DisableCPUQuotaWithExclusiveCPUs to false, feature is locked to true"
    )


def test_a_gate_that_a_release_does_not_have_enables_nothing() -> None:
    reported = Reported(gates={"PodLevelResourceManagers": True})
    change = next(each for each in reported.changes(35, 36).gates if each.gate == "PodLevelResourceManagers")
    assert (change.on_before, change.on_after) == (False, True)


def test_a_gate_that_is_only_known_less_well_does_not_change() -> None:
    names = {change.gate for change in Reported(config=STATIC).changes(34, 37).gates}
    assert "CPUManagerPolicyOptions" not in names
    assert "TopologyManagerPolicyOptions" in names, "it gets locked"


def test_resizes_concern_no_kubelet_that_cannot_resize_pods() -> None:
    def resizes(before: int, after: int, **gates: bool) -> list[str]:
        changes = Reported(config=STATIC, gates=gates).changes(before, after).behaviours
        return [each.name for each in changes if each.difference.area == "in-place resize" and each.concerns]

    assert resizes(31, 32) == []
    assert resizes(31, 32, InPlacePodVerticalScaling=True)
    assert resizes(32, 33)
    assert resizes(32, 33, InPlacePodVerticalScaling=False) == []


def test_options_that_reach_another_stage() -> None:
    reported = Reported(config={**STATIC, "cpu_manager_policy_options": {"strict-cpu-reservation": "true"}})
    found = {
        change.option: (change.field, change.before, change.after, change.concerns)
        for change in reported.changes(31, 35).options
    }
    assert found["strict-cpu-reservation"] == ("cpuManagerPolicyOptions", "", "stable", True)
    assert found["max-allowable-numa-nodes"] == ("topologyManagerPolicyOptions", "beta", "stable", False)
    assert "align-by-socket" not in found


def test_fields_that_one_release_does_not_know() -> None:
    fields = Reported(set_fields=frozenset({"memoryReservationPolicy"})).changes(35, 36).fields
    assert [(change.field, change.since, change.concerns) for change in fields] == [
        ("memoryReservationPolicy", 36, True),
        ("tlsCurvePreferences", 36, False),
    ]


@dataclass(frozen=True)
class Case:
    """What affects a configuration between two minors, and what does not."""

    name: str
    reported: Reported
    step: tuple[int, int]
    noticed: set[str] = field(default_factory=set)
    unnoticed: set[str] = field(default_factory=set)


CASES = [
    Case(
        "gates in a file",
        Reported(set_fields=frozenset({"featureGates"})),
        (30, 32),
        {"collects_locked_gates", "defaults_by_gates"},
    ),
    Case(
        "a node without managers",
        Reported(),
        (36, 37),
        {"defaults_pod_level_limits", "memory_throttling_is_opt_in", "PodLevelResourcesFixDefaulting"},
        {"rejects_cpu_checkpoint_v1", "limits_shares_to_whole_groups", "DRANodeAllocatableResources"},
    ),
    Case(
        "static CPUs",
        Reported(config=STATIC),
        (36, 37),
        {"writes_cpu_checkpoint_v4"},
        {"tolerates_pod_level_cpu_state", "rejects_cpu_checkpoint_v1", "keeps_baselines"},
    ),
    Case("cores in books", Reported(config=STATIC), (31, 32), {"knows_books"}),
    Case(
        "a machine without books",
        Reported(config=STATIC, may_have_books=False),
        (31, 32),
        set(),
        {"knows_books"},
    ),
    Case(
        "static memory",
        Reported(config={"memory_manager_policy": "Static"}),
        (36, 37),
        {"writes_memory_checkpoint_v3"},
        {"keeps_baselines"},
    ),
    Case(
        "the gate of a difference is on",
        Reported(config=STATIC, gates={"InPlacePodVerticalScalingExclusiveCPUs": True}),
        (36, 38),
        {"keeps_baselines", "resizes_exclusive_cpus"},
    ),
    Case(
        "distribution",
        Reported(config={**STATIC, "cpu_manager_policy_options": {"distribute-cpus-across-numa": "true"}}),
        (36, 38),
        {"limits_shares_to_whole_groups", "floors_distribution_by_hint", "counts_whole_groups"},
        {"aligns_distribution_to_sockets", "spreads_over_real_cores"},
    ),
    Case(
        "distribution turned off",
        Reported(config={**STATIC, "cpu_manager_policy_options": {"distribute-cpus-across-numa": "no"}}),
        (36, 38),
        unnoticed={"limits_shares_to_whole_groups"},
    ),
    Case(
        "quota of exclusive CPUs, down",
        Reported(config=STATIC),
        (33, 32),
        {"lifts_quota_of_exclusive_cpus", "DisableCPUQuotaWithExclusiveCPUs"},
        {"CPUManagerPolicyOptions"},
    ),
    Case(
        "a gate set against the default",
        Reported(config=STATIC, gates={"DisableCPUQuotaWithExclusiveCPUs": False}),
        (32, 33),
        {"DisableCPUQuotaWithExclusiveCPUs"},
        {"lifts_quota_of_exclusive_cpus"},
    ),
    Case(
        "defaults that are set",
        Reported(set_fields=frozenset({"evictionHard", "failCgroupV1"})),
        (29, 35),
        unnoticed={"default_inode_threshold_of_images", "rejects_cgroup_v1_by_default"},
    ),
    Case(
        "defaults that are not",
        Reported(),
        (29, 35),
        {"default_inode_threshold_of_images", "rejects_cgroup_v1_by_default"},
        {"drop_ins_without_variable", "NodeSwap", "takes_cfs_periods"},
    ),
    Case("drop-ins", Reported(drop_ins=True), (29, 30), {"drop_ins_without_variable"}),
    Case(
        "memory hints in pod scope",
        Reported(
            config={"memory_manager_policy": "Static", "topology_manager_scope": "pod"},
            gates={"PodLevelResourceManagers": True},
        ),
        (37, 38),
        {"pod_scope_memory_hints_after_restart", "restores_pod_level_memory"},
    ),
    Case(
        "memory hints in pod scope if pods are not divided",
        Reported(config={"memory_manager_policy": "Static", "topology_manager_scope": "pod"}),
        (37, 38),
        unnoticed={"pod_scope_memory_hints_after_restart", "restores_pod_level_memory"},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_concerns_a_configuration(case: Case) -> None:
    changes = case.reported.changes(*case.step)
    found = noticed(changes)
    assert case.noticed <= found
    assert not case.unnoticed & found


def test_a_downgrade_is_the_reverse_of_an_upgrade() -> None:
    up, down = Reported().changes(27, 38), Reported().changes(38, 27)
    assert {change.name for change in up.behaviours} == {change.name for change in down.behaviours}
    assert {change.name for change in up.behaviours} == set(DIFFERENCES)
    assert {change.begins for change in up.behaviours} == {True}
    assert {change.begins for change in down.behaviours} == {False}
    assert up.fields == down.fields
    assert [(gate.gate, gate.before, gate.after) for gate in up.gates] == [
        (gate.gate, gate.after, gate.before) for gate in down.gates
    ]
