"""Processes, their threads and where these may run; their memory, if it is bound to NUMA nodes.

Command lines and environments are left out. Files: *Documentation/filesystems/proc.rst*, section 1.1,
*cgroups(7)*, and *numa(7)* for ``numa_maps``. They are read directly, not through psutil: the file that shows
where a thread may run also shows its name, its NUMA nodes and its namespaces, which psutil does not report.
psutil opens more files for less, and takes more than twice as long.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from cpuctl.capture.collected import Area, Process, Progress, Thread
from cpuctl.capture.node.files import NodeFiles
from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.recording_layout import PROCESSES, RECORD_AGAIN

MAX_THREADS = 200_000
MAX_TEXT = 30 << 20
"""The most bytes of the process list: close to the largest file that the archive reader accepts."""

_STATUS_LINE = r"^(Name|PPid|Uid|NSpid|Kthread|Cpus_allowed_list|Mems_allowed_list):[ \t]*(.*?)[ \t]*$"
_KTHREADD = "2"
_FLAGS, _START_TIME = 9, 22
"""Fields of /proc/PID/stat, counted from 1."""
_LONGEST_NUMBER = 20
_NO_SETAFFINITY = 0x0400_0000
"""A process flag (*include/linux/sched.h*): user space may not move the process to other CPUs."""


def read_processes(files: NodeFiles, progress: Progress) -> tuple[tuple[Process, ...], Area]:
    """Read every process that lives long enough, up to the limits, in ascending order."""
    pids = files.numbers("proc")
    memory = NumaMemory(files)
    processes: list[Process] = []
    threads = text = 0
    notes: tuple[str, ...] = ()
    for done, pid in enumerate(pids):
        progress("processes", done, len(pids))
        process = _read_process(files, pid, memory)
        if process is None:
            continue
        threads, text = threads + len(process.threads), text + _longest_line(process)
        if threads > MAX_THREADS or text > MAX_TEXT:
            notes = (
                f"only the first {len(processes)} processes are recorded because there are too many threads",
            )
            break
        processes.append(process)
    return tuple(processes), Area(
        name="processes",
        entries=1,
        counts={"processes": len(processes), "threads": sum(len(process.threads) for process in processes)},
        notes=(*notes, *memory.notes),
    )


def read_members(files: NodeFiles, groups: Container[str], progress: Progress) -> Iterator[Process]:
    """Yield the processes in some control groups, without their memory."""
    pids = files.numbers("proc")
    for done, pid in enumerate(pids):
        progress("processes", done, len(pids))
        if deciding_cgroup(files.read(f"proc/{pid}/cgroup") or "") in groups:
            process = _read_process(files, pid, None)
            if process is not None:
                yield process


def process_lines(processes: Iterable[Process]) -> str:
    """Write one process per line, as JSON."""
    lines = (json.dumps(_plain(each), separators=(",", ":"), ensure_ascii=False) for each in processes)
    return "".join(f"{line}\n" for line in lines)


def _plain(process: Process) -> dict[str, object]:
    threads = [
        {"tid": thread.tid, "comm": thread.comm, "cpus": thread.cpus, "mems": thread.mems}
        for thread in process.threads
    ]
    more: dict[str, object] = {name: True for name in ("kernel", "fixed") if getattr(process, name)}
    if process.started is not None:
        more["started"] = process.started
    if process.memory is not None:
        more["memory"] = {str(node): amount for node, amount in process.memory.items()}
    return {"pid": process.pid, "cgroup": process.cgroup, **more, "threads": threads}


def _longest_line(process: Process) -> int:
    """Return an upper bound for the bytes of a process's line: JSON takes up to six per character."""
    threads = (6 * len(t.comm) + len(t.cpus or "null") + len(t.mems or "null") + 60 for t in process.threads)
    return 120 + 6 * len(process.cgroup) + 40 * len(process.memory or ()) + sum(threads)


def _read_process(files: NodeFiles, pid: int, memory: NumaMemory | None) -> Process | None:
    status = _status(files, f"proc/{pid}")
    if status is None:
        return None
    threads = tuple(_threads(files, pid, status))
    cgroup = files.read(f"proc/{pid}/cgroup")
    stat = files.read(f"proc/{pid}/stat") or ""
    return Process(
        pid=pid,
        cgroup=deciding_cgroup(cgroup or ""),
        kernel=_is_kernel_thread(pid, status),
        user=_user(status),
        nested=len(status.get("NSpid", "").split()) > 1,
        threads=threads,
        started=_stat_field(stat, _START_TIME),
        fixed=bool((_stat_field(stat, _FLAGS) or 0) & _NO_SETAFFINITY),
        memory=memory.of(pid, threads[0].mems if threads else None) if memory else None,
    )


def _stat_field(stat: str, number: int) -> int | None:
    """Read a number from /proc/PID/stat; the second field may contain blanks and parentheses."""
    fields = stat.rpartition(")")[2].split()
    index = number - 3
    if index >= len(fields) or not (fields[index].isascii() and fields[index].isdecimal()):
        return None
    return int(fields[index]) if len(fields[index]) <= _LONGEST_NUMBER else None


def _threads(files: NodeFiles, pid: int, status: dict[str, str]) -> Iterator[Thread]:
    tids = files.numbers(f"proc/{pid}/task") or [pid]
    for tid in tids:
        # A single thread has the same status as its process, and most processes have one thread.
        found = status if tids == [pid] else _status(files, f"proc/{pid}/task/{tid}")
        if found is not None:
            cpus, mems = found.get("Cpus_allowed_list"), found.get("Mems_allowed_list")
            yield Thread(tid, found.get("Name", ""), cpus, mems)


def _status(files: NodeFiles, directory: str) -> dict[str, str] | None:
    text = files.read(f"{directory}/status")
    return None if text is None else dict(re.findall(_STATUS_LINE, text, re.MULTILINE))


def _is_kernel_thread(pid: int, status: dict[str, str]) -> bool:
    if "Kthread" in status:  # from Linux 6.8 on
        return status["Kthread"] == "1"
    return str(pid) == _KTHREADD or status.get("PPid") == _KTHREADD


def _user(status: dict[str, str]) -> int | None:
    real, *_ = status.get("Uid", "").split() or [""]
    return int(real) if real.isascii() and real.isdecimal() else None


def deciding_cgroup(text: str) -> str:
    """Select the line of /proc/PID/cgroup that determines the CPUs: v1's cpuset, else v2's only line."""
    paths: dict[str, str] = {}
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if colon:
            paths.update(dict.fromkeys(controllers.split(","), path))
    return paths.get("cpuset", paths.get("", ""))


MAX_NUMA_MAPS = 2000
"""The kernel walks through all pages of a process for this file."""

_WITH_MEMORY = "sys/devices/system/node/has_memory"
_ON_NODE = r" N([0-9]{1,4})=([0-9]{1,15})(?= |$)"
_PAGE_SIZE = r" kernelpagesize_kB=([0-9]{1,9})(?= |$)"
_FILE = " file="
_HUGE = " huge"


class NumaMemory:
    """A reader of the memory of processes that may not use every node, and of no others."""

    def __init__(self, files: NodeFiles) -> None:
        self.notes: tuple[str, ...] = ()
        self._files = files
        self._all = _nodes(files.read(_WITH_MEMORY) or "")
        self._left = MAX_NUMA_MAPS

    def of(self, pid: int, allowed: str | None) -> Mapping[int, int] | None:
        """Return bytes by node; None for a process that may use all nodes, or that cannot be read."""
        nodes = _nodes(allowed or "")
        if nodes is None or self._all is None or self._all <= nodes:
            return None
        if not self._left:
            self.notes = (f"memory is recorded for only {MAX_NUMA_MAPS} processes",)
            return None
        self._left -= 1
        text = self._files.read(f"proc/{pid}/numa_maps")
        return None if text is None else private_memory(text)


def private_memory(text: str) -> dict[int, int]:
    """Add up the bytes on every node, without file pages: other processes may have loaded those."""
    page_size, on_node = re.compile(_PAGE_SIZE, re.ASCII), re.compile(_ON_NODE, re.ASCII)
    amounts: dict[int, int] = {}
    for line in text.splitlines():
        if _FILE in line and _HUGE not in line:
            continue
        size = page_size.search(line)
        if size is None:
            continue
        for node, pages in on_node.findall(line):
            amounts[int(node)] = amounts.get(int(node), 0) + int(pages) * (int(size[1]) << 10)
    return dict(sorted(amounts.items()))


def _nodes(text: str) -> CPUSet | None:
    try:
        return CPUSet.parse(text.strip()) or None
    except ValueError:
        return None


def recorded_processes(text: str) -> Iterator[Process]:
    """Yield every process; raise InputError with the line if one is invalid."""
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            yield _process(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InputError(
                "this is not a process recorded by cpuctl capture",
                where=f"{PROCESSES}:{number}",
                hint=RECORD_AGAIN,
            ) from None


def _process(record: Any) -> Process:  # noqa: ANN401  # any JSON
    return Process(
        pid=_number(record["pid"]),
        cgroup=_text(record["cgroup"]),
        kernel=bool(record.get("kernel")),
        user=None,
        nested=False,
        threads=tuple(_thread(each) for each in record["threads"]),
        started=_number(record["started"]) if "started" in record else None,
        fixed=bool(record.get("fixed")),
        memory=_memory(record["memory"]) if "memory" in record else None,
    )


def _thread(record: Any) -> Thread:  # noqa: ANN401
    cpus, mems = record["cpus"], record["mems"]
    return Thread(
        tid=_number(record["tid"]),
        comm=_text(record["comm"]),
        cpus=None if cpus is None else _text(cpus),
        mems=None if mems is None else _text(mems),
    )


def _memory(record: Any) -> dict[int, int]:  # noqa: ANN401
    return {int(node[:4]): _number(amount) for node, amount in record.items()}


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
