"""Applying and watching writes on plain files: what stops them, and what is undone."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cpuctl.cgroups.applying import Applier, Guard, LogEntry, Outcome, ValueChange, WriteResult, carry_out
from cpuctl.cgroups.group_files import GroupFiles, locked, stray_threads
from cpuctl.cgroups.hierarchies import mount_of
from cpuctl.cpuset import CPUSet
from cpuctl.errors import NodeAccessError

CHANGES = (ValueChange("/a", "cpuset.cpus", "0-3", "0-1"), ValueChange("/b", "cpuset.cpus", "4-5", "2-5"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for change in CHANGES:
        (tmp_path / change.group[1:]).mkdir()
        put(tmp_path, change.group, change.before)
    return tmp_path


def put(root: Path, group: str, value: str) -> None:
    (root / group[1:] / "cpuset.cpus").write_text(f"{value}\n")


def lists(root: Path) -> list[str]:
    return [(root / change.group[1:] / "cpuset.cpus").read_text().strip() for change in CHANGES]


def nothing(_seconds: float = 0) -> None:
    pass


def carried(
    root: Path,
    *,
    seconds: float = 0,
    pause: Callable[[float], None] = nothing,
    moved: Callable[[], str] = str,
    escaped: Callable[[], str] = str,
    interrupted: Callable[[], bool] = bool,
) -> Outcome:
    entries: list[LogEntry] = []
    applier = Applier(files=GroupFiles(root, nothing), log=entries.append, interrupted=interrupted)
    return carry_out(CHANGES, applier, Guard(moved, escaped, pause), seconds)


def test_values_that_are_not_rewritten_stay(root: Path) -> None:
    waits: list[float] = []
    outcome = carried(root, seconds=3, pause=waits.append)
    assert (outcome.failure, lists(root)) == ("", ["0-1", "2-5"])
    assert sum(waits) == outcome.watched == 3


def test_a_state_changed_before_leaves_everything_unchanged(root: Path) -> None:
    outcome = carried(root, moved=lambda: "moved")
    assert (outcome.failure, outcome.entries, lists(root)) == ("moved", (), ["0-3", "4-5"])


def test_a_state_changed_meanwhile_undoes_everything(root: Path) -> None:
    answers = iter(["", "", "moved"])
    outcome = carried(root, seconds=5, moved=lambda: next(answers))
    assert (outcome.failure, outcome.left_over, lists(root)) == ("moved", (), ["0-3", "4-5"])


def test_values_of_a_concurrent_writer_are_kept(root: Path) -> None:
    """A value written by another process since is kept and reported; everything else is restored."""
    outcome = carried(root, seconds=5, pause=lambda _: put(root, "/a", "7"))
    assert "has written '7'" in outcome.failure
    assert lists(root) == ["7", "4-5"]
    assert [entry.change.group for entry in outcome.left_over] == ["/a"]


def test_a_file_that_was_written_twice_is_named_once(root: Path) -> None:
    changes = (
        ValueChange("/a", "cpuset.cpus", "0-3", "0-1"),
        ValueChange("/a", "cpuset.cpus", "0-1", "0-1,6"),
    )
    applier = Applier(files=GroupFiles(root, nothing), log=lambda _: None, interrupted=bool)
    outcome = carry_out(changes, applier, Guard(str, str, lambda _: put(root, "/a", "7")), 1)
    assert [(entry.change.group, entry.problem) for entry in outcome.left_over] == [
        ("/a", "another process, perhaps the kubelet, has written '7', which is kept")
    ]


def test_a_concurrent_writer_that_restores_the_old_value_leaves_nothing_over(root: Path) -> None:
    outcome = carried(root, seconds=5, pause=lambda _: put(root, "/a", "0-3"))
    assert outcome.failure
    assert (outcome.left_over, lists(root)) == ((), ["0-3", "4-5"])


def test_a_value_no_longer_in_effect_undoes_everything(root: Path) -> None:
    def narrow(_seconds: float) -> None:
        (root / "a" / "cpuset.cpus.effective").write_text("0")

    outcome = carried(root, seconds=5, pause=narrow)
    assert outcome.failure == "/a/cpuset.cpus: 0-1 was written, but 0 is in effect"
    assert lists(root) == ["0-3", "4-5"]


def test_a_thread_elsewhere_is_checked_again(root: Path) -> None:
    answers = iter(["forking", ""])
    assert carried(root, escaped=lambda: next(answers)).failure == ""
    assert lists(root) == ["0-1", "2-5"]


def test_threads_that_stay_elsewhere_undo_everything(root: Path) -> None:
    assert carried(root, escaped=lambda: "thread 7").failure == "thread 7"
    assert lists(root) == ["0-3", "4-5"]


@pytest.mark.parametrize("requested", range(4))
def test_an_interrupt_at_any_moment_undoes_everything(root: Path, requested: int) -> None:
    answers = iter([*[False] * requested, *[True] * 9])
    outcome = carried(root, seconds=5, interrupted=lambda: next(answers))
    assert (outcome.failure, outcome.left_over, lists(root)) == ("interrupted", (), ["0-3", "4-5"])


def test_an_internal_error_leaves_nothing_half_changed(root: Path) -> None:
    def defect(_seconds: float) -> None:
        raise RuntimeError("defect")

    with pytest.raises(RuntimeError, match="defect"):
        carried(root, seconds=2, pause=defect)
    assert lists(root) == ["0-3", "4-5"]
    answers = iter([False, True])
    with pytest.raises(RuntimeError, match="defect"):
        carried(root, interrupted=lambda: _raise() if next(answers) else False)
    assert lists(root) == ["0-3", "4-5"]


def _raise() -> bool:
    raise RuntimeError("defect")


def test_a_container_that_ends_while_it_is_watched_is_not_a_failure(root: Path) -> None:
    def end(_seconds: float) -> None:
        shutil.rmtree(root / "a", ignore_errors=True)

    assert carried(root, seconds=2, pause=end).failure == ""


def test_a_controller_disabled_while_it_is_watched_undoes_everything(root: Path) -> None:
    """A cgroup without its list is not a container that has ended: it runs everywhere now."""

    def turn_off(_seconds: float) -> None:
        (root / "a" / "cpuset.cpus").unlink(missing_ok=True)

    outcome = carried(root, seconds=2, pause=turn_off)
    assert (
        outcome.failure == "/a/cpuset.cpus: the cgroup no longer has cpuset.cpus: its controller is disabled"
    )
    assert [entry.change.group for entry in outcome.left_over] == ["/a"]
    assert (root / "b" / "cpuset.cpus").read_text() == "4-5\n"


def test_a_failed_check_undoes_everything(root: Path) -> None:
    def closed() -> str:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    outcome = carried(root, escaped=closed)
    assert outcome.failure == "the node cannot be checked: permission denied"
    assert (outcome.left_over, lists(root)) == ((), ["0-3", "4-5"])


def test_finally_restored_values_are_not_left_over() -> None:
    first = ValueChange("/a", "cpuset.cpus", "0-3", "0-1")
    second = ValueChange("/a", "cpuset.cpus", "0-1", "0-1,6")
    outcome = Outcome(
        (
            LogEntry(step=WriteResult.NOT_RESTORED, change=second),
            LogEntry(step=WriteResult.RESTORED, change=first),
        ),
        "failed",
    )
    assert outcome.left_over == ()


def test_only_one_at_a_time(tmp_path: Path) -> None:
    with (
        locked(tmp_path),
        pytest.raises(NodeAccessError, match="another cpuctl is writing here"),
        locked(tmp_path),
    ):
        raise AssertionError
    with locked(tmp_path):
        pass


MOUNTS = r"""
22 1 0:1 / / rw - ext4 /dev/sda rw
23 22 0:2 / /sys/fs/cgroup rw - tmpfs tmpfs rw
24 23 0:3 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
25 22 0:4 / /mnt/a\040b rw shared:1 - cgroup2 cgroup2 rw
26 22 0:5 / /twice rw - ext4 a rw
27 22 0:6 / /twice rw - cgroup2 b rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/sys/fs/cgroup/cpuset/kubepods", "cgroup"),
        ("/sys/fs/cgroup/cpuset", "cgroup"),
        ("/sys/fs/cgroup/cpusets", "tmpfs"),
        ("/mnt/a b/x", "cgroup2"),
        ("/twice", "cgroup2"),
        ("/home", "ext4"),
    ],
)
def test_which_file_system_a_path_is_on(path: str, kind: str) -> None:
    mount = mount_of(MOUNTS, path)
    assert mount is not None
    assert mount.kind == kind


def test_threads_are_checked_in_the_kernel(root: Path) -> None:
    """Of this process, once inside and once outside of what its group has."""
    (root / "a" / "tasks").write_text(f"{os.getpid()}\n0\n999999999\n")
    files, here = GroupFiles(root, nothing), CPUSet.of(os.sched_getaffinity(0))
    assert list(stray_threads(files, Path("/proc"), [("/a", here)])) == []
    (stray,) = stray_threads(files, Path("/proc"), [("/a", CPUSet())])
    assert (stray.tid, stray.cpus) == (os.getpid(), here)
