from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from cpuctl.errors import InputError
from cpuctl.machine.machine_info import kubelet_view
from cpuctl.machine.sources import read_machine, read_machine_tree
from cpuctl.machine.tree import MemoryTree
from tests.machine.sysfs_writer import small_machine


def written(root: Path) -> Path:
    """Write the small machine below *root* and return it."""
    for name, text in small_machine().items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def test_a_directory_and_an_archive_of_it_are_the_same_machine(tmp_path: Path) -> None:
    root = written(tmp_path / "recording")
    with tarfile.open(tmp_path / "recording.tar.gz", "w:gz") as tar:
        tar.add(root, arcname="recording")
    from_directory = read_machine(str(root))
    from_archive = read_machine(str(tmp_path / "recording.tar.gz"))
    assert from_directory.info == from_archive.info
    assert from_directory.machine.cpus == from_archive.machine.cpus
    assert from_directory.machine.numa_nodes == from_archive.machine.numa_nodes
    assert from_directory.machine.caches == from_archive.machine.caches
    assert from_directory.origin == str(root)


def test_the_kubelets_view_comes_with_every_machine() -> None:
    source = read_machine("synthetic:2s4c")
    assert source.info == kubelet_view(source.machine)
    assert source.origin == "synthetic:2s4c"


def test_cadvisor_json_brings_its_own_view(tmp_path: Path) -> None:
    file = tmp_path / "machine.json"
    file.write_text(
        " " + json.dumps({"num_cores": 9, "topology": [{"node_id": 0, "cores": [{"thread_ids": [0]}]}]})
    )
    source = read_machine(str(file))
    assert (source.info.num_cpus, str(source.machine.online), source.origin) == (9, "0", str(file))


def test_the_live_host_agrees_with_the_scheduler() -> None:
    source = read_machine("live")
    assert {cpu.number for cpu in source.machine.cpus} >= os.sched_getaffinity(0)
    assert source.machine.architecture == os.uname().machine
    assert source.info.num_cpus >= 1


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("missing", "no such file or directory"),
        ("empty", "no sys/ in this directory"),
        ("pipe", "is neither a file nor a directory"),
        ("text", "cannot be read as an archive: it is not a tar archive"),
        ("config.yaml.gz", "is a compressed kubelet configuration, not a machine"),
        ("large.yaml.gz", "is a compressed kubelet configuration, not a machine"),
        ("pod.yaml", "is a Kubernetes object, not a machine"),
        ("profile.yaml", "is a PerformanceProfile, not a machine"),
        ("devices.yaml", "is a list of devices, not a machine"),
        ("list.json", "expected cAdvisor's machine information, found a list"),
        ("broken.json", "not JSON"),
    ],
)
def test_the_error_for_a_wrong_path_lists_what_is_accepted(name: str, want: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text").write_text("hello\n" * 1000)
    (tmp_path / "list.json").write_text("[1]")
    config = b"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    (tmp_path / "config.yaml.gz").write_bytes(gzip.compress(config))
    (tmp_path / "large.yaml.gz").write_bytes(gzip.compress(config + b"# x\n" * 1000))
    (tmp_path / "pod.yaml").write_text("# a pod\napiVersion: v1\nkind: Pod\n")
    (tmp_path / "profile.yaml").write_text(
        "apiVersion: performance.openshift.io/v2\nkind: PerformanceProfile\n"
    )
    (tmp_path / "devices.yaml").write_text("apiVersion: cpuctl/v1alpha1\nkind: Devices\nresources: {}\n")
    (tmp_path / "broken.json").write_text('{"topology": ')
    with pytest.raises(InputError) as error:
        read_machine(str(tmp_path / name))
    assert want in error.value.message
    assert error.value.where.startswith(str(tmp_path / name))
    if name in {"missing", "empty", "pipe"}:
        assert "accepted: live; a directory" in error.value.hint


def test_a_directory_may_hold_its_tree_one_level_down(tmp_path: Path) -> None:
    """As may an archive: this is the layout of unpacked tar files and must-gathers."""
    root = written(tmp_path / "node7")
    (tmp_path / "event.log").write_text("")
    (tmp_path / "other").mkdir()
    source = read_machine(str(tmp_path))
    assert str(source.machine.online) == "0-7"
    assert source.origin == str(root)


def test_a_directory_of_several_recordings_is_not_a_recording(tmp_path: Path) -> None:
    for name in ("b", "a", "d", "c"):
        written(tmp_path / name)
    with pytest.raises(InputError) as error:
        read_machine(str(tmp_path))
    assert str(error.value) == f"{tmp_path}: contains several recordings (a, b, c, ...), expected one"
    assert error.value.hint == f"specify one of them, or check all: cpuctl fleet check {tmp_path}"


@pytest.mark.parametrize("below", ["", "recordings/"])
def test_directory_with_several_archives_names_them_instead_of_following_their_links(
    tmp_path: Path, below: str
) -> None:
    (tmp_path / "elsewhere.tar.xz").write_bytes(b"")
    directory = tmp_path / "fleet"
    (directory / below).mkdir(parents=True)
    for name in ("a", "b"):
        (directory / f"{below}{name}.tar.xz").symlink_to("../" * (1 + below.count("/")) + "elsewhere.tar.xz")
    with pytest.raises(InputError) as error:
        read_machine(str(directory))
    assert error.value.message == (
        f"contains several recordings ({below}a.tar.xz, {below}b.tar.xz), expected one"
    )
    assert error.value.hint == f"specify one of them, or check all: cpuctl fleet check {directory}"


def test_a_directory_with_a_single_archive_names_it(tmp_path: Path) -> None:
    (tmp_path / "pods.json").write_text("{}")
    (tmp_path / "node.tar.xz").write_bytes(b"")
    with pytest.raises(InputError) as error:
        read_machine(str(tmp_path))
    assert error.value.message == "no sys/ in this directory"
    assert error.value.hint == f"did you mean {tmp_path}/node.tar.xz?"


def test_a_bad_file_is_reported_with_its_source(tmp_path: Path) -> None:
    root = written(tmp_path)
    (root / "sys/devices/system/cpu/online").write_text("zero")
    with pytest.raises(InputError) as error:
        read_machine(str(root))
    assert error.value.where == f"{root}: sys/devices/system/cpu/online"


def test_any_tree_can_be_read() -> None:
    files = {path: text for path, text in small_machine().items() if "/cpu7/" not in path}
    tree = MemoryTree(files | {"sys/devices/system/cpu/online": "0-6"})
    assert str(read_machine_tree(tree, "memory").machine.offline) == "7"


@pytest.mark.parametrize(
    ("spec", "unneeded"),
    [
        ("synthetic:2c", {"tarfile", "gzip", "lzma", "json", "yaml", "cpuctl.machine.sysfs"}),
        ("live", {"tarfile", "gzip", "lzma", "json", "yaml", "cpuctl.machine.synthetic"}),
    ],
)
def test_only_what_a_source_needs_is_imported(spec: str, unneeded: set[str]) -> None:
    program = (
        "import sys; from cpuctl.machine.sources import read_machine; "
        f"read_machine({spec!r}); print(*sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not unneeded & set(answer.stdout.split())


def test_hidden_archives_are_not_recordings(tmp_path: Path) -> None:
    for name in ("a.tar.xz", "._a.tar.xz"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(InputError) as error:
        read_machine(str(tmp_path))
    assert "several" not in error.value.message


def test_a_list_of_devices_is_an_option_of_plan(tmp_path: Path) -> None:
    file = tmp_path / "two nodes.yaml"
    file.write_bytes(Path("fixtures/devices/two-nodes.yaml").read_bytes())
    with pytest.raises(InputError) as error:
        read_machine(str(file))
    assert error.value.hint == f"use it as an option: cpuctl plan --devices '{file}'"
