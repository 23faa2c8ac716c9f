"""Runs in a guest: makes partitions of CPUs among the kubelet's groups and next to them, and checks each.

The content of the kernel's files is kept in /out with every answer.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from audit_node import (  # type: ignore[import-not-found]  # next to it in the guest
    CGROUPS,
    CONTAINERS,
    OUT,
    Node,
    cpuctl,
    cpus_of,
    put,
    set_up,
    state_files,
)

KNOWN = ("--pods", "/pods.json", "-o", "json")


def look(name: str, groups: dict[str, Path]) -> None:
    """Keep the kernel's values of some groups, and cpuctl's answers."""
    reported = {
        who: {file.name: file.read_text().strip() for file in sorted(group.glob("cpuset.cpus*"))}
        for who, group in groups.items()
    }
    (OUT / f"{name}.kernel").write_text(json.dumps(reported), encoding="utf-8")
    cpuctl(f"{name}.audit", "audit", "--check", "cpusets", *KNOWN)
    cpuctl(f"{name}.show", "cgroups", "show", *KNOWN)


def repair(name: str) -> None:
    """Run the fix of every finding about a partition; keep those that failed."""
    findings = json.loads((OUT / f"{name}.audit").read_text(encoding="utf-8"))["findings"]
    fixes = dict.fromkeys(each["fix"] for each in findings if each["fix"].startswith("echo"))
    runs = [subprocess.run(["sh", "-c", fix], capture_output=True, text=True, check=False) for fix in fixes]
    failed = [[fix, done.stderr] for fix, done in zip(fixes, runs, strict=True) if done.returncode]
    (OUT / f"{name}.failed").write_text(json.dumps(failed), encoding="utf-8")


def main() -> None:
    node = Node("systemd", "containerd")
    set_up(node)
    server = node.cpuset(CONTAINERS[0])
    pool = cpus_of(state_files("/state")[0]["defaultCpuSet"])
    groups = {"server": server, "front": node.cpuset(CONTAINERS[2]), "kubepods": CGROUPS / "kubepods.slice"}
    look("before", groups)

    # Its parent is not a partition, and nothing is exclusive on the way.
    put(server / "cpuset.cpus.partition", "isolated")
    look("invalid", groups)
    repair("invalid")

    if (server / "cpuset.cpus.exclusive").exists():
        own = (server / "cpuset.cpus").read_text().strip()
        way = [groups["kubepods"], server.parent, server]
        for group in way:
            put(group / "cpuset.cpus.exclusive", own)
        look("idle", groups)
        put(server / "cpuset.cpus.partition", "isolated")
        look("remote", groups)
        repair("remote")
        for group in reversed(way):
            put(group / "cpuset.cpus.exclusive", "")

    # No sibling has its own list, which would have to leave it out.
    greedy = CGROUPS / "greedy"
    greedy.mkdir()
    put(greedy / "cpuset.cpus", pool[-1])
    put(greedy / "cpuset.cpus.partition", "root")
    look("neighbour", {**groups, "greedy": greedy})
    cpuctl("capture.json", "capture", "/out/neighbour.tar.xz", "-o", "json")
    (OUT / "pods.json").write_bytes(Path("/pods.json").read_bytes())
    repair("neighbour")
    look("after", groups)


if __name__ == "__main__":
    main()
