"""``reservedMemory`` that the Memory Manager's static policy refuses, or that takes more than a node has.

Rule: kubelet v1.36 ``memorymanager/memory_manager.go``. The kubelet names the first sum that is off; here are
all of them, with the difference to the byte.
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.diagnostics import Severity
from cpuctl.engine.config_lints.lint import Lint, LintSubject
from cpuctl.engine.memory.tables import MEMORY
from cpuctl.engine.reservation_summary import MEMORY_SETTINGS, MemoryBalance, memory_balances
from cpuctl.engine.start import Started
from cpuctl.kubelet.config import ReservedMemory
from cpuctl.kubelet.reservations import countable
from cpuctl.quantity import Format, Quantity

_FIELD = ("reservedMemory",)
_BYTE = 10**9
"""One byte in the unit of ``Quantity.nano``."""
_ZERO = Quantity()
_RESERVE = "cpuctl config reserve prints a split that fits"


def lint_reserved_memory(subject: LintSubject) -> Iterator[Lint]:
    """Look at what is reserved of memory, where the static policy will look at it."""
    started, config = subject.started, subject.config
    if started is None or config.memory_manager_policy != "Static":
        return
    if not subject.gates.enabled("MemoryManager"):
        return
    balances = list(memory_balances(config, started.reserved))
    for balance in balances:
        if not balance.equal:
            yield _unequal(balance, started)
    if not any(balance.kind == MEMORY and balance.kept.sign for balance in balances):
        yield Lint(
            severity=Severity.ERROR,
            code="reserved-memory-none",
            place=_FIELD,
            message="no memory is kept from pods, and the Static policy starts only with some",
            fix=f"set {MEMORY_SETTINGS}; then {_RESERVE}",
        )
    for item in config.reserved_memory:
        yield from _uncountable(item)
    yield from _overdrawn(subject)


def _unequal(balance: MemoryBalance, started: Started) -> Lint:
    missing = balance.kept - balance.listed
    short = missing.sign > 0
    amount = missing if short else -missing
    off = f"{amount} {'are missing' if short else 'too much'}"
    if balance.kind != MEMORY:
        none = "of which no setting keeps any from pods"
        message = f"the NUMA nodes add up to {balance.listed} of {balance.kind}, {none}: {off}"
        fix = f"take {balance.kind} out"
    else:
        message = f"the NUMA nodes add up to {balance.listed} of memory, {_addends(started)}: {off}"
        fix = f"{'add' if short else 'take off'} {amount}; {_RESERVE}"
    return Lint(
        severity=Severity.ERROR,
        code="reserved-memory-unequal",
        place=_FIELD,
        expected=str(balance.kept),
        detected=str(balance.listed),
        message=message,
        fix=fix,
    )


def _addends(started: Started) -> str:
    """Say who keeps memory from pods: all of it has to be reserved."""
    kept = started.reservations
    eviction = kept.kept_by_eviction(started.capacity).get(MEMORY, _ZERO)
    shares = {
        "kubeReserved": kept.kube.get(MEMORY, _ZERO),
        "systemReserved": kept.system.get(MEMORY, _ZERO),
        "evictionHard": eviction,
    }
    sums = " + ".join(f"{name} {amount}" for name, amount in shares.items() if amount.sign)
    return f"but {started.reserved.get(MEMORY, _ZERO)} are kept from pods ({sums or 'nothing is set'})"


def _uncountable(item: ReservedMemory) -> Iterator[Lint]:
    """Tell quantities that the kubelet does not take for whole numbers, although some are."""
    for kind, amount in item.limits.items():
        if amount.exact_int64 is None:
            whole = "" if amount.nano % _BYTE else str(countable(amount.nano // _BYTE))
            yield Lint(
                severity=Severity.ERROR,
                code="reserved-memory-inexact",
                place=_FIELD,
                expected=whole,
                message=f"the kubelet cannot count what is written for {kind} of NUMA node {item.numa_node}"
                f" ({amount}): it takes whole numbers only, written without a fraction and in few digits",
                fix=f"write {whole}" if whole else "",
            )


def _overdrawn(subject: LintSubject) -> Iterator[Lint]:
    """Tell NUMA nodes that give more than they have beside huge pages: the kubelet's numbers wrap around."""
    listed: dict[int, int] = {}
    for item in subject.config.reserved_memory:
        amount = item.limits.get(MEMORY, _ZERO).nano // _BYTE
        listed[item.numa_node] = listed.get(item.numa_node, 0) + amount
    for node in subject.machine.numa_nodes:
        pages = sum(kib * 1024 * count for kib, count in node.hugepages.items())
        reserved, total = listed.get(node.id, 0), node.memory_bytes
        if total is not None and reserved + pages > total:
            short = _bytes(reserved + pages - total)
            yield Lint(
                severity=Severity.ERROR,
                code="reserved-memory-overdrawn",
                place=_FIELD,
                expected=str(_bytes(max(0, total - pages))),
                detected=str(_bytes(reserved)),
                message=f"reserved memory and huge pages take {short} more of NUMA node {node.id} than it has"
                ": the kubelet starts, and goes on with numbers that have wrapped around",
                fix=f"reserve less there; {_RESERVE}",
            )


def _bytes(number: int) -> Quantity:
    return Quantity.from_value(number, Format.BINARY_SI)
