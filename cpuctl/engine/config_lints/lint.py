"""Findings about a configuration on a machine: settings that are legal but wrong, or rejected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Diagnostic
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.start import Started
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.machine.model import Machine

Lint: TypeAlias = Diagnostic[tuple[str, ...]]
"""A finding about the setting at a path; an error if the kubelet rejects it or another driver breaks it."""


class Ceiling(NamedTuple):
    """A control group above pods and its CPUs; ``owner`` names the pods, empty for all."""

    path: str
    cpus: CPUSet
    owner: str = ""


class LintSubject(NamedTuple):
    """A configuration on a machine, its gates, and the started kubelet (None if it did not start).

    ``gate_flags`` are the gates given as flags, in addition to the configuration's; ``info`` is the machine
    as reported to the kubelet, ``ceilings`` are the control groups above the pods, empty if they were not
    examined, and ``partitioned`` the CPUs of isolated partitions.
    """

    config: KubeletConfiguration
    gates: FeatureGates
    machine: Machine
    topology: CPUTopology | None
    started: Started | None = None
    gate_flags: Mapping[str, bool] = {}
    info: MachineInfo | None = None
    ceilings: tuple[Ceiling, ...] = ()
    partitioned: CPUSet = CPUSet()
    cgroup_version: int = 2

    @property
    def reserves_by_count(self) -> bool:
        """Whether the kubelet accepts no list of reserved CPUs: it has a cgroup for what is reserved."""
        return bool(self.config.kube_reserved_cgroup or self.config.system_reserved_cgroup)

    @property
    def reservation(self) -> tuple[str, ...]:
        """The setting for which CPUs are reserved, or else for how many."""
        config = self.config
        if config.reserved_system_cpus or "cpu" not in {**config.kube_reserved, **config.system_reserved}:
            return ("reservedSystemCPUs",)
        return ("kubeReserved" if "cpu" in config.kube_reserved else "systemReserved", "cpu")
