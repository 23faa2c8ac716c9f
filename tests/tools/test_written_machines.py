"""Machines written for other tools: these read them, and see the same.

``make tools`` installs the tools; without them these tests fail.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from cpuctl.machine.foreign.hwloc_writing import as_hwloc_xml
from cpuctl.machine.foreign.reading import read_printed
from cpuctl.machine.foreign.rows import ForeignMachine
from cpuctl.machine.model import Machine
from cpuctl.machine.sources import read_machine
from cpuctl.machine.synthetic import parse_synthetic
from tests.cli.conftest import Cpuctl, cpuctl
from tests.machine.foreign.test_forms import MACHINES, RECORDINGS
from tests.machine.foreign.test_hwloc_writing import DESCRIBED
from tests.support.machine_facts import differences

__all__ = ["cpuctl"]

pytestmark = pytest.mark.tools


def seen_by_lstopo(text: str) -> ForeignMachine:
    """Let lstopo read a topology, validate it, and write it again."""
    run = subprocess.run(
        ["lstopo", "-i", "-", "--if", "xml", "--of", "xml"],
        input=text.encode(),
        capture_output=True,
        env={**os.environ, "HWLOC_DEBUG_CHECK": "1"},
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, b"")
    return read_printed(run.stdout, "lstopo")


def check(machine: Machine) -> None:
    seen = seen_by_lstopo(as_hwloc_xml(machine)[0])
    assert differences(machine, seen.machine, seen.content) == {}
    assert seen.machine.online == machine.online


@pytest.mark.parametrize("recording", RECORDINGS)
def test_lstopo_sees_shipped_machines(recording: str) -> None:
    check(read_machine(str(MACHINES / recording)).machine)


@pytest.mark.parametrize("description", DESCRIBED.values(), ids=DESCRIBED)
def test_lstopo_sees_described_machines(description: str) -> None:
    check(parse_synthetic(description))


def test_lstopo_draws_the_output_of_a_command(cpuctl: Cpuctl, tmp_path: Path) -> None:
    written = cpuctl("topology", "show", "-m", "synthetic:2s4n8c2t", "-o", "hwloc-xml")
    (tmp_path / "node.xml").write_text(written.out, encoding="utf-8")
    run = subprocess.run(
        ["lstopo", "-i", "node.xml", "--of", "console"], cwd=tmp_path, capture_output=True, check=True
    )
    drawn = run.stdout.decode()
    assert (drawn.count("Package"), drawn.count("NUMANode"), drawn.count("PU ")) == (2, 4, 32)
