"""Every command that an audit proposes fixes its finding when it runs where it was printed."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from cpuctl.audit.snapshot import ConfiguredKubelet
from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cpuset import CPUSet
from tests.audit.node_tree import OWN, SERVER, NodeTree, clean_node
from tests.audit.test_faults import FAULTS, Fault
from tests.capture.node_texts import written
from tests.machine.sysfs_writer import CPU_DIR
from tests.support import stand_ins

BOOT = re.compile(r"boot with (isolcpus|nohz_full)=([\d,-]+)(?:, or reserve other CPUs)?")
FILES = {"isolcpus": f"{CPU_DIR}/isolated", "nohz_full": f"{CPU_DIR}/nohz_full"}


def leftovers_of_the_static_policy(node: NodeTree) -> None:
    node.configured = ConfiguredKubelet(policy="none")
    node.state = CPUStateFile(policy_name="none", default_cpu_set=CPUSet())
    node.cpuset(node.front)
    node.cpuset(node.server, cpus=OWN, mems="0")


LEFT_OVER = Fault(
    "what the static policy left",
    leftovers_of_the_static_policy,
    "cpuset-left-over",
    "0-7",
    OWN,
    f"crictl update --cpuset-cpus 0-7 {SERVER}",
)
PROGRAMS = (*(stand_ins.PROGRAMS.keys() - {"cpuctl"}), "echo", "for", "mkdir", "touch")
COMMANDS = [fault for fault in (*FAULTS, LEFT_OVER) if fault.fix.partition(" ")[0] in PROGRAMS]
BOOTS = [fault for fault in FAULTS if BOOT.fullmatch(fault.fix)]


def read_back(node: NodeTree, root: Path) -> NodeTree:
    files = {str(each.relative_to(root)): each.read_text() for each in root.rglob("*") if each.is_file()}
    return replace(node, files=files)


@pytest.mark.parametrize("fault", COMMANDS, ids=lambda fault: fault.name)
def test_a_command_fixes_its_finding(fault: Fault, tmp_path: Path) -> None:
    node = clean_node(fault.version)
    fault.plant(node)
    (finding,) = node.findings()
    root = written(node.files, tmp_path / "node")
    (root / "etc/default").mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["sh", "-euc", stand_ins.at(root, finding.fix)],
        check=False,
        capture_output=True,
        text=True,
        env=stand_ins.written(tmp_path / "bin", root),
    )
    assert (done.returncode, done.stderr) == (0, ""), finding.fix
    stand_ins.settle(root)
    assert read_back(node, root).codes() == [], finding.fix


@pytest.mark.parametrize("fault", BOOTS, ids=lambda fault: fault.name)
def test_a_boot_parameter_fixes_its_finding(fault: Fault) -> None:
    node = clean_node()
    fault.plant(node)
    reported = BOOT.fullmatch(fault.fix)
    assert reported
    node.files[FILES[reported[1]]] = f"{reported[2]}\n"
    assert node.codes() == []


def test_reserving_other_cpus_fixes_the_finding_too() -> None:
    """The CPUs are no longer both isolated and reserved."""
    (fault,) = (each for each in BOOTS if each.fix.endswith(", or reserve other CPUs"))
    node = clean_node()
    fault.plant(node)
    node.configured = node.configured._replace(reserved=CPUSet.parse("0,2"))
    assert fault.code not in node.codes()
