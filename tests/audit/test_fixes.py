"""Every command that an audit proposes is run where it was printed, and then the finding is gone."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cpuctl.audit.disturbers.isolation import _PARTLY
from cpuctl.audit.picture import Promises
from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cpuset import CPUSet
from tests.audit import stand_ins
from tests.audit.node_tree import OWN, SERVER, NodeTree, clean_node
from tests.audit.test_faults import FAULTS, Fault
from tests.capture.node_texts import written
from tests.machine.sysfs_writer import CPU_DIR

AUDIT = Path(__file__).parents[2] / "cpuctl" / "audit"
BOOT = re.compile(r"boot with (isolcpus|nohz_full)=(\S+)")
FILES = {"isolcpus": f"{CPU_DIR}/isolated", "nohz_full": f"{CPU_DIR}/nohz_full"}


def what_the_static_policy_left(node: NodeTree) -> None:
    node.promises = Promises(policy="none")
    node.state = CPUStateFile(policy_name="none", default_cpu_set=CPUSet())
    node.cpuset(node.front)
    node.cpuset(node.server, cpus=OWN, mems="0")


LEFT_OVER = Fault(
    "what the static policy left",
    what_the_static_policy_left,
    "cpuset-left-over",
    "0-7",
    OWN,
    f"crictl update --cpuset-cpus 0-7 {SERVER}",
)
PROGRAMS = (*stand_ins.PROGRAMS, "echo", "for", "touch")
COMMANDS = [fault for fault in (*FAULTS, LEFT_OVER) if fault.fix.partition(" ")[0] in PROGRAMS]
BOOTS = [fault for fault in FAULTS if BOOT.fullmatch(fault.fix)]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Put the stand-ins before all other programs."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in stand_ins.PROGRAMS:
        program = directory / name
        program.write_text(f"#!{sys.executable}\n{Path(stand_ins.__file__).read_text()}")
        program.chmod(0o755)
    return f"{directory}:{os.defpath}"


def at(root: Path, fix: str) -> str:
    """Write a command for a copy of the node."""
    return re.sub(r"(?<![\w.])/(sys|proc|etc)/", rf"{root}/\1/", fix)


def read_back(node: NodeTree, root: Path) -> NodeTree:
    files = {str(each.relative_to(root)): each.read_text() for each in root.rglob("*") if each.is_file()}
    return replace(node, files=files)


@pytest.mark.parametrize("fault", COMMANDS, ids=lambda fault: fault.name)
def test_a_command_mends_what_it_stands_under(fault: Fault, path: str, tmp_path: Path) -> None:
    node = clean_node(fault.version)
    fault.plant(node)
    (finding,) = node.findings()
    root = written(node.files, tmp_path / "node")
    (root / "etc/default").mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["sh", "-euc", at(root, finding.fix)],
        check=False,
        capture_output=True,
        text=True,
        env={"PATH": path, "NODE": str(root)},
    )
    assert (done.returncode, done.stderr) == (0, ""), finding.fix
    stand_ins.settle(root)
    assert read_back(node, root).codes() == [], finding.fix


@pytest.mark.parametrize("fault", BOOTS, ids=lambda fault: fault.name)
def test_a_parameter_mends_what_it_stands_under(fault: Fault) -> None:
    node = clean_node()
    fault.plant(node)
    told = BOOT.fullmatch(fault.fix)
    assert told
    node.files[FILES[told[1]]] = f"{told[2]}\n"
    assert node.codes() == []


NOT_RUN_HERE = {
    "cpuctl checkpoint verify, repair: tests/cli/test_audit.py runs them as they stand": {
        "assigned-cpuset-missing", "assigned-cpuset-stale", "devices-unusable", "given-twice",
        "reserved-in-use", "stale-entry", "state-missing", "state-policy", "state-unusable",
    },
    "a pod is deleted: what comes after it is its workload's": {
        "device-held-twice", "devices-differ", "finished-init-container", "siblings-shared",
    },
    "a switch of the kernel: tests/guest": {"cpus-offline", "cpus-unknown"},
    "a question, which mends nothing": {"group-missing", "interrupts-came", "state-closed"},
    "words, no command": {
        "assigned-cpuset-gate", "assigned-cpuset-unserved", "isolated-reserved", "isolated-threads",
    },
}  # fmt: skip


def test_nothing_is_proposed_that_is_not_run() -> None:
    """A finding with a new command stands in a table of faults, or here with the reason why not."""
    found = {code for file in AUDIT.rglob("*.py") for code in proposing(file)}
    run = {fault.code for fault in (*COMMANDS, *BOOTS)}
    assert found == run | set().union(*NOT_RUN_HERE.values())


def proposing(file: Path) -> Iterator[str]:
    """Yield the codes of findings that say how they are mended."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
            given = {each.arg: each.value for each in node.keywords}
            if "fix" in given:
                code = given["code"]
                yield from [str(code.value)] if isinstance(code, ast.Constant) else _PARTLY.values()
