"""CPU partitions are shown and audited the same from a node's files and from its recording."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.audit.node_tree import OWN, PODS, NodeTree, clean_node, with_kubelet_files
from tests.capture.node_texts import written
from tests.cli.conftest import Cpuctl


def set_apart(node: NodeTree, state: str) -> None:
    """Make the database's container a remote partition, as its administrator wanted it or close to that."""
    pod = node.server.rpartition("/")[0]
    taken = "" if "invalid" in state else OWN
    for group in ("/kubepods.slice", pod, node.server):
        node.put("cpuset", group, "cpuset.cpus.exclusive", OWN)
        node.put("cpuset", group, "cpuset.cpus.exclusive.effective", taken)
        node.put("cpuset", group, "cpuset.cpus.partition", "member")
    node.put("cpuset", node.server, "cpuset.cpus.partition", state)
    node.cpuset("/machine.slice", cpus="3", effective="3")
    node.put("cpuset", "/machine.slice", "cpuset.cpus.partition", "isolated")


STATES = {
    "isolated": "partition",
    "isolated invalid (Invalid cpu list in cpuset.cpus.exclusive)": "partition-invalid",
}


@pytest.mark.parametrize("state", STATES)
def test_a_recording_shows_the_same_as_the_node(state: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    node = clean_node()
    set_apart(node, state)
    root = str(written(with_kubelet_files(node).files, tmp_path / "node"))
    pods, capture = tmp_path / "pods.json", str(tmp_path / "node7.tar.gz")
    pods.write_text(json.dumps(PODS))
    assert cpuctl("capture", capture, "--root", root).code == 0
    reported = ("--pods", str(pods), "--kubelet-version", "1.36", "-q")

    def answer(command: str, *source: str) -> Any:
        document = json.loads(cpuctl(*command.split(), *source, *reported, "-o", "json").out)
        # The sources and the command to type next have different names.
        return {key: value for key, value in document.items() if key not in ("sources", "next")}

    for command in ("cgroups show", "audit"):
        assert answer(command, "-m", capture) == answer(command, "--root", root)
    found = {
        each["path"]: each["code"] for each in answer("audit", "-m", capture)["findings"] if each["path"]
    }
    assert (found[node.server], found["/machine.slice"]) == (STATES[state], "partition")
    drawn = cpuctl("cgroups", "show", "-m", capture, *reported).out.splitlines()
    (head,) = [line for line in drawn if "GROUP" in line and "CPUS" in line]
    assert head.split()[1:7] == ["CPUS", "EFFECTIVE", "MEMS", "PARTITION", "EXCLUSIVE", "EXCLUSIVE-EFFECTIVE"]
    cells = [line.split() for line in drawn]
    shown, _ = [line for line in cells if line[:1] == ["server"]]
    assert (state.split(maxsplit=1)[0] in shown, OWN in shown) == (True, True)
    assert ["cpuset.cpus.exclusive", OWN, "none"] in cells


def test_a_node_without_partitions_has_no_columns_for_them(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """Members that have a list also report the CPUs that could be exclusive."""
    node = clean_node()
    node.put("cpuset", node.server, "cpuset.cpus.partition", "member")
    node.put("cpuset", node.server, "cpuset.cpus.exclusive.effective", OWN)
    root = str(written(with_kubelet_files(node).files, tmp_path / "node"))
    shown = cpuctl("cgroups", "show", "--root", root, "-q").out
    assert "EXCLUSIVE" not in shown
    assert "PARTITION" not in shown


@pytest.mark.parametrize("anonymous", [False, True], ids=["as it is", "anonymous"])
def test_an_audit_of_a_recording_names_who_set_the_cpus(
    anonymous: bool, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    """systemd has re-read its files and given its own affinity to a container; a drop-in names a unit."""
    node = clean_node()
    node.files["etc/systemd/system.conf"] = "[Manager]\nCPUAffinity=0 4\n"
    node.files["etc/systemd/system/secret.service.d/cpus.conf"] = "[Service]\nCPUAffinity=2\nUser=x\n"
    node.cpuset(node.server, cpus="0,4", mems="0")
    node.process(75, "tuned", "/system.slice/tuned.service", "0,4")
    root, capture = (
        str(written(with_kubelet_files(node).files, tmp_path / "node")),
        str(tmp_path / "n.tar.gz"),
    )
    assert cpuctl("capture", capture, "--root", root, *["--anonymize"] * anonymous).code == 0
    result = cpuctl("audit", "-m", capture, "--kubelet-version", "1.36", "-q", "-o", "json")
    found = {each["code"]: each["message"] for each in json.loads(result.out)["findings"]}
    assert (
        "; 0,4 matches systemd's CPUAffinity=0 4 in /etc/systemd/system.conf, PID 1 and the system "
        in found["cpuset-differs"]
    )
    assert "TuneD (tuned, process 75)" in found["agents-present"]
    with tarfile.open(capture) as tar:
        (member,) = [each for each in tar.getmembers() if each.name.endswith("cpu-settings.jsonl")]
        text = tar.extractfile(member).read().decode()  # type: ignore[union-attr]
    assert ("secret" in text) != anonymous
    assert "User" not in text


def test_a_masked_unit_is_not_reported_as_unreadable(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """It is a link to /dev/null, which sudo does not make more readable; here a pipe replaces the device."""
    node = clean_node()
    node.files["usr/lib/systemd/system/app.service"] = "[Service]\nExecStart=/bin/app\n"
    root = written(with_kubelet_files(node).files, tmp_path / "node")
    (root / "dev").mkdir(exist_ok=True)
    os.mkfifo(root / "dev" / "null")
    (root / "usr/lib/systemd/system/masked.service").symlink_to("/dev/null")
    result = cpuctl("audit", "--root", str(root), "--kubelet-version", "1.36", "-o", "json")
    assert json.loads(result.out)["unreadable"] == []
