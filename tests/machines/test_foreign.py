"""Recorded real machines as other tools print them: the same model, except for what a format omits.

The tools read the recordings themselves (``lscpu --sysroot``); where recordings or tools are absent, a test
is skipped and names them.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from itertools import cycle
from pathlib import Path

import pytest

from cpuctl.machine.foreign.form import MachineFact
from cpuctl.machine.foreign.hwloc_writing import as_hwloc_xml
from cpuctl.machine.foreign.reading import read_printed
from cpuctl.machine.foreign.rows import ForeignMachine
from cpuctl.machine.sources import read_machine
from tests.machines.test_truth import MACHINES, NAMES, pytestmark
from tests.support.machine_facts import differences
from tests.tools.test_written_machines import seen_by_lstopo

__all__ = ["pytestmark"]

_DIFFERENT_IN_LSCPU: dict[str, set[MachineFact]] = {
    "hwloc--28em64t-2s2n7c-buggycoresiblings": {
        MachineFact.SOCKETS
    },  # lists of siblings contradict package IDs
    "util-linux--arm-A510-A710-A715-X3": {MachineFact.SOCKETS},
    "hwloc--64amd64-4s2n4ca2co": {MachineFact.CACHES},  # maps of one cache differ from CPU to CPU
    "hwloc--8em64t-2s2ca2c-buggynuma": {MachineFact.NUMA},  # every node lists every CPU
    "util-linux--sparc64": {MachineFact.CACHES},  # listed in files specific to sparc
}


def printed_by_lscpu(root: Path, *words: str) -> ForeignMachine:
    """Run lscpu on a recording; skip those that it cannot read itself."""
    if not shutil.which("lscpu"):
        pytest.skip("lscpu (util-linux) is not installed")
    run = subprocess.run(["lscpu", "--sysroot", root, *words], capture_output=True, check=False)
    rows = [line.strip() for line in run.stdout.splitlines() if line and not line.startswith(b"#")]
    if not rows or rows[0][:1] == b"," or rows[-1][:1] == b"-" or b'"cpu": -' in run.stdout:
        pytest.skip("lscpu cannot read this recording")
    return read_printed(run.stdout, "lscpu")


_DIFFERENT_IN_HWLOC: dict[str, set[MachineFact]] = {
    "hwloc--48amd64-4d2n6c-sparse": {
        MachineFact.NUMA,
        MachineFact.NODE_MEMORY,
        MachineFact.HUGE_PAGES,
    },  # skips nodes 33, 34
    "hwloc--48amd64-4d2n6c-sparse@v2": {MachineFact.NUMA, MachineFact.NODE_MEMORY, MachineFact.HUGE_PAGES},
    "hwloc--64amd64-4s2n4ca2co": {MachineFact.CACHES, MachineFact.CACHE_SIZES, MachineFact.MODEL},
    "hwloc--64fake-4n2d2_2c2t": {
        MachineFact.CACHES,
        MachineFact.CACHE_SIZES,
    },  # L1 and L2 that contradict sibling files
    "hwloc--64fake-4n2s2ca2c2t": {MachineFact.CACHES, MachineFact.CACHE_SIZES},
    "hwloc--8em64t-2s2ca2c-buggynuma": {
        MachineFact.BARE_NODES,
        MachineFact.NODE_MEMORY,
        MachineFact.HUGE_PAGES,
        MachineFact.NUMA,
    },
    "libvirt--caps-caches": {MachineFact.CACHES, MachineFact.CACHE_IDS, MachineFact.CACHE_SIZES},
    "libvirt--caps-resctrl-skx-twocaches": {MachineFact.CACHE_IDS, MachineFact.CACHE_SIZES},
    "libvirt--host-subcores1": {MachineFact.NUMA},  # links instead of lists of CPUs
    "libvirt--host-subcores3": {MachineFact.NUMA},
    "libvirt--host-test3": {MachineFact.NUMA},
    "libvirt--host-test4": {MachineFact.NUMA},
    "nri-plugins--2-socket-4-node-40-core": {MachineFact.CORE_KINDS},  # made-up files of kinds
}
_UNREADABLE_TO_HWLOC = {"hwloc--4qs22-2s2t"}


@pytest.mark.tools
@pytest.mark.parametrize("name", [name for name in NAMES if name not in _UNREADABLE_TO_HWLOC])
def test_hwloc_prints_the_same_machine(name: str, tmp_path: Path) -> None:
    with tarfile.open(MACHINES / f"{name}.tar.gz") as tar:
        tar.extractall(tmp_path, filter="fully_trusted")  # noqa: S202  # our own recordings
    kernels = read_machine(str(tmp_path)).machine
    words = ("--input", str(tmp_path), "--if", "fsroot", "--of", "xml")
    run = subprocess.run(["lstopo", *words], capture_output=True, check=True)
    printed = read_printed(run.stdout, "lstopo")
    known = printed.content.facts - _DIFFERENT_IN_HWLOC.get(name, set())
    if not kernels.numa_known:
        known -= {MachineFact.NUMA, MachineFact.BARE_NODES}
    if not all(node.distances for node in kernels.numa_nodes):
        known -= {MachineFact.DISTANCES}
    assert differences(kernels, printed.machine, printed.content._replace(facts=known)) == {}
    assert printed.machine.online == kernels.online


_CONTRADICT_THEMSELVES = {
    "hwloc--64fake-4n2d2_2c2t",
    "hwloc--64fake-4n2s2ca2c2t",
    "libvirt--caps-caches",
    "libvirt--caps-resctrl-skx-twocaches",
}
"""Caches that share some or all of their CPUs."""


@pytest.mark.tools
@pytest.mark.parametrize("name", NAMES)
def test_hwloc_reads_the_same_machine_that_was_written(name: str) -> None:
    machine = read_machine(str(MACHINES / f"{name}.tar.gz")).machine
    text, notes = as_hwloc_xml(machine)
    assert any("to be nested" in note for note in notes) == (name in _CONTRADICT_THEMSELVES)
    seen = seen_by_lstopo(text)
    known = seen.content.facts
    if name in _CONTRADICT_THEMSELVES:
        known -= {MachineFact.CACHES, MachineFact.CACHE_IDS, MachineFact.CACHE_SIZES}
    assert differences(machine, seen.machine, seen.content._replace(facts=known)) == {}


FORMS = ("-p -a", "-e -a", "-e -J")


@pytest.mark.tools
@pytest.mark.parametrize(("name", "words"), list(zip(NAMES, cycle(FORMS), strict=False)))
def test_lscpu_prints_the_same_machine(name: str, words: str, tmp_path: Path) -> None:
    """Every machine in one of the formats: lscpu reads it from the same files for each."""
    with tarfile.open(MACHINES / f"{name}.tar.gz") as tar:
        tar.extractall(tmp_path, filter="fully_trusted")  # noqa: S202  # our own recordings
    kernels = read_machine(str(tmp_path)).machine
    printed = printed_by_lscpu(tmp_path, *words.split())
    known = printed.content.facts - _DIFFERENT_IN_LSCPU.get(name, set())
    if not kernels.numa_known:
        known -= {MachineFact.NUMA}
    assert (
        differences(
            kernels, printed.machine, printed.content._replace(facts=known - {MachineFact.CORE_KINDS})
        )
        == {}
    )
    assert printed.machine.online == kernels.online
