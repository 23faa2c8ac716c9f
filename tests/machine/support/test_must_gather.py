"""A must-gather is a fleet: each of its nodes is the machine in the snapshot, with its kubelet."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from cpuctl.errors import InputError
from cpuctl.machine.sources import MachineSource, read_machine
from tests.machine.support.archives import must_gather_files, snapshot, tar_of, write_tree
from tests.machine.sysfs_writer import small_machine

RECORDED = Path(__file__).parents[3] / "fixtures" / "machines" / "2s-2numa-32cpu.tar.xz"


def written(files: dict[str, str | bytes], form: str, tmp_path: Path) -> str:
    if form == "packed":
        path = tmp_path / "upload.bin"
        path.write_bytes(tar_of(files, "must-gather.local.77"))
        return str(path)
    top = tmp_path / ("must-gather" if form == "unpacked" else "must-gather/must-gather.local.77")
    write_tree(files, top)
    return str(tmp_path / "must-gather")


def node(spec: str) -> MachineSource:
    source = read_machine(spec)
    assert source.gathered is not None
    assert source.files is not None
    return source


@pytest.mark.parametrize("form", ["packed", "unpacked", "one directory up"])
def test_a_node_is_the_machine_in_its_snapshot(form: str, tmp_path: Path) -> None:
    with tarfile.open(RECORDED) as tar:
        recorded = {
            member.name: file.read() for member in tar if member.isreg() and (file := tar.extractfile(member))
        }
    spec = written(must_gather_files({"w1": snapshot(recorded), "w2": snapshot()}), form, tmp_path)
    first, second = node(f"{spec}#w1"), node(f"{spec}#w2")
    assert first.info == read_machine(str(RECORDED)).info
    assert str(second.machine.online) == "0-7"
    assert first.gathered is not None
    assert (first.gathered.what, first.gathered.version) == ("node w1 of a must-gather", "v1.31.6")
    assert first.origin == f"{spec}#w1"


@pytest.mark.parametrize("form", ["packed", "unpacked"])
def test_nodes_are_named(form: str, tmp_path: Path) -> None:
    spec = written(must_gather_files({"w1": snapshot(), "w2": snapshot()}), form, tmp_path)
    with pytest.raises(InputError) as error:
        read_machine(spec)
    assert str(error.value) == f"{spec}: contains 2 nodes: specify one"
    assert error.value.hint == f"specify one of w1, w2: {spec}#w1"
    with pytest.raises(InputError, match="has no node w3"):
        read_machine(f"{spec}#w3")


def test_a_single_node_needs_no_name(tmp_path: Path) -> None:
    spec = written(must_gather_files({"sno": snapshot()}), "unpacked", tmp_path)
    assert node(spec).info == node(f"{spec}#sno").info


def test_the_rendered_machine_config_shows_how_the_kubelet_is_started(tmp_path: Path) -> None:
    spec = written(must_gather_files({"w1": snapshot()}), "unpacked", tmp_path)
    tree = node(spec).files
    assert tree is not None
    assert "cpuManagerPolicy: static" in (tree.read("etc/kubernetes/kubelet.conf") or "")
    assert tree.names("etc/systemd/system/kubelet.service.d") == ["10-log.conf"]
    assert "SYSTEM_RESERVED_CPU=500m" in (tree.read("etc/node-sizing.env") or "")
    assert tree.read("etc/crio/crio.conf") is None


def test_missing_or_damaged_snapshots(tmp_path: Path) -> None:
    files = must_gather_files({"w1": b"\x1f\x8b broken", "w2": snapshot()})
    spec = written(files, "unpacked", tmp_path)
    with pytest.raises(InputError) as error:
        read_machine(f"{spec}#w1")
    assert error.value.where == f"{spec}/quay-io-image/nodes/w1/sysinfo.tgz"
    without = {path: text for path, text in files.items() if not path.endswith(".tgz")}
    with pytest.raises(InputError, match=r"without snapshots of nodes") as error:
        read_machine(written(without, "packed", tmp_path))
    assert "gather_ppc, or record a node" in error.value.hint


def test_a_damaged_machine_config_is_named(tmp_path: Path) -> None:
    files = must_gather_files({"w1": snapshot()}, encoded="data:;base64,%%%")
    spec = written(files, "unpacked", tmp_path)
    with pytest.raises(InputError) as error:
        read_machine(spec)
    assert error.value.where.endswith("machineconfigs/rendered-worker-77.yaml")
    assert error.value.message == "/etc/kubernetes/kubelet.conf cannot be decoded: damaged base64"


def test_a_number_sign_may_be_part_of_a_name(tmp_path: Path) -> None:
    spec = written(must_gather_files({"w1": snapshot()}), "unpacked", tmp_path)
    Path(spec).rename(tmp_path / "case#7")
    assert node(str(tmp_path / "case#7")).info == node(f"{tmp_path / 'case#7'}#w1").info
    with pytest.raises(InputError, match="no such file or directory"):
        read_machine(str(tmp_path / "case#8"))


def test_a_node_name_is_rejected_for_a_single_node(tmp_path: Path) -> None:
    """A name without effect is an error."""
    root = write_tree(small_machine(), tmp_path / "node7")
    with pytest.raises(InputError) as error:
        read_machine(f"{root}#node8")
    assert str(error.value) == f"{root}: contains a single node, but node8 was specified"


def test_a_must_gather_next_to_archives_keeps_its_own_errors(tmp_path: Path) -> None:
    write_tree(must_gather_files({"w1": snapshot()}), tmp_path)
    for name in ("a", "b"):
        (tmp_path / f"{name}.tar.xz").write_bytes(b"")
    assert len(read_machine(str(tmp_path)).machine.cpus)
    with pytest.raises(InputError) as error:
        read_machine(f"{tmp_path}#nosuch")
    assert "nosuch" in error.value.message
