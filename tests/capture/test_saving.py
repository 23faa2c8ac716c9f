from __future__ import annotations

import errno
import multiprocessing
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from cpuctl import atomic_file
from cpuctl.capture import saving
from cpuctl.capture.saving import check_target, save
from cpuctl.errors import NodeAccessError, UsageError


def writing(data: bytes) -> Callable[[IO[bytes]], None]:
    def write(file: IO[bytes]) -> None:
        file.write(data)

    return write


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_private(tmp_path: Path) -> None:
    path = tmp_path / "node.tar"
    save(path, writing(b"new"), replace=False)
    assert (path.read_bytes(), mode(path)) == (b"new", 0o600)
    assert list(tmp_path.iterdir()) == [path]


def test_a_replaced_file_keeps_its_mode_and_owner(tmp_path: Path) -> None:
    path = tmp_path / "node.tar"
    path.write_bytes(b"old")
    path.chmod(0o640)
    if os.getuid() == 0:
        os.chown(path, 65534, 65534)
    before = path.stat()
    save(path, writing(b"new"), replace=True)
    after = path.stat()
    assert path.read_bytes() == b"new"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError, ValueError])
@pytest.mark.parametrize("replace", [False, True])
def test_a_failure_leaves_everything_as_it_was(
    failure: type[BaseException], replace: bool, tmp_path: Path
) -> None:
    path = tmp_path / "node.tar"
    if replace:
        path.write_bytes(b"old")

    def write(file: IO[bytes]) -> None:
        file.write(b"half")
        raise failure

    with pytest.raises(NodeAccessError if failure is OSError else failure):
        save(path, write, replace=replace)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == (
        {"node.tar": b"old"} if replace else {}
    )


def test_a_file_created_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "node.tar"

    def write(file: IO[bytes]) -> None:
        path.write_bytes(b"somebody else's")

    with pytest.raises(UsageError, match="already exists"):
        save(path, write, replace=False)
    assert path.read_bytes() == b"somebody else's"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("kind", ["directory", "link", "pipe"])
def test_only_regular_files_are_replaced(kind: str, replace: bool, tmp_path: Path) -> None:
    """As root, replacing /dev/null by a capture would break the node."""
    path = tmp_path / "target"
    match kind:
        case "directory":
            path.mkdir()
        case "link":
            path.symlink_to(tmp_path / "elsewhere")
        case _:
            os.mkfifo(path)
    with pytest.raises(UsageError, match="exists and is not a regular file"):
        save(path, writing(b"new"), replace=replace)


def test_an_existing_file_needs_force(tmp_path: Path) -> None:
    path = tmp_path / "node.tar"
    path.write_bytes(b"old")
    with pytest.raises(UsageError, match="already exists") as error:
        check_target(path, replace=False)
    assert "--force" in error.value.hint
    check_target(path, replace=True)


def test_a_missing_directory_is_reported_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such directory"):
        check_target(tmp_path / "missing" / "node.tar", replace=False)


def test_a_path_through_a_file_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NodeAccessError, match="cannot be written"):
        check_target(tmp_path / "file" / "node.tar", replace=False)


def test_a_name_too_long_for_its_hidden_name_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(NodeAccessError, match="cannot be written: the name is too long"):
        save(tmp_path / ("a" * 254), writing(b""), replace=False)


def test_files_cleaned_up_by_another_run_are_not_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "node.tar"
    path.write_bytes(b"old")
    # The second run finds the first one's hidden names, and takes those without a lock for a dead one's.
    first, second = (
        multiprocessing.get_context("fork").Process(target=_save_often, args=(path,)) for _ in "12"
    )
    first.start()
    second.start()
    first.join()
    second.join()
    assert (first.exitcode, second.exitcode) == (0, 0)
    assert [each.name for each in tmp_path.iterdir()] == ["node.tar"]


def test_a_file_replaced_while_it_gets_its_second_name_is_not_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "node.tar"
    path.write_bytes(b"old")
    real, calls = atomic_file.hidden_link, iter(range(100))

    def linked(path: Path, directory: int) -> Path:
        if next(calls) == 0:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return real(path, directory)

    monkeypatch.setattr(saving, "hidden_link", linked)
    save(path, writing(b"new"), replace=True)
    assert path.read_bytes() == b"new"


def _save_often(path: Path) -> None:
    for _ in range(200):
        save(path, writing(b"new"), replace=True)


def test_a_link_that_replaces_the_file_meanwhile_is_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "node.tar"
    path.symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr(saving, "check_target", lambda *_, **__: None)
    with pytest.raises(UsageError, match="exists and is not a regular file"):
        save(path, writing(b"new"), replace=True)
    assert [each.name for each in tmp_path.iterdir()] == ["node.tar"]
