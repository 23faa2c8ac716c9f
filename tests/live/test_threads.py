"""Threads on CPUs where they do not belong: which ones are found, and the cost of searching."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpuctl.live.counters import CounterFiles
from cpuctl.live.threads import ForeignThread, ForeignThreads
from cpuctl.root_directory import Root

OWN = "/kubepods/pod1/c1"
HOLDERS = {3: frozenset({OWN}), 4: frozenset({OWN})}


class Procs:
    """Processes below a directory, and a reader that records its reads."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.reads: list[str] = []
        counted = self.reads

        class Counting(CounterFiles):
            def read(self, path: str, *, keep: bool = True) -> bytes | None:
                counted.append(path)
                return super().read(path, keep=keep)

        self.files = Counting(Root(root))

    def put(
        self, tid: int, cpu: int, ran: float, *, pid: int = 0, group: str = "/other", reported: bool = True
    ) -> None:
        pid = pid or tid
        task = self.root / "proc" / str(pid) / "task" / str(tid)
        task.mkdir(parents=True, exist_ok=True)
        (self.root / "proc" / str(pid) / "cgroup").write_text(f"0::{group}\n")
        ticks = round(ran * 100)
        stat = f"{tid} (a (b) c) R 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 55 {'0 ' * 15}17 {cpu} 0 0\n"
        (task / "stat").write_text(stat)
        if reported:
            (task / "schedstat").write_text(f"{round(ran * 1e9)} 0 5\n")


@pytest.fixture
def procs(tmp_path: Path) -> Procs:
    made = Procs(tmp_path)
    made.put(10, 0, 1.0)
    made.put(20, 3, 1.0, group=OWN)
    return made


def names(found: list[ForeignThread] | None) -> list[tuple[int, int, float]]:
    assert found is not None
    return [(each.tid, each.cpu, each.ran) for each in found]


def test_only_foreign_threads_that_run_are_found(procs: Procs) -> None:
    procs.put(11, 4, 1.0)
    procs.put(30, 3, 1.0, group=f"{OWN}/below")
    watch = ForeignThreads(procs.files, share=64)
    assert watch.look(1.0, HOLDERS) == []
    for tid, cpu, group in ((10, 0, "/other"), (20, 3, OWN), (30, 3, f"{OWN}/below")):
        procs.put(tid, cpu, 1.5, group=group)
    procs.put(11, 4, 1.25)
    assert watch.look(2.0, HOLDERS) == [
        ForeignThread(11, 11, "a (b) c", "/other", 4, kernel=False, ran=0.25, seconds=1.0)
    ]
    assert watch.look(3.0, HOLDERS) == []


def test_a_thread_that_slept_all_the_time_is_not_found(procs: Procs) -> None:
    watch = ForeignThreads(procs.files, share=64)
    procs.put(11, 4, 1.0)
    watch.look(1.0, HOLDERS)
    assert watch.look(2.0, HOLDERS) == []


def test_new_processes_and_threads_are_checked_immediately(procs: Procs) -> None:
    watch = ForeignThreads(procs.files, share=64)
    watch.look(1.0, HOLDERS)
    procs.put(40, 4, 0.5)
    procs.put(41, 3, 0.25, pid=10)
    assert names(watch.look(2.0, HOLDERS)) == [(40, 4, 0.5), (41, 3, 0.25)]


def test_a_kernel_without_schedstat_is_read_by_ticks(tmp_path: Path) -> None:
    procs = Procs(tmp_path)
    procs.put(10, 3, 1.0, reported=False)
    watch = ForeignThreads(procs.files, share=64)
    watch.look(1.0, HOLDERS)
    procs.put(10, 3, 1.5, reported=False)
    assert names(watch.look(2.0, HOLDERS)) == [(10, 3, 0.5)]


def test_a_thread_of_another_container_is_foreign_too(procs: Procs) -> None:
    watch = ForeignThreads(procs.files, share=64)
    watch.look(1.0, HOLDERS)
    procs.put(20, 3, 2.0, group="/kubepods/pod1/c1x")
    assert names(watch.look(2.0, HOLDERS)) == [(20, 3, 1.0)]


def test_each_round_checks_a_share_of_processes_and_all_suspects(procs: Procs) -> None:
    """Of 300 idle processes, few are read each second; one that was found is read every second."""
    for tid in range(100, 400):
        procs.put(tid, 0, 1.0)
    watch = ForeignThreads(procs.files, share=10)
    watch.look(1.0, HOLDERS)
    procs.reads.clear()
    procs.put(399, 4, 1.5)
    found: list[tuple[int, int, float]] = []
    at = 1.0
    while not found:
        at += 1.0
        found = names(watch.look(at, HOLDERS))
    assert found == [(399, 4, 0.5)]
    assert len(procs.reads) <= 12 * (at - 1)
    assert at <= 1 + 302 / 10 + 1
    procs.put(399, 4, 1.75)
    assert names(watch.look(at + 1, HOLDERS)) == [(399, 4, 0.25)]


def test_ended_processes_are_forgotten(procs: Procs, tmp_path: Path) -> None:
    import shutil

    watch = ForeignThreads(procs.files, share=64)
    watch.look(1.0, HOLDERS)
    shutil.rmtree(tmp_path / "proc" / "10")
    watch.look(2.0, HOLDERS)
    assert watch.known == 1


def test_without_procfs_nothing_is_found(tmp_path: Path) -> None:
    assert ForeignThreads(CounterFiles(Root(tmp_path)), share=64).look(1.0, HOLDERS) is None
