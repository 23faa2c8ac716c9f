"""Remarks on configurations: one finding per mistake, none where nothing is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from cpuctl.engine.config_lints.lint import Lint, LintSubject, Severity
from cpuctl.engine.config_lints.lints import lint_configuration
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.start import Kubelet, Started, check_start
from cpuctl.kubelet.config import DEFAULT_EVICTION_HARD, KubeletConfiguration, ReservedMemory
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.sources import read_machine
from cpuctl.quantity import Quantity

ORDINARY = "synthetic:2s4n16c2t"
ALPHA = {"CPUManagerPolicyAlphaOptions": True}
CPU, NUMA = "cpu_manager_policy_options", "topology_manager_policy_options"


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a kubelet is told, and on which machine."""

    config: Mapping[str, Any] = field(default_factory=dict)
    machine: str = ORDINARY
    minor: int = 36

    def lints(self) -> list[Lint]:
        source = read_machine(self.machine)
        config = KubeletConfiguration(**self.config)
        outcome = check_start(source.info, Kubelet(version=KubeletVersion(self.minor), config=config))
        return lint_configuration(
            LintSubject(
                config=config,
                gates=FeatureGates(self.minor, config.feature_gates),
                machine=source.machine,
                topology=CPUTopology.discover(source.info),
                started=outcome if isinstance(outcome, Started) else None,
            )
        )


def static(options: Mapping[str, str] | None = None, **config: Any) -> dict[str, Any]:
    gates = {"feature_gates": ALPHA} if options else {}
    return {
        "cpu_manager_policy": "static",
        "reserved_system_cpus": "0,32",
        CPU: options or {},
        **gates,
        **config,
    }


def aligned(options: Mapping[str, str] | None = None, policy: str = "restricted") -> dict[str, Any]:
    return {"topology_manager_policy": policy, NUMA: options or {}}


@dataclass(frozen=True)
class Case:
    """A configuration with one mistake, and what is said of it."""

    code: str
    severity: Severity
    setting: str
    told: Told
    message: str
    expected: str = ""
    detected: str = ""
    fix: str = ""


RESIZING = {"CPUManagerPolicyAlphaOptions": True, "InPlacePodVerticalScalingExclusiveCPUs": True}
OFF, SINGLE = "leave it out", "every core has one CPU"
CASES = [
    Case(
        "policy-name-case",
        Severity.ERROR,
        "cpuManagerPolicy",
        Told(config={"cpu_manager_policy": "Static"}),
        'cpuManagerPolicy "Static" is no name that the kubelet knows: upper and lower case count',
        expected="static",
        detected="Static",
        fix="cpuManagerPolicy: static",
    ),
    Case(
        "policy-name-case",
        Severity.ERROR,
        "memoryManagerPolicy",
        Told(config={"memory_manager_policy": "static"}),
        'memoryManagerPolicy "static" is no name that the kubelet knows: upper and lower case count',
        expected="Static",
        detected="static",
        fix="memoryManagerPolicy: Static",
    ),
    Case(
        "policy-name",
        Severity.ERROR,
        "topologyManagerPolicy",
        Told(config={"topology_manager_policy": "single-numa"}),
        'topologyManagerPolicy "single-numa" is no name that the kubelet knows',
        expected="single-numa-node",
        detected="single-numa",
        fix="topologyManagerPolicy: single-numa-node",
    ),
    Case(
        "policy-name",
        Severity.ERROR,
        "topologyManagerScope",
        Told(config={"topology_manager_scope": "xyz"}),
        'topologyManagerScope "xyz" is no name that the kubelet knows',
        expected="container or pod",
        detected="xyz",
    ),
    Case(
        "option-unknown",
        Severity.ERROR,
        "cpuManagerPolicyOptions.full-pcpu-only",
        Told(config=static({"full-pcpu-only": "true"})),
        'no kubelet knows an option "full-pcpu-only"',
        expected="full-pcpus-only",
        detected="full-pcpu-only",
        fix="write full-pcpus-only",
    ),
    Case(
        "option-too-new",
        Severity.ERROR,
        "cpuManagerPolicyOptions.strict-cpu-reservation",
        Told(config=static({"strict-cpu-reservation": "true"}), minor=31),
        "option strict-cpu-reservation came with kubelet 1.32: kubelet 1.31 does not know it",
    ),
    Case(
        "option-without-gate",
        Severity.ERROR,
        "cpuManagerPolicyOptions.distribute-cpus-across-cores",
        Told(config=static({"distribute-cpus-across-cores": "true"}, feature_gates={})),
        "option distribute-cpus-across-cores is alpha in this release and needs the feature gate"
        " CPUManagerPolicyAlphaOptions",
        expected="CPUManagerPolicyAlphaOptions=true",
        detected="CPUManagerPolicyAlphaOptions=false",
        fix="featureGates: {CPUManagerPolicyAlphaOptions: true}",
    ),
    Case(
        "option-value",
        Severity.ERROR,
        "topologyManagerPolicyOptions.max-allowable-numa-nodes",
        Told(config=aligned({"max-allowable-numa-nodes": "true"})),
        'option max-allowable-numa-nodes takes the number of NUMA nodes, not "true", as documents said until'
        " 2026",
        expected="a number of at least 8",
        detected="true",
        fix='max-allowable-numa-nodes: "16"',
    ),
    Case(
        "option-value",
        Severity.ERROR,
        "topologyManagerPolicyOptions.max-allowable-numa-nodes",
        Told(config=aligned({"max-allowable-numa-nodes": "7"})),
        'option max-allowable-numa-nodes takes the number of NUMA nodes, not "7"',
        expected="a number of at least 8",
        detected="7",
        fix='max-allowable-numa-nodes: "16"',
    ),
    Case(
        "option-announced",
        Severity.INFO,
        "cpuManagerPolicyOptions.scale-delay-time",
        Told(config=static({"scale-delay-time": "0s"}, feature_gates=RESIZING), minor=37),
        "option scale-delay-time is announced (KEP-6122), but was not verified",
        detected="0s",
    ),
    Case(
        "option-node-wide",
        Severity.WARNING,
        "cpuManagerPolicyOptions.scale-delay-time",
        Told(config=static({"scale-delay-time": "5s"}, feature_gates=RESIZING), minor=37),
        "option scale-delay-time is announced (KEP-6122), but was not verified; it delays every pod of this"
        " node that has exclusive CPUs, wanted or not",
        detected="5s",
        fix="taint the node, so that only pods come that tolerate the delay",
    ),
    Case(
        "option-value",
        Severity.ERROR,
        "cpuManagerPolicyOptions.scale-delay-time",
        Told(config=static({"scale-delay-time": "5s"}), minor=37),
        'bad value for option "scale-delay-time": it must be 0 without'
        " InPlacePodVerticalScalingExclusiveCPUs",
        expected="a duration from 0s to 10s",
        detected="5s",
        fix="featureGates: {InPlacePodVerticalScalingExclusiveCPUs: true}",
    ),
    Case(
        "option-value",
        Severity.ERROR,
        "cpuManagerPolicyOptions.full-pcpus-only",
        Told(config=static({"full-pcpus-only": "yes"})),
        'option full-pcpus-only is a switch: "yes" is neither true nor false to Go',
        expected="true or false",
        detected="yes",
        fix='full-pcpus-only: "true"',
    ),
    Case(
        "option-off",
        Severity.INFO,
        "cpuManagerPolicyOptions.full-pcpus-only",
        Told(config=static({"full-pcpus-only": "false"})),
        "option full-pcpus-only is given and off: that is the same as leaving it out",
    ),
    Case(
        "gate-unknown",
        Severity.ERROR,
        "featureGates.MemoryQOS",
        Told(config={"feature_gates": {"MemoryQOS": True}}),
        'kubelet 1.36 has no feature gate "MemoryQOS"',
        expected="MemoryQoS",
        detected="MemoryQOS",
        fix="write MemoryQoS",
    ),
    Case(
        "gate-unknown",
        Severity.ERROR,
        "featureGates.CPUManager",
        Told(config={"feature_gates": {"CPUManager": True}}),
        'kubelet 1.36 has no feature gate "CPUManager"; it exists in 1.27 to 1.34',
        detected="CPUManager",
        fix=OFF,
    ),
    Case(
        "gate-unverified",
        Severity.INFO,
        "featureGates.MemoryQoS",
        Told(config={"feature_gates": {"MemoryQoS": True}}, minor=37),
        "what the gate MemoryQoS is in kubelet 1.37 is announced, but was not verified",
    ),
    Case(
        "reserved-splits-core",
        Severity.WARNING,
        "reservedSystemCPUs",
        Told(config=static(reserved_system_cpus="0,32,1")),
        "reserved CPUs 1 share cores with CPUs for pods (33)",
        expected="0-1,32-33",
        detected="0-1,32",
        fix="reservedSystemCPUs: 0-1,32-33",
    ),
    Case(
        "reserved-splits-core",
        Severity.WARNING,
        "kubeReserved.cpu",
        Told(config=static(reserved_system_cpus="", kube_reserved={"cpu": "2500m"})),
        "reserved CPUs 1 share cores with CPUs for pods (33)",
        expected="0-1,32-33",
        detected="0-1,32",
        fix="reservedSystemCPUs: 0-1,32-33, or 4 CPUs in all instead",
    ),
    Case(
        "reserved-splits-core",
        Severity.WARNING,
        "systemReserved.cpu",
        Told(config=static(reserved_system_cpus="", system_reserved={"cpu": "1"})),
        "reserved CPUs 0 share cores with CPUs for pods (32)",
        expected="0,32",
        detected="0",
        fix="reservedSystemCPUs: 0,32, or 2 CPUs in all instead",
    ),
    Case(  # reserving the whole core would leave no CPU for pods
        "reserved-splits-core",
        Severity.WARNING,
        "reservedSystemCPUs",
        Told(config=static(reserved_system_cpus="0"), machine="synthetic:1c2t"),
        "reserved CPUs 0 share cores with CPUs for pods (1)",
        detected="0",
    ),
    Case(
        "reserved-splits-p-core",
        Severity.WARNING,
        "reservedSystemCPUs",
        Told(
            config=static(reserved_system_cpus="0"),
            machine="synthetic:8c,cores=0+1/2+3/4/5/6/7,pcores=0-3,ecores=4-7",
        ),
        "reserved CPUs 0 share performance cores with CPUs for pods (1)",
        expected="0-1",
        detected="0",
        fix="reservedSystemCPUs: 0-1",
    ),
    Case(
        "reserved-isolated",
        Severity.WARNING,
        "reservedSystemCPUs",
        Told(config=static(), machine=f"{ORDINARY},isolated=1-8+32"),
        "reserved CPUs 32 are isolated from the kernel's scheduler (isolcpus): the system's processes are not"
        " spread over them",
        detected="32",
        fix="leave them out of isolcpus, or reserve others",
    ),
    Case(
        "reserved-all",
        Severity.WARNING,
        "reservedSystemCPUs",
        Told(config=static(reserved_system_cpus="0-3"), machine="synthetic:2c2t"),
        "all CPUs are reserved: no container can get exclusive ones",
    ),
    *(
        Case(
            "option-idle",
            Severity.WARNING,
            f"cpuManagerPolicyOptions.{option}",
            Told(config=static({option: "true"}, reserved_system_cpus="0"), machine=f"synthetic:{machine}"),
            f"option {option} has no purpose on this machine: {reason}",
            fix=OFF,
        )
        for option, machine, reason in (
            (
                "full-pcpus-only",
                "2s8c",
                f"{SINGLE}; all it does is keep reserved CPUs from pods, as strict-cpu-reservation does",
            ),
            ("distribute-cpus-across-cores", "2s8c", SINGLE),
            ("distribute-cpus-across-numa", "1s8c", "it has one NUMA node"),
            ("prefer-align-cpus-by-uncorecache", "1s8c", "it has one L3 cache"),
            ("align-by-socket", "2s2n8c", "every socket is one NUMA node"),
        )
    ),
    *(
        Case(
            "option-idle",
            Severity.WARNING,
            "topologyManagerPolicyOptions.prefer-closest-numa-nodes",
            Told(
                config=aligned({"prefer-closest-numa-nodes": "true"}, policy), machine=f"synthetic:{machine}"
            ),
            f"option prefer-closest-numa-nodes changes nothing: {reason}",
            fix=OFF,
        )
        for policy, machine, reason in (
            (
                "single-numa-node",
                "2s4n8c",
                "with policy single-numa-node no two NUMA nodes are ever compared",
            ),
            ("restricted", "2s2n8c", "with two NUMA nodes at most there are no two pairs to choose from"),
            ("best-effort", "3s3n8c", "all NUMA nodes are equally far from each other"),
        )
    ),
    Case(
        "option-ignored",
        Severity.WARNING,
        "topologyManagerPolicyOptions.prefer-closest-numa-nodes",
        Told(config={NUMA: {"prefer-closest-numa-nodes": "true"}}),
        "option prefer-closest-numa-nodes is not looked at while topologyManagerPolicy is none",
        fix=OFF,
    ),
    Case(
        "option-ignored",
        Severity.WARNING,
        "topologyManagerPolicyOptions.bogus",
        Told(config={NUMA: {"bogus": "true"}}),
        "option bogus is not looked at while topologyManagerPolicy is none",
        fix=OFF,
    ),
    Case(
        "scope-ignored",
        Severity.WARNING,
        "topologyManagerScope",
        Told(config={"topology_manager_scope": "pod"}),
        "topologyManagerScope pod has no effect while topologyManagerPolicy is none",
        fix=OFF,
    ),
    Case(
        "topology-policy-idle",
        Severity.INFO,
        "topologyManagerPolicy",
        Told(config=aligned(), machine="synthetic:8c"),
        "this machine has one NUMA node: there is nothing to align",
    ),
    *(
        Case(
            "reserved-count-overridden",
            Severity.WARNING,
            f"{name}Reserved.cpu",
            Told(config=static(**{f"{name}_reserved": {"cpu": "1"}})),
            f"reservedSystemCPUs 0,32 takes the place of {name}Reserved.cpu",
            fix=OFF,
        )
        for name in ("kube", "system")
    ),
    Case(
        "reserved-memory-ignored",
        Severity.WARNING,
        "reservedMemory",
        Told(
            config={
                "reserved_memory": (ReservedMemory(numa_node=0, limits={"memory": Quantity.parse("1Gi")}),)
            }
        ),
        "reservedMemory is not looked at while memoryManagerPolicy is None",
        fix=OFF,
    ),
    Case(
        "eviction-defaults-dropped",
        Severity.INFO,
        "evictionHard",
        Told(config={"eviction_hard": {"memory.available": "500Mi", "nodefs.available": "5%"}}),
        "evictionHard replaces all defaults: there is no threshold for nodefs.inodesFree, imagefs.available,"
        " imagefs.inodesFree",
        fix="name them too, or set mergeDefaultEvictionSettings: true in the main file (from 1.33 on)",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.code}: {case.message[:50]}")
def test_a_mistake_is_found_and_nothing_else(case: Case) -> None:
    [lint] = [each for each in case.told.lints() if each.code != "reserved-splits-l3"]
    assert lint == Lint(
        severity=case.severity,
        code=case.code,
        setting=tuple(case.setting.split(".", 1)),
        message=case.message,
        expected=case.expected,
        detected=case.detected,
        fix=case.fix,
    )


CLEAN = [
    Told(),
    Told(config=static()),
    Told(config=static({"full-pcpus-only": "true", "distribute-cpus-across-numa": "true"})),
    Told(config=static({"align-by-socket": "true"}, **aligned())),
    Told(config=aligned({"prefer-closest-numa-nodes": "true", "max-allowable-numa-nodes": "16"})),
    Told(config={"eviction_hard": DEFAULT_EVICTION_HARD}),
    Told(config={"feature_gates": {"AllAlpha": True, "MemoryQoS": True}}),
    Told(config={"reserved_system_cpus": "0"}),
]


@pytest.mark.parametrize("told", CLEAN, ids=lambda told: str(dict(told.config)))
def test_nothing_is_said_where_nothing_is_wrong(told: Told) -> None:
    assert [lint for lint in told.lints() if lint.code != "reserved-splits-l3"] == []


@pytest.mark.parametrize(
    ("options", "severity", "effect"),
    [
        ({}, Severity.INFO, ""),
        (
            {"prefer-align-cpus-by-uncorecache": "true"},
            Severity.WARNING,
            ", so that no container gets the whole cache",
        ),
    ],
)
def test_split_caches_matter_where_caches_are_asked_for(
    options: dict[str, str], severity: Severity, effect: str
) -> None:
    [lint] = Told(config=static(options), machine="synthetic:2s16c2t").lints()
    assert (lint.code, lint.severity) == ("reserved-splits-l3", severity)
    assert lint.message == f"reserved CPUs 0,32 share L3 caches with CPUs for pods (1-15,33-47){effect}"


def test_whole_caches_and_an_only_cache_are_not_split() -> None:
    reserved = static(reserved_system_cpus="0-15,32-47")
    assert Told(config=reserved, machine="synthetic:2s16c2t").lints() == []
    assert Told(config=static(), machine="synthetic:1s32c2t").lints() == []


def test_idle_options_need_a_machine() -> None:
    told = Told(config=static({"distribute-cpus-across-numa": "true"}), machine="synthetic:8c2t")
    source = read_machine(told.machine)
    subject = LintSubject(
        config=KubeletConfiguration(**told.config),
        gates=FeatureGates(36, ALPHA),
        machine=source.machine,
        topology=CPUTopology.discover(source.info),
    )
    assert {lint.code for lint in lint_configuration(subject)} == {"option-idle"}
    assert lint_configuration(replace(subject, topology=None)) == []


def test_the_worst_comes_first() -> None:
    config = static({"full-pcpus-only": "false", "align-by-socket": "x"}, reserved_memory=(), **aligned())
    lints = Told(config={**config, "topology_manager_scope": "Pod", "max_pods": -1}).lints()
    assert [lint.severity for lint in lints] == [Severity.ERROR, Severity.ERROR, Severity.INFO]


def test_a_file_of_gates_that_are_none_is_not_told_in_full() -> None:
    gates = {f"Gate{number}": True for number in range(1000)}
    assert len(Told(config={"feature_gates": gates}).lints()) == 100
