"""Auditing a node while its kubelet changes its state file."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpuctl.audit.checks import audit
from cpuctl.capture.collected import no_progress
from cpuctl.capture.node.files import NodeFiles
from cpuctl.checkpoints.cpu_state import write_cpu_state
from cpuctl.cli.notes import observe
from cpuctl.cli.output import ListOutput, Style
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.live_node import LiveNode, NodeInputs, load_node, observe_settled, still_moving
from cpuctl.inputs.sources import Sources
from cpuctl.machine.tree import MemoryTree
from cpuctl.records import replace
from tests.audit.node_tree import NodeTree, clean_node, with_kubelet_files
from tests.capture.node_texts import written

STATE = "var/lib/kubelet/cpu_manager_state"
STYLE = Style(ListOutput.TABLE, color=False, quiet=False)
NO_WORDS = KubeletInputs(config=None, config_dir=None, arguments=None, version="", gates="")


class BusyTree(MemoryTree):
    """A tree whose state file differs with each read, as long as any versions are left."""

    def __init__(self, node: NodeTree, states: list[str]) -> None:
        super().__init__(dict(node.files))
        self.states = states

    def read(self, path: str) -> str | None:
        if path == STATE and self.states:
            return self.states.pop(0)
        return super().read(path)


def before(number: int = 0) -> str:
    """Write the state from before the database was created, in one of several ways."""
    text = write_cpu_state(replace(clean_node().state, entries={}))
    return text + "\n" * number


def busy(tmp_path: Path, *states: str) -> LiveNode:
    node = with_kubelet_files(clean_node())
    root = written({**node.files, STATE: states[0]}, tmp_path / "node")
    words = NodeInputs(machine="live", root=str(root), kubelet=NO_WORDS, state="", pods="")
    found = load_node(words, Sources())
    return found._replace(files=NodeFiles(BusyTree(node, list(states[1:])), str))


def test_a_pod_created_meanwhile_is_not_a_finding(tmp_path: Path) -> None:
    node, snapshot, settled = observe_settled(busy(tmp_path, before()), no_progress)
    assert settled
    assert audit(snapshot) == ()
    assert node.known.state == snapshot.state


def test_a_state_file_that_keeps_changing_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    states = [before(number) for number in range(6)]
    assert not observe(busy(tmp_path, *states), STYLE).settled
    assert "try again" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("age", "period", "reported"),
    [
        (0.2, 10.0, "0s ago and moves containers within 10s"),
        (3.0, 10.0, "3s ago"),
        (10.5, 10.0, ""),
        (-5.0, 10.0, ""),
    ],
)
def test_a_state_that_has_just_changed_may_not_be_applied_yet(
    age: float, period: float, reported: str
) -> None:
    stated = still_moving(age, period)
    assert reported in stated
    assert bool(stated) == bool(reported)
