"""Settings that are valid but do nothing: on this machine, or with the other settings."""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.diagnostics import Severity
from cpuctl.engine.config_lints.lint import Lint, LintSubject
from cpuctl.engine.config_lints.names import CPU_OPTIONS, NUMA_OPTIONS
from cpuctl.engine.config_lints.useless_options import is_in_effect, why_idle
from cpuctl.engine.hints.node_sets import MEMORY, endless_combining, walks
from cpuctl.engine.outcome import CACHES_UNKNOWN
from cpuctl.golang.conversions import reads_true
from cpuctl.kubelet.policy_options import ALIGN_BY_SOCKET, PREFER_CLOSEST, PREFER_UNCORE
from cpuctl.kubelet.reservations import default_eviction_hard


def lint_cpu_options(subject: LintSubject) -> Iterator[Lint]:
    """Report options of the static CPU policy that have no effect on this machine."""
    topology, config = subject.topology, subject.config
    for name in config.cpu_manager_policy_options:
        if topology is None or not is_in_effect(subject, name):
            continue
        if name == PREFER_UNCORE and not topology.caches_known:
            yield Lint(
                severity=Severity.WARNING,
                code="caches-not-recorded",
                place=(CPU_OPTIONS, name),
                message=CACHES_UNKNOWN,
            )
        elif message := why_idle(subject, name):
            yield _idle((CPU_OPTIONS, name), message)
        elif name == ALIGN_BY_SOCKET and config.topology_manager_policy == "none":
            message = f"option {name} only changes hints, which topologyManagerPolicy none does not use"
            yield _idle((CPU_OPTIONS, name), message, code="option-ignored")


def lint_topology_manager(subject: LintSubject) -> Iterator[Lint]:
    """Report topology settings that have no effect."""
    config, topology = subject.config, subject.topology
    if config.topology_manager_policy == "none":
        for name in config.topology_manager_policy_options:
            message = f"option {name} is ignored while topologyManagerPolicy is none"
            yield _idle((NUMA_OPTIONS, name), message, code="option-ignored")
        if config.topology_manager_scope == "pod":
            message = "topologyManagerScope pod has no effect while topologyManagerPolicy is none"
            yield _idle(("topologyManagerScope",), message, code="scope-ignored")
        return
    crashes = subject.started is not None and subject.started.topology_manager.fault is not None
    # The Topology Manager also counts NUMA nodes without CPUs: one of them may have the memory.
    alone = subject.info is None or len(subject.info.nodes) == 1
    if topology is not None and topology.num_numa_nodes == 1 and alone and not crashes:
        message = "this machine has one NUMA node: there is nothing to align"
        yield Lint(
            severity=Severity.NOTE,
            code="topology-policy-idle",
            place=("topologyManagerPolicy",),
            message=message,
        )
    if reads_true(config.topology_manager_policy_options.get(PREFER_CLOSEST, "")):
        yield from _closest(subject)


def lint_numa_sets(subject: LintSubject) -> Iterator[Lint]:
    """Report NUMA nodes that fit in no mask, and so many sets of them that a kubelet would never answer."""
    if subject.started is None:
        return
    fault = subject.started.topology_manager.fault
    if fault is not None:
        yield Lint(
            severity=Severity.ERROR,
            code="numa-node-in-no-mask",
            place=("topologyManagerPolicy",),
            message=f"the kubelet crashes at its first pod: {fault.why}",
            fix="set topologyManagerPolicy: none",
        )
    for walk in walks(subject.info, subject.config, subject.gates) if subject.info else ():
        if walk.endless:
            memory = walk.who == MEMORY
            yield Lint(
                severity=Severity.ERROR,
                code="numa-sets",
                place=("memoryManagerPolicy",) if memory else ("topologyManagerPolicy",),
                message=f"the kubelet's {walk.who} {walk.text}",
                detected=f"{walk.nodes} NUMA nodes",
                fix="set memoryManagerPolicy: None" if memory else "set topologyManagerPolicy: none",
            )


def lint_merging(subject: LintSubject) -> Iterator[Lint]:
    """Report a kubelet that would take longer than any user waits to combine CPU and memory hints."""
    if (
        subject.started is None
        or subject.info is None
        or any(walk.endless for walk in walks(subject.info, subject.config, subject.gates))
    ):
        return
    if found := endless_combining(subject.info, subject.config, subject.gates):
        number, time = found
        yield Lint(
            severity=Severity.ERROR,
            code="numa-sets",
            place=("topologyManagerPolicy",),
            message=f"the kubelet's Topology Manager would take longer than {time}: it tries up "
            f"to {number} combinations of CPU and memory hints for a Guaranteed pod",
            fix="set topologyManagerPolicy: single-numa-node",
        )


def _closest(subject: LintSubject) -> Iterator[Lint]:
    nodes = subject.machine.numa_nodes
    far = {
        distance
        for node in nodes
        for other, distance in zip(nodes, node.distances, strict=False)
        if other is not node
    }
    reason = ""
    if subject.config.topology_manager_policy == "single-numa-node":
        reason = "policy single-numa-node never compares two NUMA nodes"
    elif len(nodes) <= 2:
        reason = "with at most two NUMA nodes there are no pairs to choose from"
    elif len(far) == 1:
        reason = "all NUMA nodes are equally far from each other"
    if reason:
        message = f"option {PREFER_CLOSEST} changes nothing: {reason}"
        yield _idle((NUMA_OPTIONS, PREFER_CLOSEST), message)


def lint_reservations(subject: LintSubject) -> Iterator[Lint]:
    """Report reservations and eviction defaults that other settings override."""
    config = subject.config
    if config.reserved_memory and config.memory_manager_policy == "None":
        message = "reservedMemory is ignored while memoryManagerPolicy is None"
        yield _idle(("reservedMemory",), message, code="reserved-memory-ignored")
    for field, amounts in (
        ("kubeReserved", config.kube_reserved),
        ("systemReserved", config.system_reserved),
    ):
        if config.reserved_system_cpus and "cpu" in amounts:
            message = f"reservedSystemCPUs {config.reserved_system_cpus} overrides {field}.cpu"
            yield _idle((field, "cpu"), message, code="reserved-count-overridden")
    defaults = default_eviction_hard(subject.gates.minor)
    dropped = [signal for signal in defaults if signal not in config.eviction_hard]
    if config.eviction_hard and dropped:
        yield Lint(
            severity=Severity.NOTE,
            code="eviction-defaults-dropped",
            place=("evictionHard",),
            message=f"all defaults are replaced: no threshold remains for {', '.join(dropped)}",
            fix="list them as well, or set mergeDefaultEvictionSettings: true in the kubelet's --config "
            "file, not in a drop-in (1.33 and later)",
        )


def _idle(setting: tuple[str, ...], message: str, *, code: str = "option-idle") -> Lint:
    return Lint(severity=Severity.WARNING, code=code, place=setting, message=message, fix="remove it")
