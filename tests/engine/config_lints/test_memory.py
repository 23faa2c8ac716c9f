"""Remarks on reserved memory that the static policy refuses: every difference, to the byte."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cpuctl.engine.config_lints.lint import Lint, LintSubject, Severity
from cpuctl.engine.config_lints.memory import lint_reserved_memory
from cpuctl.engine.start import Kubelet, Started, check_start
from cpuctl.kubelet.config import KubeletConfiguration, ReservedMemory
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.sources import read_machine
from cpuctl.quantity import Quantity

MACHINE = "synthetic:2s2n4c2t,mem=4Gi,hugepages-2Mi=512/0"
"""NUMA node 0 has 3 GiB beside huge pages, node 1 has 4 GiB."""


def lints(*reserved: tuple[int, dict[str, str]], minor: int = 36, **config: Any) -> list[Lint]:
    """Lint with *reserved* memory by NUMA node, as ``config check`` does: started without the manager."""
    source = read_machine(MACHINE)
    told = KubeletConfiguration(
        **{
            "memory_manager_policy": "Static",
            "reserved_memory": tuple(
                ReservedMemory(
                    numa_node=node, limits={kind: Quantity.parse(text) for kind, text in limits.items()}
                )
                for node, limits in reserved
            ),
            **config,
        }
    )
    alone = replace(told, memory_manager_policy="None")
    started = check_start(source.info, Kubelet(version=KubeletVersion(minor), config=alone))
    assert isinstance(started, Started)
    gates = FeatureGates(minor, told.feature_gates)
    subject = LintSubject(config=told, gates=gates, machine=source.machine, topology=None, started=started)
    return list(lint_reserved_memory(subject))


KEPT: dict[str, Any] = {
    "kube_reserved": {"memory": "1Gi"},
    "system_reserved": {"memory": "512Mi"},
    "eviction_hard": {"memory.available": "100Mi"},
}
NOT_KEPT = "of which no setting keeps any from pods"
SHARES = "(kubeReserved 1Gi + systemReserved 512Mi + evictionHard 100Mi)"


@pytest.mark.parametrize(
    ("reserved", "message", "fix"),
    [
        ("1Gi", "add up to 1Gi of memory, but 1636Mi are kept from pods {}: 612Mi are missing", "add 612Mi"),
        (
            "2Gi",
            "add up to 2Gi of memory, but 1636Mi are kept from pods {}: 412Mi too much",
            "take off 412Mi",
        ),
        ("1715470335", "1715470335 of memory, but 1636Mi are kept from pods {}: 1 are missing", "add 1"),
    ],
)
def test_the_difference_is_named(reserved: str, message: str, fix: str) -> None:
    (found,) = lints((1, {"memory": reserved}), **KEPT)
    assert (found.code, found.severity) == ("reserved-memory-unequal", Severity.ERROR)
    assert message.format(SHARES) in found.message
    assert (found.expected, found.detected) == ("1636Mi", reserved)
    assert found.fix == f"{fix}; cpuctl config reserve prints a split that fits"


def test_equal_sums_are_nothing_to_remark() -> None:
    assert lints((0, {"memory": "636Mi"}), (1, {"memory": "1000Mi"}), **KEPT) == []


def test_huge_pages_can_never_be_reserved() -> None:
    found = lints((1, {"memory": "1636Mi", "hugepages-2Mi": "4Mi"}), **KEPT)
    assert [(lint.code, lint.message, lint.fix) for lint in found] == [
        (
            "reserved-memory-unequal",
            f"the NUMA nodes add up to 4Mi of hugepages-2Mi, {NOT_KEPT}: 4Mi too much",
            "take hugepages-2Mi out",
        )
    ]


def test_the_static_policy_needs_some() -> None:
    (found,) = lints()
    assert (found.code, found.setting) == ("reserved-memory-none", ("reservedMemory",))
    assert "set kubeReserved.memory" in found.fix


@pytest.mark.parametrize(
    ("written", "expected"),
    [("1.5Gi", "1536Mi"), ("1610612736000m", "1536Mi"), ("1000Ti", "1099511627776k"), ("1500m", "")],
)
def test_what_the_kubelet_cannot_count(written: str, expected: str) -> None:
    """The kubelet takes ``1.5Gi`` for no whole number of bytes, and ``1000Ti`` for a long one."""
    found = {lint.code: lint for lint in lints((1, {"memory": written}), **KEPT)}["reserved-memory-inexact"]
    assert (found.expected, found.fix) == (expected, f"write {expected}" if expected else "")


def test_more_than_a_node_has() -> None:
    (found,) = lints((0, {"memory": "3100Mi"}), kube_reserved={"memory": "3100Mi"})
    assert (found.code, found.expected, found.detected) == ("reserved-memory-overdrawn", "3Gi", "3100Mi")
    assert "take 28Mi more of NUMA node 0 than it has" in found.message


def test_the_last_byte_of_a_node_may_be_reserved() -> None:
    assert lints((0, {"memory": "3Gi"}), kube_reserved={"memory": "3Gi"}) == []


@pytest.mark.parametrize(
    "config",
    [
        {"memory_manager_policy": "None"},
        {"minor": 31, "feature_gates": {"MemoryManager": False}},
    ],
)
def test_nothing_is_said_where_nothing_looks_at_it(config: dict[str, Any]) -> None:
    assert lints((1, {"memory": "1Gi"}), **(KEPT | config)) == []


def test_nothing_is_said_where_the_kubelet_fails_before() -> None:
    machine = read_machine(MACHINE).machine
    told = KubeletConfiguration(memory_manager_policy="Static")
    subject = LintSubject(
        config=told, gates=FeatureGates(36, {}), machine=machine, topology=None, started=None
    )
    assert list(lint_reserved_memory(subject)) == []
