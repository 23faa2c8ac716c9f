"""Replacing a state file in place: errors if it is impossible, and nothing is left behind."""

from __future__ import annotations

import errno
import os
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cpuctl.atomic_file import sync_directory
from cpuctl.checkpoints import store
from cpuctl.checkpoints.store import read_state_file, replace_state_file
from cpuctl.errors import InputError, NodeAccessError

NOW = datetime(2026, 11, 21, 21, 1, 2, tzinfo=UTC)
OLD, NEW = b'{"old"}', b'{"new"}'
RESTART = "stop the kubelet, then start again"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "cpu_manager_state"
    file.write_bytes(OLD)
    return file


def left(path: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in path.parent.iterdir()}


def meanwhile(act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Act when the backup's name is about to be created."""
    acted: list[object] = []

    def sync_and_act(directory: Path) -> None:
        sync_directory(directory)
        if not acted:
            acted.append(act())

    monkeypatch.setattr(store, "sync_directory", sync_and_act)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda path: path.symlink_to("elsewhere"), "is a symbolic link: name the file itself"),
        (lambda path: path.mkdir(), "is not a regular file"),
        (Path.exists, "cannot be read: no such file or directory"),
    ],
    ids=["link", "directory", "nothing"],
)
def test_unreadable_files_are_named(path: Path, make: Callable[[Path], object], error: str) -> None:
    path.unlink()
    make(path)
    with pytest.raises(InputError) as raised:
        read_state_file(path)
    assert str(raised.value) == f"{path}: {error}"


def test_reading_leaves_no_file_open(path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert read_state_file(path) == OLD
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_the_largest_file_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_CHARACTERS", 1 << 20)
    path.write_bytes(b" " * (1 << 20))
    assert len(read_state_file(path)) == 1 << 20
    path.write_bytes(b" " * ((1 << 20) + 1))
    with pytest.raises(InputError) as raised:
        read_state_file(path)
    assert str(raised.value) == f"{path}: is larger than 1 MiB"


def test_a_changed_file_is_named(path: Path) -> None:
    with pytest.raises(NodeAccessError) as raised:
        replace_state_file(path, b"something else", NEW)
    assert str(raised.value) == f"{path}: has changed since it was read"
    assert raised.value.hint == RESTART
    assert left(path) == {path.name: OLD}


def test_another_writer_is_reported(path: Path) -> None:
    with store._locked(path), pytest.raises(NodeAccessError) as raised:
        replace_state_file(path, OLD, NEW)
    assert str(raised.value) == f"{path.parent}: another cpuctl is writing here"
    assert raised.value.hint == "try again"


def test_a_directory_that_is_a_pipe_is_not_waited_for(path: Path) -> None:
    pipe = path.with_name("pipe")
    os.mkfifo(pipe)
    with pytest.raises(NodeAccessError) as raised:
        replace_state_file(pipe / path.name, OLD, NEW)
    assert (
        str(raised.value) == f"{pipe / path.name}: cannot be written: a part of the path is not a directory"
    )


def test_the_number_of_backups_per_second_is_limited(path: Path) -> None:
    stem = f"{path.name}.20261121T210102Z"
    for name in (f"{stem}.bak", *(f"{stem}-{number}.bak" for number in range(2, 1000))):
        path.with_name(name).touch()
    with pytest.raises(NodeAccessError) as raised:
        replace_state_file(path, OLD, NEW, now=NOW)
    assert str(raised.value) == f"{path}: too many backups: 1000 within the same second"
    path.with_name(f"{stem}-999.bak").unlink()
    assert replace_state_file(path, OLD, NEW, now=NOW).name == f"{stem}-999.bak"


def test_a_backup_is_named_by_utc_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC+7")
    time.tzset()
    try:
        backup = replace_state_file(path, OLD, NEW)
    finally:
        monkeypatch.undo()
        time.tzset()
    named = datetime.strptime(backup.name.split(".")[1], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    assert abs(datetime.now(UTC) - named) < timedelta(hours=1)


@contextmanager
def small_files() -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_file_that_does_not_fit_leaves_nothing_behind(path: Path) -> None:
    with small_files(), pytest.raises(NodeAccessError) as raised:
        replace_state_file(path, OLD, NEW * 1000)
    assert str(raised.value) == f"{path}: cannot be written: file too large (ulimit -f)"
    assert left(path) == {path.name: OLD}


def test_a_file_that_is_replaced_meanwhile_is_left_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def replace() -> None:
        alongside = path.with_name("beside")
        alongside.write_bytes(OLD)
        alongside.rename(path)

    meanwhile(replace, monkeypatch)
    with pytest.raises(NodeAccessError) as raised:
        replace_state_file(path, OLD, NEW)
    assert str(raised.value) == f"{path}: has changed since it was read"
    assert left(path) == {path.name: OLD}


def test_a_file_that_is_removed_meanwhile_is_not_created(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meanwhile(path.unlink, monkeypatch)
    with pytest.raises(NodeAccessError) as raised:
        replace_state_file(path, OLD, NEW)
    assert str(raised.value) == f"{path}: has changed since it was read"
    assert left(path) == {}


def test_a_disk_that_fails_in_the_end_is_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is in place by then."""

    def fail(directory: Path) -> None:
        if path.read_bytes() == NEW:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(directory))

    monkeypatch.setattr(store, "sync_directory", fail)
    with pytest.raises(NodeAccessError) as raised:
        replace_state_file(path, OLD, NEW)
    stated = "is written, but may be lost in a power failure: input/output error"
    assert str(raised.value) == f"{path}: {stated}"
    assert sorted(left(path).values()) == [NEW, OLD]
    assert path.read_bytes() == NEW
