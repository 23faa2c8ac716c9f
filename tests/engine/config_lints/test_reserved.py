"""Reserved CPUs that cores, caches and the kernel make less useful than they look."""

from __future__ import annotations

import pytest

from cpuctl.diagnostics import Severity
from cpuctl.engine.config_lints.lint import Lint
from tests.support.config_lints import ORDINARY, Case, Reported, static

CASES = [
    Case(
        "reserved-splits-core",
        Severity.WARNING,
        "reservedSystemCPUs",
        Reported(config=static(reserved_system_cpus="0,32,1")),
        "reserved CPU 1 shares a core with CPU 33, which is for pods",
        expected="0-1,32-33",
        detected="0-1,32",
        fix="set reservedSystemCPUs: 0-1,32-33",
    ),
    Case(
        "reserved-splits-core",
        Severity.WARNING,
        "kubeReserved.cpu",
        Reported(config=static(reserved_system_cpus="", kube_reserved={"cpu": "2500m"})),
        "reserved CPU 1 shares a core with CPU 33, which is for pods",
        expected="0-1,32-33",
        detected="0-1,32",
        fix="set reservedSystemCPUs: 0-1,32-33, or reserve 4 CPUs in total",
    ),
    Case(
        "reserved-splits-core",
        Severity.WARNING,
        "systemReserved.cpu",
        Reported(config=static(reserved_system_cpus="", system_reserved={"cpu": "1"})),
        "reserved CPU 0 shares a core with CPU 32, which is for pods",
        expected="0,32",
        detected="0",
        fix="set reservedSystemCPUs: 0,32, or reserve 2 CPUs in total",
    ),
    Case(  # reserving the whole core would leave no CPU for pods
        "reserved-splits-core",
        Severity.WARNING,
        "reservedSystemCPUs",
        Reported(config=static(reserved_system_cpus="0"), machine="synthetic:1c2t"),
        "reserved CPU 0 shares a core with CPU 1, which is for pods",
        detected="0",
    ),
    Case(
        "reserved-splits-p-core",
        Severity.WARNING,
        "reservedSystemCPUs",
        Reported(
            config=static(reserved_system_cpus="0"),
            machine="synthetic:8c,cores=0+1/2+3/4/5/6/7,pcores=0-3,ecores=4-7",
        ),
        "reserved CPU 0 shares a performance core with CPU 1, which is for pods",
        expected="0-1",
        detected="0",
        fix="set reservedSystemCPUs: 0-1",
    ),
    Case(  # a core of the other kind
        "reserved-splits-core",
        Severity.WARNING,
        "reservedSystemCPUs",
        Reported(
            config=static(reserved_system_cpus="0"),
            machine="synthetic:8c,cores=0+1/2+3/4/5/6/7,pcores=2-7,ecores=0-1",
        ),
        "reserved CPU 0 shares a core with CPU 1, which is for pods",
        expected="0-1",
        detected="0",
        fix="set reservedSystemCPUs: 0-1",
    ),
    Case(
        "reserved-isolated",
        Severity.WARNING,
        "reservedSystemCPUs",
        Reported(config=static(), machine=f"{ORDINARY},isolated=1-8+32"),
        "reserved CPU 32 is isolated from the kernel's scheduler (isolcpus): the kernel does not"
        " balance system processes across isolated CPUs",
        detected="32",
        fix="remove reserved CPUs from isolcpus, or reserve other CPUs",
    ),
    Case(
        "reserved-all",
        Severity.WARNING,
        "reservedSystemCPUs",
        Reported(config=static(reserved_system_cpus="0-3"), machine="synthetic:2c2t"),
        "all CPUs are reserved: no container can get exclusive CPUs",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_exactly_one_mistake_is_found(case: Case) -> None:
    assert case.reported.lints() == [case.wanted]


def test_a_list_of_reserved_cpus_overrides_their_number() -> None:
    """Listed CPUs replace a number, so the fix is for the list."""
    reported = Reported(config=static(reserved_system_cpus="0,1,32", kube_reserved={"cpu": "1"}))
    found = {lint.code: lint for lint in reported.lints()}
    assert found.keys() == {"reserved-count-overridden", "reserved-splits-core"}
    assert found["reserved-splits-core"].place == ("reservedSystemCPUs",)
    assert found["reserved-splits-core"].fix == "set reservedSystemCPUs: 0-1,32-33"


@pytest.mark.parametrize(
    ("options", "severity", "effect"),
    [
        ({}, Severity.NOTE, ""),
        (
            {"prefer-align-cpus-by-uncorecache": "true"},
            Severity.WARNING,
            ", so no container can get the whole cache",
        ),
    ],
)
def test_split_caches_matter_if_an_option_aligns_by_cache(
    options: dict[str, str], severity: Severity, effect: str
) -> None:
    assert Reported(config=static(options), machine="synthetic:2s16c2t").lints(caches=True) == [
        Lint(
            severity=severity,
            code="reserved-splits-l3",
            place=("reservedSystemCPUs",),
            message=f"reserved CPUs 0,32 share an L3 cache with CPUs 1-15,33-47, which are for pods{effect}",
            detected="0,32",
        )
    ]


def test_whole_caches_and_a_single_cache_are_not_split() -> None:
    reserved = static(reserved_system_cpus="0-15,32-47")
    assert Reported(config=reserved, machine="synthetic:2s16c2t").lints(caches=True) == []
    assert Reported(config=static(), machine="synthetic:1s32c2t").lints(caches=True) == []
