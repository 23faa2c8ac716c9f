"""``reservedMemory``: what the Memory Manager's static policy keeps from pods on each NUMA node.

Rule: kubelet v1.36 ``pkg/kubelet/cm/memorymanager/memory_manager.go``, in its order. Where it walks a map in
random order, the order here is by name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from cpuctl.golang.text import quoted
from cpuctl.kubelet.config import ReservedMemory
from cpuctl.kubelet.setting_error import SettingError
from cpuctl.quantity import Format, Quantity

_SETTING = "reservedMemory"
_ZERO = Quantity()


def reserved_by_node(
    listed: Iterable[ReservedMemory], nodes: Collection[int], kept: Mapping[str, Quantity]
) -> dict[int, dict[str, int]]:
    """Return bytes by NUMA node and resource, or raise SettingError with the kubelet's text.

    *nodes* are those of the machine, *kept* is what Node Allocatable keeps from pods: no more, no less.
    """
    items = list(listed)
    for item in items:
        if item.numa_node not in nodes:
            problem = f"references a NUMA node {item.numa_node} that does not exist on this machine"
            raise SettingError(f"the reserved memory configuration {problem}", _SETTING)
    _check_totals(total_by_resource(items), kept)
    amounts: dict[int, dict[str, int]] = {}
    for item in items:
        for name, quantity in sorted(item.limits.items()):
            number = quantity.exact_int64
            if number is None:
                raise SettingError("could not covert a variable of type Quantity to int64", _SETTING)
            amounts.setdefault(item.numa_node, {})[name] = number
    if not sum(each.get("memory", 0) for each in amounts.values()):
        raise SettingError("[memorymanager] you should specify the system reserved memory", _SETTING)
    return amounts


def total_by_resource(items: Iterable[ReservedMemory]) -> dict[str, Quantity]:
    """Add up all NUMA nodes."""
    totals: dict[str, Quantity] = {}
    for item in items:
        for name, quantity in item.limits.items():
            totals[name] = quantity + totals[name] if name in totals else quantity
    return totals


def countable(number: int) -> Quantity:
    """Write bytes as a quantity that reads back as an "exact int64": the kubelet counts no ``1000Ti``."""
    short = Quantity.parse(str(Quantity.from_value(number, Format.BINARY_SI)))
    return short if short.exact_int64 == number else Quantity.parse(str(number))


def _check_totals(totals: Mapping[str, Quantity], kept: Mapping[str, Quantity]) -> None:
    counted = {name for name in kept if name == "memory" or name.startswith("hugepages-")}
    for name in sorted(totals.keys() | counted):
        # The kubelet adds both to a zero of its own, which changes how they print.
        total, wanted = _ZERO + totals.get(name, _ZERO), _ZERO + kept.get(name, _ZERO)
        if total != wanted:
            amounts = f"the total amount {quoted(str(total))} of type {quoted(name)} is not equal to"
            problem = f"{amounts} the value {quoted(str(wanted))} determined by Node Allocatable feature"
            raise SettingError(problem, _SETTING)
