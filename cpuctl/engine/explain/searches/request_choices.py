"""Other requests that a pod could come with, to be tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cpuctl.engine.memory.tables import MEMORY, is_memory
from cpuctl.pods.model import Pod
from cpuctl.quantity import Format, Quantity

Choice = Mapping[tuple[str, str], Quantity]
"""What is requested instead, by container (empty for the pod itself) and resource."""

_PARTS = 16
_LEAST = {"cpu": Quantity.parse("100m"), MEMORY: Quantity.parse("64Mi")}
_MEBI = 20


def in_bytes(amount: int) -> Quantity:
    """Write a number of bytes."""
    return Quantity.from_value(amount, Format.BINARY_SI)


def fewer_for_all(counts: Mapping[str, int], unit: int, most: int) -> Iterator[Choice]:
    """Allow no container more than a number of CPUs, from its request or *most* down to one *unit*."""
    for limit in range(min(max(counts.values()), most) // unit * unit, 0, -unit):
        yield {
            (name, "cpu"): Quantity.from_value(max(min(count // unit * unit, limit), unit))
            for name, count in counts.items()
        }


def all_rounded_up(counts: Mapping[str, int], unit: int) -> Iterator[Choice]:
    """Round every request up to whole units, where that is more than a CPU."""
    if unit > 1:
        yield {(name, "cpu"): Quantity.from_value(-(-count // unit) * unit) for name, count in counts.items()}


def in_proportion(pod: Pod, unit: int) -> Iterator[Choice]:
    """Give every container less CPU and memory, by one sixteenth after the other."""
    for part in range(_PARTS - 1, 0, -1):
        yield {
            (each.name, name): _part(name, amount, part, unit)
            for each in pod.all_containers
            for name, amount in each.resources.requests.items()
            if name in ("cpu", MEMORY)
        }


def with_own_resources(pod: Pod) -> Iterator[Choice]:
    """Give every container that asks for nothing cpu and memory of its own, or as much as its limits say."""
    choice: dict[tuple[str, str], Quantity] = {}
    for each in pod.all_containers:
        for name, least in _LEAST.items():
            request, limit = (side.get(name) for side in (each.resources.requests, each.resources.limits))
            if request != limit or request is None:
                choice[each.name, name] = limit or request or least
    if choice and all(_within_pod(pod, choice, name) for name in _LEAST):
        yield choice


def _within_pod(pod: Pod, choice: Choice, name: str) -> bool:
    """Tell whether containers then ask for no more than their pod has, which the API server wants."""
    total = Quantity()
    for each in pod.containers:
        total += choice.get((each.name, name), each.resources.requests.get(name, Quantity()))
    return pod.resources is None or not pod.resources.requests.get(name, Quantity()) < total


def written_anew(pod: Pod) -> Iterator[Choice]:
    """Write requests of memory that are no whole numbers as the API would."""
    yield {
        (each.name, name): amount.canonical()
        for each in pod.all_containers
        for name, amount in each.resources.requests.items()
        if is_memory(name) and amount.exact_int64 is None
    }


def _part(name: str, amount: Quantity, part: int, unit: int) -> Quantity:
    if name != "cpu":
        return in_bytes(amount.value * part // _PARTS >> _MEBI << _MEBI)
    if amount.is_integral_cpu:
        return Quantity.from_value(max(amount.value * part // _PARTS // unit * unit, unit))
    return Quantity.from_milli(amount.milli_value * part // _PARTS)
