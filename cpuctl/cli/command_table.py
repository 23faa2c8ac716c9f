"""Every top-level command: the module that holds it and its line of help.

Help is printed from this table, so that ``cpuctl --help`` imports no command.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Entry(NamedTuple):
    """Where a command lives and what it is for."""

    module: str
    help: str


COMMANDS: Mapping[str, Entry] = MappingProxyType(
    {
        "plan": Entry("plan.command", "Dry-run pods: which CPUs each container would get, and why."),
        "resize": Entry("resize", "Dry-run an in-place resize of a running pod, CPU by CPU."),
        "replay": Entry("replay", "Replay a node's history over time, and check expectations."),
        "explain": Entry("explain", "Why a pod is admitted or rejected, and what would change it."),
        "pods": Entry("pods.command", "Show what follows from pods' resources, and what differs."),
        "topology": Entry("topology", "Show a machine's NUMA nodes, sockets, cores and caches."),
        "config": Entry("config.command", "Show a kubelet's configuration; would it start with it?"),
        "cgroups": Entry("cgroups.command", "The kubelet's control groups: show them, set them right."),
        "audit": Entry("audit", "Compare a node with what its kubelet believes; how to mend it."),
        "dra": Entry("dra.command", "CPUs as devices (DRA): slices, and what claims get."),
        "fleet": Entry("fleet.command", "Ask many nodes at once: list, check, compare, plan."),
        "checkpoint": Entry(
            "checkpoint.command", "The kubelet's state files: show, verify, migrate, repair."
        ),
        "capture": Entry("capture", "Record a node in one archive that every command reads."),
        "schema": Entry("schema", "Print the JSON Schema of an answer."),
        "completion": Entry("completion.command", "Print the script that completes words in a shell."),
    }
)
