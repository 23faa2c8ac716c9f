"""Applying changes: on plain files that accept writes, on others, and on a real kernel if available."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cpuctl.cgroups.applying import Applied, Applier, LogEntry, ValueChange, WriteResult
from cpuctl.cgroups.group_files import GroupFiles

V1 = Path("/sys/fs/cgroup/cpuset")


def applier(root: Path, *, log: list[LogEntry] | None = None, stop_after: int | None = None) -> Applier:
    seen: list[LogEntry] = [] if log is None else log
    return Applier(
        files=GroupFiles(root, time.sleep),
        log=seen.append,
        interrupted=lambda: stop_after is not None and len(seen) >= stop_after,
    )


def groups(root: Path, **values: str) -> None:
    for name, value in values.items():
        (root / name).mkdir()
        (root / name / "cpuset.cpus").write_text(f"{value}\n")


def values(root: Path) -> dict[str, str]:
    return {path.parent.name: path.read_text().strip() for path in sorted(root.glob("*/cpuset.cpus"))}


def change(group: str, before: str, after: str) -> ValueChange:
    return ValueChange(f"/{group}", "cpuset.cpus", before, after)


def steps(applied: Applied) -> list[str]:
    return [f"{entry.step} {entry.change.group}" for entry in applied.entries]


def test_all_changes_are_made_and_reported(tmp_path: Path) -> None:
    groups(tmp_path, a="0-3", b="4-7")
    log: list[LogEntry] = []
    applied = applier(tmp_path, log=log).apply([change("a", "0-3", "0-1"), change("b", "4-7", "2-7")])
    assert values(tmp_path) == {"a": "0-1", "b": "2-7"}
    assert steps(applied) == ["written /a", "written /b"]
    assert [entry.step for entry in log] == [WriteResult.WRITING, WriteResult.WRITTEN] * 2
    assert tuple(log[1::2]) == applied.entries
    assert applied.failure is None


@pytest.mark.parametrize("broken", ["a", "b", "c"])
def test_any_failed_write_restores_the_previous_state(tmp_path: Path, broken: str) -> None:
    groups(tmp_path, a="0", b="1", c="2")
    wanted = [change(name, str(index), "3") for index, name in enumerate("abc")]
    file = tmp_path / broken / "cpuset.cpus"
    text = file.read_text()
    # A file that can be read but not written, even by root: its effective twin disagrees.
    (tmp_path / broken / "cpuset.cpus.effective").write_text("7\n")
    applied = applier(tmp_path).apply(wanted)
    assert applied.failure is not None
    assert applied.failure.change.group == f"/{broken}"
    assert "7 is in effect" in applied.failure.problem
    assert values(tmp_path) == {"a": "0", "b": "1", "c": "2"}
    assert file.read_text() == text


def test_a_value_changed_by_another_process_is_not_overwritten(tmp_path: Path) -> None:
    groups(tmp_path, a="0-3", b="5")
    applied = applier(tmp_path).apply([change("a", "0-3", "0"), change("b", "4", "6")])
    assert steps(applied) == ["written /a", "failed /b", "restored /a"]
    assert values(tmp_path) == {"a": "0-3", "b": "5"}


def test_a_group_that_is_gone_is_skipped(tmp_path: Path) -> None:
    groups(tmp_path, b="4")
    applied = applier(tmp_path).apply([change("a", "0-3", "0"), change("b", "4", "6")])
    assert steps(applied) == ["gone /a", "written /b"]


def test_a_group_that_has_lost_its_file_is_not_gone(tmp_path: Path) -> None:
    """On v2 the controller was disabled: the container still runs, and may run everywhere."""
    groups(tmp_path, b="4")
    (tmp_path / "a").mkdir()
    applied = applier(tmp_path).apply([change("b", "4", "6"), change("a", "0-3", "0")])
    assert steps(applied) == ["written /b", "failed /a", "restored /b"]
    assert applied.failure is not None
    assert "its controller is disabled" in applied.failure.problem


class _Rival(GroupFiles):
    """Writes another value right after our first one."""

    def write(self, group: str, name: str, text: str) -> None:
        super().write(group, name, text)
        if text == "0":
            super().write(group, name, "7")


def test_a_concurrent_writer_right_after_us_keeps_its_value(tmp_path: Path) -> None:
    groups(tmp_path, a="0-3")
    rival = Applier(files=_Rival(tmp_path, time.sleep), log=lambda _: None, interrupted=bool)
    applied = rival.apply([change("a", "0-3", "0")])
    assert steps(applied) == ["failed /a", "not restored /a"]
    assert values(tmp_path) == {"a": "7"}


def test_an_interrupt_undoes_what_was_done(tmp_path: Path) -> None:
    groups(tmp_path, a="0", b="1")
    applied = applier(tmp_path, stop_after=1).apply([change("a", "0", "3"), change("b", "1", "3")])
    assert steps(applied) == ["written /a", "failed /b", "restored /a"]
    assert values(tmp_path) == {"a": "0", "b": "1"}


@pytest.mark.parametrize("group", ["/../etc", "/a/../../b"])
def test_no_path_leads_out_of_the_hierarchy(tmp_path: Path, group: str) -> None:
    with pytest.raises(ValueError, match="not a cgroup below"):
        GroupFiles(tmp_path, time.sleep).write(group, "cpuset.cpus", "0")


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    groups(tmp_path, a="0")
    other = tmp_path / "elsewhere"
    other.write_text("9\n")
    (tmp_path / "a" / "cpuset.cpus").unlink()
    (tmp_path / "a" / "cpuset.cpus").symlink_to(other)
    applied = applier(tmp_path).apply([change("a", "9", "1")])
    assert applied.failure is not None
    assert other.read_text() == "9\n"


def _writable() -> bool:
    return os.access(V1, os.W_OK) and (V1 / "cpuset.cpus").exists() and (os.cpu_count() or 1) > 1


real_kernel = pytest.mark.skipif(
    not _writable(), reason="this machine has no cgroup v1 cpuset that can be written: nothing real is tested"
)


@pytest.fixture
def kernel_groups() -> Iterator[Path]:
    """Create our own cgroups below the real hierarchy, with a process in one of them."""
    root = V1 / f"cpuctl-test-{os.getpid()}"
    made = [root, root / "a", root / "b"]
    for group in made:
        group.mkdir()
        (group / "cpuset.mems").write_text((V1 / "cpuset.mems").read_text())
        (group / "cpuset.cpus").write_text("0-1")
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (root / "a" / "tasks").write_text(str(sleeper.pid))
    yield root
    sleeper.kill()
    sleeper.wait()
    for group in reversed(made):
        group.rmdir()


@real_kernel
def test_a_real_kernel_accepts_the_changes(kernel_groups: Path) -> None:
    wanted = [change("a", "0-1", "1"), change("b", "0-1", "0")]
    assert steps(applier(kernel_groups).apply(wanted)) == ["written /a", "written /b"]
    assert values(kernel_groups) == {"a": "1", "b": "0"}


@real_kernel
def test_changes_that_a_real_kernel_rejects_are_undone(kernel_groups: Path) -> None:
    """A cgroup with a task cannot be emptied, and none can have CPUs that its parent does not have."""
    for refused, error in (("", "No space left"), ("0-9", "")):
        applied = applier(kernel_groups).apply([change("b", "0-1", "0"), change("a", "0-1", refused)])
        assert applied.failure is not None
        assert error in applied.failure.problem
        assert values(kernel_groups) == {"a": "0-1", "b": "0-1"}
        assert all(entry.step is not WriteResult.NOT_RESTORED for entry in applied.entries)
