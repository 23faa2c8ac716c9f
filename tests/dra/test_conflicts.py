"""What does not go together is said before it happens."""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.dra.conflicts import conflicts
from cpuctl.dra.driver import DeviceMode, DriverMachine, DriverSettings
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.machine.synthetic import parse_synthetic
from cpuctl.records import replace

KEPT = DriverSettings(reserved=CPUSet.parse("0,16"))


def said(
    kubelet: KubeletConfiguration | None, settings: DriverSettings = KEPT, machine: str = "2n16c2t"
) -> str:
    found = conflicts(DriverMachine.discover(parse_synthetic(machine)), settings, kubelet)
    return "\n".join(each.text for each in found)


def test_the_static_policy_does_not_go_with_the_driver() -> None:
    static = KubeletConfiguration(cpu_manager_policy="static", reserved_system_cpus="0,16")
    assert said(static).startswith("the kubelet's CPU Manager policy is static")
    assert not said(replace(static, cpu_manager_policy="none"))
    assert not said(None)


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
def test_reserved_cpus_that_differ_are_told(kubelet: KubeletConfiguration, words: str) -> None:
    assert words in said(kubelet)


def test_reserved_cpus_that_agree_are_not() -> None:
    both = KubeletConfiguration(kube_reserved={"cpu": "1"}, system_reserved={"cpu": "1000m"})
    assert not said(both)
    assert not said(KubeletConfiguration(reserved_system_cpus="16,0"))


def test_a_claim_has_32_individual_cpus_at_most() -> None:
    settings = DriverSettings(mode=DeviceMode.INDIVIDUAL)
    assert "at most 32 devices" in said(None, settings, "2n64c2t")
    assert not said(None, settings, "4n64c2t")
