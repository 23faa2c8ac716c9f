"""Reserved CPUs that the machine's cores and caches make less useful than they look."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cpuctl.cpuset import CPUSet
from cpuctl.departures import STRICT_RESERVATION
from cpuctl.diagnostics import Severity
from cpuctl.engine.config_lints.lint import Lint, LintSubject
from cpuctl.engine.cpu.topology import CPUTopology

_FIELD = "reservedSystemCPUs"


def lint_reserved_cpus(subject: LintSubject) -> Iterator[Lint]:
    """Look at the CPUs that the static policy keeps from pods, listed or chosen by the kubelet."""
    started = subject.started
    if started is None or started.policy is None:
        return
    reserved = started.policy.reserved
    setting = _setting(subject)
    yield from _split_cores(subject, started.topology, reserved, setting)
    uncore = started.policy.options.prefer_align_cpus_by_uncorecache
    if subject.machine.caches_known:
        yield from _split_caches(started.topology, reserved, setting, wanted=uncore)
    if isolated := subject.machine.isolated & CPUSet(reserved):
        yield Lint(
            severity=Severity.WARNING,
            code="reserved-isolated",
            place=setting,
            detected=str(isolated),
            message=f"reserved CPUs {isolated} are isolated from the kernel's scheduler (isolcpus):"
            " the system's processes are not spread over them",
            fix="leave them out of isolcpus, or reserve others",
        )
    if started.policy.options.strict_cpu_reservation and not subject.config.reserved_system_cpus:
        yield Lint(
            severity=Severity.NOTE,
            code="strict-reservation-picked",
            place=setting,
            detected=str(CPUSet(reserved)),
            message=f"strict-cpu-reservation keeps pods off CPUs {CPUSet(reserved)}, which the kubelet picks:"
            f" KEP-4540 has it do something with reservedSystemCPUs only ({STRICT_RESERVATION})",
        )
    if not started.policy.allocatable:
        message = "all CPUs are reserved: no container can get exclusive ones"
        yield Lint(severity=Severity.WARNING, code="reserved-all", place=setting, message=message)


def _setting(subject: LintSubject) -> tuple[str, ...]:
    """Name the setting that says which CPUs are reserved, or else how many."""
    config = subject.config
    if config.reserved_system_cpus or "cpu" not in {**config.kube_reserved, **config.system_reserved}:
        return (_FIELD,)
    return ("kubeReserved" if "cpu" in config.kube_reserved else "systemReserved", "cpu")


def _split_cores(
    subject: LintSubject, topology: CPUTopology, reserved: int, setting: tuple[str, ...]
) -> Iterator[Lint]:
    split = _parts(topology.cores.values(), reserved)
    if not split:
        return
    left, whole = split & ~reserved, reserved | split
    kinds = subject.machine.core_kinds
    named = bool(kinds.performance and kinds.efficiency) and not kinds.guessed
    hybrid = named and not CPUSet(split).isdisjoint(kinds.performance)
    core = "performance cores" if hybrid else "cores"
    # Reserving every CPU would leave none for pods: a machine of one core has to be split.
    advised = whole != topology.cpus
    by_count = "" if setting == (_FIELD,) else f", or {whole.bit_count()} CPUs in all instead"
    yield Lint(
        severity=Severity.WARNING,
        code="reserved-splits-p-core" if hybrid else "reserved-splits-core",
        place=setting,
        expected=str(CPUSet(whole)) if advised else "",
        detected=str(CPUSet(reserved)),
        message=f"reserved CPUs {CPUSet(reserved & split)} share {core} with CPUs for pods ({CPUSet(left)})",
        fix=f"{_FIELD}: {CPUSet(whole)}{by_count}" if advised else "",
    )


def _split_caches(
    topology: CPUTopology, reserved: int, setting: tuple[str, ...], *, wanted: bool
) -> Iterator[Lint]:
    caches = topology.uncore_caches.values()
    split = _parts(caches, reserved)
    if not split or len(caches) == 1:
        return
    effect = ", so that no container gets the whole cache" if wanted else ""
    yield Lint(
        severity=Severity.WARNING if wanted else Severity.NOTE,
        code="reserved-splits-l3",
        place=setting,
        detected=str(CPUSet(reserved)),
        message=f"reserved CPUs {CPUSet(reserved & split)} share L3 caches with CPUs for pods"
        f" ({CPUSet(split & ~reserved)}){effect}",
    )


def _parts(groups: Iterable[int], reserved: int) -> int:
    """Join the groups of CPUs that are reserved in part."""
    joined = 0
    for group in groups:
        if group & reserved and group & ~reserved:
            joined |= group
    return joined
