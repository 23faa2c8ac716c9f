"""Reading below a root without procfs, through which descriptors are usually reopened."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cpuctl import root_directory
from cpuctl.errors import InputError
from cpuctl.root_directory import Root


@pytest.fixture(params=["below a root", "on the host"])
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Root:
    monkeypatch.setattr(root_directory, "DESCRIPTORS", str(tmp_path / "no-procfs"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "file").write_text("text")
    (tmp_path / "link").symlink_to("dir/file")
    os.mkfifo(tmp_path / "pipe")
    return Root(tmp_path) if request.param == "below a root" else Root(host=True)


@pytest.mark.parametrize("path", ["dir/file", "link", "dir/../link"])
def test_files_are_read_by_name(root: Root, path: str) -> None:
    assert root.read(path, 100) == b"text"


def test_missing_file_is_none(root: Root) -> None:
    assert root.read("dir/other", 100) is None


def test_pipe_is_refused(root: Root) -> None:
    with pytest.raises(InputError, match="expected a regular file, found a pipe"):
        root.read("pipe", 100)


def test_file_replaced_before_it_is_opened_is_refused(
    root: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replaced(self: Root, path: str) -> int:
        (tmp_path / "new").write_text("another")
        (tmp_path / "new").rename(tmp_path / path)
        return os.open(tmp_path / path, os.O_RDONLY)

    monkeypatch.setattr(Root, "_opened_by_name", replaced)
    with pytest.raises(InputError, match="is replaced while it is read"):
        root.read("dir/file", 100)
