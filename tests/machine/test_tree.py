from __future__ import annotations

import os
from pathlib import Path
from threading import Thread

import pytest

from cpuctl.errors import InputError, NodeAccessError
from cpuctl.machine import tree as tree_module
from cpuctl.machine.tree import DirectoryTree, MemoryTree


def write(root: Path, path: str, text: str) -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_directory_gives_texts_and_sorted_names(tmp_path: Path) -> None:
    write(tmp_path, "sys/b", "two\n")
    write(tmp_path, "sys/a", "one\n")
    tree = DirectoryTree(tmp_path)
    assert tree.read("sys/a") == "one\n"
    assert list(tree.names("sys")) == ["a", "b"]


def test_what_is_not_there_is_an_answer(tmp_path: Path) -> None:
    write(tmp_path, "file", "text")
    tree = DirectoryTree(tmp_path)
    assert tree.read("nothing") is None
    assert tree.read("nothing/below") is None
    assert tree.read("file/below") is None
    assert list(tree.names("nothing")) == []
    assert list(tree.names("file")) == []


def test_texts_longer_than_a_page_are_read_whole(tmp_path: Path) -> None:
    text = ",".join(map(str, range(0, 20_000, 2)))
    write(tmp_path, "cpulist", text)
    assert DirectoryTree(tmp_path).read("cpulist") == text


def test_links_inside_the_root_are_followed_and_listed(tmp_path: Path) -> None:
    write(tmp_path, "cpu/cpu0/topology/core_id", "7\n")
    (tmp_path / "node").mkdir()
    (tmp_path / "node/cpu0").symlink_to("../cpu/cpu0")
    tree = DirectoryTree(tmp_path)
    assert list(tree.names("node")) == ["cpu0"]
    assert tree.read("node/cpu0/topology/core_id") == "7\n"


def test_links_never_lead_out_of_a_recording(tmp_path: Path) -> None:
    write(tmp_path, "secret/text", "secret")
    root = tmp_path / "recording"
    root.mkdir()
    (root / "absolute").symlink_to(tmp_path / "secret")
    (root / "relative").symlink_to("../secret")
    (root / "file").symlink_to("../secret/text")
    tree = DirectoryTree(root)
    assert tree.read("absolute/text") is None
    assert tree.read("relative/text") is None
    assert tree.read("file") is None
    assert list(tree.names("absolute")) == []
    assert list(tree.names("..")) == []
    assert tree.read("../secret/text") is None


def test_a_root_whose_name_begins_alike_is_outside(tmp_path: Path) -> None:
    write(tmp_path, "rec-other/text", "secret")
    (tmp_path / "rec").mkdir()
    (tmp_path / "rec/link").symlink_to("../rec-other")
    assert DirectoryTree(tmp_path / "rec").read("link/text") is None


def test_pipes_and_directories_have_no_text(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    tree = DirectoryTree(tmp_path)
    assert tree.read("pipe") is None
    assert tree.read("directory") is None


def test_what_is_no_regular_file_is_not_even_opened(tmp_path: Path) -> None:
    """Opening a device can change the node (a watchdog starts to count); a pipe's writer notices it too."""
    os.mkfifo(tmp_path / "pipe")
    writer = Thread(target=(tmp_path / "pipe").write_bytes, args=(b"",))
    writer.start()
    writer.join(0.1)
    text = DirectoryTree(tmp_path).read("pipe")
    writer.join(0.2)
    undisturbed = writer.is_alive()
    os.close(os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK))
    writer.join()
    assert text is None
    assert undisturbed


def test_an_endless_chain_of_links_ends(tmp_path: Path) -> None:
    """The kernel gives up after 40, Python before release 3.13 after its own recursion limit."""
    write(tmp_path, "link0/file", "text")
    for number in range(1, 3000):
        (tmp_path / f"link{number}").symlink_to(f"link{number - 1}")
    tree = DirectoryTree(tmp_path)
    assert tree.read("link2999/file") in (None, "text")
    assert list(tree.names("link2999")) in ([], ["file"])


def test_links_in_a_circle_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    tree = DirectoryTree(tmp_path)
    assert tree.read("one") is None
    assert tree.read("one/file") is None


def test_too_large_a_file_is_refused_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_module, "MAX_FILE_BYTES", 10)
    write(tmp_path, "sys/large", "x" * 11)
    write(tmp_path, "sys/small", "x" * 10)
    tree = DirectoryTree(tmp_path)
    assert tree.read("sys/small") == "x" * 10
    with pytest.raises(InputError, match=r"^sys/large: is larger than"):
        tree.read("sys/large")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, "sys/closed", "x").chmod(0)
    with pytest.raises(NodeAccessError, match=r"^sys/closed: cannot be read: permission denied"):
        DirectoryTree(tmp_path).read("sys/closed")


def test_bytes_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(b"0-\xff")
    assert DirectoryTree(tmp_path).read("odd") == "0-\N{REPLACEMENT CHARACTER}"


def test_memory_lists_every_directory_on_the_way() -> None:
    tree = MemoryTree({"sys/a/b": "1", "sys/a/c": None, "sys/d": "2"})
    assert list(tree.names("sys")) == ["a", "d"]
    assert list(tree.names("sys/a")) == ["b", "c"]
    assert tree.read("sys/a/b") == "1"
    assert tree.read("sys/a/c") is None
    assert tree.read("sys/a") is None


def test_memory_tells_names_apart_that_begin_alike() -> None:
    """Other characters sort before and behind the slash."""
    tree = MemoryTree(
        dict.fromkeys(["s/a", "s/a-b", "s/a/x", "s/a/y/z", "s/a0", "s/b/x", "s/b-", "s.", "t"], "")
    )
    assert list(tree.names("s")) == ["a", "a-b", "a0", "b", "b-"]
    assert list(tree.names("s/a")) == ["x", "y"]
    assert list(tree.names("")) == ["s", "s.", "t"]
    assert list(tree.names("s/a-b")) == []
    assert list(tree.names("u")) == []
