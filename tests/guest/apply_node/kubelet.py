"""Runs in a guest: plays a kubelet's loop that writes CPUs repeatedly, and other writers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from .node import (
    ALL,
    CPUSETS,
    LOOSE,
    OWN,
    SHARED,
    apply,
    audit,
    begin_apply,
    changes,
    finish,
    get,
    go_wrong,
    harming,
    make_group,
    put,
    write_state,
)

_PERIOD = 0.5


class Kubelet:
    """A kubelet that writes a value only if it differs from its last write, and never reads a group."""

    def __init__(self, wanted: Mapping[str, str], last: Mapping[str, str]) -> None:
        self.wanted = wanted
        self.last = dict(last)

    def reconcile(self) -> None:
        for path, cpus in self.wanted.items():
            if self.last.get(path) != cpus:
                put(path, "cpuset.cpus", cpus)
                self.last[path] = cpus


@contextmanager
def reconciling(kubelet: Kubelet) -> Iterator[None]:
    """Run it in a child process."""
    process = os.fork()
    while process == 0:
        kubelet.reconcile()
        time.sleep(_PERIOD)
    try:
        yield
    finally:
        os.kill(process, 9)
        os.waitpid(process, 0)


def alongside(kubelet: Kubelet) -> dict[str, Any]:
    """Let a kubelet run while cpuctl watches."""
    before = go_wrong()
    process = begin_apply()
    with reconciling(kubelet):
        result = finish(process)
    return {**result, "changed": changes(before)}


def competitor() -> dict[str, Any]:
    """One kubelet that wrote the wrong values and knows it, one that starts again, one that wants others."""
    wrong, due = ({each.path: getattr(each, name) for each in ALL} for name in ("wrong", "due"))
    other = due | {SHARED.path: "0-2", LOOSE.path: "0-2"}
    return {
        "content": alongside(Kubelet(wrong, last=wrong)),
        "restarted": alongside(Kubelet(due, last={})),
        "other": alongside(Kubelet(other, last=due)),
        "left": [get(each.path, "cpuset.cpus") for each in (SHARED, LOOSE)],
        "rivals": [f"{each.path}/cpuset.cpus" for each in (SHARED, LOOSE)],
    }


def state_moves_on() -> dict[str, Any]:
    before = go_wrong()
    process = begin_apply()
    write_state(pool="0-3")
    return {**finish(process), "changed": changes(before)}


def container_ends() -> dict[str, Any]:
    """A container that ends while others are written, or while all are watched, is not a failure."""
    go_wrong()
    pids = get(OWN.path, "cgroup.procs").split()
    process = begin_apply()
    end(OWN.path, pids)
    watching = finish(process)
    begin(OWN.path, pids)
    go_wrong()
    writing = apply("--yes", "--no-wait", before=harming({1: lambda: end(OWN.path, pids)}))
    begin(OWN.path, pids)
    return {"watching": watching, "writing": writing, "again": apply("--yes", "--no-wait"), "audit": audit()}


def end(path: str, pids: Sequence[str]) -> None:
    for pid in pids:
        put("", "cgroup.procs", pid)
    (CPUSETS / path).rmdir()


def begin(path: str, pids: Sequence[str]) -> None:
    make_group(path)
    for pid in pids:
        put(path, "cgroup.procs", pid)
