"""The running kubelet, and what of its command line concerns its resource managers.

A command line may hold secrets, and any process may call itself ``kubelet``. So only flags that are known to
be harmless are kept, and only a process of root that sees the node's own file tree is believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

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
"""Kept flags that say where the kubelet's files are, or who the node is."""

KEPT_FLAGS = SWITCHES.union(PLACES, _SETTINGS.split())


def running_kubelet(processes: Iterable[Process]) -> Process | None:
    """Find the node's kubelet; one in a container's PID namespace (kind) has another file tree."""
    for process in processes:
        named = any(thread.tid == process.pid and thread.comm == "kubelet" for thread in process.threads)
        if named and process.user == 0 and not process.nested:
            return process
    return None


def read_arguments(files: NodeFiles, process: Process) -> tuple[str, ...] | None:
    """Read the words behind a program's name; None where its command line cannot be read."""
    text = files.read(f"proc/{process.pid}/cmdline")
    return None if not text else tuple(text.removesuffix("\0").split("\0")[1:])


def kept_flags(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the kept flags in order, the way the kubelet's parser (pflag) tells names from values."""
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
    """Name the flags that are not kept: a kubelet ends at one that its release does not know."""
    names = (argument[2:].partition("=")[0] for argument in arguments if argument.startswith("--"))
    plain = (name.replace("_", "-") for name in names if _NAME.fullmatch(name))
    return tuple(dict.fromkeys(name for name in plain if name not in KEPT_FLAGS))


def flag_value(flags: Iterable[str], name: str) -> str:
    """Return the value of the last flag of a name, empty where there is none."""
    values = [flag.partition("=")[2] for flag in flags if flag.startswith(f"--{name}=")]
    return values[-1] if values else ""
