"""Findings on reserved memory that the static policy rejects: every difference, to the byte."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.diagnostics import Severity
from cpuctl.engine.config_lints.lint import Lint, LintSubject
from cpuctl.engine.config_lints.reservations import lint_reserved_memory
from cpuctl.engine.start import Started, check_start
from cpuctl.kubelet.config import KubeletConfiguration, ReservedMemory
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.sources import read_machine
from cpuctl.quantity import Quantity
from cpuctl.records import replace

MACHINE = "synthetic:2s2n4c2t,mem=4Gi,hugepages-2Mi=512/0"
"""NUMA node 0 has 3 GiB besides huge pages, node 1 has 4 GiB."""


def lints(
    *reserved: tuple[int, dict[str, str]], machine: str = MACHINE, minor: int = 36, **config: Any
) -> list[Lint]:
    """Lint with *reserved* memory by NUMA node, as ``config check`` does: started without the manager."""
    source = read_machine(machine)
    reported = KubeletConfiguration(
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
    alone = replace(reported, memory_manager_policy="None")
    started = check_start(source.info, Kubelet(version=KubeletVersion(minor), config=alone))
    assert isinstance(started, Started)
    gates = FeatureGates(minor, reported.feature_gates)
    subject = LintSubject(
        config=reported, gates=gates, machine=source.machine, topology=None, started=started
    )
    return list(lint_reserved_memory(subject))


KEPT: dict[str, Any] = {
    "kube_reserved": {"memory": "1Gi"},
    "system_reserved": {"memory": "512Mi"},
    "eviction_hard": {"memory.available": "100Mi"},
}
NOT_KEPT = "of which no setting reserves any"
SPLIT = "use the values of this command: cpuctl config reserve"
INEXACT = "it accepts only a whole number that is written without a fraction and without too many digits"


def error(code: str, message: str, *, expected: str = "", detected: str = "", fix: str = "") -> Lint:
    """Make the expected finding: the kubelet rejects all of these."""
    return Lint(
        severity=Severity.ERROR,
        code=f"reserved-memory-{code}",
        place=("reservedMemory",),
        message=message,
        expected=expected,
        detected=detected,
        fix=fix,
    )


NONE_KEPT = error(
    "none",
    "no memory is reserved, but the Memory Manager's Static policy requires some",
    fix=f"set kubeReserved.memory, systemReserved.memory, or memory.available of evictionHard; then {SPLIT}",
)


@pytest.mark.parametrize(
    ("reserved", "difference", "fix"),
    [
        ("1Gi", "612Mi is missing", "add 612Mi, or "),
        ("2Gi", "412Mi too much", "subtract 412Mi, or "),
        ("1715470335", "1 is missing", ""),
    ],
)
def test_the_difference_is_named(reserved: str, difference: str, fix: str) -> None:
    shares = "kubeReserved 1Gi + systemReserved 512Mi + evictionHard 100Mi"
    assert lints((1, {"memory": reserved}), **KEPT) == [
        error(
            "unequal",
            f"reservedMemory adds up to {reserved} of memory, but 1636Mi is reserved ({shares}): "
            f"{difference}",
            expected="1636Mi",
            detected=reserved,
            fix=f"{fix}{SPLIT}",
        )
    ]


@pytest.mark.parametrize(
    ("config", "kept", "shares"),
    [
        ({"kube_reserved": {"memory": "512Mi", "cpu": "1"}}, "512Mi", "kubeReserved 512Mi"),
        ({"system_reserved": {"memory": "512Mi", "cpu": "1"}}, "512Mi", "systemReserved 512Mi"),
        ({"eviction_hard": {"memory.available": "512Mi"}}, "512Mi", "evictionHard 512Mi"),
    ],
)
def test_only_settings_that_reserve_are_added_up(config: dict[str, Any], kept: str, shares: str) -> None:
    (found,) = lints((1, {"memory": "1Gi"}), **config)
    assert found.message == (
        f"reservedMemory adds up to 1Gi of memory, but {kept} is reserved ({shares}): 512Mi too much"
    )


def test_equal_sums_have_no_findings() -> None:
    assert lints((0, {"memory": "636Mi"}), (1, {"memory": "1000Mi"}), **KEPT) == []


def test_huge_pages_can_never_be_reserved() -> None:
    assert lints((1, {"memory": "1636Mi", "hugepages-2Mi": "4Mi"}), **KEPT) == [
        error(
            "unequal",
            f"reservedMemory adds up to 4Mi of hugepages-2Mi, {NOT_KEPT}: 4Mi too much",
            expected="0",
            detected="4Mi",
            fix="remove hugepages-2Mi",
        )
    ]


def test_the_static_policy_needs_reserved_memory() -> None:
    assert lints() == [NONE_KEPT]


def test_reserved_memory_alone_keeps_nothing_from_pods() -> None:
    """``reservedMemory`` divides among the nodes what other settings reserve."""
    assert lints((0, {"memory": "1Gi"})) == [NONE_KEPT]


def test_a_numa_node_that_the_machine_does_not_have() -> None:
    """The kubelet names only the first thing that is wrong with ``reservedMemory``."""
    found = lints((7, {"memory": "1Gi"}), **KEPT)
    assert [(each.code, each.message) for each in found if each.code == "reserved-memory-node"] == [
        ("reserved-memory-node", "this machine has no NUMA node 7")
    ]


@pytest.mark.parametrize(
    ("written", "expected"),
    [("1.5Gi", "1536Mi"), ("1610612736000m", "1536Mi"), ("1000Ti", "1099511627776k"), ("1500m", "")],
)
def test_amounts_that_the_kubelet_cannot_count(written: str, expected: str) -> None:
    """To the kubelet ``1.5Gi`` is not a whole number of bytes, and ``1000Ti`` is too long."""
    found = [lint for lint in lints((1, {"memory": written}), **KEPT) if "inexact" in lint.code]
    amount = Quantity.parse(written)
    shown = "" if str(amount) == expected else f" ({amount})"
    assert found == [
        error(
            "inexact",
            f"the kubelet cannot count the memory of NUMA node 1{shown}: {INEXACT}",
            expected=expected,
            fix=f"set {expected}" if expected else "",
        )
    ]


def test_more_than_a_node_has() -> None:
    assert lints((0, {"memory": "3100Mi"}), kube_reserved={"memory": "3100Mi"}) == [
        error(
            "overdrawn",
            "reserved memory and huge pages take 28Mi more than NUMA node 0 has, which the kubelet does"
            " not reject: it continues with values that have wrapped around",
            expected="3Gi",
            detected="3100Mi",
            fix=f"allocate fewer huge pages on that node, reserve less there, or {SPLIT}",
        )
    ]


def test_more_than_a_node_without_huge_pages_has() -> None:
    machine = "synthetic:2s2n4c2t,mem=4Gi"
    (found,) = lints((0, {"memory": "4100Mi"}), machine=machine, kube_reserved={"memory": "4100Mi"})
    assert found.message.startswith("reserved memory takes 4Mi more than NUMA node 0 has, ")
    assert found.fix == f"reserve less there, or {SPLIT}"


def test_a_node_may_be_listed_once_for_each_kind_of_memory() -> None:
    """The amounts are wrong, but both are reported: huge pages do not count as memory of the node again."""
    found = lints(
        (0, {"memory": "3100Mi"}), (0, {"hugepages-2Mi": "2Mi"}), kube_reserved={"memory": "3100Mi"}
    )
    assert [(lint.code, lint.detected) for lint in found] == [
        ("reserved-memory-unequal", "2Mi"),
        ("reserved-memory-overdrawn", "3100Mi"),
    ]


@pytest.mark.parametrize(("pages", "short"), [(2048, ""), (2049, "2Mi")])
def test_huge_pages_alone_may_be_more_than_a_node_has(pages: int, short: str) -> None:
    """Not on a real machine, but a description may say so; a node with huge pages only is valid."""
    machine = f"synthetic:2s2n4c2t,mem=4Gi,hugepages-2Mi={pages}/0"
    found = lints((1, {"memory": "1Gi"}), machine=machine, kube_reserved={"memory": "1Gi"})
    assert [(lint.code, lint.expected, lint.detected) for lint in found] == (
        [("reserved-memory-overdrawn", "0", "0")] if short else []
    )
    assert all(f"take {short} more than NUMA node 0 has" in lint.message for lint in found)


def test_the_last_byte_of_a_node_may_be_reserved() -> None:
    assert lints((0, {"memory": "3Gi"}), kube_reserved={"memory": "3Gi"}) == []


@pytest.mark.parametrize(
    "config",
    [
        {"memory_manager_policy": "None"},
        {"minor": 31, "feature_gates": {"MemoryManager": False}},
    ],
)
def test_there_are_no_findings_without_the_static_policy(config: dict[str, Any]) -> None:
    assert lints((1, {"memory": "1Gi"}), **(KEPT | config)) == []


def test_there_are_no_findings_if_the_kubelet_fails_earlier() -> None:
    machine = read_machine(MACHINE).machine
    reported = KubeletConfiguration(memory_manager_policy="Static")
    subject = LintSubject(
        config=reported, gates=FeatureGates(36, {}), machine=machine, topology=None, started=None
    )
    assert list(lint_reserved_memory(subject)) == []
