"""What a kubelet rejects after its configuration has been validated: the first error, word for word."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.configuration.schema import FIELD_TYPES
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.validation.later import CONTAINER_MANAGER, KUBELET, LATER, NOT_CHECKED
from cpuctl.kubelet.validation.rule import Subject
from cpuctl.kubelet.validation.rules import refused_later

SOFT = {"memory.available": "1Gi"}


def refused(config: dict[str, Any], *, stage: str = KUBELET, minor: int = 36, cgroup_version: int = 2) -> str:
    reported = KubeletConfiguration(**config)
    subject = Subject(config=reported, gates=FeatureGates(minor), cgroup_version=cgroup_version)
    return str(refused_later(subject, stage) or "")


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (
            {"eviction_soft": SOFT},
            "grace period must be specified for the soft eviction threshold memory.available",
        ),
        ({"eviction_soft": {"memory.free": "1Gi"}}, "unsupported eviction signal memory.free"),
        (
            {"eviction_soft": {"memory.available": "-5%"}},
            "eviction percentage threshold memory.available must be >= 0%: -5%",
        ),
        ({"eviction_soft_grace_period": {"memory.free": "1m"}}, "unsupported eviction signal memory.free"),
        (
            {"eviction_soft_grace_period": {"memory.available": "1x"}},
            'time: unknown unit "x" in duration "1x"',
        ),
        (
            {"eviction_soft_grace_period": {"memory.available": "-1m"}},
            "invalid eviction grace period specified: -1m, must be a positive value",
        ),
        ({"eviction_minimum_reclaim": {"memory.free": "1"}}, "unsupported eviction signal memory.free"),
        (
            {"eviction_minimum_reclaim": {"memory.available": "0%"}},
            "eviction percentage minimum reclaim memory.available must be positive: 0%",
        ),
        (
            {"eviction_minimum_reclaim": {"memory.available": "-1"}},
            "negative eviction minimum reclaim specified for memory.available",
        ),
        ({"others": {"syncFrequency": "-1s"}}, "invalid sync frequency -1000000000"),
        (
            {"others": {"configMapAndSecretChangeDetectionStrategy": "Poll"}},
            "unknown configmap and secret manager mode: Poll",
        ),
        (
            {"others": {"containerLogMaxSize": "1.5"}},
            (
                'failed to initialize container log manager: failed to parse container log max size "1.5":'
                " invalid max log size"
            ),
        ),
    ],
)
def test_errors_are_in_the_kubelets_words(config: dict[str, Any], text: str) -> None:
    assert refused(config) == text


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"eviction_soft": SOFT, "eviction_soft_grace_period": {"memory.available": "1m30s"}},
        {"eviction_soft": {"memory.available": "0%"}},
        {"eviction_minimum_reclaim": {"memory.available": "5%", "nodefs.available": "0"}},
        {"others": {"containerLogMaxSize": "-1", "syncFrequency": "1m"}},
    ],
)
def test_valid_configurations_pass(config: dict[str, Any]) -> None:
    assert refused(config) == ""


def test_a_single_log_file_is_rejected_late_until_validation_does() -> None:
    config = {"others": {"containerLogMaxFiles": 1}}
    assert refused(config, minor=32).endswith("invalid MaxFiles 1, must be > 1")
    assert refused(config, minor=33) == ""


@pytest.mark.parametrize(
    ("minor", "version", "reported"), [(29, 1, False), (30, 1, True), (36, 1, True), (36, 2, False)]
)
def test_limited_swap_needs_cgroup_v2(minor: int, version: int, *, reported: bool) -> None:
    config = {"swap_behavior": "LimitedSwap"}
    found = refused(config, stage=CONTAINER_MANAGER, minor=minor, cgroup_version=version)
    assert bool(found) is reported


@pytest.mark.parametrize(
    ("others", "text"),
    [
        ({"tlsMinVersion": "TLS13"}, 'unknown tls version "TLS13"'),
        ({"tlsMinVersion": "VersionTLS13"}, ""),
        ({"authorization": {"mode": "RBAC"}}, "unknown authorization mode RBAC"),
        ({"authorization": {"mode": "AlwaysAllow"}}, ""),
    ],
)
def test_access_to_a_kubelet(others: dict[str, Any], text: str) -> None:
    assert refused({"others": others}, stage=CONTAINER_MANAGER) == text


def test_rows_are_about_existing_fields() -> None:
    names = {rule.path[0] for rule in LATER} | {name for each in NOT_CHECKED for name in each.fields}
    assert names <= FIELD_TYPES.keys()
