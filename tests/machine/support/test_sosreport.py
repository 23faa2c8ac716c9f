"""A sosreport is the machine that it was collected on, even if sos omits directories of CPUs."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.model import CPU_DIRECTORY, NODE_DIRECTORY
from cpuctl.machine.sources import MachineSource, read_machine
from cpuctl.machine.support.sosreport import lscpu_rows
from tests.machine.support.archives import (
    lscpu_table,
    processes,
    sosreport_files,
    tar_of,
    without_directories,
    write_tree,
)
from tests.machine.sysfs_writer import small_machine

RECORDED = Path(__file__).parents[3] / "fixtures" / "machines" / "2s-8numa-64cpu.tar.xz"


def recorded_files() -> dict[str, str]:
    with tarfile.open(RECORDED) as tar:
        return {
            member.name: file.read().decode()
            for member in tar
            if member.isreg()
            and (file := tar.extractfile(member))
            and member.name.startswith(("sys", "proc"))
        }


def codes(source: MachineSource) -> dict[str, str]:
    return {finding.code: finding.message for finding in source.machine.findings}


@pytest.mark.parametrize("form", ["directory", "directory in a directory", "archive"])
def test_it_is_the_machine_with_its_kubelet_and_pods(form: str, tmp_path: Path) -> None:
    files = sosreport_files()
    path = tmp_path / "sosreport-node7-2026-11-24-abcdefg"
    if form == "archive":
        path = tmp_path / "report"
        path.write_bytes(tar_of(files, "sosreport-node7-2026-11-24-abcdefg", "w:xz"))
    else:
        write_tree(files, path)
    source = read_machine(str(tmp_path if form == "directory in a directory" else path))
    plain = read_machine(str(write_tree(small_machine(), tmp_path / "plain" / "node")))
    assert source.info == plain.info
    assert source.gathered is not None
    assert source.gathered.version == "1.33"
    assert source.files is not None
    assert source.files.read("proc/1984/cmdline") == "\0".join(
        [*processes().splitlines()[3].split()[10:], ""]
    )
    assert codes(source)["not-collected"].endswith("cgroups, cpu_manager_state, memory_manager_state")


@pytest.mark.parametrize(
    ("packages", "version"),
    [
        ({"rpms": "kubelet-1.30.4-150500.1.1.x86_64  Tue\n"}, "v1.30.4"),
        ({"rpms": "", "installed-debs": "ii  kubelet   1.34.1-1.1  amd64  Node Agent\n"}, "v1.34.1"),
        ({"rpms": "openshift-hyperkube-4.12.0-2023.x86_64\n"}, "1.25"),
        ({"rpms": "kubelet-extras-1.30.4-1\nmykubelet-1.2.3\n"}, ""),
    ],
)
def test_packages_show_the_release(packages: dict[str, str], version: str, tmp_path: Path) -> None:
    gathered = read_machine(str(write_tree(sosreport_files(**packages), tmp_path))).gathered
    assert gathered is not None
    assert gathered.version == version


@pytest.mark.parametrize("missing", ["32-63", "1,3,9-14,40", "8-15"])
def test_lscpu_lists_cpus_without_directories(missing: str, tmp_path: Path) -> None:
    """The kubelet's view is the same except for unknown numbers, which only distinguish cores."""
    files = recorded_files()
    whole = read_machine(str(RECORDED))
    cpus = CPUSet.parse(missing)
    files = without_directories(sosreport_files(files, lscpu=lscpu_table(whole.machine)), cpus)
    source = read_machine(str(write_tree(files, tmp_path)))
    assert source.machine.cores == whole.machine.cores
    assert source.machine.sockets == whole.machine.sockets
    assert source.machine.l3_groups == whole.machine.l3_groups
    assert source.machine.numa_nodes == whole.machine.numa_nodes
    seen = [[core.threads for core in node.cores] for node in source.info.nodes]
    assert seen == [[core.threads for core in node.cores] for node in whole.info.nodes]
    assert codes(source)["cpus-from-lscpu"].startswith(f"CPUs {missing} are known only from lscpu")


def test_lscpu_lists_nodes_that_sos_did_not_copy(tmp_path: Path) -> None:
    whole = read_machine(str(RECORDED))
    files = sosreport_files(recorded_files(), lscpu=lscpu_table(whole.machine))
    kept = {path: text for path, text in files.items() if not path.startswith(NODE_DIRECTORY)}
    links = {f"{CPU_DIRECTORY}/cpu{cpu.number}/node{cpu.numa_node}": "" for cpu in whole.machine.cpus}
    source = read_machine(str(write_tree(without_directories(kept | links, CPUSet.parse("8-63")), tmp_path)))
    assert [node.cpus for node in source.machine.numa_nodes] == [
        node.cpus for node in whole.machine.numa_nodes
    ]
    missing = codes(source)["not-collected"]
    assert "NUMA distances, NUMA node memory, huge pages" in missing


def test_undescribed_cpus_are_an_error(tmp_path: Path) -> None:
    files = without_directories(sosreport_files(), CPUSet.parse("6-7"))
    root = write_tree(files, tmp_path)
    with pytest.raises(InputError) as error:
        read_machine(str(root))
    assert str(error.value) == (
        f"{root}: {CPU_DIRECTORY}: has directories for only 6 of 8 online CPUs, "
        "and nothing else describes CPUs 6-7"
    )
    assert error.value.hint == "collect it again with sos report -k processor.max_cpu_dirs=8192"


@pytest.mark.parametrize(
    "text",
    ["", "nonsense\n", "CPU NODE\n0 0\n", "CPU SOCKET CORE L1d:L3\n0\nx 0 0 0\n99999 0 0 0:0\n1 - - -\n"],
)
def test_an_unrelated_table_has_no_rows(text: str) -> None:
    assert lscpu_rows(text) == {}
