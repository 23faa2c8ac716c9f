"""Every top-level command: the module that holds it and its line of help.

Help is printed from this table, so that ``cpuctl --help`` imports no command.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command lives and what it is for."""

    module: str
    help: str


COMMANDS: Mapping[str, Entry] = MappingProxyType(
    {
        "plan": Entry("cpuctl.cli.plan", "Dry-run pods: which CPUs each container would get, and why."),
        "topology": Entry("cpuctl.cli.topology", "Show a machine's NUMA nodes, sockets, cores and caches."),
        "config": Entry("cpuctl.cli.config", "Show a kubelet's configuration; would it start with it?"),
        "capture": Entry("cpuctl.cli.capture", "Record a node in one archive that every command reads."),
        "schema": Entry("cpuctl.cli.schema", "Print the JSON Schema of an answer."),
    }
)
