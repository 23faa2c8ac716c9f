"""How support archives are read: as a recording's files, and other known facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from cpuctl.machine.findings import note
from cpuctl.machine.model import CPU_DIRECTORY, Machine, MachineFinding
from cpuctl.machine.recording_layout import CONFIG, OPENSHIFT_CONFIG, STATE_DIRECTORY, STATE_FILES
from cpuctl.machine.tree import MemoryTree, Tree
from cpuctl.state_names import CPU_FILE, MEMORY_FILE


class SupportArchive(NamedTuple):
    """What a support archive is, and what it contains about its node in addition to the files.

    ``what`` names its kind with an article. ``version`` is the kubelet's release, empty if unknown,
    ``config_at`` is the path of its configuration unless a flag specifies it. ``flags_gap`` says why flags of
    the kubelet may be missing, ``findings`` what had to be substituted.
    """

    what: str
    version: str = ""
    config_at: str = CONFIG
    flags_gap: str = ""
    findings: tuple[MachineFinding, ...] = ()


class Overlay:
    """A tree overlaid with our own texts: what a tool stores elsewhere, at its path on a node."""

    def __init__(self, below: Tree, texts: Mapping[str, str]) -> None:
        self._below = below
        self._texts = MemoryTree(texts)

    def read(self, path: str) -> str | None:
        """Return the text of a file, ours first."""
        text = self._texts.read(path)
        return self._below.read(path) if text is None else text

    def names(self, path: str) -> Sequence[str]:
        """Return the sorted names of both."""
        ours = self._texts.names(path)
        return sorted({*ours, *self._below.names(path)}) if ours else self._below.names(path)

    def followed(self, path: str) -> str | None:
        """Return the path with all links resolved, of which only the tree below has any."""
        return self._below.followed(path)

    def in_the_way(self, path: str) -> str:
        """Describe what is at a path where no file can be read."""
        return self._below.in_the_way(path)


def configuration_place(tree: Tree) -> str:
    """Find the kubelet's configuration where OpenShift keeps it; kubeadm keeps credentials there."""
    text = tree.read(OPENSHIFT_CONFIG) or ""
    return OPENSHIFT_CONFIG if "KubeletConfiguration" in text else CONFIG


def not_collected(machine: Machine, tree: Tree, gathered: SupportArchive) -> Iterator[MachineFinding]:
    """Report in one note what such an archive could contain about a node but this one does not."""
    if missing := tuple(_missing(machine, tree)):
        yield note("not-collected", "", f"{gathered.what} without {', '.join(missing)}")


def _missing(machine: Machine, tree: Tree) -> Iterator[str]:
    nodes = machine.numa_nodes
    if not machine.numa_known:
        yield "NUMA nodes"
    if len(nodes) > 1 and not all(node.distances for node in nodes):
        yield "NUMA distances"
    if any(node.memory_bytes is None for node in nodes):
        yield "NUMA node memory"
    if not machine.hugepages_known:
        yield "huge pages"
    if not machine.caches_known:
        yield "caches"
    for name, what in (("isolated", "isolated CPUs"), ("nohz_full", "nohz_full CPUs")):
        if tree.read(f"{CPU_DIRECTORY}/{name}") is None:
            yield what
    yield from _missing_of_node(tree)


def _missing_of_node(tree: Tree) -> Iterator[str]:
    if not tree.names("sys/fs/cgroup"):
        yield "cgroups"
    absent = (
        name
        for name in (CPU_FILE, MEMORY_FILE)
        if tree.read(f"{STATE_DIRECTORY}/{STATE_FILES[name]}") is None
    )
    yield from absent
