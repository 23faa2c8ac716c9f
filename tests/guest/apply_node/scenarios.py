"""Runs in a guest: the scenarios of ``cgroups apply`` on a node with wrong values."""

from __future__ import annotations

import fcntl
import json
import os
import signal
from typing import Any

from .node import (
    ALL,
    CPUSETS,
    EFFECTIVE,
    LAST,
    OTHER,
    OWN,
    SHARED,
    TIMES,
    VERSION,
    WORK,
    allowed,
    apply,
    audit,
    begin_apply,
    changes,
    cpuctl,
    finish,
    get,
    go_wrong,
    offline,
    put,
    start,
    write_state,
)


def dry_run() -> dict[str, Any]:
    before = go_wrong()
    plain, strict = apply(), apply("--exit-code")
    return {"plain": plain, "strict": strict["code"], "changed": changes(before), "audit": audit()}


def done() -> dict[str, Any]:
    go_wrong()
    log_file = WORK / "log.jsonl"
    result = apply("--yes", "--log", str(log_file))
    log = [json.loads(line) for line in log_file.read_text().splitlines()]
    return {
        "result": result,
        "lists": {each.pod: get(each.path, "cpuset.cpus") for each in ALL},
        "effective": {each.pod: get(each.path, EFFECTIVE) for each in ALL},
        "due": {each.pod: each.due for each in ALL},
        "threads": allowed(),
        "mems": [get(OWN.path, "cpuset.mems"), OWN.mems],
        "steps": [line["step"] for line in log],
        "again": apply("--yes"),
        "audit": audit(),
    }


def by_audit() -> dict[str, Any]:
    go_wrong()
    made = start("audit", "-o", "plan", "--exit-zero")
    finish(made)
    plan = WORK / f"stdout.{made}"
    write_state(pool=f"0-3,9-{LAST}")
    moved = apply("-f", str(plan), "--yes", "--no-wait")
    write_state()
    put(OTHER.path, "cpuset.cpus", "6")  # the state after a run that was killed midway
    result = apply("-f", str(plan), "--yes", "--no-wait")
    return {"moved": moved, "result": result, "audit": audit()}


def hotplug() -> dict[str, Any]:
    go_wrong()
    with offline(5):
        refused = apply("--yes", "--no-wait")
        forced = apply("--yes", "--no-wait", "--force-offline")
    return {"refused": refused, "forced": forced, "result": apply("--yes", "--no-wait"), "audit": audit()}


def hotplug_while_watching() -> dict[str, Any]:
    """On v2 an offline CPU only stops being in effect; on v1 it also disappears from the lists."""
    go_wrong()
    process = begin_apply()
    with offline(9):
        result = finish(process)
    return {"result": result, "again": apply("--yes", "--no-wait"), "audit": audit()}


def hotplug_and_undo() -> dict[str, Any]:
    """A CPU goes offline while cpuctl watches, and then everything has to be undone."""
    before = go_wrong()
    process = begin_apply()
    with offline(9):
        os.kill(process, signal.SIGINT)
        result = finish(process)
    return {**result, "changed": changes(before)}


def shrink_below_a_child() -> dict[str, Any]:
    """The runtime has the processes in a group below the container's, with the container's CPUs."""
    go_wrong()
    child = f"{OWN.path}/init"
    (CPUSETS / child).mkdir()
    if VERSION == 2:
        move(OWN.path, child)
        put(OWN.path, "cgroup.subtree_control", "+cpuset")
    else:
        put(child, "cpuset.mems", get(OWN.path, "cpuset.mems"))
    put(child, "cpuset.cpus", OWN.wrong)
    result = apply("--yes", "--no-wait")
    lists = [get(OWN.path, "cpuset.cpus"), get(child, "cpuset.cpus")]
    if VERSION == 2:
        put(OWN.path, "cgroup.subtree_control", "-cpuset")
        move(child, OWN.path)
    (CPUSETS / child).rmdir()
    return {"result": result, "lists": lists}


def move(group: str, other: str) -> None:
    for pid in get(group, "cgroup.procs").split():
        put(other, "cgroup.procs", pid)


def partitions() -> dict[str, Any]:
    """A partition next to the kubelet's groups takes CPUs; one above a container is not a member."""
    go_wrong()
    # Only a list that no sibling shares makes a valid partition.
    put("kubepods.slice", "cpuset.cpus", f"0-5,7-{LAST}")
    (CPUSETS / "greedy").mkdir()
    put("greedy", "cpuset.cpus", "6")
    put("greedy", "cpuset.cpus.partition", "root")
    taken = apply("--yes", "--no-wait")
    (CPUSETS / "greedy").rmdir()
    put(OWN.path, "cpuset.cpus.partition", "isolated")
    on_the_way = apply("--yes", "--no-wait")
    put(OWN.path, "cpuset.cpus.partition", "member")
    return {"taken": taken, "onTheWay": on_the_way, "result": apply("--yes", "--no-wait")}


def terminated() -> dict[str, Any]:
    facts = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        before = go_wrong()
        process = begin_apply()
        os.kill(process, getattr(signal, name))
        facts[name] = {**finish(process), "changed": changes(before)}
    return facts


def locked_out() -> dict[str, Any]:
    before = go_wrong()
    handle = os.open(CPUSETS, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    result = apply("--yes", "--no-wait")
    os.close(handle)
    return {"result": result, "changed": changes(before)}


def references() -> dict[str, Any]:
    go_wrong()
    apply("--yes", "--no-wait")
    return {
        "taken": apply(f"{SHARED.name}=4-6", "--yes", "--no-wait"),
        "forced": apply(f"{SHARED.name}=4-6", "--yes", "--no-wait", "--force-exclusive"),
        "given": get(SHARED.path, "cpuset.cpus"),
        "reserved": apply(f"{OWN.name}=0", "--yes", "--no-wait"),
        "swapped": apply(f"{OWN.name}=6-7", f"{OTHER.name}=4-5", "--yes", "--no-wait", "--force-exclusive"),
        "lists": [get(OWN.path, "cpuset.cpus"), get(OTHER.path, "cpuset.cpus")],
    }


def quota() -> dict[str, Any]:
    go_wrong()
    name, limit = ("cpu.max", "200000 100000") if VERSION == 2 else ("cpu.cfs_quota_us", "200000")
    for group in (OWN.pod_path, OWN.path):
        put(group, name, limit, TIMES)
    result = apply("--yes", "--no-wait", "--quota")
    lists = [(TIMES / group / name).read_text().strip() for group in (OWN.pod_path, OWN.path)]
    return {
        "result": result,
        "quotas": lists,
        "audit": cpuctl("audit", "-o", "json", "--check", "quota")["code"],
    }
