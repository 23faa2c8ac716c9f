"""A capture of a recorded machine is the same machine, however odd it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpuctl.capture.archive import Compression, make_capture, write_members
from cpuctl.capture.node.node import Node, record
from cpuctl.machine.archive import read_archive
from cpuctl.machine.sources import MachineSource, read_machine
from cpuctl.records import replace
from tests.machines.test_truth import MACHINES, NAMES, pytestmark

__all__ = ["pytestmark"]


def described(source: MachineSource) -> MachineSource:
    """Leave out the name and the files, which differ."""
    return replace(source, origin="", files=None)


@pytest.mark.parametrize("name", NAMES)
def test_a_capture_is_the_same_machine(name: str, tmp_path: Path) -> None:
    path = MACHINES / f"{name}.tar.gz"
    capture = make_capture(record(Node(tree=read_archive(path), follow=str)), cpuctl="test")
    again = tmp_path / "node.tar"
    with again.open("wb") as file:
        write_members(capture.members, file, Compression.NONE)
    assert described(read_machine(str(again))) == described(read_machine(str(path)))
    assert capture.manifest["unreadable"] == []
