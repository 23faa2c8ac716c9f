"""The kubelet that runs on this host, told of as a recording tells of its own."""

from __future__ import annotations

import re

from cpuctl.capture.kubelet.command import kept_flags
from cpuctl.capture.kubelet.files import places_of
from cpuctl.capture.recorded_kubelet import RecordedKubelet, telling
from cpuctl.errors import CpuctlError
from cpuctl.machine.tree import Tree

_KUBELET = re.compile(r"^Name:[ \t]*kubelet$", re.MULTILINE)
_OF_ROOT = re.compile(r"^Uid:[ \t]*0[ \t]", re.MULTILINE)
_NESTED = re.compile(r"^NSpid:[ \t]*[0-9]+[ \t]+[0-9]", re.MULTILINE)


def live_kubelet(tree: Tree) -> RecordedKubelet:
    """Read the flags of the node's kubelet; without one, nothing is known.

    Believed is a process as ``running_kubelet`` believes one.
    """
    for pid in filter(str.isdecimal, tree.names("proc")):
        status = _read(tree, f"proc/{pid}/status")
        if not _KUBELET.search(status) or not _OF_ROOT.search(status) or _NESTED.search(status):
            continue
        if command := _read(tree, f"proc/{pid}/cmdline"):
            flags = tuple(kept_flags(command.removesuffix("\0").split("\0")[1:]))
            places = places_of(flags)
            return RecordedKubelet(
                flags=telling(flags), config_path=places.config, config_directory=places.drop_ins
            )
    return RecordedKubelet()


def _read(tree: Tree, path: str) -> str:
    """Read a file of a process, which may end meanwhile or be closed to us."""
    try:
        return tree.read(path) or ""
    except CpuctlError:
        return ""
