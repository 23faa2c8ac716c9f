"""The kubelets of this node: which are running, what is recorded of a command line, the installed release.

A command line may hold secrets, and any process may call itself ``kubelet``. So only flags that are known to
be harmless are kept, and only a process of root that sees the node's own file tree is trusted.

Which kubelet may overwrite changes in a kubelet's directory is another question: ``kubelets_using`` trusts
any process that calls itself a kubelet, because refusing once too often is better.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from cpuctl.kubelet.flags.kubelet_flags import forwarded_flags
from cpuctl.machine.recording_layout import STATE_DIRECTORY
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.capture.collected import Process
    from cpuctl.capture.node.files import NodeFiles

_SWITCHES = """
cgroups-per-qos cpu-cfs-quota experimental-allocatable-ignore-eviction fail-cgroupv1 fail-swap-on
"""
_SETTINGS = """
cgroup-driver cgroup-root cpu-cfs-quota-period cpu-manager-policy cpu-manager-policy-options
cpu-manager-reconcile-period enforce-node-allocatable eviction-hard eviction-minimum-reclaim
eviction-soft eviction-soft-grace-period feature-gates kube-reserved kube-reserved-cgroup
kubelet-cgroups max-pods memory-manager-policy oom-score-adj pod-max-pids pods-per-core qos-reserved
reserved-cpus reserved-memory system-cgroups system-reserved system-reserved-cgroup
topology-manager-policy topology-manager-policy-options topology-manager-scope
"""
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}", re.ASCII)

SWITCHES = frozenset(_SWITCHES.split())
"""Kept flags that need no value."""

PLACES = frozenset({"config", "config-dir", "hostname-override", "root-dir"})
"""Kept flags that specify where the kubelet's files are, or the node's name."""

KEPT_FLAGS = SWITCHES.union(PLACES, _SETTINGS.split())


def running_kubelet(processes: Iterable[Process]) -> Process | None:
    """Find the node's kubelet; one in a container's PID namespace (kind) has another file tree."""
    for process in processes:
        named = any(thread.tid == process.pid and thread.comm == "kubelet" for thread in process.threads)
        if named and process.user == 0 and not process.nested:
            return process
    return None


def read_arguments(files: NodeFiles, process: Process) -> tuple[str, ...] | None:
    """Read the arguments after a program's name; None if its command line cannot be read."""
    text = files.read(f"proc/{process.pid}/cmdline")
    return None if not text else tuple(text.removesuffix("\0").split("\0")[1:])


def kept_flags(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the kept flags in order, separating names from values as the kubelet's parser (pflag) does."""
    following = iter(arguments)
    for argument in following:
        if argument == "--":
            return
        if not argument.startswith("--"):
            continue
        name, equals, value = argument[2:].partition("=")
        name = name.replace("_", "-")
        if name not in KEPT_FLAGS:
            continue
        if not equals:
            value = "true" if name in SWITCHES else next(following, "")
        yield f"--{name}={value}"


def other_flags(arguments: Sequence[str]) -> tuple[str, ...]:
    """Name the flags that are not kept: a kubelet exits at a flag that its release does not know."""
    names = (argument[2:].partition("=")[0] for argument in arguments if argument.startswith("--"))
    plain = (name.replace("_", "-") for name in names if _NAME.fullmatch(name))
    return tuple(dict.fromkeys(name for name in plain if name not in KEPT_FLAGS))


def flag_value(flags: Iterable[str], name: str) -> str:
    """Return the value of the last flag with a name, empty if there is no such flag."""
    values = [flag.partition("=")[2] for flag in flags if flag.startswith(f"--{name}=")]
    return values[-1] if values else ""


PROGRAMS = frozenset({"hyperkube", "k3s", "k3s-agent", "k3s-server", "kubelet", "kubelite", "rke2"})
"""Programs that are a kubelet or contain one."""


class RunningKubelet(Record):
    """A process, the name it uses, and its root directory as it sees it."""

    pid: int
    name: str
    root_directory: str


def kubelets_using(directory: Path, root: Path = Path("/")) -> list[RunningKubelet]:
    """Find the kubelets whose state files are in *directory*; *root* contains the node's ``proc``."""
    return [kubelet for kubelet in _running(root / "proc") if _is_directory_of(kubelet, directory, root)]


def _running(proc: Path) -> list[RunningKubelet]:
    """Ask psutil: it handles processes that end meanwhile and programs that overwrite their command line."""
    pids = [int(each.name) for each in proc.iterdir() if each.name.isdecimal()] if proc.is_dir() else []
    if not pids:  # without any, psutil.pids() fails
        return []
    import psutil

    usual, psutil.PROCFS_PATH = psutil.PROCFS_PATH, str(proc)
    found: list[RunningKubelet] = []
    try:
        for pid in sorted(pids):
            # In a hand-made tree such a directory need not be a process: psutil fails on its text.
            with suppress(psutil.Error, ValueError, IndexError):
                process = psutil.Process(pid).as_dict(["name", "status", "cmdline"])
                if process["status"] not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
                    found += _kubelets(pid, process["name"], process["cmdline"] or [""])
    finally:
        psutil.PROCFS_PATH = usual
    return found


def _kubelets(pid: int, name: str, arguments: Sequence[str]) -> Iterator[RunningKubelet]:
    command, *arguments = arguments
    called = next((each for each in (name, posixpath.basename(command)) if each in PROGRAMS), "")
    if called:
        root = flag_value(kept_flags((*arguments, *forwarded_flags(arguments))), "root-dir")
        yield RunningKubelet(pid, called, posixpath.normpath(root or f"/{STATE_DIRECTORY}"))


def _is_directory_of(kubelet: RunningKubelet, directory: Path, root: Path) -> bool:
    """Return whether a kubelet's root directory is this one: as it sees it or, if inaccessible, by name."""
    own = kubelet.root_directory.lstrip("/")
    start = "root" if own != kubelet.root_directory else "cwd"
    try:
        # Another mount namespace has other directories of the same name.
        return os.path.samestat((root / f"proc/{kubelet.pid}" / start / own).stat(), directory.stat())
    except OSError:
        return os.path.realpath(root / own) == os.path.realpath(directory)


BINARIES = ("/usr/bin/kubelet", "/usr/local/bin/kubelet", "/opt/bin/kubelet")

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_ANSWER = re.compile(r"Kubernetes (v[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]{0,60})\s*", re.ASCII)
_PATIENCE = 5.0


def installed_version(
    binaries: Sequence[str] = BINARIES, *, owner: int = 0, patience: float = _PATIENCE
) -> tuple[str, str]:
    """Ask the first trustworthy binary for its version; both texts are empty if none answers.

    A binary is trusted if it is a regular file of *owner*, not a link, that no other user may write.
    *patience* is in seconds.
    """
    for binary in binaries:
        if _is_trusted(binary, owner) and (version := _requested(binary, patience)):
            return version, binary
    return "", ""


def _is_trusted(binary: str, owner: int) -> bool:
    try:
        status = os.lstat(binary)
    except OSError:
        return False
    return (
        stat.S_ISREG(status.st_mode) and status.st_uid == owner and not status.st_mode & _WRITABLE_BY_OTHERS
    )


def _requested(binary: str, patience: float) -> str:
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603  # a fixed path that only root can have written
            [binary, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=patience,
            check=True,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
            cwd="/",
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    answer = _ANSWER.fullmatch(done.stdout.decode(errors="replace"))
    return answer[1] if answer else ""
