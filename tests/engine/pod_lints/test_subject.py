"""What is known about the kubelet for which a pod is checked."""

from __future__ import annotations

import pytest

from cpuctl.engine.pod_lints import KubeletView, PodLintSubject
from cpuctl.pods.rules import NodeRules
from cpuctl.pods.validation.finding import FieldPath
from cpuctl.records import replace
from tests.support.pod_level import kubelet
from tests.support.pods import app, init, pod


def test_a_configuration_determines_all_policies() -> None:
    reported = kubelet(36, feature_gates={"PodLevelResourceManagers": True, "PodLevelResources": False})
    flagged = replace(reported, gate_flags={"PodLevelResources": True})
    assert KubeletView.of(flagged) == KubeletView(
        rules=NodeRules(
            minor=36,
            pod_level=True,
            empty_counts=True,
            managers=True,
            static_claims="static pods may not reference resourceclaims",
            static_references=True,
        ),
        cpu_policy="static",
        memory_policy="Static",
        topology_policy="restricted",
        topology_scope="pod",
    )
    assert not KubeletView.of(reported).rules.pod_level


@pytest.mark.parametrize(
    ("policy", "may_pin", "pins"), [("", True, False), ("static", True, True), ("none", False, False)]
)
def test_policies_that_pin(policy: str, may_pin: bool, pins: bool) -> None:
    view = KubeletView(cpu_policy=policy)
    assert (view.may_pin, view.pins) == (may_pin, pins)


def test_nothing_is_known_by_default() -> None:
    view = KubeletView()
    assert (view.cpu_policy, view.memory_policy, view.topology_policy, view.topology_scope) == ("",) * 4


def test_the_field_path_of_a_containers_resources() -> None:
    subject = PodLintSubject(
        pod(app(name="a"), init(name="b"), app(name="c")), FieldPath((), ""), KubeletView()
    )
    field_paths = {name: subject.field_path_of(name) for name in ("a", "b", "c", "")}
    assert {name: (field_path.path, field_path.field) for name, field_path in field_paths.items()} == {
        "a": (("containers", 0, "resources"), "containers[0].resources"),
        "b": (("initContainers", 0, "resources"), "initContainers[0].resources"),
        "c": (("containers", 1, "resources"), "containers[1].resources"),
        "": ((), ""),
    }
