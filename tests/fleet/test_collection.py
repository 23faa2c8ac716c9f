"""Which recordings make a fleet."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import pytest

from cpuctl.errors import InputError, UsageError
from cpuctl.fleet.collection import collect
from tests.machine.support.archives import must_gather_files, snapshot, write_tree

ROOT = Path(__file__).parents[2]
RECORDING = ROOT / "fixtures/machines/2s-2numa-32cpu.tar.xz"
XML = ROOT / "fixtures/machines/2s-2numa-32cpu.hwloc2.xml"


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Make a directory with recordings, one of them deeper, and other files."""
    (tmp_path / "rack2").mkdir()
    shutil.copy(RECORDING, tmp_path / "node1.tar.xz")
    shutil.copy(RECORDING, tmp_path / "rack2" / "node2.tar.xz")
    shutil.copy(XML, tmp_path / "node3.xml")
    (tmp_path / "README.md").write_text("Recordings of rack 1\n")
    (tmp_path / "pods.json").write_text('{"kind": "PodList", "apiVersion": "v1", "items": []}')
    (tmp_path / ".hidden.tar").write_bytes(b"\x1f\x8b")
    return tmp_path


def test_a_directory_holds_recordings_at_any_depth(fleet: Path) -> None:
    found = collect([str(fleet)])
    assert [each.name for each in found.recordings] == ["node1", "node3", "node2"]
    assert sorted(Path(each).name for each in found.passed_over) == ["README.md", "pods.json"]


def test_an_unpacked_recording_is_one_node(tmp_path: Path) -> None:
    (tmp_path / "node7" / "sys" / "devices").mkdir(parents=True)
    (tmp_path / "node7" / "other.tar.gz").write_bytes(b"\x1f\x8b")
    assert [each.name for each in collect([str(tmp_path)]).recordings] == ["node7"]


def test_each_unpacked_must_gather_is_a_source(tmp_path: Path) -> None:
    for name in ("monday", "tuesday"):
        write_tree(must_gather_files({"worker-1": snapshot()}), tmp_path / name)
    expected = [str(tmp_path / "monday"), str(tmp_path / "tuesday")]
    assert [each.source for each in collect([str(tmp_path)]).recordings] == expected


def test_a_pattern_names_its_matches(fleet: Path) -> None:
    assert [each.name for each in collect([f"{fleet}/**/*.tar.xz"]).recordings] == ["node1", "node2"]
    with pytest.raises(InputError, match="no file matches this pattern"):
        collect([f"{fleet}/*.zip"])


def test_a_list_has_one_name_per_line(fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"# rack 1\n{fleet}/node1.tar.xz\n\nsynthetic:1s1n4c1t\n"
    (tmp_path / "list").write_text(text)
    expected = ["node1", "synthetic:1s1n4c1t"]
    assert [each.name for each in collect([f"@{tmp_path}/list"]).recordings] == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert [each.name for each in collect(["-"]).recordings] == expected
    with pytest.raises(InputError, match="no such file"):
        collect([f"@{tmp_path}/none"])


def test_files_with_the_same_name_are_distinguished_by_their_paths(fleet: Path) -> None:
    shutil.copy(fleet / "node1.tar.xz", fleet / "rack2" / "node1.tar.gz")
    names = [each.name for each in collect([str(fleet)]).recordings]
    assert names == [f"{fleet}/node1.tar.xz", "node3", f"{fleet}/rack2/node1.tar.gz", "node2"]


def test_a_directory_per_node_names_the_node(tmp_path: Path) -> None:
    for node in ("worker-1", "worker-2"):
        (tmp_path / node).mkdir()
        shutil.copy(RECORDING, tmp_path / node / "capture.tar.xz")
    assert [each.name for each in collect([str(tmp_path)]).recordings] == ["worker-1", "worker-2"]


def test_a_nul_separated_list_may_contain_any_name(tmp_path: Path) -> None:
    odd = tmp_path / "a\n#b.tar.xz"
    shutil.copy(RECORDING, odd)
    (tmp_path / "list").write_text(f"{odd}\0synthetic:1s1n4c1t\0")
    names = [each.name for each in collect([f"@{tmp_path}/list"]).recordings]
    assert names == ["a\n#b", "synthetic:1s1n4c1t"]


def test_a_recording_named_twice_is_one_node(fleet: Path) -> None:
    name = f"{fleet}/node1.tar.xz"
    assert [each.source for each in collect([name, str(fleet), name]).recordings].count(name) == 1


def test_an_explicitly_named_file_always_belongs_to_the_fleet(fleet: Path) -> None:
    assert [each.name for each in collect([f"{fleet}/README.md", f"{fleet}/gone"]).recordings] == [
        "README.md",
        "gone",
    ]


def test_equal_files_have_equal_digests(fleet: Path) -> None:
    one, xml, two = collect([str(fleet)]).recordings
    assert one.digest == two.digest != xml.digest
    assert collect(["synthetic:1s1n4c1t"]).recordings[0].digest == ""


def test_an_empty_fleet_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no recordings were found"):
        collect([str(tmp_path)])
    with pytest.raises(UsageError, match="no recordings specified"):
        collect([])


def test_a_file_named_like_an_archive_belongs_to_the_fleet(fleet: Path) -> None:
    """A failed copy is a missing node, not a file to skip."""
    (fleet / "node4.tar.gz").write_bytes(b"")
    found = collect([str(fleet)])
    assert [each.name for each in found.recordings] == ["node1", "node3", "node4", "node2"]
    assert [Path(name).name for name in found.passed_over] == ["README.md", "pods.json"]


def test_a_dangling_link_to_an_archive_belongs_to_the_fleet(tmp_path: Path) -> None:
    """An incomplete collection must not look complete."""
    (tmp_path / "node1.tar.gz").symlink_to(tmp_path / "elsewhere/node1.tar.gz")
    (tmp_path / "notes.txt").symlink_to(tmp_path / "elsewhere/notes.txt")
    found = collect([str(tmp_path)])
    assert [each.name for each in found.recordings] == ["node1"]
    assert found.passed_over == (str(tmp_path / "notes.txt"),)


def test_an_empty_list_is_reported_with_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "list").write_text("# none yet\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    for name, where in (("-", "<stdin>"), (f"@{tmp_path}/list", f"{tmp_path}/list")):
        with pytest.raises(InputError, match=f"^{where}: lists no recordings$"):
            collect([name])
