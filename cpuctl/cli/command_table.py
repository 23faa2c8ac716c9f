"""Every top-level command: the module that holds it and its line of help.

Help is printed from this table, so that ``cpuctl --help`` imports no command.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cpuctl.records import Record


class Entry(Record):
    """Where a command lives and what it is for."""

    module: str
    help: str


_PODS = {
    "plan": Entry("plan.command", "Dry-run pods: which CPUs each container would get, and why."),
    "explain": Entry("explain", "Why a pod is admitted or rejected, and what would change it."),
    "advise": Entry("advise", "Which settings serve pods best here, each tried on the engine."),
    "resize": Entry("resize", "Dry-run an in-place resize of a running pod, CPU by CPU."),
    "pods": Entry("pods.command", "Show what follows from pods' resources; check manifests."),
    "replay": Entry("replay", "Replay a node's history over time, and check expectations."),
    "policies": Entry("policies.command", "Policies to try in the kubelet's place: what if."),
}
_NODE = {
    "topology": Entry("topology", "Show a machine's NUMA nodes, sockets, cores and caches."),
    "config": Entry("config.command", "The kubelet's configuration: show, check, reserve, upgrade."),
    "checkpoint": Entry("checkpoint.command", "The kubelet's state files: show, verify, migrate, repair."),
    "audit": Entry("audit", "Check a node: wrong CPU sets, noisy neighbours, and the fixes."),
    "cgroups": Entry("cgroups.command", "The kubelet's control groups: show them, set them right."),
    "nri": Entry("nri.command", "Tell the container runtime which CPUs containers get (NRI)."),
    "dra": Entry("dra.command", "CPUs as devices (DRA): slices, and what claims get."),
    "capture": Entry("capture", "Record a node in one archive that every command reads."),
}
_FLEET = {"fleet": Entry("fleet.command", "Ask many nodes at once: list, check, compare, plan.")}
_OTHERS = {
    "schema": Entry("schema", "Print the JSON Schema of an answer."),
    "completion": Entry("completion.command", "Print the script that completes words in a shell."),
}

GROUPS: Mapping[str, Mapping[str, Entry]] = MappingProxyType(
    {"Pods": _PODS, "A node": _NODE, "Many nodes": _FLEET, "Other commands": _OTHERS}
)
"""The commands as the help shows them, below their headings."""

COMMANDS: Mapping[str, Entry] = MappingProxyType({**_PODS, **_NODE, **_FLEET, **_OTHERS})
