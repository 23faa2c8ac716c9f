"""Runs in a guest: a write of cpuctl fails, is killed or interrupted, or meets a rival."""

from __future__ import annotations

import errno
import os
import signal
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


def every_write() -> range:
    """Number the writes that correct the node."""
    go_wrong()
    return range(apply()["writes"])


def undone(harm: Harm) -> list[dict[str, Any]]:
    """Cause a fault at every write, one after the other, and report the remaining changes."""
    facts = []
    for number in every_write():
        before = go_wrong()
        facts.append({**apply_harmed({number: harm}), "changed": changes(before)})
    return facts


def refused() -> list[dict[str, Any]]:
    return undone(refuse)


def interrupted() -> list[dict[str, Any]]:
    return undone(interrupt)


ERRORS = (errno.EIO, errno.ENOSPC, errno.EINVAL, errno.ENOMEM, errno.EDQUOT, errno.ENODEV, errno.ENOENT)
"""The kernel's possible errors for a write, the last two also for a group that has gone."""
_ATTEMPTS = 6


def fail(number: int) -> None:
    raise OSError(number, os.strerror(number))


def failing() -> dict[str, Any]:
    """Fail the first write, one in the middle and the last with every error, and one that stays busy."""
    count, runs = len(every_write()), []
    for number in ERRORS:
        for at in (0, count // 2, count - 1):
            before = go_wrong()
            found = apply_harmed({at: partial(fail, number)})
            runs.append({**found, "changed": changes(before), "error": os.strerror(number)})
    before = go_wrong()
    busy: dict[int, Harm] = {count // 2 + attempt: partial(fail, errno.EBUSY) for attempt in range(_ATTEMPTS)}
    stays = {**apply_harmed(busy), "changed": changes(before)}
    go_wrong()
    busy.popitem()
    passes = {**apply_harmed(busy), "audit": audit()}
    return {"runs": runs, "busy": stays, "busyForAMoment": passes}


def killed() -> dict[str, Any]:
    """Kill cpuctl at every write, and while it undoes them; then audit and apply again."""
    go_wrong()
    count = apply("--yes", "--no-wait")["writes"]
    due, runs = values(), []
    plans: list[dict[int, Harm]] = [{number: die} for number in every_write()]
    plans.append({count - 1: refuse, count + count // 2: die})
    for harms in plans:
        go_wrong()
        code = apply_harmed(harms)["code"]
        found = audit()
        again = apply("--yes", "--no-wait")
        runs.append({"killed": code, "found": found, "again": again, "left": changes(due)})
    return {"runs": runs, "audit": audit()}


def without_a_list() -> dict[str, Any]:
    """A group with tasks that had no list cannot lose it again: it gets the inherited one."""
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
    """A rival writes other values while cpuctl writes: to a group already written, and to a later one."""
    go_wrong()
    last = apply()["writes"] - 1
    facts = {}
    for name, container, number in (("done", SHARED, last), ("toCome", OTHER, 0)):
        before = go_wrong()
        result = apply_harmed({number: partial(put, container.path, "cpuset.cpus", "5")})
        facts[name] = {**result, "changed": changes(before), "rival": f"{container.path}/cpuset.cpus"}
    return facts
