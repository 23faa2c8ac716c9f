"""Kubelets that run and use a directory: each would write its own state over what is changed there.

Unlike ``live_kubelet``, whose flags must be true, this believes any process that calls itself a kubelet:
better to refuse once too often.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from cpuctl.capture.kubelet.command import flag_value, kept_flags
from cpuctl.errors import CpuctlError
from cpuctl.machine.recording_layout import STATE_DIRECTORY
from cpuctl.machine.tree import DirectoryTree, Tree

_NAMES = frozenset({"hyperkube", "k3s", "k3s-agent", "k3s-server", "kubelet", "kubelite"})
"""Programs that are a kubelet, or have one inside."""

_HANDED_ON = "--kubelet-arg"

_NAME = re.compile(r"^Name:[ \t]*(.*)$", re.MULTILINE)
_ENDED = re.compile(r"^State:[ \t]*[ZX]", re.MULTILINE)


class RunningKubelet(NamedTuple):
    """A process, what it calls itself, and its root directory as it sees it."""

    pid: int
    name: str
    root_directory: str


def kubelets_using(directory: Path, root: Path = Path("/")) -> list[RunningKubelet]:
    """Find the kubelets whose state files lie in *directory*; *root* is where the node's ``proc`` stands."""
    return [
        kubelet for kubelet in _running(DirectoryTree(root)) if _is_directory_of(kubelet, directory, root)
    ]


def _running(tree: Tree) -> Iterator[RunningKubelet]:
    for pid in filter(str.isdecimal, tree.names("proc")):
        status = _read(tree, f"proc/{pid}/status")
        name = _NAME.search(status)
        if name is None or _ENDED.search(status):
            continue
        command, *arguments = _read(tree, f"proc/{pid}/cmdline").removesuffix("\0").split("\0")
        called = next((each for each in (name[1], posixpath.basename(command)) if each in _NAMES), "")
        if called:
            told = flag_value(tuple(kept_flags(tuple(_own(arguments)))), "root-dir")
            yield RunningKubelet(int(pid), called, posixpath.normpath(told or f"/{STATE_DIRECTORY}"))


def _own(arguments: Iterable[str]) -> Iterator[str]:
    """Yield the flags of a kubelet, those too that a distribution hands to the one inside it (k3s)."""
    words = iter(arguments)
    for word in words:
        option, equals, flag = word.partition("=")
        if option == _HANDED_ON:
            yield f"--{flag if equals else next(words, '')}"
        else:
            yield word


def _read(tree: Tree, path: str) -> str:
    """Read a file of a process, which may end meanwhile or be closed to us."""
    try:
        return tree.read(path) or ""
    except CpuctlError:
        return ""


def _is_directory_of(kubelet: RunningKubelet, directory: Path, root: Path) -> bool:
    """Tell whether a kubelet's root directory is this one: as it sees it or, if that is closed, by name."""
    own = kubelet.root_directory.lstrip("/")
    start = "root" if own != kubelet.root_directory else "cwd"
    try:
        # Another mount namespace has other directories of the same name.
        return os.path.samestat((root / f"proc/{kubelet.pid}" / start / own).stat(), directory.stat())
    except OSError:
        return os.path.realpath(root / own) == os.path.realpath(directory)
