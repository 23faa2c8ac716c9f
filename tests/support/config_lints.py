"""Configurations with one mistake, and the findings about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cpuctl.diagnostics import Severity
from cpuctl.engine.config_lints.lint import Lint, LintSubject
from cpuctl.engine.config_lints.lints import lint_configuration
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.start import Started, check_start
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.sources import read_machine

ORDINARY = "synthetic:2s4n16c2t"
ALPHA = {"CPUManagerPolicyAlphaOptions": True}
CPU, NUMA = "cpu_manager_policy_options", "topology_manager_policy_options"
LEAVE_OUT = "remove it"


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A kubelet's configuration and its machine."""

    config: Mapping[str, Any] = field(default_factory=dict)
    machine: str = ORDINARY
    minor: int = 36

    def subject(self) -> LintSubject:
        source = read_machine(self.machine)
        config = KubeletConfiguration(**self.config)
        outcome = check_start(source.info, Kubelet(version=KubeletVersion(self.minor), config=config))
        return LintSubject(
            config=config,
            gates=FeatureGates(self.minor, config.feature_gates),
            machine=source.machine,
            topology=CPUTopology.discover(source.info),
            started=outcome if isinstance(outcome, Started) else None,
            info=source.info,
        )

    def lints(self, *, caches: bool = False) -> list[Lint]:
        """List all findings, except those about split *caches* and the consequences of split cores.

        Few reservations lack the first, and the others accompany another finding. Isolated CPUs in
        the shared pool are left out, too.
        """
        left_out = {"reserved-handed-out", "isolated-in-shared-pool"} | (
            set() if caches else {"reserved-splits-l3"}
        )
        return [lint for lint in lint_configuration(self.subject()) if lint.code not in left_out]


def static(options: Mapping[str, str] | None = None, **config: Any) -> dict[str, Any]:
    """Configure the static CPU policy, which reserves a core."""
    gates = {"feature_gates": ALPHA} if options else {}
    return {
        "cpu_manager_policy": "static",
        "reserved_system_cpus": "0,32",
        CPU: options or {},
        **gates,
        **config,
    }


def aligned(options: Mapping[str, str] | None = None, policy: str = "restricted") -> dict[str, Any]:
    """Configure the Topology Manager."""
    return {"topology_manager_policy": policy, NUMA: options or {}}


@dataclass(frozen=True)
class Case:
    """A configuration with one mistake, and its finding; *setting* is a path with a dot."""

    code: str
    severity: Severity
    setting: str
    reported: Reported
    message: str
    expected: str = ""
    detected: str = ""
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.code}: {self.message[:50]}"

    @property
    def wanted(self) -> Lint:
        return Lint(
            severity=self.severity,
            code=self.code,
            place=tuple(self.setting.split(".", 1)),
            message=self.message,
            expected=self.expected,
            detected=self.detected,
            fix=self.fix,
        )
