"""How often files are read: those that grow with the machine, or with a container, are read less often."""

from __future__ import annotations

import errno
import os
from collections import Counter
from pathlib import Path

import pytest

from cpuctl.cgroups.hierarchies import Hierarchies
from cpuctl.cpuset import CPUSet
from cpuctl.live import counters
from cpuctl.live.counters import CounterFiles
from cpuctl.live.sampler import Sampler, Watched, WatchedContainer
from cpuctl.root_directory import Root

AT = "sys/fs/cgroup"
HIERARCHIES = Hierarchies(version=2, cpuset=AT, cpu=AT, memory=AT, hugetlb=AT)
GROUP = "/kubepods/pod1/c1"


def test_a_recreated_group_starts_again_despite_its_previous_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The CPU time of the new group minus that of the old one is not what was used in a second.

    The kernel (kernfs) returns ENODEV if an open file of a removed group is read.
    """
    stat, gone = tmp_path / AT / GROUP.strip("/") / "cpu.stat", set()
    for path, text in ((tmp_path / "proc/stat", "cpu0 1 0 0 1 0 0 0 0\n"), (stat, "usage_usec 5000000\n")):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    read = counters._whole

    def as_kernfs(handle: int) -> bytes:
        if os.fstat(handle).st_ino in gone:
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
        return read(handle)

    monkeypatch.setattr(counters, "_whole", as_kernfs)
    container = WatchedContainer(CPUSet.parse("0"), path=GROUP)
    clock = iter(range(10_000))
    watched = Watched(HIERARCHIES, (container,))
    sampler = Sampler(CounterFiles(Root(tmp_path)), watched, lambda: float(next(clock)))
    spans = []
    for used in (6_000_000, 9_000_000, 9_500_000):
        window = sampler.take()
        spans.append(None if window is None else window.groups.get(GROUP))
        if used == 9_000_000:
            gone.add(stat.stat().st_ino)
            stat.rename(stat.with_name("before"))  # prevents its inode number from being reused
        stat.write_text(f"usage_usec {used}\n")
    window = sampler.take()
    spans.append(None if window is None else window.groups.get(GROUP))
    reported = [span and (span.before.used, span.after.used) for span in spans]
    assert reported == [None, (5.0, 6.0), None, (9.0, 9.5)]


def reads_of(root: Path, cpus: int, threads: int, looks: int) -> Counter[str]:
    """Sample a machine of some CPUs with a container of some threads several times, and count the reads."""
    counted: Counter[str] = Counter()

    class Counting(CounterFiles):
        def read(self, path: str, *, keep: bool = True) -> bytes | None:
            counted[path] += 1
            return super().read(path, keep=keep)

    texts = {
        "proc/stat": "cpu  1\n" + "".join(f"cpu{cpu} 1 0 0 1 0 0 0 0 0 0\n" for cpu in range(cpus)),
        "proc/interrupts": "  CPU0\n 1: 5 timer\n",
        "proc/schedstat": "cpu0 0 0 0 0 0 0 1 2 3\n",
        f"{AT}{GROUP}/cpu.stat": "usage_usec 5\n",
        f"{AT}{GROUP}/cgroup.threads": "".join(f"{tid}\n" for tid in range(1, threads + 1)),
        **{f"proc/{tid}/schedstat": "1 2 3\n" for tid in range(1, threads + 1)},
    }
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    container = WatchedContainer(CPUSet.parse("0"), path=GROUP)
    clock = iter(range(10_000))
    sampler = Sampler(Counting(Root(root)), Watched(HIERARCHIES, (container,)), lambda: float(next(clock)))
    for _ in range(looks):
        sampler.take()
    return counted


@pytest.mark.parametrize(("cpus", "times"), [(2, 8), (128, 8), (129, 4), (256, 4), (512, 2)])
def test_interrupts_and_run_queues_of_large_machines(cpus: int, times: int, tmp_path: Path) -> None:
    reads = reads_of(tmp_path, cpus, 1, looks=8)
    assert reads["proc/stat"] == 8
    assert (reads["proc/interrupts"], reads["proc/schedstat"]) == (times, times)


@pytest.mark.parametrize(("threads", "times"), [(256, 6), (257, 3), (600, 2)])
def test_threads_of_large_containers(threads: int, times: int, tmp_path: Path) -> None:
    reads = reads_of(tmp_path, 2, threads, looks=6)
    assert reads[f"{AT}{GROUP}/cgroup.threads"] == 2, "once at first, and once five samples later"
    assert reads[f"{AT}{GROUP}/cpu.stat"] == 6
    assert reads["proc/256/schedstat"] == times
