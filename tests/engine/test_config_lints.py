"""Remarks on configurations: one finding per mistake, none where nothing is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from cpuctl.engine.config_lints import lint_configuration
from cpuctl.engine.lint import Lint, LintSubject, Severity, nearest
from cpuctl.engine.start import Kubelet, Started, check_start
from cpuctl.engine.topology import CPUTopology
from cpuctl.kubelet.config import DEFAULT_EVICTION_HARD, KubeletConfiguration
from cpuctl.kubelet.feature_gates import FeatureGates
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.sources import read_machine

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
        "reserved_system_cpus": "0,64",
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


OFF = "leave it out"
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
        expected="",
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
        Told(config=static(reserved_system_cpus="0,16"), machine="synthetic:1s1n16c2t"),
        "reserved-free",
    ),
]
