"""Reading a machine's files: what is tolerated, what is rejected, what is reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine import kernel_files
from cpuctl.machine.machine_info import kubelet_view
from cpuctl.machine.model import Machine
from cpuctl.machine.sysfs import read_machine_files
from cpuctl.machine.tree import MemoryTree
from tests.machine.sysfs_writer import CPU_DIR, NODE_DIR, small_machine

GiB = 1 << 30


def read(files: dict[str, str]) -> Machine:
    return read_machine_files(MemoryTree(files))


def without(files: dict[str, str], *endings: str) -> dict[str, str]:
    return {path: text for path, text in files.items() if not path.endswith(endings)}


def cpus(text: str) -> CPUSet:
    return CPUSet.parse(text)


def messages(machine: Machine) -> list[str]:
    return [finding.message for finding in machine.findings]


def test_an_ordinary_machine() -> None:
    machine = read(small_machine())
    assert str(machine.online) == "0-7"
    assert [str(core) for core in machine.cores] == ["0,4", "1,5", "2,6", "3,7"]
    assert {socket: str(members) for socket, members in machine.sockets.items()} == {
        0: "0-1,4-5",
        1: "2-3,6-7",
    }
    assert [str(group) for group in machine.l3_groups] == ["0-1,4-5", "2-3,6-7"]
    assert machine.findings == ()


def test_numa_nodes_have_memory_pages_and_distances() -> None:
    first, second = read(small_machine()).numa_nodes
    assert (first.id, str(first.cpus)) == (0, "0-1,4-5")
    assert (first.memory_bytes, first.free_bytes) == (64 * GiB, 32 * GiB)
    assert (first.hugepages, first.free_hugepages) == ({2048: 8, 1 << 20: 0}, {2048: 4, 1 << 20: 0})
    assert (first.distances, second.distances) == ((10, 21), (21, 10))


def test_a_cpu_has_the_ids_the_kernel_gives() -> None:
    files = small_machine() | {
        f"{CPU_DIR}/cpu5/topology/die_id": "1\n",
        f"{CPU_DIR}/cpu5/topology/cluster_id": "9\n",
        f"{CPU_DIR}/cpu5/topology/book_id": "2\n",
        f"{CPU_DIR}/cpu5/topology/drawer_id": "3\n",
        f"{CPU_DIR}/cpu5/cpu_capacity": "1024\n",
        f"{CPU_DIR}/cpu5/cpufreq/cpuinfo_max_freq": "3000000\n",
        f"{CPU_DIR}/cpu5/cpufreq/cpuinfo_min_freq": "800000\n",
    }
    cpu = read(files).cpu_by_number[5]
    assert (cpu.numa_node, cpu.package_id, cpu.core_id, str(cpu.siblings)) == (0, 0, 1, "1,5")
    assert (cpu.die_id, cpu.cluster_id, cpu.book_id, cpu.drawer_id) == (1, 9, 2, 3)
    assert (cpu.capacity, cpu.max_khz, cpu.min_khz) == (1024, 3_000_000, 800_000)


def test_cluster_65535_means_no_cluster() -> None:
    assert read(small_machine()).cpus[0].cluster_id is None


def test_machine_wide_figures() -> None:
    files = small_machine() | {
        "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "16\n",
        "sys/devices/cpu_core/cpus": "0-3\n",
        "sys/devices/cpu_atom/cpus": "4-7\n",
        "proc/sys/kernel/arch": "x86_64\n",
        f"{CPU_DIR}/isolated": "6-7\n",
        f"{CPU_DIR}/nohz_full": "  (null)\n",
    }
    machine = read(files)
    assert (machine.memory_bytes, dict(machine.hugepages)) == (128 * GiB, {2048: 16})
    assert (machine.model_name, machine.cpuinfo_sockets, machine.architecture) == ("Test CPU", 2, "x86_64")
    assert (machine.performance_cpus, machine.efficiency_cpus) == (cpus("0-3"), cpus("4-7"))
    assert (machine.isolated, machine.nohz_full) == (cpus("6-7"), CPUSet())


def test_caches_of_all_levels_and_their_cpus() -> None:
    files = small_machine("2c2t")
    for cpu, siblings in {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}.items():
        for index, (level, kind) in enumerate([(1, "Data"), (1, "Instruction"), (2, "Unified")], start=1):
            cache = f"{CPU_DIR}/cpu{cpu}/cache/index{index}"
            files |= {f"{cache}/level": f"{level}\n", f"{cache}/type": f"{kind}\n"}
            files |= {f"{cache}/shared_cpu_list": f"{siblings}\n", f"{cache}/size": "48K\n"}
    shown = [(c.level, c.kind, str(c.cpus), c.id, c.size_bytes) for c in read(files).caches]
    assert shown == [
        (1, "Data", "0,2", None, 48 << 10),
        (1, "Data", "1,3", None, 48 << 10),
        (1, "Instruction", "0,2", None, 48 << 10),
        (1, "Instruction", "1,3", None, 48 << 10),
        (2, "Unified", "0,2", None, 48 << 10),
        (2, "Unified", "1,3", None, 48 << 10),
        (3, "Unified", "0-3", 0, 32 << 20),
    ]


@dataclass(frozen=True)
class Tolerance:
    """A change to the small machine's files that keeps its topology."""

    name: str
    change: Callable[[dict[str, str]], dict[str, str]]


TOLERANCES = [
    Tolerance("no possible", lambda files: without(files, "/possible")),
    Tolerance("no present", lambda files: without(files, "/present")),
    Tolerance("no online", lambda files: without(files, "/online")),
    Tolerance("no lists but maps", lambda files: without(files, "_list", "/cpulist")),
    Tolerance("no maps but lists", lambda files: without(files, "_map", "/cpumap", "siblings")),
    Tolerance("no siblings but ids", lambda files: without(files, "thread_siblings", "thread_siblings_list")),
    Tolerance("no package lists", lambda files: without(files, "core_siblings", "core_siblings_list")),
    Tolerance("no package IDs", lambda files: without(files, "physical_package_id")),
    Tolerance("no /proc/cpuinfo", lambda files: without(files, "cpuinfo")),
    Tolerance("new names of siblings", lambda files: {
        path.replace("thread_siblings", "core_cpus").replace("core_siblings", "package_cpus"): text
        for path, text in files.items()
    }),
]  # fmt: skip


@pytest.mark.parametrize("case", TOLERANCES, ids=lambda case: case.name)
def test_topology_survives_missing_files(case: Tolerance) -> None:
    files = small_machine()
    whole, changed = read(files), read(case.change(files))
    assert changed.online == whole.online
    assert changed.present == whole.present
    assert set(changed.cores) == set(whole.cores)
    assert changed.sockets == whole.sockets
    assert changed.l3_groups == whole.l3_groups
    assert [node.cpus for node in changed.numa_nodes] == [node.cpus for node in whole.numa_nodes]


def test_without_a_list_of_online_cpus_the_switches_count() -> None:
    files = without(small_machine(), "/online") | {
        f"{CPU_DIR}/cpu3/online": "0\n",
        f"{CPU_DIR}/cpu4/online": "1\n",
    }
    machine = read(files)
    assert (str(machine.online), str(machine.offline)) == ("0-2,4-7", "3")


def test_the_list_of_online_cpus_takes_precedence_over_a_switch() -> None:
    machine = read(small_machine() | {f"{CPU_DIR}/cpu3/online": "0\n"})
    assert str(machine.online) == "0-7"
    assert "CPU 3 is online in" in messages(machine)[0]


def test_offline_cpus_need_no_topology() -> None:
    files = {path: text for path, text in small_machine().items() if "/cpu7/" not in path}
    machine = read(files | {f"{CPU_DIR}/online": "0-6\n"})
    assert (str(machine.online), str(machine.offline)) == ("0-6", "7")
    assert [str(core) for core in machine.cores] == ["0,4", "1,5", "2,6", "3"]
    assert [str(node.cpus) for node in machine.numa_nodes] == ["0-1,4-5", "2-3,6"]


def test_slots_never_filled_are_not_offline() -> None:
    files = small_machine() | {f"{CPU_DIR}/offline": "8-63\n", f"{CPU_DIR}/possible": "0-63\n"}
    machine = read(files)
    assert machine.offline == CPUSet()
    assert machine.possible == cpus("0-63")


def test_nodes_without_lists_have_the_cpus_of_their_directories() -> None:
    files = without(small_machine(), "/cpulist", "/cpumap")
    for node, members in enumerate(["0-1,4-5", "2-3,6-7"]):
        files |= {f"{NODE_DIR}/node{node}/cpu{cpu}/online": "1" for cpu in cpus(members)}
    machine = read(files)
    assert [str(node.cpus) for node in machine.numa_nodes] == ["0-1,4-5", "2-3,6-7"]
    assert "NUMA nodes 0-1 have no list of CPUs: directory entries are used instead" in messages(machine)


def test_without_node_directories_there_are_no_nodes() -> None:
    files = {path: text for path, text in small_machine().items() if not path.startswith(NODE_DIR)}
    machine = read(files)
    assert machine.numa_nodes == ()
    assert {cpu.numa_node for cpu in machine.cpus} == {None}


def test_nodes_may_be_sparse_and_without_cpus_or_memory() -> None:
    files = small_machine() | {
        f"{NODE_DIR}/node252/cpulist": "\n",
        f"{NODE_DIR}/node252/meminfo": "Node 252 MemTotal: 0 kB\nNode 252 MemFree: 0 kB\n",
    }
    node = read(files).numa_nodes[-1]
    assert (node.id, node.cpus, node.memory_bytes) == (252, CPUSet(), 0)


def test_a_cpu_listed_by_two_nodes_belongs_to_the_lower() -> None:
    machine = read(small_machine() | {f"{NODE_DIR}/node1/cpulist": "1-3,6-7\n"})
    assert machine.cpu_by_number[1].numa_node == 0
    expected = "CPUs of NUMA node 1 are also listed by a lower-numbered node, to which they are assigned"
    assert expected in messages(machine)


def test_an_empty_cache_map_is_not_a_separate_cache() -> None:
    """Kernels on Itanium print them for caches that are shared by whole sockets."""
    files = without(small_machine("2c"), "shared_cpu_list")
    files |= {path: "00000000,00000000\n" for path in files if path.endswith("shared_cpu_map")}
    machine = read(files)
    assert [(str(cache.cpus), cache.sharing_known) for cache in machine.caches] == [
        ("0", False),
        ("1", False),
    ]
    assert machine.l3_groups == ()
    assert "the kernel does not report which CPUs share some caches of CPUs 0-1" in messages(machine)
    # cAdvisor counts the bits of the map: zero never equals a node's CPUs, so the id is listed.
    cores = [core for node in kubelet_view(machine).nodes for core in node.cores]
    assert [core.uncore_cache_ids for core in cores] == [(0,), (0,)]


def test_a_cpu_without_topology_files_is_not_seen_by_a_kubelet() -> None:
    files = {path: text for path, text in small_machine().items() if "/cpu3/topology/" not in path}
    machine = read(files)
    assert str(machine.online) == "0-7"
    assert "CPU 3 has neither core ID nor package ID: the kubelet does not see such CPUs" in messages(machine)
    seen = [cpu for node in kubelet_view(machine).nodes for core in node.cores for cpu in core.threads]
    assert sorted(seen) == [0, 1, 2, 4, 5, 6, 7]


@pytest.mark.parametrize("text", ["", "\n"])
def test_an_empty_online_switch_is_ignored(text: str) -> None:
    machine = read(small_machine() | {f"{CPU_DIR}/cpu2/online": text})
    assert str(machine.online) == "0-7"
    assert "CPU 2 has an empty online file, which is ignored" in messages(machine)


def test_core_kinds_are_guessed_from_frequencies_if_the_kernel_names_none() -> None:
    khz = {cpu: "2016000" if cpu < 3 else "2803000" for cpu in range(8)}
    speeds = {f"{CPU_DIR}/cpu{cpu}/cpufreq/cpuinfo_max_freq": text for cpu, text in khz.items()}
    machine = read(small_machine() | speeds)
    assert (str(machine.core_kinds.performance), str(machine.core_kinds.efficiency)) == ("3-7", "0-2")
    assert machine.core_kinds.guessed
    named = read(small_machine() | speeds | {"sys/devices/cpu_atom/cpus": "4-7"})
    assert (str(named.core_kinds.performance), str(named.core_kinds.efficiency)) == ("0-3", "4-7")
    assert not named.core_kinds.guessed


def test_a_cache_directory_without_files_is_skipped() -> None:
    """Kernels create some ``indexN`` directories that contain only power management."""
    machine = read(small_machine("2c") | {f"{CPU_DIR}/cpu0/cache/index9/power": ""})
    assert len(machine.caches) == 1


def test_kernels_without_any_topology() -> None:
    files = {path: text for path, text in small_machine().items() if "/topology/" not in path}
    machine = read(files)
    assert [str(core) for core in machine.cores] == list("01234567")
    assert machine.sockets == {}
    assert not machine.cores_known
    assert "CPUs with equal core IDs count as one core" not in str(messages(machine))
    assert not kubelet_view(machine).cores_known
    assert kubelet_view(read(small_machine())).cores_known


def test_unknown_packages_are_numbered_after_the_known() -> None:
    files = small_machine("3s1c")
    files |= {f"{CPU_DIR}/cpu{cpu}/topology/physical_package_id": "-1\n" for cpu in (0, 2)}
    assert {s: str(members) for s, members in read(files).sockets.items()} == {1: "1", 2: "0", 3: "2"}


@dataclass(frozen=True)
class Refusal:
    """A change to the small machine's files that makes it unreadable."""

    name: str
    change: dict[str, str]
    where: str
    want: str
    removed: tuple[str, ...] = ()


REFUSALS = [
    Refusal("no CPU at all", {}, CPU_DIR, "found no online CPU", removed=(CPU_DIR,)),
    Refusal("none online", {f"{CPU_DIR}/online": "\n"}, CPU_DIR, "found no online CPU"),
    Refusal("an unknown CPU", {f"{CPU_DIR}/online": "0-8"}, f"{CPU_DIR}/cpu8", "directory not found"),
    Refusal(
        "an unknown CPU and no topology", {f"{CPU_DIR}/online": "9"}, f"{CPU_DIR}/cpu9",
        "directory not found", removed=(f"{CPU_DIR}/cpu",),
    ),
    Refusal("a bad list", {f"{CPU_DIR}/present": "0-x"}, f"{CPU_DIR}/present", "found '0-x', expected"),
    Refusal("a bad switch", {f"{CPU_DIR}/cpu1/online": "yes"}, f"{CPU_DIR}/cpu1/online", "expected 0 or 1"),
    Refusal(
        "a bad id", {f"{CPU_DIR}/cpu2/topology/core_id": ""}, f"{CPU_DIR}/cpu2/topology/core_id",
        "found '', expected a number",
    ),
    Refusal(
        "bad memory", {f"{NODE_DIR}/node1/meminfo": "Node 1 MemTotal: much"}, f"{NODE_DIR}/node1/meminfo",
        "expected MemTotal: and a number in kB",
    ),
    Refusal(
        "endless text", {f"{CPU_DIR}/online": "0," * 70_000}, f"{CPU_DIR}/online",
        "found 140000 characters, expected at most 131072",
    ),
    Refusal(
        "too many caches of a CPU",
        {f"{CPU_DIR}/cpu1/cache/index{n}/level": "1" for n in range(33)}, f"{CPU_DIR}/cpu1/cache",
        "found 33 caches, expected at most 32",
    ),
    Refusal(
        "too many nodes", {f"{NODE_DIR}/node{n}/cpulist": "" for n in range(1025)}, NODE_DIR,
        "found 1025 NUMA nodes, expected at most 1024",
    ),
]  # fmt: skip


def test_cpu_lists_are_limited_in_total(monkeypatch: pytest.MonkeyPatch) -> None:
    """A repeated list counts once: every CPU of a package has the same."""
    monkeypatch.setattr(kernel_files, "_MOST_SET_CHARACTERS", 1000)
    lists = {f"{CPU_DIR}/cpu{number}/topology/core_siblings_list": "0," * 300 + "7" for number in range(8)}
    assert str(read(small_machine() | lists).online) == "0-7"
    lists[f"{CPU_DIR}/cpu1/topology/core_siblings_list"] += " "
    with pytest.raises(InputError, match="found more than 0 MiB of CPU lists"):
        read(small_machine() | lists)


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.name)
def test_refusals_name_the_file_and_what_was_expected(case: Refusal) -> None:
    files = {path: text for path, text in small_machine().items() if not path.startswith(case.removed)}
    with pytest.raises(InputError) as error:
        read(files | case.change)
    assert error.value.where == case.where
    assert case.want in error.value.message


@pytest.mark.parametrize("path", sorted(small_machine()))
def test_no_single_missing_file_changes_the_topology(path: str) -> None:
    """Delete one file at a time: other files contain the same facts."""
    files = small_machine()
    del files[path]
    machine = read(files)
    assert str(machine.online) == "0-7"
    assert [str(core) for core in machine.cores] == ["0,4", "1,5", "2,6", "3,7"]
    assert {socket: str(cpus) for socket, cpus in machine.sockets.items()} == {0: "0-1,4-5", 1: "2-3,6-7"}
    assert [str(group) for group in machine.l3_groups] == ["0-1,4-5", "2-3,6-7"]


@pytest.mark.parametrize("name", ["level", "type", "shared_cpu", "size", "id"])
def test_a_kubelet_skips_caches_with_missing_files(name: str) -> None:
    """It stops reading the caches of a NUMA node at the first missing file."""
    whole = small_machine("1s1n4c1t,l3=2")
    machine = read({path: text for path, text in whole.items() if f"/cache/index0/{name}" not in path})
    seen = [core.uncore_cache_ids for node in kubelet_view(machine).nodes for core in node.cores]
    assert seen == [()] * 4
    assert machine.caches_known == (name not in ("level", "shared_cpu"))
