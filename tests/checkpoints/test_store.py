"""Replacing a state file in place: what it keeps, and what it rejects."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cpuctl.checkpoints.store import read_state_file, replace_state_file
from cpuctl.errors import InputError, NodeAccessError
from cpuctl.golang import json_values

NOW = datetime(2026, 11, 21, 21, 1, 2, tzinfo=UTC)
BACKUP = "cpu_manager_state.20261121T210102Z.bak"
OLD, NEW = b'{"old"}', b'{"new"}'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "cpu_manager_state"
    file.write_bytes(OLD)
    return file


def names(path: Path) -> set[str]:
    return {each.name for each in path.parent.iterdir()}


def test_the_old_file_stays_as_a_backup(path: Path) -> None:
    backup = replace_state_file(path, OLD, NEW, now=NOW)
    assert backup == path.with_name(BACKUP)
    assert (path.read_bytes(), backup.read_bytes()) == (NEW, OLD)
    assert names(path) == {path.name, BACKUP}


def test_a_backup_is_never_overwritten(path: Path) -> None:
    first = replace_state_file(path, OLD, NEW, now=NOW)
    second = replace_state_file(path, NEW, OLD, now=NOW)
    assert second.name == BACKUP.replace(".bak", "-2.bak")
    assert [each.read_bytes() for each in (first, second, path)] == [OLD, NEW, OLD]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o604])
def test_mode_and_owner_are_kept(path: Path, mode: int) -> None:
    path.chmod(mode)
    if os.geteuid() == 0:
        os.chown(path, 1234, 4321)
    before = path.stat()
    backup = replace_state_file(path, OLD, NEW, now=NOW)
    for after in (path.stat(), backup.stat()):
        assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


def test_a_file_that_has_changed_is_left_alone(path: Path) -> None:
    path.write_bytes(b"the kubelet was here")
    with pytest.raises(NodeAccessError, match="has changed since it was read"):
        replace_state_file(path, OLD, NEW)
    assert path.read_bytes() == b"the kubelet was here"
    assert names(path) == {path.name}


def test_a_file_that_is_gone_is_not_created(path: Path) -> None:
    path.unlink()
    with pytest.raises(NodeAccessError, match="no such file"):
        replace_state_file(path, OLD, NEW)
    assert names(path) == set()


def test_a_failed_write_changes_nothing(path: Path) -> None:
    path.parent.chmod(0o500)
    try:
        if os.geteuid() == 0:
            # Root may write everywhere, but not even root can if a directory is not a directory.
            with pytest.raises(NodeAccessError, match="not a directory"):
                replace_state_file(path / "in a file", OLD, NEW)
        else:
            with pytest.raises(NodeAccessError, match="permission denied"):
                replace_state_file(path, OLD, NEW)
    finally:
        path.parent.chmod(0o700)
    assert names(path) == {path.name}
    assert path.read_bytes() == OLD


def link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def dangling_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (link, "is a symbolic link: name the file itself"),
        (dangling_link, "is a symbolic link: name the file itself"),
        (pipe, "is not a regular file"),
        (directory, "is not a regular file"),
    ],
    ids=["link", "dangling link", "pipe", "directory"],
)
def test_only_a_file_is_a_state_file(path: Path, make: Callable[[Path], None], error: str) -> None:
    make(path)
    before = names(path)
    with pytest.raises(InputError, match=error):
        read_state_file(path)
    with pytest.raises(NodeAccessError):
        replace_state_file(path, OLD, NEW)
    assert names(path) == before


def test_a_links_target_is_never_written(path: Path) -> None:
    """Even if the file became a link after it was read."""
    link(path)
    with pytest.raises(NodeAccessError, match="has changed since it was read"):
        replace_state_file(path, OLD, NEW)
    assert path.is_symlink()
    assert path.read_bytes() == OLD


def test_an_oversized_file_is_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cpuctl.checkpoints.store.MAX_CHARACTERS", 1 << 20)
    path.write_bytes(b" " * ((1 << 20) + 1))
    with pytest.raises(InputError, match=r"is larger than 1 MiB$"):
        read_state_file(path)
    assert json_values.MAX_CHARACTERS == 16 << 20


HOLD = """
import sys
from pathlib import Path
from cpuctl.checkpoints.store import _locked
with _locked(Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_two_writers_do_not_interfere(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(NodeAccessError, match="another cpuctl is writing here"):
            replace_state_file(path, OLD, NEW)
        assert names(path) == {path.name}
        other.communicate("")
    replace_state_file(path, OLD, NEW)
    assert path.read_bytes() == NEW


RACE = """
import sys
from pathlib import Path
from cpuctl.checkpoints.store import replace_state_file
from cpuctl.errors import NodeAccessError
path, mine = Path(sys.argv[1]), sys.argv[2].encode()
won = 0
for turn in range(25):
    old = path.read_bytes()
    try:
        replace_state_file(path, old, mine + b" %d" % turn)
        won += 1
    except NodeAccessError:
        pass
print(won)
"""


def test_every_write_of_writers_at_the_same_time_is_backed_up(path: Path) -> None:
    """No write is lost: each replaced exactly the content that its backup holds."""
    racing = [
        subprocess.Popen([sys.executable, "-c", RACE, str(path), name], stdout=subprocess.PIPE, text=True)
        for name in ("a", "b", "c")
    ]
    won = sum(int(each.communicate()[0]) for each in racing)
    assert all(each.returncode == 0 for each in racing)
    backups = [each.read_bytes() for each in path.parent.glob("*.bak")]
    assert won == len(backups) > 0
    assert len({*backups, path.read_bytes()}) == won + 1
