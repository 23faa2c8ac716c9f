"""Findings about reservations: CPUs, and memory by NUMA node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_

from cpuctl.cpuset import CPUSet
from cpuctl.departures import STRICT_RESERVATION
from cpuctl.diagnostics import Severity
from cpuctl.engine.config_lints.lint import Lint, LintSubject
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.memory.tables import MEMORY
from cpuctl.engine.node_resources import MEMORY_SETTINGS, MemoryBalance, memory_balances
from cpuctl.engine.start import Started
from cpuctl.kubelet.config import ReservedMemory
from cpuctl.kubelet.reservations import countable
from cpuctl.phrases import are, named
from cpuctl.quantity import Format, Quantity

_CPUS = "reservedSystemCPUs"


def lint_reserved_cpus(subject: LintSubject) -> Iterator[Lint]:
    """Check the CPUs that the static policy keeps from pods, listed or chosen by the kubelet."""
    started = subject.started
    if started is None or started.policy is None:
        return
    reserved = started.policy.reserved
    setting = subject.reservation
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
            message=f"reserved {are(isolated)} isolated from the kernel's scheduler (isolcpus):"
            " the kernel does not balance system processes across isolated CPUs",
            fix="remove reserved CPUs from isolcpus, or reserve other CPUs",
        )
    if started.policy.options.strict_cpu_reservation and not subject.config.reserved_system_cpus:
        yield Lint(
            severity=Severity.NOTE,
            code="strict-reservation-picked",
            place=setting,
            detected=str(CPUSet(reserved)),
            message=f"strict-cpu-reservation keeps pods off {named(CPUSet(reserved))}, which the kubelet"
            f" picks: according to KEP-4540 it only applies with reservedSystemCPUs ({STRICT_RESERVATION})",
        )
    if not started.policy.allocatable:
        message = "all CPUs are reserved: no container can get exclusive CPUs"
        yield Lint(severity=Severity.WARNING, code="reserved-all", place=setting, message=message)


def _split_cores(
    subject: LintSubject, topology: CPUTopology, reserved: int, setting: tuple[str, ...]
) -> Iterator[Lint]:
    split, count = _parts(topology.cores.values(), reserved)
    if not split:
        return
    left, whole = split & ~reserved, reserved | split
    kinds = subject.machine.core_kinds
    known = bool(kinds.performance and kinds.efficiency) and not kinds.guessed
    hybrid = known and not CPUSet(split).isdisjoint(kinds.performance)
    core = "performance core" if hybrid else "core"
    # Reserving every CPU would leave none for pods: the core of a single-core machine has to be split.
    advised = whole != topology.cpus
    by_list, by_count = f"set {_CPUS}: {CPUSet(whole)}", f"reserve {whole.bit_count()} CPUs in total"
    either = by_list if setting == (_CPUS,) else f"{by_list}, or {by_count}"
    yield Lint(
        severity=Severity.WARNING,
        code="reserved-splits-p-core" if hybrid else "reserved-splits-core",
        place=setting,
        expected=str(CPUSet(whole)) if advised else "",
        detected=str(CPUSet(reserved)),
        message=_share(CPUSet(reserved & split), count, f"a {core}", f"{core}s", CPUSet(left)),
        fix=(by_count if subject.reserves_by_count else either) if advised else "",
    )


def _split_caches(
    topology: CPUTopology, reserved: int, setting: tuple[str, ...], *, wanted: bool
) -> Iterator[Lint]:
    caches = topology.uncore_caches.values()
    split, count = _parts(caches, reserved)
    if not split or len(caches) == 1:
        return
    effect = ", so no container can get the whole cache" if wanted else ""
    shared = _share(CPUSet(reserved & split), count, "an L3 cache", "L3 caches", CPUSet(split & ~reserved))
    yield Lint(
        severity=Severity.WARNING if wanted else Severity.NOTE,
        code="reserved-splits-l3",
        place=setting,
        detected=str(CPUSet(reserved)),
        message=f"{shared}{effect}",
    )


def _share(cpus: CPUSet, groups: int, one: str, several: str, others: CPUSet) -> str:
    share = f"share {several}" if groups > 1 else f"share{'s' if len(cpus) == 1 else ''} {one}"
    are = "are" if len(others) > 1 else "is"
    return f"reserved {named(cpus)} {share} with {named(others)}, which {are} for pods"


def _parts(groups: Iterable[int], reserved: int) -> tuple[int, int]:
    """Combine the groups of CPUs that are only partly reserved, and count them."""
    parts = [group for group in groups if group & reserved and group & ~reserved]
    return reduce(or_, parts, 0), len(parts)


_MEMORY = ("reservedMemory",)
_BYTE = 10**9
"""One byte in the unit of ``Quantity.nano``."""
_ZERO = Quantity()
_RESERVE = "use the values of this command: cpuctl config reserve"


def lint_reserved_memory(subject: LintSubject) -> Iterator[Lint]:
    """Check the reserved memory, if the Static policy uses it."""
    started, config = subject.started, subject.config
    if started is None or config.memory_manager_policy != "Static":
        return
    if not subject.gates.enabled("MemoryManager"):
        return
    balances = list(memory_balances(config, started.reserved))
    none_reserved = not any(balance.kind == MEMORY and balance.reserved.sign for balance in balances)
    for balance in balances:
        if not balance.equal and not (none_reserved and balance.kind == MEMORY):
            yield _unequal(balance, started)
    if none_reserved:
        yield Lint(
            severity=Severity.ERROR,
            code="reserved-memory-none",
            place=_MEMORY,
            message="no memory is reserved, but the Memory Manager's Static policy requires some",
            fix=f"set {MEMORY_SETTINGS}; then {_RESERVE}",
        )
    nodes = {node.id for node in subject.machine.numa_nodes}
    for item in config.reserved_memory:
        yield from _uncountable(item)
        if nodes and item.numa_node not in nodes:
            yield Lint(
                severity=Severity.ERROR,
                code="reserved-memory-node",
                place=_MEMORY,
                message=f"this machine has no NUMA node {item.numa_node}",
                fix=f"remove NUMA node {item.numa_node}; {_RESERVE}",
            )
    yield from _overdrawn(subject)


def _unequal(balance: MemoryBalance, started: Started) -> Lint:
    missing = balance.reserved - balance.listed
    short = missing.sign > 0
    amount = missing if short else -missing
    off = f"{amount} {'is missing' if short else 'too much'}"
    if balance.kind != MEMORY:
        none = "of which no setting reserves any"
        message = f"reservedMemory adds up to {balance.listed} of {balance.kind}, {none}: {off}"
        fix = f"remove {balance.kind}"
    else:
        message = f"reservedMemory adds up to {balance.listed} of memory, {_addends(started)}: {off}"
        # A number of bytes is nothing that one adds to mebibytes.
        change = "" if amount.nano % (_BYTE << 20) else f"{'add' if short else 'subtract'} {amount}, or "
        fix = f"{change}{_RESERVE}"
    return Lint(
        severity=Severity.ERROR,
        code="reserved-memory-unequal",
        place=_MEMORY,
        expected=str(balance.reserved),
        detected=str(balance.listed),
        message=message,
        fix=fix,
    )


def _addends(started: Started) -> str:
    """List what keeps memory from pods: all of it has to be reserved."""
    reservations = started.reservations
    eviction = reservations.kept_by_eviction(started.capacity).get(MEMORY, _ZERO)
    shares = {
        "kubeReserved": reservations.kube.get(MEMORY, _ZERO),
        "systemReserved": reservations.system.get(MEMORY, _ZERO),
        "evictionHard": eviction,
    }
    sums = " + ".join(f"{name} {amount}" for name, amount in shares.items() if amount.sign)
    return f"but {started.reserved.get(MEMORY, _ZERO)} is reserved ({sums or 'nothing is set'})"


def _uncountable(item: ReservedMemory) -> Iterator[Lint]:
    """Report quantities that the kubelet does not accept as whole numbers, although some are."""
    for kind, amount in item.limits.items():
        if amount.exact_int64 is None:
            whole = "" if amount.nano % _BYTE else str(countable(amount.nano // _BYTE))
            # Only the value is known, not how it was written.
            shown = "" if str(amount) == whole else f" ({amount})"
            yield Lint(
                severity=Severity.ERROR,
                code="reserved-memory-inexact",
                place=_MEMORY,
                expected=whole,
                message=f"the kubelet cannot count the {kind} of NUMA node {item.numa_node}{shown}: it "
                "accepts only a whole number that is written without a fraction and without too many digits",
                fix=f"set {whole}" if whole else "",
            )


def _overdrawn(subject: LintSubject) -> Iterator[Lint]:
    """Report NUMA nodes whose reservation and huge pages exceed their memory: the kubelet's sums wrap."""
    listed: dict[int, int] = {}
    for item in subject.config.reserved_memory:
        amount = item.limits.get(MEMORY, _ZERO).nano // _BYTE
        listed[item.numa_node] = listed.get(item.numa_node, 0) + amount
    for node in subject.machine.numa_nodes:
        pages = sum(kib * 1024 * count for kib, count in node.hugepages.items())
        reserved, total = listed.get(node.id, 0), node.memory_bytes
        if total is not None and reserved + pages > total:
            short = _bytes(reserved + pages - total)
            taken = "reserved memory and huge pages take" if pages else "reserved memory takes"
            fewer = "allocate fewer huge pages on that node, " if pages else ""
            yield Lint(
                severity=Severity.ERROR,
                code="reserved-memory-overdrawn",
                place=_MEMORY,
                expected=str(_bytes(max(0, total - pages))),
                detected=str(_bytes(reserved)),
                message=f"{taken} {short} more than NUMA node {node.id} has, which the kubelet does not"
                " reject: it continues with values that have wrapped around",
                fix=f"{fewer}reserve less there, or {_RESERVE}",
            )


def _bytes(number: int) -> Quantity:
    return Quantity.from_value(number, Format.BINARY_SI)
