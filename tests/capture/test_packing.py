from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from cpuctl.capture.collected import Content, Link
from cpuctl.capture.manifest import make_capture
from cpuctl.capture.packing import Compression, compression_of, write_members
from cpuctl.machine.archive import read_archive
from tests.capture.node_texts import node_texts, recorded

LONG = "sys/fs/cgroup/" + "kubepods-burstable/" * 20 + "cpuset.cpus"
MEMBERS: Mapping[str, Content] = {
    "sys/a": "0-3\n",
    "sys/empty": "",
    "sys/cpu0": None,
    "sys/node0/cpu0": Link("../../cpu/cpu0"),
    LONG: "1\n",
    "sys/Füße": "grün\n",
}


def packed(members: Mapping[str, Content], compression: Compression = Compression.NONE) -> bytes:
    file = io.BytesIO()
    write_members(members.items(), file, compression)
    return file.getvalue()


@pytest.mark.parametrize("compression", Compression)
def test_our_reader_gets_back_what_was_written(compression: Compression, tmp_path: Path) -> None:
    path = tmp_path / f"node{compression}"
    path.write_bytes(packed(MEMBERS, compression))
    tree = read_archive(path)
    assert {name: tree.read(name) for name in MEMBERS} == {
        name: content if isinstance(content, str) else None for name, content in MEMBERS.items()
    }
    assert {"a", "cpu0", "empty", "fs", "node0", "Füße"} == set(tree.names("sys"))


def test_tar_gets_it_too() -> None:
    with tarfile.open(fileobj=io.BytesIO(packed(MEMBERS))) as tar:
        members = tar.getmembers()
        assert [member.name for member in members] == list(MEMBERS)
        kinds = {member.name: (member.isdir(), member.linkname, member.mode) for member in members}
        assert kinds["sys/a"] == (False, "", 0o644)
        assert kinds["sys/cpu0"] == (True, "", 0o755)
        assert kinds["sys/node0/cpu0"] == (False, "../../cpu/cpu0", 0o777)
        assert {(m.mtime, m.uid, m.gid, m.uname, m.gname) for m in members} == {(0, 0, 0, "", "")}


@pytest.mark.parametrize("compression", Compression)
def test_the_same_node_gives_the_same_bytes(compression: Compression) -> None:
    texts = node_texts()
    backwards = dict(reversed(texts.items()))
    first, second = (
        packed(dict(make_capture(recorded(files), cpuctl="1").members), compression)
        for files in (texts, backwards)
    )
    assert first == second


@pytest.mark.parametrize(
    ("name", "want"), [("a.tar", ".tar"), ("a.tar.gz", ".tar.gz"), ("d/a.b.tar.xz", ".tar.xz")]
)
def test_the_name_tells_the_compression(name: str, want: str) -> None:
    assert compression_of(name) == want


@pytest.mark.parametrize("name", ["a", "a.zip", "a.tar.zst", "a.tgz", "tar", "a.tar/"])
def test_other_names_tell_none(name: str) -> None:
    with pytest.raises(ValueError, match=r"expected an end of \.tar, \.tar\.gz, \.tar\.xz"):
        compression_of(name)
