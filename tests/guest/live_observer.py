"""Runs in a guest next to cpuctl: copies the kernel's own files every few seconds, each with its time.

It shares no code with cpuctl, and draws no conclusions: texts are kept unchanged, of processes only what
is compared. A line of /out/kernel.jsonl.gz is one round.
"""

from __future__ import annotations

import glob
import gzip
import json
import os
import re
import sys
import time
from typing import Any

GROUPS = "/sys/fs/cgroup/kubepods.slice"
GROUP_FILES = (
    "cpu.stat", "cpu.max", "cpu.pressure", "cpuset.cpus", "cpuset.cpus.effective", "cpuset.mems.effective",
)  # fmt: skip
FILES = (
    "/proc/stat", "/proc/interrupts", "/proc/schedstat", "/proc/pressure/cpu",
    "/proc/irq/default_smp_affinity",
    "/sys/devices/system/cpu/online", "/sys/devices/virtual/workqueue/cpumask",
    "/var/lib/kubelet/cpu_manager_state", "/var/lib/kubelet/memory_manager_state",
)  # fmt: skip
PATTERNS = (
    "/sys/devices/system/node/node*/numastat",
    "/sys/devices/system/node/node*/cpulist",
    "/proc/irq/*/smp_affinity_list",
    "/proc/irq/*/effective_affinity_list",
)
EXCLUSIVE = re.compile(r"/kubepods\.slice/kubepods-pod[^/]*\.slice/")
"""Groups of Guaranteed pods, whose memory and migrations are recorded, too."""
_MIGRATIONS = re.compile(r"nr_migrations\s*:\s*(\d+)")
_PAGES = re.compile(r"\bN(\d+)=(\d+)")
_PAGE_SIZE = re.compile(r"kernelpagesize_kB=(\d+)")


def text_of(path: str) -> str | None:
    """Return a file's text; None if it no longer exists, or may not be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123  # a dozen times as fast
            return file.read()
    except OSError:
        return None


def copied(path: str) -> list[Any] | None:
    """Return a file's text and the time before it was read."""
    at = time.time()
    text = text_of(path)
    if text is None:
        return None
    if path == "/proc/stat":
        text = text.partition("intr ")[0]
    return [round(at, 4), text]


def groups(*, everything: bool) -> dict[str, Any]:
    """Copy the files of the kubelet's groups; ``threads`` are those in each.

    Those of Guaranteed pods and of the levels above, unless *everything* is set.
    """
    found = {}
    for folder, below, names in os.walk(GROUPS):
        path = folder.removeprefix("/sys/fs/cgroup")
        if not everything and "burstable-pod" in path:
            below.clear()
            continue
        files = {name: made for name in GROUP_FILES if name in names and (made := copied(f"{folder}/{name}"))}
        threads = (text_of(f"{folder}/cgroup.threads") or "").split()
        own = {tid: counts for tid in threads if (counts := counted(tid))} if EXCLUSIVE.match(path) else {}
        found[path] = {"files": files, "threads": threads, "counts": own}
    return found


def counted(tid: str) -> dict[str, Any] | None:
    """Return how long one thread has run and waited, in nanoseconds, and how often it has changed CPUs."""
    at = time.time()
    schedstat = (text_of(f"/proc/{tid}/schedstat") or "").split()
    if len(schedstat) < 2:
        return None
    moved = _MIGRATIONS.search(text_of(f"/proc/{tid}/sched") or "")
    return {
        "at": round(at, 4),
        "ran": int(schedstat[0]),
        "waited": int(schedstat[1]),
        "migrations": int(moved[1]) if moved else None,
    }


def task(pid: str, tid: str) -> dict[str, Any] | None:
    """Return the compared values of one thread."""
    folder = f"/proc/{pid}/task/{tid}"
    status = text_of(f"{folder}/status")
    if status is None:
        return None
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    made: dict[str, Any] = {
        "pid": int(pid),
        "comm": fields["Name"],
        "allowed": fields["Cpus_allowed_list"],
        "kernel": pid == "2" or fields["PPid"] == "2",
    }
    if not made["kernel"]:
        made["group"] = (text_of(f"{folder}/cgroup") or "").strip().rpartition("::")[2]
    return made


def tasks() -> dict[str, Any]:
    """Read every thread."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
        try:
            tids = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
        except OSError:
            continue
        for tid in tids:
            if (made := task(pid, tid)) is not None:
                found[tid] = made
    return found


def memory(seen: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Add up the private pages of every process in a Guaranteed pod by NUMA node, in KiB."""
    found: dict[str, dict[str, int]] = {}
    for tid, made in seen.items():
        if not EXCLUSIVE.match(made.get("group", "")) or int(tid) != made["pid"]:
            continue
        amounts = found.setdefault(tid, {})
        for line in (text_of(f"/proc/{tid}/numa_maps") or "").splitlines():
            size = _PAGE_SIZE.search(line)
            if size and " anon=" in line:
                for node, pages in _PAGES.findall(line):
                    amounts[node] = amounts.get(node, 0) + int(pages) * int(size[1])
    return found


def outside(seen: dict[str, Any]) -> list[str]:
    """List the threads outside pods, except the kernel's."""
    return [
        tid for tid, made in seen.items() if "group" in made and not made["group"].startswith("/kubepods")
    ]


def look(number: int, strangers: list[str]) -> dict[str, Any]:
    """Copy counters once; every third time also all threads and groups, and every sixth time memory."""
    names = [*FILES, *(path for pattern in PATTERNS for path in sorted(glob.glob(pattern)))]  # noqa: PTH207
    at, everything = time.time(), number % 3 == 0
    files = {path: copy for path in names if (copy := copied(path))}
    made: dict[str, Any] = {"at": at, "files": files, "groups": groups(everything=everything)}
    if everything:
        made["tasks"] = tasks()
        strangers[:] = outside(made["tasks"])
    made["outside"] = {tid: counts for tid in strangers if (counts := counted(tid))}
    if number % 6 == 0:
        made["memory"] = memory(made["tasks"])
    return made | {"until": time.time()}


def main(seconds: float) -> None:
    """Read at a fixed interval until a signal ends it."""
    number, due = 0, time.monotonic()
    strangers: list[str] = []
    while True:
        with gzip.open("/out/kernel.jsonl.gz", "ab", compresslevel=1) as file:
            file.write(json.dumps(look(number, strangers)).encode() + b"\n")
        number += 1
        due = max(due + seconds, time.monotonic())
        time.sleep(max(due - time.monotonic(), 0))


if __name__ == "__main__":
    main(float(sys.argv[1]))
