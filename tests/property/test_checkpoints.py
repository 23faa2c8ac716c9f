"""Laws of the state files: what is written reads back, and a broken file is never read as another state."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.checkpoints.cpu_state import read_cpu_state, write_cpu_state
from cpuctl.checkpoints.diff import HolderKind, diff_cpu_states, diff_memory_states
from cpuctl.checkpoints.inspection import inspect_state
from cpuctl.checkpoints.memory_state import read_memory_state, write_memory_state
from cpuctl.checkpoints.migration import Migrated, migrate_cpu_state, migrate_memory_state
from cpuctl.checkpoints.model import (
    CPUStateFile,
    MemoryBlock,
    MemoryNode,
    MemoryStateFile,
    MemoryTable,
    PodsStateFile,
    RecordedPod,
    RecordedResources,
    UnreadableState,
)
from cpuctl.checkpoints.pods_state import read_pods_state, write_pods_state
from cpuctl.checkpoints.reader import ContainerName, StateReader
from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.golang.json_values import syntax_error_text
from cpuctl.quantity import Quantity
from cpuctl.records import replace

KUBELETS = (
    StateReader(minor=30, pod_level_managers=True, exclusive_resize=True),
    StateReader(minor=36, exclusive_resize=True),
    StateReader(minor=36, pod_level_managers=True),
    StateReader(minor=37),
    StateReader(minor=37, pod_level_managers=True),
    StateReader(minor=38, exclusive_resize=True),
    StateReader(minor=38, pod_level_managers=True, exclusive_resize=True),
)
READ: dict[str, Callable[[str, StateReader], Any]] = {
    "cpu": read_cpu_state,
    "memory": read_memory_state,
    "pods": read_pods_state,
}

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
cpu_sets = st.sets(st.integers(0, 300), max_size=12).map(CPUSet.of)
uint64 = st.integers(0, (1 << 64) - 1)
number = st.integers(-5, 1 << 40)


def by_name(values: st.SearchStrategy[Any], size: int = 4) -> st.SearchStrategy[Any]:
    return st.dictionaries(names, values, max_size=size)


cpu_states = st.builds(
    CPUStateFile,
    policy_name=names,
    default_cpu_set=cpu_sets,
    entries=by_name(by_name(cpu_sets)),
    pod_entries=by_name(cpu_sets),
    baselines=by_name(by_name(cpu_sets, 2)),
)
nodes = st.lists(st.integers(0, 9), max_size=3).map(tuple)
blocks = st.lists(st.builds(MemoryBlock, numa_affinity=nodes, type=names, size=uint64), max_size=3).map(tuple)
tables = st.builds(
    MemoryTable, total=uint64, system_reserved=uint64, allocatable=uint64, reserved=uint64, free=uint64
)
memory_states = st.builds(
    MemoryStateFile,
    policy_name=names,
    machine_state=st.dictionaries(
        st.integers(0, 40),
        st.builds(MemoryNode, number_of_assignments=number, memory_map=by_name(tables, 2), cells=nodes),
        max_size=3,
    ),
    entries=by_name(by_name(blocks, 2), 3),
    pod_entries=by_name(blocks, 3),
)
amounts = by_name(st.sampled_from(["2", "500m", "1Gi", "1e3", "0"]).map(Quantity.parse), 3)
resources = st.builds(
    RecordedResources,
    limits=amounts,
    requests=amounts,
    claims=st.lists(st.tuples(names, names), max_size=2).map(tuple),
)
pods_states = st.builds(
    PodsStateFile,
    pods=by_name(
        st.builds(
            RecordedPod,
            containers=by_name(resources, 3),
            pod_level=st.none() | resources,
            volume_limits=by_name(st.none() | st.just(Quantity.parse("1Gi")), 2),
        ),
        3,
    ),
)
kubelets = st.sampled_from(KUBELETS)


def kept(state: CPUStateFile, kubelet: StateReader) -> CPUStateFile:
    """Leave out what this kubelet's format cannot hold, and fill in what it assumes."""
    knows_pods = kubelet.minor >= 36 and kubelet.pod_level_managers
    resizes = kubelet.minor >= 37 and kubelet.exclusive_resize
    return replace(
        state,
        pod_entries=state.pod_entries if knows_pods else {},
        baselines=(state.baselines or state.entries) if resizes else {},
    )


@given(cpu_states, kubelets)
def test_a_cpu_state_reads_back_as_it_was_written(state: CPUStateFile, kubelet: StateReader) -> None:
    text = write_cpu_state(state, kubelet)
    assert read_cpu_state(text, kubelet) == kept(state, kubelet)
    assert all(each.ok for each in inspect_state(text).checksums)


@given(memory_states, kubelets)
def test_a_memory_state_reads_back_as_it_was_written(state: MemoryStateFile, kubelet: StateReader) -> None:
    knows_pods = kubelet.minor >= 36 and kubelet.pod_level_managers
    text = write_memory_state(state, kubelet)
    assert read_memory_state(text, kubelet) == (state if knows_pods else replace(state, pod_entries={}))
    assert all(each.ok for each in inspect_state(text).checksums)


@given(pods_states, st.sampled_from([33, 34, 35, 36, 37, 38]))
def test_a_pods_state_reads_back_as_it_was_written(state: PodsStateFile, minor: int) -> None:
    known = {
        uid: replace(
            pod,
            pod_level=pod.pod_level if minor >= 35 else None,
            volume_limits=pod.volume_limits if minor >= 37 else {},
        )
        for uid, pod in state.pods.items()
    }
    kubelet = StateReader(minor=minor)
    assert read_pods_state(write_pods_state(state, kubelet), kubelet) == PodsStateFile(pods=known)


@given(cpu_states, st.sampled_from([each for each in KUBELETS if each.minor >= 37]))
def test_an_older_kubelet_reads_the_v2_part_of_v4(state: CPUStateFile, writer: StateReader) -> None:
    text = write_cpu_state(state, writer)
    old = replace(state, pod_entries={}, baselines={})
    for reader in KUBELETS[:3]:
        assert read_cpu_state(text, reader) == old
    outer = json.loads(text)
    v2 = {name: outer[name] for name in outer if name not in ("data", "dataChecksum")}
    assert json.dumps(v2, ensure_ascii=False, separators=(",", ":")) == json.dumps(
        json.loads(write_cpu_state(old, StateReader(minor=36))), ensure_ascii=False, separators=(",", ":")
    )


@given(memory_states, st.sampled_from([each for each in KUBELETS if each.minor >= 37]))
def test_an_older_kubelet_reads_the_v1_part_of_v3(state: MemoryStateFile, writer: StateReader) -> None:
    text = write_memory_state(state, writer)
    for reader in KUBELETS[:3]:
        assert read_memory_state(text, reader) == replace(state, pod_entries={})


@given(cpu_states | memory_states, kubelets, kubelets, st.data())
def test_one_wrong_byte_never_results_in_another_state(
    state: CPUStateFile | MemoryStateFile, writer: StateReader, reader: StateReader, data: st.DataObject
) -> None:
    """It may be outside what a checksum covers: then the state is the same.

    If it is in a checksum's own name, kubelets before 1.36 find no checksum and accept the file unchecked.
    """
    cpu = isinstance(state, CPUStateFile)
    read: Callable[[str, StateReader], Any] = read_cpu_state if cpu else read_memory_state
    text = (
        write_cpu_state(state, writer)
        if isinstance(state, CPUStateFile)
        else write_memory_state(state, writer)
    )
    right, unseen = read(text, reader), read(re.sub(r'"checksum":[0-9]+', '"checksum":0', text), reader)
    content = bytearray(text.encode())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    try:
        found = read(content.decode("utf-8", "replace"), reader)
    except InputError:
        return
    assert isinstance(found, UnreadableState) or found in (right, unseen)


@pytest.mark.parametrize("manager", READ)
@given(content=st.binary(max_size=200), kubelet=kubelets)
def test_any_bytes_are_a_state_or_an_error(manager: str, content: bytes, kubelet: StateReader) -> None:
    readable(manager, content.decode("utf-8", "replace"), kubelet)


MEMBERS = """policyName defaultCpuSet entries podEntries baselines originals baseline cpuSet machineState
    memoryMap cells numberOfAssignments total numaAffinity type size memoryBlocks checksum dataChecksum
    ENTRIES 0 12 ContainerResources PodLevelResources limits"""
members = st.sampled_from(MEMBERS.split())
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["", "0-3", "static", "x", "1Gi"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(members, inner, max_size=5),
    max_leaves=12,
)


@pytest.mark.parametrize("manager", READ)
@given(outer=st.dictionaries(members, anything, max_size=6), inner=anything, kubelet=kubelets)
def test_any_json_is_a_state_or_an_error(
    manager: str, outer: dict[str, Any], inner: Any, kubelet: StateReader
) -> None:
    readable(manager, json.dumps(outer), kubelet)
    readable(manager, json.dumps(outer | {"data": json.dumps(inner)}), kubelet)


def readable(manager: str, text: str, kubelet: StateReader) -> None:
    """Read a text in every way; it may raise nothing but an InputError."""
    with suppress(InputError):
        READ[manager](text, kubelet)
    inspect_state(text)


@given(st.text(alphabet='{}[]",:0123456789.eE+-truefalsn \\u\n', max_size=30))
def test_go_reads_as_json_what_python_does(text: str) -> None:
    try:
        json.loads(text, parse_constant=float.fromhex)
    except ValueError:
        assert syntax_error_text(text)
    else:
        assert not syntax_error_text(text)


@given(cpu_states, cpu_states)
def test_the_difference_of_states_adds_up(before: CPUStateFile, after: CPUStateFile) -> None:
    assert not diff_cpu_states(before, before)
    difference = diff_cpu_states(before, after)
    assert bool(difference) == (without_empty_pods(before) != without_empty_pods(after))
    for change in difference.changes:
        old, new = change.before or CPUSet(), change.after or CPUSet()
        assert (old - change.removed) | change.added == new
        assert change.added.isdisjoint(old)
        assert change.removed <= old


@given(memory_states, memory_states)
def test_the_order_of_memory_blocks_does_not_matter(before: MemoryStateFile, after: MemoryStateFile) -> None:
    turned = replace(
        before,
        entries={
            uid: {name: each[::-1] for name, each in containers.items()}
            for uid, containers in before.entries.items()
        },
    )
    assert not diff_memory_states(before, turned)
    assert diff_memory_states(before, after) == diff_memory_states(turned, after)


@given(memory_states, memory_states)
def test_memory_with_a_new_owner_is_reported(before: MemoryStateFile, after: MemoryStateFile) -> None:
    difference = diff_memory_states(before, after)
    for uid, blocks in after.pod_entries.items():
        change = next((each for each in difference.changes if each.holder == (HolderKind.POD, uid, "")), None)
        same = sorted(blocks, key=repr) == sorted(before.pod_entries.get(uid, ()), key=repr)
        assert (change is None) == (same and uid in before.pod_entries)


@given(cpu_states, kubelets)
def test_the_new_kubelet_reads_the_migrated_state(state: CPUStateFile, to: StateReader) -> None:
    migrated = migrate_cpu_state(state, to)
    if isinstance(migrated, Migrated):
        assert read_cpu_state(migrated.text, to) == kept(state, to)


@given(cpu_states, kubelets)
def test_no_cpu_is_lost_by_a_migration(state: CPUStateFile, to: StateReader) -> None:
    """The shared pool, containers and pods have the same CPUs in total for the new kubelet as for the old."""
    migrated = migrate_cpu_state(state, to)
    if isinstance(migrated, Migrated):
        found = read_cpu_state(migrated.text, to)
        assert isinstance(found, CPUStateFile)
        assert all_cpus(found) == all_cpus(state)


@given(memory_states, kubelets)
def test_memory_is_migrated_to_what_that_kubelet_reads(state: MemoryStateFile, to: StateReader) -> None:
    migrated = migrate_memory_state(state, to)
    if isinstance(migrated, Migrated):
        found = read_memory_state(migrated.text, to)
        assert isinstance(found, MemoryStateFile)
        assert replace(found, pod_entries={}) == replace(state, pod_entries={})


@given(st.dictionaries(names, cpu_sets, max_size=4), cpu_sets, kubelets)
def test_the_oldest_format_is_migrated_by_container_id(
    ids: dict[str, CPUSet], pool: CPUSet, to: StateReader
) -> None:
    known = replace(to, initial_containers={each: ContainerName("pod", f"c-{each}") for each in ids})
    state = CPUStateFile(policy_name="static", default_cpu_set=pool)
    migrated = migrate_cpu_state(state, known, ids)
    assert isinstance(migrated, Migrated)
    found = read_cpu_state(migrated.text, known)
    assert isinstance(found, CPUStateFile)
    assert dict(found.entries.get("pod", {})) == {f"c-{each}": cpus for each, cpus in ids.items()}


def without_empty_pods(state: CPUStateFile) -> CPUStateFile:
    """Leave out pods without containers: they hold nothing."""
    return replace(
        state,
        entries={uid: containers for uid, containers in state.entries.items() if containers},
        baselines={uid: containers for uid, containers in state.baselines.items() if containers},
    )


def all_cpus(state: CPUStateFile) -> CPUSet:
    cpus = state.default_cpu_set
    for containers in state.entries.values():
        for each in containers.values():
            cpus |= each
    for each in state.pod_entries.values():
        cpus |= each
    return cpus
