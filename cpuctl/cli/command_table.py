"""Every top-level command: its module and its help line.

Help is printed from this table, so that ``cpuctl --help`` imports no command.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cpuctl.records import Record


class Entry(Record):
    """The module of a command and its help line."""

    module: str
    help: str


_PODS = {
    "plan": Entry("plan", "Dry-run pods: which CPUs each container would get, and why."),
    "explain": Entry("explain", "Explain why a pod is admitted or rejected, and what would help."),
    "advise": Entry("advise", "Recommend kubelet settings for these pods on this machine."),
    "resize": Entry("resize", "Dry-run an in-place resize of a running pod."),
    "pods": Entry("pods.command", "Show QoS, totals, cgroups of pods; compare and check manifests."),
    "replay": Entry("replay", "Replay a node's history over time, and check expectations."),
    "policies": Entry("policies", "Show what-if policies that choose CPUs instead of the kubelet."),
}
_NODE = {
    "topology": Entry("topology", "Show a machine's NUMA nodes, sockets, cores and caches."),
    "config": Entry("config.command", "Show and check the kubelet's configuration; check an upgrade."),
    "checkpoint": Entry("checkpoint.command", "Show, verify, migrate and repair the kubelet's state files."),
    "audit": Entry("audit", "Find wrong CPU sets and noisy neighbours on a node, with fixes."),
    "top": Entry("top", "Show the live load on exclusive CPUs, and what disturbs them."),
    "report": Entry("report", "Write a full report on a node as one HTML page."),
    "watch": Entry("watch", "Watch a node, and report every finding and change."),
    "cgroups": Entry("cgroups", "Show the kubelet's cgroups, and correct their CPU sets."),
    "nri": Entry("nri", "Set the CPUs of containers as a plugin of the runtime (NRI)."),
    "dra": Entry("dra", "Show CPUs as devices (DRA), and dry-run resource claims."),
    "capture": Entry("capture", "Record a node in one archive that other commands can read."),
}
_FLEET = {"fleet": Entry("fleet.command", "List, check, compare and plan many nodes at once.")}
_OTHERS = {
    "schema": Entry("schema", "Print the JSON Schema of what a command prints or reads."),
    "completion": Entry("completion.command", "Print the completion script for bash, zsh or fish."),
}

GROUPS: Mapping[str, Mapping[str, Entry]] = MappingProxyType(
    {"Pods": _PODS, "Node": _NODE, "Fleet": _FLEET, "Other commands": _OTHERS}
)
"""The commands in the order of the help, below their headings."""

COMMANDS: Mapping[str, Entry] = MappingProxyType({**_PODS, **_NODE, **_FLEET, **_OTHERS})
