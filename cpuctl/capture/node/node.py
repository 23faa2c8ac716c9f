"""The node that is recorded: its file tree, and what no file of it tells."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from cpuctl.capture.collected import Area, Collected, Progress, no_progress
from cpuctl.capture.kubelet.files import record_kubelet, record_volumes
from cpuctl.capture.node.cgroups import record_cgroups
from cpuctl.capture.node.files import Follow, NodeFiles
from cpuctl.capture.node.interrupts import record_interrupts
from cpuctl.capture.node.processes import read_processes
from cpuctl.capture.node.topology import record_topology
from cpuctl.machine.tree import DirectoryTree, Tree


class Node(NamedTuple):
    """What to record: ``kubelet_version`` is a version and the program that told it, both empty if unknown.

    ``architecture`` stands in where the kernel has no file that names it (before Linux 6.1).
    """

    tree: Tree
    follow: Follow
    live: bool = False
    architecture: str = ""
    kubelet_version: tuple[str, str] = ("", "")


def live_node() -> Node:
    """Return the node that this process runs on."""
    from cpuctl.capture.kubelet.running import installed_version

    tree = DirectoryTree(Path("/"))
    architecture = os.uname().machine
    version = installed_version()
    return Node(
        tree=tree, follow=tree.followed, live=True, architecture=architecture, kubelet_version=version
    )


def recorded_node(root: Path) -> Node:
    """Return the node whose files stand below *root*; no program of it is run."""
    tree = DirectoryTree(root)
    return Node(tree=tree, follow=tree.followed)


def record(node: Node, progress: Progress = no_progress) -> Collected:
    """Record a node; what cannot be read is listed, never an error."""
    files = NodeFiles(node.tree, node.follow)
    topology = record_topology(files, progress, architecture=node.architecture)
    interrupts = record_interrupts(files, progress)
    cgroups = record_cgroups(files, progress)
    processes, process_area = read_processes(files, progress)
    kubelet, kubelet_area = record_kubelet(files, processes, node.kubelet_version)
    volumes = record_volumes(files, kubelet.root_directory)
    return Collected(
        live=node.live,
        members=files.members,
        processes=processes,
        kubelet=kubelet,
        areas=(topology, kubelet_area, cgroups, process_area, interrupts, volumes, *_limits(files)),
        unreadable=files.unreadable,
    )


def _limits(files: NodeFiles) -> tuple[Area, ...]:
    if not files.left_out:
        return ()
    note = f"{files.left_out} files are left out, the archive would become too large to be read"
    return (Area(name="limits", entries=0, notes=(note,)),)
