"""Options of the static CPU policy that do nothing on a machine, or that no gate makes acceptable."""

from __future__ import annotations

from cpuctl.engine.config_lints.lint import LintSubject
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.golang.conversions import reads_true
from cpuctl.kubelet.config import SettingError
from cpuctl.kubelet.policy_options import (
    ALIGN_BY_SOCKET,
    CPU_POLICY_OPTIONS,
    CPU_STAGE_GATES,
    DISTRIBUTE_CORES,
    DISTRIBUTE_NUMA,
    FULL_PCPUS_ONLY,
    PREFER_UNCORE,
    check_align_by_socket,
    check_sockets_for_alignment,
    parse_cpu_policy_options,
)
from cpuctl.records import replace

_LITTLE = "; it can only reject pods, as it does not count the CPUs that a pod already has"


def is_in_effect(subject: LintSubject, option: str) -> bool:
    """Return whether an option is on, has its gate, and is one whose effect can be told on this machine."""
    return _is_judged(subject, option) and not _lacks_gate(subject, option)


def why_idle(subject: LintSubject, option: str) -> str:
    """Return the sentence that an option has no effect, or little; empty if it has one."""
    assert subject.topology is not None
    reason = _idle_reason(option, subject.topology)
    effect = "little" if reason.endswith(_LITTLE) else "no"
    return f"option {option} has {effect} effect on this machine: {reason}" if reason else ""


def why_remove(subject: LintSubject, option: str) -> str:
    """Return why a switch without its gate should be removed even if it is on; empty if the gate helps."""
    options = {**subject.config.cpu_manager_policy_options, option: "true"}
    subject = subject._replace(config=replace(subject.config, cpu_manager_policy_options=options))
    if error := _error_with_gates(subject, option):
        return f"even with this gate, the kubelet would not start: {error}"
    if subject.topology is None or not _is_judged(subject, option):
        return ""
    reason = _idle_reason(option, subject.topology)
    return f"it has no effect on this machine: {reason}" if reason and not reason.endswith(_LITTLE) else ""


def _is_judged(subject: LintSubject, option: str) -> bool:
    config, topology = subject.config, subject.topology
    if topology is None or config.cpu_manager_policy != "static" or _reaches_across(topology):
        return False
    if option == ALIGN_BY_SOCKET and _distributes_by_sockets(subject):
        return False
    return reads_true(config.cpu_manager_policy_options.get(option, ""))


def _lacks_gate(subject: LintSubject, option: str) -> bool:
    if option not in CPU_POLICY_OPTIONS:
        return False
    gate = CPU_STAGE_GATES.get(CPU_POLICY_OPTIONS[option].stage(subject.gates.minor))
    return gate is not None and not subject.gates.enabled(gate)


def _error_with_gates(subject: LintSubject, option: str) -> str:
    """Return the kubelet's error about an option if the gates of all stages were on."""
    # The gates are not set as a kubelet does: that may refuse others, which have their own findings.
    settings = {**subject.gates.settings, **dict.fromkeys(CPU_STAGE_GATES.values(), True)}
    gates, topology = replace(subject.gates, settings=settings), subject.topology
    try:
        options = parse_cpu_policy_options(subject.config.cpu_manager_policy_options, gates)
        check_align_by_socket(options, subject.config.topology_manager_policy)
        if topology is not None:
            sockets, numa_nodes = topology.num_sockets, topology.num_numa_nodes
            check_sockets_for_alignment(options, sockets=sockets, numa_nodes=numa_nodes)
    except SettingError as error:
        return str(error) if error.path[-1] == option else ""
    return ""


def _reaches_across(topology: CPUTopology) -> bool:
    """Return whether a NUMA node spans sockets: a kubelet counts it once per socket, and takes CPUs twice."""
    return any(len(topology.sockets_of(mask)) > 1 for mask in topology.numa_nodes.values())


def _distributes_by_sockets(subject: LintSubject) -> bool:
    """Return whether align-by-socket affects a distribution, even with one NUMA node per socket."""
    distributes = reads_true(subject.config.cpu_manager_policy_options.get(DISTRIBUTE_NUMA, ""))
    return distributes and subject.gates.release.aligns_distribution_to_sockets


def _idle_reason(option: str, topology: CPUTopology) -> str:
    if option in (FULL_PCPUS_ONLY, DISTRIBUTE_CORES):
        single = topology.cpus_per_core == 1 and topology.cpus.bit_count() == len(topology.cores)
        besides = _LITTLE if option == FULL_PCPUS_ONLY else ""
        return f"every core has one CPU{besides}" if single else ""
    if option == DISTRIBUTE_NUMA:
        return "it has one NUMA node" if topology.num_numa_nodes == 1 else ""
    if option == PREFER_UNCORE:
        return "it has one L3 cache" if topology.num_uncore_caches == 1 else ""
    same = set(topology.sockets.values()) == set(topology.numa_nodes.values())
    return "every socket is one NUMA node" if option == ALIGN_BY_SOCKET and same else ""
