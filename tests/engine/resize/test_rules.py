"""What decides how a kubelet resizes: its release, gates and policies, one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cpuctl.engine.resize.rules import (
    DEFAULT_RULES,
    EXCLUSIVE_CPUS,
    EXCLUSIVE_MEMORY,
    IN_PLACE,
    INIT_CONTAINERS,
    OBSERVED_GENERATION,
    POD_LEVEL,
    ResizeRules,
    keeps_baselines,
)
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from tests.support.pods import app, init, sidecar

SWAP: Mapping[str, Any] = {"swap_behavior": "LimitedSwap"}


def rules(
    minor: int = 36,
    gates: Mapping[str, bool] | None = None,
    config: Mapping[str, Any] | None = None,
    **more: Any,
) -> ResizeRules:
    return ResizeRules.of(FeatureGates(minor, gates or {}), KubeletConfiguration(**(config or {})), **more)


def differences(one: ResizeRules, other: ResizeRules) -> dict[str, object]:
    """Return the fields of the first that differ from the second."""
    also = vars(other)
    return {name: value for name, value in vars(one).items() if value != also[name]}


def test_default_rules_are_those_of_1_36_with_default_settings() -> None:
    assert rules() == DEFAULT_RULES == ResizeRules()


@pytest.mark.parametrize(
    ("gates", "config", "more", "changes"),
    [
        ({IN_PLACE: False}, {}, {}, {"in_place": False}),
        ({INIT_CONTAINERS: False}, {}, {}, {"init_containers": False}),
        ({POD_LEVEL: False}, {}, {}, {"pod_level": False}),
        ({"PodLevelResources": False}, {}, {}, {"pod_level_resources": False}),
        ({OBSERVED_GENERATION: False}, {}, {}, {"observes_generation": False}),
        ({EXCLUSIVE_CPUS: True}, {}, {}, {"exclusive_cpus": True}),
        ({EXCLUSIVE_CPUS: True}, {}, {"preview": True}, {"exclusive_cpus": True, "preview": True}),
        ({}, {}, {"preview": True}, {"preview": True}),
        ({EXCLUSIVE_MEMORY: True}, {}, {}, {"exclusive_memory": True}),
        ({}, {"cpu_manager_policy": "static"}, {}, {"static_cpus": True}),
        ({}, {"memory_manager_policy": "Static"}, {}, {"static_memory": True}),
        ({}, SWAP, {}, {"swap": True}),
        ({}, SWAP, {"cgroup_version": 1}, {}),
        ({"NodeSwap": False}, SWAP, {}, {}),
    ],
)
def test_every_gate_and_policy_changes_its_own_rule(
    gates: Mapping[str, bool],
    config: Mapping[str, Any],
    more: Mapping[str, Any],
    changes: Mapping[str, object],
) -> None:
    assert differences(rules(36, gates, config, **more), DEFAULT_RULES) == changes


@pytest.mark.parametrize(
    ("minor", "gates", "changes"),
    [
        (38, {EXCLUSIVE_CPUS: True}, {"exclusive_cpus": True}),
        (34, {EXCLUSIVE_CPUS: True}, {"exclusive_cpus": True}),
        (33, {EXCLUSIVE_CPUS: True}, {"exclusive_cpus": True, "exclusive_memory": True}),
        (32, {"PodLevelResources": True}, {"pod_level_resources": True}),
        (31, {"PodLevelResources": True}, {}),
    ],
)
def test_what_a_gate_means_depends_on_the_release(
    minor: int, gates: Mapping[str, bool], changes: Mapping[str, object]
) -> None:
    assert differences(rules(minor, gates), rules(minor)) == changes


@pytest.mark.parametrize(
    ("minor", "gates", "preview", "has_allocator", "allocates"),
    [
        (38, {EXCLUSIVE_CPUS: True}, False, True, True),
        (38, {}, False, True, False),
        (36, {EXCLUSIVE_CPUS: True}, False, False, False),
        (36, {EXCLUSIVE_CPUS: True}, True, True, True),
        (36, {}, True, True, False),
    ],
)
def test_an_allocator_needs_its_gate(
    minor: int, gates: Mapping[str, bool], *, preview: bool, has_allocator: bool, allocates: bool
) -> None:
    of = rules(minor, gates, preview=preview)
    assert (of.has_allocator, of.allocates) == (has_allocator, allocates)


@pytest.mark.parametrize(
    ("minor", "conditions", "checks_capacity"),
    [(32, False, True), (33, True, True), (35, True, True), (36, True, False)],
)
def test_what_a_release_does(minor: int, *, conditions: bool, checks_capacity: bool) -> None:
    of = ResizeRules(minor=minor)
    assert (of.conditions, of.checks_capacity) == (conditions, checks_capacity)


@pytest.mark.parametrize(
    ("rules", "resizable"),
    [
        (ResizeRules(minor=32), (True, False, True)),
        (ResizeRules(minor=33), (True, True, True)),
        (ResizeRules(minor=36, init_containers=False), (True, True, False)),
    ],
)
def test_which_containers_can_be_resized(rules: ResizeRules, resizable: tuple[bool, ...]) -> None:
    """Sidecars since 1.33; init containers if their gate is on."""
    assert tuple(map(rules.resizable, (app(), sidecar(), init()))) == resizable


@pytest.mark.parametrize(
    ("minor", "gates", "kept"),
    [(38, {EXCLUSIVE_CPUS: True}, True), (38, {}, False), (36, {EXCLUSIVE_CPUS: True}, False)],
)
def test_a_state_file_has_baselines_if_there_is_an_allocator(
    minor: int, gates: Mapping[str, bool], *, kept: bool
) -> None:
    assert keeps_baselines(FeatureGates(minor, gates)) is kept
