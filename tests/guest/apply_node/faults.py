"""Runs in a guest: cpuctl is refused a write, killed or interrupted at it, or finds a rival there."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Collection, Iterator
from functools import partial
from typing import Any

from .node import LAST, LOOSE, OTHER, SHARED, Harm, apply, audit, changes, go_wrong, harming, put, values


def refuse() -> None:
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def apply_harmed(harms: dict[int, Harm]) -> dict[str, Any]:
    return apply("--yes", "--no-wait", before=harming(harms))


class Faults:
    """What goes wrong at every write, or only at the first, the middle and the last one."""

    def __init__(self, at_every_write: Collection[str]) -> None:
        self.at_every_write = at_every_write

    def writes(self, scenario: str) -> Iterator[int]:
        go_wrong()
        count = apply()["writes"]
        yield from range(count) if scenario in self.at_every_write else (0, count // 2, count - 1)

    def refused(self) -> list[dict[str, Any]]:
        """Let every write fail, one after the other."""
        facts = []
        for number in self.writes("refused"):
            before = go_wrong()
            facts.append({**apply_harmed({number: refuse}), "changed": changes(before)})
        return facts

    def interrupted(self) -> list[dict[str, Any]]:
        """Press Ctrl-C in the middle of every write."""
        facts = []
        for number in self.writes("interrupted"):
            before = go_wrong()
            facts.append({**apply_harmed({number: interrupt}), "changed": changes(before)})
        return facts

    def killed(self) -> dict[str, Any]:
        """Kill cpuctl at every write, and while it undoes them; then audit and apply again."""
        go_wrong()
        count = apply("--yes", "--no-wait")["writes"]
        due, runs = values(), []
        plans: list[dict[int, Harm]] = [{number: die} for number in self.writes("killed")]
        plans.append({count - 1: refuse, count + count // 2: die})
        for harms in plans:
            go_wrong()
            killed = apply_harmed(harms)["code"]
            found = audit()
            again = apply("--yes", "--no-wait")
            runs.append({"killed": killed, "found": found, "again": again, "left": changes(due)})
        return {"runs": runs, "audit": audit()}


def without_a_list() -> dict[str, Any]:
    """A group with tasks that had no list cannot be without again: it gets what it inherited."""
    facts: dict[str, Any] = {"loose": f"{LOOSE.path}/cpuset.cpus", "inherited": f"0-{LAST}"}
    go_wrong(bare=True)
    last = apply()["writes"] - 1
    for name, harm in (("refused", refuse), ("interrupted", interrupt)):
        before = go_wrong(bare=True)
        facts[name] = {**apply_harmed({last: harm}), "changed": changes(before)}
    go_wrong(bare=True)
    facts["result"] = apply("--yes", "--no-wait")
    return facts


def rival_in_between() -> dict[str, Any]:
    """Somebody writes other values while cpuctl writes: to a group that is done, and to one that is not."""
    go_wrong()
    last = apply()["writes"] - 1
    facts = {}
    for name, container, number in (("done", SHARED, last), ("toCome", OTHER, 0)):
        before = go_wrong()
        result = apply_harmed({number: partial(put, container.path, "cpuset.cpus", "5")})
        facts[name] = {**result, "changed": changes(before), "rival": f"{container.path}/cpuset.cpus"}
    return facts
