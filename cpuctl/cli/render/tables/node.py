"""A node in two lines: its control groups and policy, and its CPUs by what they are for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Cell

if TYPE_CHECKING:
    from cpuctl.answers.node import AuditedNode

_NO_POLICY = {
    "missing": "no state of a CPU Manager",
    "closed": "a state of the CPU Manager that cannot be read",
    "read": "a state of the CPU Manager that names no policy",
    "unusable": "a state of the CPU Manager that no kubelet would load",
}


def node_lines(node: AuditedNode) -> Iterator[Cell]:
    """Write them; what a node does not have is left out."""
    version = node["cgroupVersion"]
    groups = f"cgroup v{version}{' (hybrid)' if node['hybrid'] else ''}" if version else "no control groups"
    policy = node["cpuManagerPolicy"]
    policy_text = f"CPU Manager policy {policy}" if policy else _NO_POLICY[node["cpuManagerState"]]
    yield Cell(f"{groups}, {policy_text}")
    pool = node["sharedPool"]
    parts = {
        "online": node["online"],
        "offline": node["offline"],
        "reserved": node["reserved"],
        "shared pool": pool,
        "exclusive": node["exclusive"],
        "isolated": node["isolated"],
        "nohz_full": node["nohzFull"],
    }
    yield Cell("CPUs: " + ", ".join(f"{name} {cpus}" for name, cpus in parts.items() if cpus))
