"""Typed reading of a kernel's file tree, one file at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.kernel_text import parse_cpu_list, parse_cpu_map, parse_number
from cpuctl.machine.model import MAX_CPUS, MachineFinding
from cpuctl.machine.tree import Tree

T = TypeVar("T")

_MOST_DIGITS = 4
_LONGEST_TEXT = 1 << 17
"""A list of every other CPU of 8192 has 20 kB, a map of them 2 kB, a meminfo 2 kB."""
_MOST_SET_CHARACTERS = 16 << 20
"""Distinct lists and maps, each read once: those of 8192 CPUs have less than 1 MiB."""


class KernelFiles:
    """Values of one tree: None for an absent file, an InputError with the path for an invalid one.

    ``findings`` collects the problems that were worked around.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.findings: list[MachineFinding] = []
        # CPU lists repeat on every CPU of a package: parsing each text once saves half of the work.
        self._sets: dict[tuple[Callable[[str], CPUSet], str], CPUSet] = {}
        self._set_characters = 0

    def value(self, path: str, parse: Callable[[str], T]) -> T | None:
        """Read one file with a parser of ``cpuctl.machine.kernel_text``."""
        return self._parsed(path, self._small_text(path), parse)

    def large_value(self, path: str, parse: Callable[[str], T]) -> T | None:
        """Read one file that grows with the number of CPUs, such as /proc/cpuinfo."""
        return self._parsed(path, self.tree.read(path), parse)

    def _small_text(self, path: str) -> str | None:
        text = self.tree.read(path)
        if text is not None and len(text) > _LONGEST_TEXT:
            raise InputError(f"found {len(text)} characters, expected at most {_LONGEST_TEXT}", where=path)
        return text

    def _parsed(self, path: str, text: str | None, parse: Callable[[str], T]) -> T | None:
        if text is None:
            return None
        try:
            return parse(text)
        except ValueError as error:
            raise InputError(str(error), where=path) from None

    def is_blank(self, path: str) -> bool:
        """Return whether a file exists and is empty."""
        text = self._small_text(path)
        return text is not None and not text.strip()

    def number(self, path: str) -> int | None:
        """Read a decimal number."""
        return self.value(path, parse_number)

    def cpu_list(self, path: str) -> CPUSet | None:
        """Read a list of CPUs or NUMA nodes."""
        return self._cpu_set(path, parse_cpu_list)

    def cpu_map(self, path: str) -> CPUSet | None:
        """Read a hexadecimal CPU mask."""
        return self._cpu_set(path, parse_cpu_map)

    def cpu_set(self, directory: str, lists: Sequence[str], maps: Sequence[str]) -> CPUSet | None:
        """Read the first file that exists of several in a directory, list formats before masks."""
        for name in lists:
            if (cpus := self.cpu_list(directory + name)) is not None:
                return cpus
        for name in maps:
            if (cpus := self.cpu_map(directory + name)) is not None:
                return cpus
        return None

    def numbered(self, path: str, prefix: str) -> CPUSet:
        """Return the numbers N of the entries ``prefixN`` in a directory."""
        names = (name.removeprefix(prefix) for name in self.tree.names(path) if name.startswith(prefix))
        written = (
            name for name in names if name.isascii() and name.isdecimal() and len(name) <= _MOST_DIGITS
        )
        return CPUSet.of(number for number in map(int, written) if number < MAX_CPUS)

    def _cpu_set(self, path: str, parse: Callable[[str], CPUSet]) -> CPUSet | None:
        text = self._small_text(path)
        if text is None:
            return None
        if (known := self._sets.get((parse, text))) is None:
            self._set_characters += len(text)
            if self._set_characters > _MOST_SET_CHARACTERS:
                raise InputError(f"found more than {_MOST_SET_CHARACTERS >> 20} MiB of CPU lists", where=path)
            try:
                known = self._sets[parse, text] = parse(text)
            except ValueError as error:
                raise InputError(str(error), where=path) from None
        return known
