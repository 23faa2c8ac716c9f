"""Conflicts are reported before they take effect."""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.dra.conflicts import conflicts
from cpuctl.dra.driver import DeviceMode, DriverMachine, DriverSettings
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.machine.synthetic import parse_synthetic
from cpuctl.records import replace

KEPT = DriverSettings(reserved=CPUSet.parse("0,16"))


def stated(
    kubelet: KubeletConfiguration | None, settings: DriverSettings = KEPT, machine: str = "2n16c2t"
) -> str:
    found = conflicts(DriverMachine.discover(parse_synthetic(machine)), settings, kubelet)
    return "\n".join(each.text for each in found)


def test_the_static_policy_conflicts_with_the_driver() -> None:
    static = KubeletConfiguration(cpu_manager_policy="static", reserved_system_cpus="0,16")
    assert stated(static).startswith("the kubelet's CPU Manager policy is static")
    assert not stated(replace(static, cpu_manager_policy="none"))
    assert not stated(None)


@pytest.mark.parametrize(
    ("kubelet", "words"),
    [
        (
            KubeletConfiguration(reserved_system_cpus="0-1"),
            "the kubelet reserves CPUs 0-1, the driver reserves 0,16",
        ),
        (KubeletConfiguration(kube_reserved={"cpu": "1"}), "reserves 1 CPUs"),
        (KubeletConfiguration(system_reserved={"cpu": "1500m"}), "reserves 1.5 CPUs"),
        (KubeletConfiguration(), "reserves 0 CPUs"),
    ],
)
def test_different_reserved_cpus_are_reported(kubelet: KubeletConfiguration, words: str) -> None:
    assert words in stated(kubelet)


def test_equal_reserved_cpus_are_not_reported() -> None:
    both = KubeletConfiguration(kube_reserved={"cpu": "1"}, system_reserved={"cpu": "1000m"})
    assert not stated(both)
    assert not stated(KubeletConfiguration(reserved_system_cpus="16,0"))


def test_a_claim_has_32_individual_cpus_at_most() -> None:
    settings = DriverSettings(mode=DeviceMode.INDIVIDUAL)
    assert "at most 32 devices" in stated(None, settings, "2n64c2t")
    assert not stated(None, settings, "4n64c2t")
