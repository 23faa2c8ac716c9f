"""The text formats of sysfs and procfs, as values: ``parse_*`` takes a file's text, never a path.

Every parser raises ValueError that states what was found and what was expected. Formats: the kernel documents
*Documentation/admin-guide/cputopology.rst* and *Documentation/filesystems/proc.rst*.
"""

from __future__ import annotations

import re

from cpuctl.cpuset import CPUSet, list_problem
from cpuctl.machine.model import MAX_CPUS, MAX_NUMA_NODES
from cpuctl.records import Record

_BLANK = " \t\r\n\0"
_UNSET = "(null)"  # like a bare NUL, what kernels print for a mask that was never set, mostly nohz_full
_HEX = frozenset("0123456789abcdefABCDEF")
_MASK = (
    r"0[xX][0-9a-fA-F]+(,[0-9a-fA-F]{8})*|[0-9a-fA-F]{1,8}(,[0-9a-fA-F]{8})+"
    r"|(?=.*[a-fA-F])[0-9a-fA-F]{1,7}|[0-9a-fA-F]{8}"
)
"""Text that can only be a kernel mask: no CPU number has eight digits or contains letters.

Not compiled yet: few commands look for one.
"""
_GROUP = 8  # hexadecimal digits between two commas of a CPU map
_SIZE_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_VENDOR_KEY = "vendor_id"
"""The vendor on x86 and s390x; other architectures do not print it."""
_MODEL_KEYS = ("model name", "cpu model", "Processor", "cpu", "uarch", "family", "CPU part", _VENDOR_KEY)
_PACKAGE_KEY = "physical id"
_CPUINFO_LINE = re.compile(
    rf"^[ \t]*+(?P<key>{'|'.join((_PACKAGE_KEY, *_MODEL_KEYS))})[ \t]*+:(?P<value>.*)$", re.MULTILINE
)


def shown(text: str) -> str:
    """Quote *text* for a message, shortened if it is long."""
    text = text.strip()
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def parse_cpu_list(text: str) -> CPUSet:
    """Read a list of CPUs or NUMA nodes, ``0-3,8``; empty text and ``(null)`` are the empty set."""
    text = text.strip(_BLANK).removeprefix(_UNSET)
    try:
        cpus = CPUSet.parse(text)
    except ValueError as error:
        problem = list_problem(error)
        raise ValueError(f"found {shown(text)}, expected a list such as 0-3,8: {problem}") from None
    return within_limit(cpus)


def parse_cpu_map(text: str) -> CPUSet:
    """Read a CPU mask, groups of eight hexadecimal digits, highest first: ``0000,0000000f``."""
    first, *groups = text.strip().split(",")
    digits = first + "".join(groups)
    if not digits or not _HEX.issuperset(digits) or any(len(group) != _GROUP for group in groups):
        raise ValueError(f"found {shown(text)}, expected a CPU map such as 00000000,0000000f")
    return within_limit(CPUSet(int(digits, 16)))


def parse_given_mask(text: str) -> CPUSet | None:
    """Read a mask where a list is also allowed; return None for text that can be a list.

    ``fffefffc,fffefffc``, with or without ``0x``. Short masks without letters (``03``) need ``0x``.
    """
    return parse_cpu_map(text.lower().removeprefix("0x")) if re.fullmatch(_MASK, text, re.ASCII) else None


def within_limit(cpus: CPUSet) -> CPUSet:
    """Return the set itself; raise ValueError for a number beyond the kernel's limit."""
    if cpus.mask.bit_length() > MAX_CPUS:
        raise ValueError(f"found number {cpus.mask.bit_length() - 1}, expected at most {MAX_CPUS - 1}")
    return cpus


def parse_number(text: str) -> int:
    """Read one decimal number, which may be -1."""
    text = text.strip()
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 19):
        raise ValueError(f"found {shown(text)}, expected a number")
    return int(text)


def parse_flag(text: str) -> bool:
    """Read a switch: ``0`` or ``1``."""
    if text.strip() not in {"0", "1"}:
        raise ValueError(f"found {shown(text)}, expected 0 or 1")
    return text.strip() == "1"


def parse_word(text: str) -> str:
    """Read one short line, such as a cache's type or an architecture."""
    word = text.strip()
    if not word.isprintable() or len(word) > 80:
        raise ValueError(f"found {shown(word)}, expected one word")
    return word


def parse_size(text: str) -> int:
    """Read a cache size in bytes: ``32K``, ``16M``."""
    text = text.strip()
    try:
        return parse_number(text[:-1]) * _SIZE_UNITS[text[-1:]]
    except (KeyError, ValueError):
        raise ValueError(f"found {shown(text)}, expected a size such as 32K") from None


def parse_distances(text: str) -> tuple[int, ...]:
    """Read a NUMA node's distances, in the order of the online nodes: relative values, 10 to itself."""
    words = text.split(maxsplit=MAX_NUMA_NODES)
    if len(words) > MAX_NUMA_NODES:
        raise ValueError(f"found more than {MAX_NUMA_NODES} distances, expected one for each NUMA node")
    try:
        return tuple(map(parse_number, words))
    except ValueError:
        raise ValueError(f"found {shown(text)}, expected distances such as 10 21") from None


class MemoryTotals(Record):
    """The two lines of a ``meminfo`` that describe the hardware, in bytes; None if absent."""

    total: int | None
    free: int | None


def parse_meminfo(text: str) -> MemoryTotals:
    """Read ``MemTotal`` and ``MemFree`` from /proc/meminfo or a NUMA node's meminfo."""
    return MemoryTotals(total=_kibibytes(text, "MemTotal:"), free=_kibibytes(text, "MemFree:"))


def _kibibytes(text: str, key: str) -> int | None:
    for line in text.splitlines():
        _, found, rest = line.partition(key)
        if found:
            number, _, unit = rest.strip().partition(" ")
            if unit.strip() != "kB":
                raise ValueError(f"found {shown(line)}, expected {key} and a number in kB")
            return parse_number(number) * 1024
    return None


class ProcessorSummary(Record):
    """What /proc/cpuinfo adds to sysfs: a name, and the number of ``physical id`` values."""

    model_name: str | None = None
    sockets: int = 0
    vendor: str | None = None


def parse_cpuinfo(text: str) -> ProcessorSummary:
    """Read the processor's name (the key depends on the architecture) and vendor; count ``physical id``s.

    Only non-negative ids count, as in cAdvisor (``machine/machine.go``).
    """
    names: dict[str, str] = {}
    sockets: set[str] = set()
    for found in _CPUINFO_LINE.finditer(text):
        key, value = found["key"], found["value"].strip()
        if key == _PACKAGE_KEY and value.isdecimal():
            sockets.add(value)
        elif key != _PACKAGE_KEY and value:
            names.setdefault(key, value)
    known = (names[key] for key in _MODEL_KEYS if key in names)
    return ProcessorSummary(next(known, None), len(sockets), names.get(_VENDOR_KEY))
