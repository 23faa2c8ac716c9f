from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.reservations import CPUReservation, cpu_reservation, require_cpu_reservation

ONLINE = CPUSet.parse("0-7")


def config(kube: str = "", system: str = "", cpus: str = "", kube_cgroup: str = "") -> KubeletConfiguration:
    return KubeletConfiguration(
        kube_reserved={"cpu": kube} if kube else {},
        system_reserved={"cpu": system} if system else {},
        reserved_system_cpus=cpus,
        kube_reserved_cgroup=kube_cgroup,
    )


@pytest.mark.parametrize(
    ("given", "count", "cpus"),
    [
        (config(), 0, None),
        (config(kube="2"), 2, None),
        (config(kube="600m", system="600m"), 2, None),
        (config(kube="1u"), 1, None),
        (config(kube="0", system="0"), 0, None),
        (config(cpus="0-1,4"), 3, "0-1,4"),
        (config(kube="not a quantity", system="7", cpus="0"), 1, "0"),
    ],
)
def test_reservation(given: KubeletConfiguration, count: int, cpus: str | None) -> None:
    """A list replaces what both maps say of cpu, which then is not even read."""
    listed = None if cpus is None else CPUSet.parse(cpus)
    assert cpu_reservation(given, ONLINE) == CPUReservation(count, listed)


@dataclass(frozen=True)
class Refusal:
    """A configuration that a kubelet does not start with, and its words."""

    config: KubeletConfiguration
    want: str


PARSE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
REFUSALS = [
    Refusal(config(cpus="6-8"), "reserved-cpus: 6-8 is not a subset of online-cpus: 0-7"),
    Refusal(
        config(cpus="0-"),
        "invalid configuration: unable to parse reservedSystemCPUs (--reserved-cpus) 0-,"
        ' error: strconv.Atoi: parsing "": invalid syntax',
    ),
    Refusal(
        config(cpus="0", kube_cgroup="/kube"),
        "invalid configuration: can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup"
        " (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)",
    ),
    Refusal(
        config(kube="1x"),
        f'--kube-reserved value failed to parse: failed to parse quantity "1x" for "cpu" resource: {PARSE}',
    ),
    Refusal(
        config(system="-1"),
        '--system-reserved value failed to parse: resource quantity for "cpu" cannot be negative: -1',
    ),
    Refusal(
        KubeletConfiguration(kube_reserved={"hugepages-2Mi": "2Mi"}),
        '--kube-reserved value failed to parse: cannot reserve "hugepages-2Mi" resource',
    ),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.want[:60])
def test_refusals_are_in_the_kubelets_words(case: Refusal) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole text is compared
        cpu_reservation(case.config, ONLINE)
    assert str(caught.value) == case.want


def test_static_policy_needs_a_reservation() -> None:
    require_cpu_reservation(CPUReservation(1))
    with pytest.raises(ValueError, match=r"^\[cpumanager\] unable to determine reserved CPU resources"):
        require_cpu_reservation(CPUReservation(0))
