from __future__ import annotations

import os
import socket
import stat
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

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


def test_a_missing_path_is_not_an_error(tmp_path: Path) -> None:
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
    """An absolute link begins at the recording's root; paths that leave it are rejected and named."""
    write(tmp_path, "secret/text", "secret")
    root = tmp_path / "recording"
    root.mkdir()
    (root / "absolute").symlink_to(tmp_path / "secret")
    (root / "relative").symlink_to("../secret")
    (root / "file").symlink_to("../secret/text")
    tree = DirectoryTree(root)
    assert tree.read("absolute/text") is None
    assert list(tree.names("absolute")) == []
    for path, link in (
        ("relative/text", r"/relative: is a link to \.\./secret"),
        ("file", r"/file: is a link to \.\./secret/text"),
    ):
        with pytest.raises(InputError, match=f"^{link}, which points outside the root$"):
            tree.read(path)
    with pytest.raises(
        InputError, match=r"^/relative: is a link to \.\./secret, which points outside the root$"
    ):
        tree.names("relative")
    for path in ("../secret/text", "../secret"):
        with pytest.raises(InputError, match="points outside the root"):
            tree.read(path)


def test_absolute_links_begin_at_the_root(tmp_path: Path) -> None:
    """As on a node whose kubelet has its own disk: /var/lib/kubelet links to /data/kubelet."""
    write(tmp_path, "data/kubelet/config.yaml", "here")
    write(tmp_path, "data/other", "other")
    (tmp_path / "var/lib").mkdir(parents=True)
    (tmp_path / "var/lib/kubelet").symlink_to("/data/kubelet")
    (tmp_path / "data/kubelet/linked").symlink_to("/var/lib/kubelet/../other")
    (tmp_path / "data/kubelet/again").symlink_to("linked")
    tree = DirectoryTree(tmp_path)
    assert tree.read("var/lib/kubelet/config.yaml") == "here"
    assert tree.read("var/lib/kubelet/again") == "other"
    assert list(tree.names("var/lib/kubelet")) == ["again", "config.yaml", "linked"]
    assert tree.followed("var/lib/kubelet/again") == "data/other"
    assert tree.followed("var/lib/nothing") == "var/lib/nothing"
    (tmp_path / "gone").symlink_to("/data/nothing")
    assert tree.followed("gone") is None


def test_a_link_to_nothing_is_named(tmp_path: Path) -> None:
    write(tmp_path, "data/there/x", "")
    for name, target in (("gone", "/data/kubelet"), ("chain", "gone"), ("there", "/data/there")):
        (tmp_path / name).symlink_to(target)
    tree = DirectoryTree(tmp_path)
    assert tree.read("gone/config.yaml") is None
    assert tree.in_the_way("gone/config.yaml") == "/gone is a link to /data/kubelet, which does not exist"
    assert tree.in_the_way("chain") == "/gone is a link to /data/kubelet, which does not exist"
    assert tree.in_the_way("there/nothing") == ""
    assert tree.in_the_way("nothing") == ""
    assert tree.in_the_way("data/there/x") == ""
    assert tree.in_the_way("there") == "expected a regular file, found a directory"


def test_a_directory_replaced_by_a_link_meanwhile_is_not_followed(tmp_path: Path) -> None:
    """Each step uses the descriptor of the directory before it, and none follows a link."""
    write(tmp_path, "secret/below/text", "secret")
    root = tmp_path / "root"
    write(root, "d/below/text", "mine")
    tree = DirectoryTree(root)
    assert tree.read("d/below/text") == "mine"
    (root / "d").rename(root / "away")
    (root / "d").symlink_to(tmp_path / "secret")
    assert tree.read("d/below/text") in ("mine", None)
    assert DirectoryTree(root).read("d/below/text") is None


def test_constantly_swapped_links_never_lead_out(tmp_path: Path) -> None:
    secret, root = tmp_path / "secret", tmp_path / "root"
    write(secret, "text", "secret")
    write(root, "d/text", "mine")
    write(root, "other/text", "mine")
    done = Event()

    def swap() -> None:
        while not done.is_set():
            (root / "d").rename(root / "kept")
            (root / "d").symlink_to(secret)
            (root / "d").unlink()
            (root / "d").symlink_to("../secret")
            (root / "d").unlink()
            (root / "kept").rename(root / "d")

    thread = Thread(target=swap)
    thread.start()
    found = set()
    try:
        for _ in range(3000):
            with suppress(InputError):
                found.add(DirectoryTree(root).read("d/text"))
    finally:
        done.set()
        thread.join()
    assert found <= {"mine", None}
    assert DirectoryTree(root).read("d/text") == "mine"


def test_a_root_with_the_same_prefix_is_outside(tmp_path: Path) -> None:
    write(tmp_path, "rec-other/text", "secret")
    (tmp_path / "rec").mkdir()
    (tmp_path / "rec/link").symlink_to("../rec-other")
    with pytest.raises(
        InputError, match=r"^/link: is a link to \.\./rec-other, which points outside the root$"
    ):
        DirectoryTree(tmp_path / "rec").read("link/text")


def socket_at(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


def device_at(path: Path) -> None:
    os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))


@pytest.mark.parametrize(
    ("make", "kind"),
    [(os.mkfifo, "a pipe"), (socket_at, "a socket"), (device_at, "a device")],
    ids=["pipe", "socket", "device"],
)
@pytest.mark.parametrize("name", ["odd", "link"])
def test_a_file_that_is_not_regular_is_rejected(
    make: Callable[[Path], object], kind: str, name: str, tmp_path: Path
) -> None:
    if make is device_at and os.geteuid() != 0:
        pytest.skip("only root makes devices")
    make(tmp_path / "odd")
    (tmp_path / "link").symlink_to("/odd")
    with pytest.raises(InputError, match=f"^/{name}: expected a regular file, found {kind}$"):
        DirectoryTree(tmp_path).read(name)
    assert list(DirectoryTree(tmp_path).names(name)) == []


def test_a_directory_has_no_text(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    assert DirectoryTree(tmp_path).read("directory") is None


def test_a_file_that_is_not_regular_is_not_even_opened(tmp_path: Path) -> None:
    """Opening a device can change the node (a watchdog starts counting); a pipe's writer notices it too."""
    os.mkfifo(tmp_path / "pipe")
    writer = Thread(target=(tmp_path / "pipe").write_bytes, args=(b"",))
    writer.start()
    writer.join(0.1)
    with suppress(InputError):
        DirectoryTree(tmp_path).read("pipe")
    DirectoryTree(tmp_path).names("pipe")
    writer.join(0.2)
    undisturbed = writer.is_alive()
    os.close(os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK))
    writer.join()
    assert undisturbed


def test_an_endless_chain_of_links_ends(tmp_path: Path) -> None:
    """The kernel gives up after 40."""
    write(tmp_path, "link0/file", "text")
    for number in range(1, 3000):
        (tmp_path / f"link{number}").symlink_to(f"link{number - 1}")
    tree = DirectoryTree(tmp_path)
    assert tree.read("link40/file") == "text"
    for ask in (tree.read, tree.names):
        with pytest.raises(InputError, match="its symbolic links form a loop, or there are too many"):
            ask("link41/file")


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    tree = DirectoryTree(tmp_path)
    for path in ("one", "one/file"):
        with pytest.raises(
            InputError, match=r"^/one: its symbolic links form a loop, or there are too many$"
        ):
            tree.read(path)


def test_a_path_deeper_than_any_is_read(tmp_path: Path) -> None:
    path = "/".join(["d"] * 1500)
    tree = DirectoryTree(tmp_path)
    assert tree.read(f"{path}/file") is None
    at = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)
    assert tree.read(f"{path}/file") == ""
    subprocess.run(["rm", "-r", str(tmp_path / "d")], check=True)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_reading_leaves_nothing_open(tmp_path: Path) -> None:
    for number in range(200):
        write(tmp_path, f"d{number}/text", "x")
    before = open_files()
    tree = DirectoryTree(tmp_path)
    for number in range(200):
        tree.read(f"d{number}/text")
    assert open_files() < before + 60
    del tree
    assert open_files() == before


def test_too_large_a_file_is_rejected_with_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_module, "MAX_FILE_BYTES", 10)
    write(tmp_path, "sys/large", "x" * 11)
    write(tmp_path, "sys/small", "x" * 10)
    tree = DirectoryTree(tmp_path)
    assert tree.read("sys/small") == "x" * 10
    with pytest.raises(InputError, match=r"^sys/large: is larger than"):
        tree.read("sys/large")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, "sys/closed", "x").chmod(0)
    with pytest.raises(NodeAccessError, match=r"^sys/closed: cannot be read: permission denied"):
        DirectoryTree(tmp_path).read("sys/closed")


def test_bytes_that_are_not_text_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(b"0-\xff")
    assert DirectoryTree(tmp_path).read("odd") == "0-\N{REPLACEMENT CHARACTER}"


def test_memory_lists_every_directory_on_the_way() -> None:
    tree = MemoryTree({"sys/a/b": "1", "sys/a/c": None, "sys/d": "2"})
    assert list(tree.names("sys")) == ["a", "d"]
    assert list(tree.names("sys/a")) == ["b", "c"]
    assert tree.read("sys/a/b") == "1"
    assert tree.read("sys/a/c") is None
    assert tree.read("sys/a") is None


def test_memory_distinguishes_names_with_the_same_prefix() -> None:
    """Other characters sort before and after the slash."""
    tree = MemoryTree(
        dict.fromkeys(["s/a", "s/a-b", "s/a/x", "s/a/y/z", "s/a0", "s/b/x", "s/b-", "s.", "t"], "")
    )
    assert list(tree.names("s")) == ["a", "a-b", "a0", "b", "b-"]
    assert list(tree.names("s/a")) == ["x", "y"]
    assert list(tree.names("")) == ["s", "s.", "t"]
    assert list(tree.names("s/a-b")) == []
    assert list(tree.names("u")) == []


@pytest.mark.parametrize("path", ["etc/a\0b", "\0/x", "etc/\ud800"])
def test_an_impossible_file_name_is_absent(path: str, tmp_path: Path) -> None:
    for root in (tmp_path, Path("/")):
        tree = DirectoryTree(root)
        assert tree.read(path) is None
        assert tree.names(path) == []
        assert tree.followed(path) == path
        assert tree.in_the_way(path) == ""
