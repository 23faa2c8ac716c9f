"""The kubelet that runs on this host, described like that of a recording."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cpuctl.capture.kubelet.files import kubelet_paths
from cpuctl.capture.kubelet.running import kept_flags, other_flags
from cpuctl.capture.kubelet.unit import unit_command
from cpuctl.capture.recorded_kubelet import RecordedKubelet, relevant_flags
from cpuctl.errors import CpuctlError
from cpuctl.machine.tree import Tree
from cpuctl.records import replace


class FollowedFiles:
    """A file that cannot be read differs from a missing one: its name is still listed."""

    def __init__(self, tree: Tree) -> None:
        self.refused: set[str] = set()
        self._tree = tree

    def read_followed(self, path: str) -> str | None:
        """Return the text of a file that may be a link."""
        try:
            return self._tree.read(path)
        except CpuctlError:
            return None

    def names(self, path: str) -> Sequence[str]:
        """Return the sorted names in a directory."""
        try:
            return self._tree.names(path)
        except CpuctlError:
            self.refused.add(path)
            return ()


_KUBELET = re.compile(r"^Name:[ \t]*kubelet$", re.MULTILINE)
_OF_ROOT = re.compile(r"^Uid:[ \t]*0[ \t]", re.MULTILINE)
_NESTED = re.compile(r"^NSpid:[ \t]*[0-9]+[ \t]+[0-9]", re.MULTILINE)


def live_kubelet(tree: Tree) -> RecordedKubelet:
    """Read the flags of the node's kubelet; if none runs, those that its unit would start it with.

    A process is trusted under the same conditions as in ``running_kubelet``.
    """
    for pid in filter(str.isdecimal, tree.names("proc")):
        status = _read(tree, f"proc/{pid}/status")
        if not _KUBELET.search(status) or not _OF_ROOT.search(status) or _NESTED.search(status):
            continue
        if command := _read(tree, f"proc/{pid}/cmdline"):
            return replace(_recorded_kubelet(command.removesuffix("\0").split("\0")[1:]), runs=True)
    return stopped_kubelet(tree)


def stopped_kubelet(tree: Tree) -> RecordedKubelet:
    """Read what the node's kubelet, which is not running, would be started with."""
    unit = unit_command(FollowedFiles(tree))
    if unit.arguments is None:
        return RecordedKubelet(flags_gap=unit.gap)
    files = tuple(f"/{path}" for path in unit.files)
    return replace(_recorded_kubelet(unit.arguments, unit.gap), flag_files=files, flag_places=unit.places)


def _recorded_kubelet(arguments: Sequence[str], gap: str = "") -> RecordedKubelet:
    flags = tuple(kept_flags(arguments))
    places = kubelet_paths(None if gap else flags)
    return RecordedKubelet(
        flags=relevant_flags(flags),
        flags_gap=gap,
        other_flags=other_flags(arguments),
        # If flags may be missing, the usual place of the file is as good a guess as any.
        config_path="" if gap else places.config,
        config_directory="" if gap else places.drop_ins,
    )


def _read(tree: Tree, path: str) -> str:
    """Read a file of a process, which may end meanwhile or be inaccessible."""
    try:
        return tree.read(path) or ""
    except CpuctlError:
        return ""
