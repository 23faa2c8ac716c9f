"""No input makes a machine reader raise anything but InputError, and what is written reads back."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.archive import read_archive
from cpuctl.machine.foreign.reading import read_printed
from cpuctl.machine.kernel_text import parse_cpu_list, parse_cpu_map
from cpuctl.machine.machine_info import kubelet_view
from cpuctl.machine.model import MAX_CPUS, Machine
from cpuctl.machine.sources import MachineSource
from cpuctl.machine.synthetic import describe_synthetic, parse_synthetic
from cpuctl.machine.synthetic_description import (
    CPU_OPTIONS,
    GROUP_OPTIONS,
    Arrangement,
    CoreKind,
    Description,
    Figures,
)
from cpuctl.machine.sysfs import read_machine_files
from cpuctl.machine.tree import MemoryTree
from cpuctl.records import replace
from tests.machine.sysfs_writer import cpu_map, small_machine, sysfs_files

FILES = small_machine("2s2n2c2t,hugepages-2Mi=1,isolated=1")

kernel_texts = st.one_of(
    st.text(max_size=30),
    st.text(alphabet="0123456789,-abcdefxKMG:/ \n\0", max_size=30),
    st.sampled_from(["", "-1", "(null)", "99999999999999999999", "0-8191", "0-", "Node 0 MemTotal: 1 kB"]),
)


@contextmanager
def input_errors_about(place: str) -> Iterator[None]:
    """Suppress InputErrors whose place begins with *place*, and nothing else."""
    try:
        yield
    except InputError as error:
        if not (error.where and error.where.startswith(place)):
            raise AssertionError(f"the error names {error.where!r}") from error


def topology(machine: Machine) -> tuple[object, ...]:
    return (
        machine.online,
        machine.offline,
        set(machine.cores),
        machine.sockets,
        set(machine.l3_groups),
        (machine.caches_known, machine.hugepages_known),
        [
            (node.id, node.cpus, node.memory_bytes, node.hugepages, node.distances)
            for node in machine.numa_nodes
        ],
    )


@given(path=st.sampled_from(sorted(FILES)), text=kernel_texts)
def test_any_text_in_any_file(path: str, text: str) -> None:
    with input_errors_about("sys/" if path.startswith("sys/") else "proc/"):
        kubelet_view(read_machine_files(MemoryTree(FILES | {path: text})))


@given(paths=st.sets(st.sampled_from(sorted(FILES)), max_size=len(FILES)))
def test_any_files_missing(paths: set[str]) -> None:
    files = {path: text for path, text in FILES.items() if path not in paths}
    with input_errors_about("sys/"):
        kubelet_view(read_machine_files(MemoryTree(files)))


def read_archive_bytes(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "machine.tar"
        path.write_bytes(data)
        with input_errors_about(str(path)):
            read_archive(path)


def archive() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in ("sys/" + "long/" * 30 + "name", "sys/a", "proc/b"):
            member = tarfile.TarInfo(name)
            member.size = 3
            tar.addfile(member, io.BytesIO(b"0-3"))
    return buffer.getvalue()


ARCHIVES = [archive(), gzip.compress(archive(), mtime=0), lzma.compress(archive())]


@given(data=st.binary(max_size=2000))
def test_any_bytes_as_an_archive(data: bytes) -> None:
    read_archive_bytes(data)


@given(whole=st.sampled_from(ARCHIVES), at=st.integers(0, 10_000), junk=st.binary(min_size=1, max_size=8))
def test_an_archive_damaged_anywhere(whole: bytes, at: int, junk: bytes) -> None:
    at %= len(whole)
    read_archive_bytes(whole[:at] + junk + whole[at + len(junk) :])


@given(whole=st.sampled_from(ARCHIVES), length=st.integers(0, 10_000))
def test_an_archive_cut_anywhere(whole: bytes, length: int) -> None:
    read_archive_bytes(whole[: length % len(whole)])


@given(text=st.text(alphabet="0123456789snctlmehuorapgi3=-+/:,.GM", max_size=40))
def test_any_synthetic_text(text: str) -> None:
    with input_errors_about("synthetic:"):
        parse_synthetic(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 9000) | st.text(max_size=3),
    lambda values: (
        st.lists(values, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["topology", "num_cores", "node_id", "cores", "thread_ids", "caches", "level", "memory"]
            ),
            values,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(document=json_values)
def test_any_json_as_machine_information(document: object) -> None:
    with input_errors_about("m.json"):
        read_printed(json.dumps({"topology": document}).encode(), "m.json")


@st.composite
def descriptions(draw: st.DrawFn) -> str:
    """Draw a regular machine and a few matching irregularities."""
    sockets = draw(st.sampled_from([1, 2, 4]))
    nodes = draw(st.sampled_from([0, 1, sockets, 2 * sockets]))
    kind = st.tuples(st.integers(1, 4), st.sampled_from("cpe"), st.integers(1, 4))
    kinds = draw(st.lists(kind, min_size=1, max_size=3))
    cores = sum(2 * count for count, _, _ in kinds)
    last = sockets * sum(2 * count * threads for count, _, threads in kinds) - 1
    cpus = st.sets(st.integers(0, last), max_size=last)
    parts = [f"{sockets}s{nodes}n" + "+".join(f"{2 * count}{letter}{each}t" for count, letter, each in kinds)]
    parts += draw(st.lists(st.sampled_from(["near", "interleaved"]), unique=True))
    if not nodes or cores % nodes == 0:
        parts += draw(st.sampled_from([[], ["across"]] if len(kinds) == 1 else [[]]))
    parts += draw(st.sampled_from([[], ["l3=none"], ["l3=-"], [f"l3={2 * sockets}"]]))
    parts += draw(st.sampled_from([[], ["mem=-"], ["mem=1Gi"], ["hugepages-2Mi=3", "hugepages-64Ki=0"]]))
    parts += draw(st.sampled_from([[], ["hugepages=-"]]))
    parts += draw(st.sampled_from([[], ["distances=none"], ["sockets=none"], ["cores=none"]]))
    offline = CPUSet.of(draw(cpus))
    awake = CPUSet.of(cpu for core in parse_synthetic(",".join(parts)).cores for cpu in [core.lowest])
    parts += ["nosmt"] if not awake <= offline and draw(st.booleans()) else []
    parts += [f"offline={offline}".replace(",", "+")] if offline else []
    return ",".join(parts)


@given(text=descriptions())
def test_synthetic_machines_print_as_they_are_written(text: str) -> None:
    machine = parse_synthetic(text)
    description = describe_synthetic(machine)
    again = parse_synthetic(description)
    assert topology(again) == topology(machine)
    assert (again.performance_cpus or None) == (machine.performance_cpus or None)
    assert (again.efficiency_cpus or None) == (machine.efficiency_cpus or None)
    assert describe_synthetic(again) == description


GROUPS = st.lists(st.sets(st.integers(0, 40), min_size=1), max_size=3).map(
    lambda sets: {number: CPUSet.of(cpus.difference(*sets[:number])) for number, cpus in enumerate(sets)}
)
ROWS = st.one_of(st.tuples(st.integers(0, 1 << 40)), st.tuples(st.integers(0, 4096), st.none()))


@st.composite
def any_descriptions(draw: st.DrawFn) -> Description:
    """Draw any description, whether or not such a machine exists."""
    kinds = st.tuples(st.integers(1, 20), st.integers(1, 8), st.sampled_from("cpe"))
    unknown = draw(st.sets(st.sampled_from(["l3", "hugepages"])))
    groups = draw(st.dictionaries(st.sampled_from(GROUP_OPTIONS), GROUPS))
    if "l3" in unknown:
        groups.pop("l3", None)
    counted = not unknown and "l3" not in groups and draw(st.booleans())
    cpus = st.sets(st.integers(0, 300), min_size=1).map(CPUSet.of)
    return Description(
        figures=Figures(
            sockets=draw(st.integers(1, 8)),
            nodes=draw(st.integers(0, 16)),
            kinds=tuple(CoreKind(*each) for each in draw(st.lists(kinds, min_size=1, max_size=4))),
        ),
        arrangement=Arrangement(*draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))),
        nosmt=draw(st.booleans()),
        l3_count=draw(st.integers(0, 64)) if counted else None,
        groups=groups,
        cpus=draw(st.dictionaries(st.sampled_from(CPU_OPTIONS), cpus)),
        memory=draw(ROWS),
        hugepages=draw(st.dictionaries(st.sampled_from([64, 2048, 1 << 20]), ROWS)),
        distances=draw(st.sampled_from([None, (), ((10, 21), (21, 10))])),
        unknown=frozenset(unknown),
    )


@given(description=any_descriptions())
def test_descriptions_are_read_as_they_are_written(description: Description) -> None:
    assert Description.parse(str(description)) == description


@settings(max_examples=50)
@given(text=descriptions())
def test_a_machine_written_as_sysfs_is_read_back(text: str) -> None:
    machine = parse_synthetic(text)
    read = read_machine_files(MemoryTree(sysfs_files(machine)))
    # A machine without huge pages or caches has no files for them, so nothing is known about them.
    assert not read.caches_known or machine.caches_known
    reported = replace(machine, caches_known=read.caches_known, hugepages_known=read.hugepages_known)
    assert topology(read) == topology(reported)
    wanted = replace(
        kubelet_view(machine), hugepages_known=read.hugepages_known, caches_known=bool(machine.caches)
    )
    assert MachineSource(machine=read, info=kubelet_view(read), origin="").info == wanted


@given(cpus=st.sets(st.integers(0, MAX_CPUS - 1)).map(CPUSet.of))
def test_lists_and_maps_are_read_back(cpus: CPUSet) -> None:
    assert parse_cpu_list(f"{cpus}\n") == cpus
    assert parse_cpu_map(cpu_map(cpus)) == cpus
