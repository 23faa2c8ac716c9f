"""State files for another kubelet: what is rejected, what is lost, what is kept."""

from __future__ import annotations

import pytest

from cpuctl.checkpoints.cpu_state import read_cpu_state
from cpuctl.checkpoints.inspection import inspect_state
from cpuctl.checkpoints.memory_state import read_memory_state
from cpuctl.checkpoints.migration import (
    Loss,
    Lost,
    Migrated,
    NotMigrated,
    migrate_cpu_state,
    migrate_memory_state,
)
from cpuctl.checkpoints.model import CPUStateFile, MemoryBlock, MemoryNode, MemoryStateFile, MemoryTable
from cpuctl.checkpoints.reader import ContainerName, StateReader
from cpuctl.checkpoints.versions import READERS, reader_name, version_table
from cpuctl.cpuset import CPUSet
from cpuctl.records import replace

OLD, OFF, ON = StateReader(minor=35), StateReader(minor=36), StateReader(minor=36, pod_level_managers=True)
NEW, RESIZING = StateReader(minor=37), StateReader(minor=38, exclusive_resize=True)
PODS = StateReader(minor=37, pod_level_managers=True)


def cpus(text: str) -> CPUSet:
    return CPUSet.parse(text)


WHOLE = CPUStateFile(
    policy_name="static",
    default_cpu_set=cpus("0-3"),
    entries={"p": {"own": cpus("4-5"), "shared": cpus("6-7")}},
    pod_entries={"p": cpus("4-7")},
    baselines={"p": {"own": cpus("4"), "shared": cpus("6-7")}},
)
LEFTOVER = replace(WHOLE, entries={"p": {"own": cpus("4-5")}})


@pytest.mark.parametrize(
    ("to", "format_", "lost"),
    [
        (OLD, "V2", {Lost.POD_CPUS, Lost.BASELINE}),
        (OFF, "V2", {Lost.POD_CPUS, Lost.BASELINE}),
        (ON, "V3", {Lost.BASELINE}),
        (NEW, "V4", {Lost.POD_CPUS, Lost.BASELINE}),
        (PODS, "V4", {Lost.BASELINE}),
        (RESIZING, "V4", {Lost.POD_CPUS}),
        (replace(PODS, exclusive_resize=True), "V4", set()),
    ],
)
def test_losses_are_named(to: StateReader, format_: str, lost: set[Lost]) -> None:
    migrated = migrate_cpu_state(WHOLE, to)
    assert isinstance(migrated, Migrated)
    assert inspect_state(migrated.text).format == format_
    assert {each.kind for each in migrated.losses} == lost
    reported = [each for each in migrated.losses if each.kind is Lost.POD_CPUS]
    assert all(
        (each.pod_uid, each.container, each.was, each.meaning)
        == ("p", "", "4-7", "its containers keep theirs")
        for each in reported
    )
    assert isinstance(read_cpu_state(migrated.text, to), CPUStateFile)


def test_a_lost_baseline_is_reported_with_its_consequence() -> None:
    """A baseline equal to the container's current CPUs is not lost: it is created again."""
    migrated = migrate_cpu_state(WHOLE, PODS)
    assert isinstance(migrated, Migrated)
    assert [(each.pod_uid, each.container, each.was, each.meaning) for each in migrated.losses] == [
        ("p", "own", "4", "after another upgrade it cannot shrink below its current 4-5")
    ]


def test_losses_have_names() -> None:
    assert [str(each) for each in Lost] == ["podCPUs", "podMemory", "baseline"]


def test_a_baseline_without_a_container_is_not_lost() -> None:
    state = replace(WHOLE, baselines={"p": {"gone": cpus("4")}, "q": {"gone": cpus("5")}})
    migrated = migrate_cpu_state(state, PODS)
    assert isinstance(migrated, Migrated)
    assert migrated.losses == ()


INSTEAD = (
    "release the CPUs that no container holds with cpuctl checkpoint repair for the other kubelet; or "
    "remove these pods from the node first, or drain it and delete the file before the other kubelet starts"
)


@pytest.mark.parametrize(
    ("to", "kubelet"),
    [
        (OLD, "kubelet 1.35"),
        (OFF, "kubelet 1.36 without PodLevelResourceManagers"),
        (NEW, "kubelet 1.37 without PodLevelResourceManagers"),
    ],
)
def test_a_refusal_names_the_kubelet_that_would_not_start_and_what_to_do(
    to: StateReader, kubelet: str
) -> None:
    """Only pods with CPUs that no container holds are named."""
    state = replace(LEFTOVER, pod_entries={"p": cpus("4-7"), "q": cpus("4-5")})
    assert migrate_cpu_state(state, to) == NotMigrated(
        f"CPUs 6-7 are held by pods, but by none of their containers: p; {kubelet} would not "
        "start: current set of available CPUs doesn't match with CPUs in state",
        INSTEAD,
    )
    assert migrate_memory_state(LESS, to) == NotMigrated(
        "the memory of these pods as a whole is not the sum of their containers' memory: p; "
        f"{kubelet} would not start: [memorymanager] the expected machine state is different from the "
        "real one",
        INSTEAD.replace("release the CPUs that no container holds", "keep only the memory of the containers"),
    )


def test_shared_cpus_of_pods_are_not_lost() -> None:
    state = replace(WHOLE, pod_entries={"p": cpus("3-7")})
    assert isinstance(migrate_cpu_state(state, OFF), Migrated)


@pytest.mark.parametrize("to", [OLD, OFF, NEW, RESIZING])
def test_cpus_that_only_the_pod_holds_are_not_released(to: StateReader) -> None:
    refused = migrate_cpu_state(LEFTOVER, to)
    assert isinstance(refused, NotMigrated)
    assert refused.reason.startswith("CPUs 6-7 are held by pods, but by none of their containers: p; ")
    assert "current set of available CPUs doesn't match" in refused.reason
    assert "drain" in refused.advice


@pytest.mark.parametrize("to", [ON, PODS])
def test_a_kubelet_that_supports_pods_keeps_them_all(to: StateReader) -> None:
    migrated = migrate_cpu_state(LEFTOVER, to)
    assert isinstance(migrated, Migrated)
    assert read_cpu_state(migrated.text, to) == replace(LEFTOVER, baselines={})


def test_container_ids_become_pods_and_names() -> None:
    oldest = CPUStateFile(policy_name="static", default_cpu_set=cpus("0"))
    ids = {"cid1": cpus("1"), "cid2": cpus("2-3")}
    known = {
        "cid1": ContainerName("p", "a"),
        "cid2": ContainerName("p", "b"),
        "cid3": ContainerName("q", "c"),
    }
    migrated = migrate_cpu_state(oldest, replace(NEW, initial_containers=known), ids)
    assert isinstance(migrated, Migrated)
    assert read_cpu_state(migrated.text, NEW) == replace(
        oldest, entries={"p": {"a": cpus("1"), "b": cpus("2-3")}}
    )
    refused = migrate_cpu_state(oldest, NEW, ids)
    assert isinstance(refused, NotMigrated)
    assert refused.reason == "it is unknown which containers these IDs belong to: cid1, cid2"
    assert (
        refused.advice
        == "pass the pods with their container IDs (--pods), or drain the node and delete the file"
    )


@pytest.mark.parametrize(
    ("number", "names"), [(3, "p0, p1, p2; "), (4, "p0, p1, p2 and 1 more; "), (5, "p0, p1, p2 and 2 more; ")]
)
def test_many_names_are_counted(number: int, names: str) -> None:
    state = replace(LEFTOVER, pod_entries={f"p{each}": cpus("6-7") for each in range(number)})
    refused = migrate_cpu_state(state, OFF)
    assert isinstance(refused, NotMigrated)
    assert f": {names}" in refused.reason


def block(size: int, *nodes: int, kind: str = "memory") -> MemoryBlock:
    return MemoryBlock(numa_affinity=nodes, type=kind, size=size)


TABLE = MemoryTable(total=9, system_reserved=0, allocatable=9, reserved=5, free=4)
MEMORY = MemoryStateFile(
    policy_name="Static",
    machine_state={0: MemoryNode(number_of_assignments=1, memory_map={"memory": TABLE}, cells=(0,))},
    entries={"p": {"c": (block(5, 0), block(2, 0, 1))}},
    pod_entries={"p": (block(5, 0), block(2, 1, 0))},
)
TWO_CONTAINERS = replace(
    MEMORY, entries={"p": {"a": (block(2, 0),), "b": (block(3, 0),)}}, pod_entries={"p": (block(5, 0),)}
)
APART = replace(
    MEMORY,
    entries={"p": {"a": (block(2, 0),), "b": (block(3, 1),)}},
    pod_entries={"p": (block(5, 0, 1),)},
)
LESS = replace(MEMORY, entries={"p": {"c": (block(4, 0),)}})


@pytest.mark.parametrize(("to", "format_"), [(OLD, "V1"), (OFF, "V1"), (NEW, "V3")])
def test_memory_of_pods_is_dropped_if_a_container_has_it_all(to: StateReader, format_: str) -> None:
    migrated = migrate_memory_state(MEMORY, to)
    assert isinstance(migrated, Migrated)
    assert inspect_state(migrated.text).format == format_
    assert migrated.losses == (
        Loss(
            kind=Lost.POD_MEMORY,
            pod_uid="p",
            was="memory 5 on NUMA 0, memory 2 on NUMA 0-1",
            meaning="its containers keep theirs",
        ),
    )
    assert read_memory_state(migrated.text, to) == replace(MEMORY, pod_entries={})


@pytest.mark.parametrize(
    "state", [TWO_CONTAINERS, LESS, APART], ids=["counted twice", "less", "other groups"]
)
@pytest.mark.parametrize("to", [OLD, OFF, NEW])
def test_memory_that_would_not_add_up_is_rejected(state: MemoryStateFile, to: StateReader) -> None:
    """The number of assignments counts, too: two containers' blocks differ from one block of their pod."""
    refused = migrate_memory_state(state, to)
    assert isinstance(refused, NotMigrated)
    assert "the expected machine state is different from the real one" in refused.reason


@pytest.mark.parametrize(("to", "format_"), [(ON, "V2"), (PODS, "V3")])
def test_a_kubelet_that_supports_pods_keeps_their_memory(to: StateReader, format_: str) -> None:
    migrated = migrate_memory_state(TWO_CONTAINERS, to)
    assert isinstance(migrated, Migrated)
    assert inspect_state(migrated.text).format == format_
    assert read_memory_state(migrated.text, to) == TWO_CONTAINERS
    assert not migrated.losses


def test_readers_have_names() -> None:
    gates = "PodLevelResourceManagers", "InPlacePodVerticalScalingExclusiveCPUs"
    assert [reader_name(each) for each in READERS] == [
        "up to 1.35",
        "1.36",
        f"1.36 with {gates[0]}",
        "1.37 and later",
        f"1.37 and later with {gates[0]} and {gates[1]}",
    ]


def test_the_table_of_versions() -> None:
    rows = {
        (row.format.file_name[:6], row.format.name, row.reader.minor, row.reader.pod_level_managers): (
            "refused" if row.error else ",".join(row.lost) or "read"
        )
        for row in version_table()
    }
    readers = [(35, False), (36, False), (36, True), (37, False), (37, True)]
    table = {
        f"{file} {name}": [rows[file, name, *reader] for reader in readers]
        for file, name in dict.fromkeys(key[:2] for key in rows)
    }
    both = "podEntries,baselines"
    assert table == {
        "cpu_ma V1": ["read", "read", "read", "refused", "refused"],
        "cpu_ma V2": ["read"] * 5,
        "cpu_ma V3": ["refused", "refused", "read", "podEntries", "read"],
        "cpu_ma V4": [both, both, both, both, "read"],
        "memory V1": ["read"] * 5,
        "memory V2": ["refused", "refused", "read", "podEntries", "read"],
        "memory V3": ["podEntries"] * 4 + ["read"],
    }
