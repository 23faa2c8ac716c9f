"""Settings that are tried with another value: one at a time, the closest to the current one first."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.engine.explain.explanation import explain
from cpuctl.engine.explain.searches.changes import ChangeKind, SettingChange
from cpuctl.engine.explain.searches.searches import setting_candidates
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.records import replace
from tests.engine.explain.scenarios import EIGHT, found, named, reported, scenario, whole

OF_THE_CPU_MANAGER = [
    "full-pcpus-only",
    "distribute-cpus-across-numa",
    "align-by-socket",
    "distribute-cpus-across-cores",
    "strict-cpu-reservation",
    "prefer-align-cpus-by-uncorecache",
]


def candidates(minor: int = 36, **config: Any) -> list[SettingChange]:
    return list(setting_candidates(KubeletConfiguration(**config), minor))


def written(changes: list[SettingChange]) -> list[str]:
    return [f"{each.option or each.setting}: {each.before} -> {each.after}" for each in changes]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("none", ["single-numa-node", "restricted", "best-effort"]),
        ("restricted", ["single-numa-node", "best-effort", "none"]),
    ],
)
def test_policies_are_tried_from_the_strictest_to_none(before: str, expected: list[str]) -> None:
    changes = [
        each for each in candidates(topology_manager_policy=before) if each.setting == "topologyManagerPolicy"
    ]
    assert written(changes) == [f"topologyManagerPolicy: {before} -> {after}" for after in expected]
    assert [each.config.topology_manager_policy for each in changes] == expected


@pytest.mark.parametrize(("before", "after"), [("container", "pod"), ("pod", "container")])
def test_the_other_scope_is_tried_if_there_is_a_policy(before: str, after: str) -> None:
    changes = candidates(topology_manager_policy="restricted", topology_manager_scope=before)
    (scope,) = (each for each in changes if each.setting == "topologyManagerScope")
    assert written([scope]) == [f"topologyManagerScope: {before} -> {after}"]
    assert scope.config.topology_manager_scope == after
    assert changes.index(scope) < len(changes) - 3, "a policy takes more from a pod than a scope does"
    without = candidates(topology_manager_policy="none", topology_manager_scope=before)
    assert {each.setting for each in without} == {"topologyManagerPolicy"}


def test_the_memory_manager_can_be_switched_off_as_a_last_resort() -> None:
    change = candidates(memory_manager_policy="Static")[-1]
    assert written([change]) == ["memoryManagerPolicy: Static -> None"]
    assert change.config == KubeletConfiguration(memory_manager_policy="None")
    assert "memoryManagerPolicy" not in {each.setting for each in candidates(memory_manager_policy="None")}


def test_options_of_the_static_policy_are_turned_on_or_off() -> None:
    given = {"full-pcpus-only": "true", "align-by-socket": "0"}
    changes = candidates(cpu_manager_policy="static", cpu_manager_policy_options=given)[:-3]
    assert written(changes) == [
        "full-pcpus-only: true -> false",
        *(f"{name}: false -> true" for name in OF_THE_CPU_MANAGER[1:]),
    ]
    for change in changes:
        assert change.setting == "cpuManagerPolicyOptions"
        assert change.options == {**given, change.option: change.after}
        assert change.config.cpu_manager_policy_options == change.options


def test_options_need_a_policy_and_a_release_that_knows_them() -> None:
    known = written(candidates(30, cpu_manager_policy="static"))[:-3]
    assert known == [f"{name}: false -> true" for name in OF_THE_CPU_MANAGER[:3]]
    closest = "prefer-closest-numa-nodes: false -> true"
    assert written(candidates(30, topology_manager_policy="restricted"))[0] == closest
    assert closest not in written(candidates(25, topology_manager_policy="restricted"))
    assert closest not in written(candidates(30))


def test_the_topology_manager_can_prefer_close_nodes() -> None:
    given = {"max-allowable-numa-nodes": "16"}
    change = candidates(topology_manager_policy="restricted", topology_manager_policy_options=given)[0]
    assert (change.setting, change.option) == ("topologyManagerPolicyOptions", "prefer-closest-numa-nodes")
    assert change.options == {**given, "prefer-closest-numa-nodes": "true"}
    assert change.config.topology_manager_policy_options == change.options


def test_the_delay_of_a_resize_is_not_an_option_to_try() -> None:
    """KEP-6122's option is a duration, and has no effect on the admission of new pods."""
    one = scenario(
        EIGHT,
        named("a", whole(9)),
        cpu_manager_policy_options={"scale-delay-time": "5s"},
        feature_gates={"InPlacePodVerticalScalingExclusiveCPUs": True, "CPUManagerPolicyAlphaOptions": True},
    )
    replay = reported(replace(one, kubelet=replace(one.kubelet, version=KubeletVersion(37))))
    assert found(explain(replay), "setting").complete
    assert {each.option for each in candidates(37, cpu_manager_policy="static")[:-3]} == {*OF_THE_CPU_MANAGER}


def test_a_changed_setting_applies_from_the_start() -> None:
    one = scenario(EIGHT, named("a", whole(9)))
    changed = KubeletConfiguration(cpu_manager_policy="none")
    change = SettingChange(setting="cpuManagerPolicy", before="static", after="none", config=changed)
    assert change.applied(one) == replace(one, kubelet=replace(one.kubelet, config=changed))
    assert (change.kind, change.option, change.options) == (ChangeKind.SETTING, "", {})
