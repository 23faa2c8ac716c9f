"""Kubelets that run and use a directory: each would write its own state over what is changed there.

Unlike ``live_kubelet``, whose flags must be true, this believes any process that calls itself a kubelet:
better to refuse once too often.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from cpuctl.capture.kubelet.command import flag_value, kept_flags
from cpuctl.kubelet.flags.given import handed_on
from cpuctl.machine.recording_layout import STATE_DIRECTORY

_NAMES = frozenset({"hyperkube", "k3s", "k3s-agent", "k3s-server", "kubelet", "kubelite", "rke2"})
"""Programs that are a kubelet, or have one inside."""


class RunningKubelet(NamedTuple):
    """A process, what it calls itself, and its root directory as it sees it."""

    pid: int
    name: str
    root_directory: str


def kubelets_using(directory: Path, root: Path = Path("/")) -> list[RunningKubelet]:
    """Find the kubelets whose state files lie in *directory*; *root* is where the node's ``proc`` stands."""
    return [kubelet for kubelet in _running(root / "proc") if _is_directory_of(kubelet, directory, root)]


def _running(proc: Path) -> list[RunningKubelet]:
    """Ask psutil: it knows processes that end meanwhile, and programs that write over their command line."""
    pids = [int(each.name) for each in proc.iterdir() if each.name.isdecimal()] if proc.is_dir() else []
    if not pids:  # where there are none, psutil.pids() fails
        return []
    import psutil

    usual, psutil.PROCFS_PATH = psutil.PROCFS_PATH, str(proc)
    found: list[RunningKubelet] = []
    try:
        for pid in sorted(pids):
            # In a tree of somebody's making such a directory may be no process: psutil trips over its text.
            with suppress(psutil.Error, ValueError, IndexError):
                told = psutil.Process(pid).as_dict(["name", "status", "cmdline"])
                if told["status"] not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
                    found += _kubelets(pid, told["name"], told["cmdline"] or [""])
    finally:
        psutil.PROCFS_PATH = usual
    return found


def _kubelets(pid: int, name: str, words: Sequence[str]) -> Iterator[RunningKubelet]:
    command, *arguments = words
    called = next((each for each in (name, posixpath.basename(command)) if each in _NAMES), "")
    if called:
        told = flag_value(kept_flags((*arguments, *handed_on(arguments))), "root-dir")
        yield RunningKubelet(pid, called, posixpath.normpath(told or f"/{STATE_DIRECTORY}"))


def _is_directory_of(kubelet: RunningKubelet, directory: Path, root: Path) -> bool:
    """Tell whether a kubelet's root directory is this one: as it sees it or, if that is closed, by name."""
    own = kubelet.root_directory.lstrip("/")
    start = "root" if own != kubelet.root_directory else "cwd"
    try:
        # Another mount namespace has other directories of the same name.
        return os.path.samestat((root / f"proc/{kubelet.pid}" / start / own).stat(), directory.stat())
    except OSError:
        return os.path.realpath(root / own) == os.path.realpath(directory)
