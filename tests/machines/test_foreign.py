"""Recorded real machines as other tools print them: the same model, but for what a form lacks.

The tools read the recordings themselves (``lscpu --sysroot``); where recordings or tools are absent, a test
says which.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from cpuctl.machine.foreign.reading import read_printed
from cpuctl.machine.foreign.rows import ForeignMachine
from cpuctl.machine.foreign.told import Fact
from cpuctl.machine.sources import read_machine
from tests.machines.test_truth import MACHINES, NAMES, pytestmark
from tests.support.machine_facts import differences

__all__ = ["pytestmark"]

_SEEN_OTHERWISE: dict[str, set[Fact]] = {
    "hwloc--28em64t-2s2n7c-buggycoresiblings": {Fact.SOCKETS},  # lists of siblings contradict package ids
    "util-linux--arm-A510-A710-A715-X3": {Fact.SOCKETS},
    "hwloc--64amd64-4s2n4ca2co": {Fact.CACHES},  # maps of one cache differ from CPU to CPU
    "hwloc--8em64t-2s2ca2c-buggynuma": {Fact.NUMA},  # every node lists every CPU
    "util-linux--sparc64": {Fact.CACHES},  # told in files of sparc's own
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


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("words", ["-p -a", "-e -a", "-e -J"])
def test_lscpu_tells_the_same_machine(name: str, words: str, tmp_path: Path) -> None:
    with tarfile.open(MACHINES / f"{name}.tar.gz") as tar:
        tar.extractall(tmp_path, filter="fully_trusted")  # noqa: S202  # our own recordings
    kernels = read_machine(str(tmp_path)).machine
    printed = printed_by_lscpu(tmp_path, *words.split())
    known = printed.told.facts - _SEEN_OTHERWISE.get(name, set())
    if not kernels.numa_known:
        known -= {Fact.NUMA}
    assert differences(kernels, printed.machine, printed.told._replace(facts=known - {Fact.CORE_KINDS})) == {}
    assert printed.machine.online == kernels.online
