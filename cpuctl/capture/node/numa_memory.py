"""On which NUMA nodes processes have memory of their own (*numa(7)*, /proc/PID/numa_maps)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from cpuctl.capture.node.files import NodeFiles
from cpuctl.cpuset import CPUSet

MAX_PROCESSES = 2000
"""The kernel walks through all pages of a process for this file."""

_WITH_MEMORY = "sys/devices/system/node/has_memory"
_ON_NODE = r" N([0-9]{1,4})=([0-9]{1,15})(?= |$)"
_PAGE_SIZE = r" kernelpagesize_kB=([0-9]{1,9})(?= |$)"
_FILE = " file="
_HUGE = " huge"


class NumaMemory:
    """Reads the memory of those processes that may not use every node, and of no others."""

    def __init__(self, files: NodeFiles) -> None:
        self.notes: tuple[str, ...] = ()
        self._files = files
        self._all = _nodes(files.read(_WITH_MEMORY) or "")
        self._left = MAX_PROCESSES

    def of(self, pid: int, allowed: str | None) -> Mapping[int, int] | None:
        """Return bytes by node; None for a process that may use them all, or that nobody may look into."""
        nodes = _nodes(allowed or "")
        if nodes is None or self._all is None or self._all <= nodes:
            return None
        if not self._left:
            self.notes = (f"the memory of only {MAX_PROCESSES} processes is looked at",)
            return None
        self._left -= 1
        text = self._files.read(f"proc/{pid}/numa_maps")
        return None if text is None else private_memory(text)


def private_memory(text: str) -> dict[int, int]:
    """Add up the bytes on every node, without the pages of files: others may have brought those in."""
    page_size, on_node = re.compile(_PAGE_SIZE, re.ASCII), re.compile(_ON_NODE, re.ASCII)
    amounts: dict[int, int] = {}
    for line in text.splitlines():
        if _FILE in line and _HUGE not in line:
            continue
        size = page_size.search(line)
        if size is None:
            continue
        for node, pages in on_node.findall(line):
            amounts[int(node)] = amounts.get(int(node), 0) + int(pages) * (int(size[1]) << 10)
    return dict(sorted(amounts.items()))


def _nodes(text: str) -> CPUSet | None:
    try:
        return CPUSet.parse(text.strip()) or None
    except ValueError:
        return None
