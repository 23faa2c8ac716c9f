"""CPU lists that may name parts of the machine: ``0-3,8``, ``node:1``, ``socket:0``, ``l3:2``, ``core:5``.

A mask as in kernel files is also accepted: ``fffefffc,fffefffc``, with or without ``0x``; a mask with fewer
than eight digits and no letters needs it, because ``03`` is CPU 3.

Nodes and sockets have the kernel's numbers; cores and L3 caches are numbered from 0 by lowest CPU, as
``cpuctl topology`` prints them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from cpuctl.cpuset import CPUSet, list_problem
from cpuctl.errors import InputError
from cpuctl.machine.kernel_text import parse_given_mask
from cpuctl.machine.model import MAX_CPUS, Machine

_NUMBER = re.compile(r"[0-9]{1,19}", re.ASCII)
_HINT = "write CPU numbers and ranges (0-3,8), or node:N, socket:N, l3:N, core:N, separated by commas"


def parse_cpu_names(text: str, machine: Machine) -> CPUSet:
    """Read a CPU list with set names, or a mask; raise InputError for one that the machine does not have."""
    mask = _mask(text)
    if mask is not None:
        return mask
    cpus = CPUSet()
    for part in text.split(",") if text else ():
        cpus |= _part(part, machine)
    return cpus


def _mask(text: str) -> CPUSet | None:
    try:
        return parse_given_mask(text)
    except ValueError as error:
        raise InputError(f"{text}: {error}", hint=_HINT) from None


def _part(part: str, machine: Machine) -> CPUSet:
    kind, colon, number = part.partition(":")
    if not colon:
        return _numbers(part)
    members = named_sets(kind, machine)
    if members is None:
        raise InputError(f"unknown set of CPUs: {part!r}", hint=_HINT)
    if not _NUMBER.fullmatch(number) or int(number) not in members:
        numbers = _listed(members)
        several = f"{kind}:N with N in {numbers}" if len(members) > 1 else f"{kind}:{numbers}"
        expected = several if members else "a list of CPUs"
        raise InputError(f"this machine has no {part}: expected {expected}")
    return members[int(number)]


def _listed(numbers: Collection[int]) -> str:
    # Firmware chooses socket numbers: one may be too large for a mask.
    small = max(numbers, default=0) < MAX_CPUS
    return str(CPUSet.of(numbers)) if small else ",".join(map(str, numbers))


def _numbers(part: str) -> CPUSet:
    try:
        return CPUSet.parse(part)
    except ValueError as error:
        message = f"expected a CPU list, found {part!r}: {list_problem(error)}"
        raise InputError(message, hint=_HINT) from None


def named_sets(kind: str, machine: Machine) -> Mapping[int, CPUSet] | None:
    """Return the sets of a kind (``node``, ``socket``, ``l3``, ``core``) by number, None for another word."""
    match kind:
        case "node":
            return {node.id: node.cpus for node in machine.numa_nodes}
        case "socket":
            return machine.sockets
        case "l3":
            return dict(enumerate(machine.l3_groups))
        case "core":
            return dict(enumerate(machine.cores))
        case _:
            return None
