"""What the first pod or the next restart would run into on this machine, though the kubelet starts.

Rule: the CPU Manager's static policy; ``isolcpus`` in *Documentation/admin-guide/kernel-parameters.txt*, and
``cpuset.cpus.effective`` in *Documentation/admin-guide/cgroup-v2.rst*.
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.cpuset import CPUSet
from cpuctl.engine.config_lints.lint import Lint, LintSubject, Severity
from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.outcome import Picked
from cpuctl.go_text import GoError
from cpuctl.quantity import Quantity

_RESERVED = ("kubeReserved", "systemReserved")
_BY_SIZE = frozenset({"memory", "ephemeral-storage"})


def lint_uneven_cores(subject: LintSubject) -> Iterator[Lint]:
    """Foresee that reserved CPUs are handed out (kubernetes issue 124066)."""
    policy = subject.started.policy if subject.started else None
    if policy is None or len({core.bit_count() for core in policy.topology.cores.values()}) < 2:
        return
    found = _first_theft(policy)
    if found is None:
        return
    count, taken = found
    mask = policy.reserved
    for core in policy.topology.cores.values():
        mask |= core if core & policy.reserved else 0
    whole = CPUSet(mask)
    yield Lint(
        severity=Severity.WARNING,
        code="reserved-handed-out",
        setting=("reservedSystemCPUs",) if subject.config.reserved_system_cpus else ("cpuManagerPolicy",),
        expected=str(whole),
        detected=str(CPUSet(taken)),
        message=f"a container that asks for {count} CPUs is given reserved CPUs {CPUSet(taken)}, because"
        " cores differ in size; after that the kubelet refuses its own cpu_manager_state when it restarts"
        " (kubernetes issue 124066)",
        fix=f"reserve whole cores: reservedSystemCPUs: {whole}",
    )


def _first_theft(policy: StaticPolicy) -> tuple[int, int] | None:
    """Find the smallest request that an empty node answers with reserved CPUs, and which these are."""
    for count in range(1, policy.allocatable.bit_count() + 1):
        match policy.pick(policy.allocatable, count, None):
            case Picked(cpus=cpus) if cpus & policy.reserved:
                return count, cpus & policy.reserved
    return None


def lint_isolated_cpus(subject: LintSubject) -> Iterator[Lint]:
    """Foresee containers on CPUs between which the kernel moves no thread."""
    policy = subject.started.policy if subject.started else None
    isolated = subject.machine.isolated
    shared = isolated - CPUSet(policy.reserved) if policy else isolated
    if not shared:
        return
    who = "containers without exclusive CPUs run on them, too"
    exclusive = ", and a container that is given several of them has all its threads on one"
    yield Lint(
        severity=Severity.WARNING,
        code="isolated-in-shared-pool",
        setting=("cpuManagerPolicy",),
        detected=str(shared),
        message=f"CPUs {shared} are isolated (isolcpus), and the kernel spreads no threads over them: {who}"
        + (exclusive if policy else ""),
        fix="take them out of isolcpus; a container that pins its threads itself is the exception",
    )


def lint_parents_cpus(subject: LintSubject) -> Iterator[Lint]:
    """Foresee CPUs that the kubelet counts, and that the control groups above its pods do not have."""
    topology, reachable = subject.topology, subject.reachable
    if topology is None or reachable is None:
        return
    beyond = CPUSet(topology.cpus) - reachable
    if beyond:
        yield Lint(
            severity=Severity.WARNING,
            code="parent-without-cpus",
            setting=("cpuManagerPolicy",),
            expected=str(CPUSet(topology.cpus)),
            detected=str(reachable),
            message=f"the control groups above the pods end at CPUs {reachable}, and the kubelet counts"
            f" {beyond} as well: a container that is given those fails with 'invalid argument'",
            fix="give the group these CPUs (LXC: lxc.cgroup2.cpuset.cpus; systemd: AllowedCPUs=), or reserve"
            " them: reservedSystemCPUs",
        )


def lint_fractions(subject: LintSubject) -> Iterator[Lint]:
    """Tell of bytes that nobody can have half of: ``memory: 500m`` is a byte, rounded up."""
    amounts = {
        (field, name): text
        for field, given in zip(
            _RESERVED, (subject.config.kube_reserved, subject.config.system_reserved), strict=True
        )
        for name, text in given.items()
        if name in _BY_SIZE
    }
    for signal, text in subject.config.eviction_hard.items():
        if not text.endswith("%") and "inodes" not in signal and "pid" not in signal:
            amounts["evictionHard", signal] = text
    for path, text in amounts.items():
        whole = _rounded(text)
        if whole is not None:
            yield Lint(
                severity=Severity.WARNING,
                code="fraction-of-a-byte",
                setting=path,
                detected=text,
                message=f"{text} is a fraction of a byte, and counts as {whole} byte{'s' * (whole != 1)}: the"
                " suffix m means thousandths",
                fix=f"write {text.removesuffix('m')}Mi, if that was meant" if text.endswith("m") else "",
            )


def _rounded(text: str) -> int | None:
    try:
        amount = Quantity.parse(text)
    except GoError:
        return None
    return amount.value if amount.nano % 10**9 else None
