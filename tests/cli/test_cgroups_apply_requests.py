"""What ``cgroups apply`` can be given, and what it rejects."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cpuctl.operations.cgroups.preparation import digests
from tests.cli.conftest import Cpuctl
from tests.cli.group_node import V1, Node, node_of_groups, real_kernel


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with node_of_groups(tmp_path) as made:
        yield made


REFUSED = {
    "exclusive": ["shop/shared/app=1"],
    "reserved": ["shop/own/app=0"],
    "offline": ["shop/own/app=4000"],
}


@real_kernel
@pytest.mark.parametrize("code", REFUSED)
def test_rejections(node: Node, code: str) -> None:
    exit_code, document = node.answer("--yes", "--no-wait", *REFUSED[code])
    assert (exit_code, document["outcome"], node.lists) == (3, "Rejected", ["0-1", "0-1"])
    (objection,) = document["objections"]
    option = f"--force-{code}" if code != "offline" else None
    assert (objection["code"], objection["force"]) == (code, option)
    if option:
        exit_code, document = node.answer("--yes", "--no-wait", *REFUSED[code], option)
        assert (exit_code, document["outcome"]) == (0, "Applied")
    else:  # This kernel's control groups are of version 1, which rejects it even when forced.
        words = ("--yes", "--no-wait", *REFUSED[code], "--force-offline")
        assert node.answer(*words)[1]["outcome"] == "Undone"


@real_kernel
def test_what_the_kernel_rejects_is_undone(node: Node) -> None:
    """CPUs that do not exist: the option forces the attempt, but the kernel rejects it."""
    words = ["shop/shared/app=0", "shop/own/app=1,4000", "--force-offline", "--force-reserved"]
    code, document = node.answer("--yes", "--no-wait", *words)
    assert (code, document["outcome"], node.lists) == (5, "Undone", ["0-1", "0-1"])


@real_kernel
def test_a_plan_is_rejected_if_its_state_has_changed(node: Node, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    command = [*node.command(), "-o", "plan"]
    command[3:5] = ["audit"]
    plan.write_text(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    assert node.answer("-f", str(plan))[1]["summary"]["writes"] == 2
    node.write_state(pool="0-1")
    code, document = node.answer("-f", str(plan), "--yes")
    assert (code, node.lists) == (3, ["0-1", "0-1"])
    assert document["objections"][0]["code"] == "state-moved"
    assert document["next"].startswith("sudo cpuctl audit ")
    assert document["next"].endswith(" -o plan --exit-zero > FILE")
    saved = json.loads(plan.read_text())
    saved["state"].append({"path": "/var/lib/kubelet/memory_manager_state", "sha256": "0" * 64})
    plan.write_text(json.dumps(saved))
    objections = node.answer("-f", str(plan))[1]["objections"]
    assert [(each["subject"], each["message"]) for each in objections[-1:]] == [
        (
            "memory_manager_state",
            "the file exists on the plan's node, but not here: make a new plan",
        )
    ]


@real_kernel
def test_a_plan_continues_after_a_killed_run(node: Node, tmp_path: Path) -> None:
    """A container has both its old and its new CPUs for a moment if a group below it has to move."""
    child = node.own / "init"
    child.mkdir()
    (child / "cpuset.mems").write_text((V1 / "cpuset.mems").read_text())
    for group in (child, node.own):
        (group / "cpuset.cpus").write_text("0")
    plan = tmp_path / "plan.json"
    command = [*node.command(), "-o", "plan"]
    command[3:5] = ["audit"]
    plan.write_text(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    (node.own / "cpuset.cpus").write_text("0-1")
    code, document = node.answer("-f", str(plan), "--yes", "--no-wait")
    assert (code, document["outcome"], node.lists) == (0, "Applied", ["1", "0"])


@real_kernel
@pytest.mark.parametrize(
    ("path", "wanted", "expected"),
    [
        ("own.parent", "1", "is not a container's group"),
        ("own", "", "groups[0].cpus.desired: an empty value was requested"),
        ("own", "0-99999999999", "groups[0].cpus.desired: expected a CPU list"),
    ],
)
def test_an_invalid_plan_is_rejected(
    node: Node, tmp_path: Path, path: str, wanted: str, expected: str
) -> None:
    group = node.own.parent if path == "own.parent" else node.own
    change = {"now": "0-1", "desired": wanted}
    plan = {
        "apiVersion": "cpuctl/v1alpha1",
        "kind": "CgroupsPlan",
        "state": [],
        "groups": [{"path": f"/{group.relative_to(V1)}", "cpus": change}],
    }
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    done = node.run("-f", str(tmp_path / "plan.json"), "--yes")
    assert (done.returncode, node.lists) == (4, ["0-1", "0-1"])
    assert expected in done.stderr


@real_kernel
def test_a_missing_group_is_reported(node: Node, tmp_path: Path) -> None:
    plan = {"kind": "CgroupsPlan", "state": [], "groups": [{"path": "/kubepods/../../etc"}]}
    plan["state"] = [
        {"path": "cpu_manager_state", "sha256": hashlib.sha256(node.state.read_bytes()).hexdigest()}
    ]
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    code, document = node.answer("-f", str(tmp_path / "plan.json"), "--yes")
    assert (code, document["outcome"], node.lists) == (0, "Clean", ["0-1", "0-1"])
    assert [each["subject"] for each in document["skipped"]] == ["cgroup /kubepods/../../etc"]


@real_kernel
def test_a_node_without_a_state_file_needs_one(node: Node, tmp_path: Path) -> None:
    words = node.command("--kubelet-args", f"--root-dir={tmp_path / 'kubelet'}")
    at = words.index("--state")
    done = subprocess.run([*words[:at], *words[at + 2 :]], capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert f"{tmp_path / 'kubelet'}/cpu_manager_state: there is no state file to use" in done.stderr


@real_kernel
def test_a_plan_of_pods_is_applied_by_their_names(node: Node, tmp_path: Path) -> None:
    """As ``cpuctl plan -o json`` prints it: from standard input, for pods with generated UIDs."""
    container = {"name": "app", "kind": "app", "exclusive": True, "isolation": "container", "cpus": "1"}
    pods = [
        {"namespace": "shop", "name": name, "outcome": "Admitted", "containers": [container]}
        for name in ("own", "absent")
    ]
    plan = {
        "apiVersion": "cpuctl/v1alpha1",
        "kind": "Plan",
        "start": {"outcome": "Started"},
        "pods": pods[:1],
        "after": {"sharedPool": "0"},
    }
    done = subprocess.run(
        [*node.command("-f", "-", "--yes", "--no-wait")],
        input=json.dumps(plan),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr, node.lists) == (0, "", ["1", "0"])
    plan |= {"pods": pods, "state": [{"path": "cpu_manager_state", "sha256": "0" * 64}]}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    code, document = node.answer("-f", str(tmp_path / "plan.json"))
    assert (code, document["objections"][0]["code"]) == (3, "state-moved")
    assert [each["subject"] for each in document["skipped"]] == ["shop/absent/app"]


@real_kernel
def test_a_state_file_is_a_plan(node: Node, tmp_path: Path) -> None:
    other = tmp_path / "proposal"
    other.write_text(node.state.read_text())
    assert node.answer("-f", str(other), "--yes", "--no-wait")[0] == 0
    assert node.lists == ["1", "0"]


def test_a_plan_records_the_state_that_it_was_made_from(tmp_path: Path, cpuctl: Cpuctl) -> None:
    kubelet = (
        "-m",
        "fixtures/machines/2s-2numa-32cpu.tar.xz",
        "--kubelet-config",
        "fixtures/kubelet/static.yaml",
    )
    cpuctl("plan", *kubelet, "-T", "web=2/2,1Gi", "--write-state", str(tmp_path), "-o", "json")
    state = tmp_path / "cpu_manager_state"
    answer = cpuctl("plan", *kubelet, "--state", str(state), "-T", "more=2/2,1Gi", "-o", "json")
    digest = hashlib.sha256(state.read_bytes()).hexdigest()
    assert json.loads(answer.out)["state"] == [{"path": "cpu_manager_state", "sha256": digest}]


def test_reading_state_files_never_blocks(tmp_path: Path) -> None:
    """A pipe in place of a state file has no writer; a link out of the node's tree is not part of it."""
    folder = tmp_path / "node" / "var/lib/kubelet"
    folder.mkdir(parents=True)
    (tmp_path / "elsewhere").write_text("{}")
    os.mkfifo(folder / "cpu_manager_state")
    (folder / "memory_manager_state").symlink_to(tmp_path / "elsewhere")
    assert digests(tmp_path / "node", "/var/lib/kubelet") == {}
    (folder / "cpu_manager_state").unlink()
    (folder / "cpu_manager_state").write_text("{}")
    assert digests(tmp_path / "node", "/var/lib/kubelet") == {
        "cpu_manager_state": hashlib.sha256(b"{}").hexdigest()
    }


def refusal(*words: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "cpuctl", "cgroups", "apply", "-q", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == ""
    return done.returncode, done.stderr


def test_a_recording_cannot_be_changed(tmp_path: Path) -> None:
    (tmp_path / "node.tar.gz").write_bytes(b"")
    code, text = refusal("-m", str(tmp_path / "node.tar.gz"))
    assert code == 2
    assert "is a recording and cannot be changed" in text


@pytest.mark.parametrize("option", ["-m", "--root"])
def test_a_missing_tree_is_not_a_recording(option: str, tmp_path: Path) -> None:
    missing = str(tmp_path / "none")
    assert refusal(option, missing) == (4, f"error: {missing}: cannot be read: no such file or directory\n")


def test_a_copy_of_a_node_cannot_be_changed(tmp_path: Path) -> None:
    """Files that look like control groups, but are on a disk."""
    for name, text in {"online": "0-1", "possible": "0-1", "present": "0-1"}.items():
        place(tmp_path / "sys/devices/system/cpu" / name, text)
    for cpu in range(2):
        for name, text in {
            "core_id": str(cpu),
            "physical_package_id": "0",
            "core_cpus_list": str(cpu),
        }.items():
            place(tmp_path / f"sys/devices/system/cpu/cpu{cpu}/topology" / name, text)
    place(tmp_path / "sys/devices/system/node/node0/cpulist", "0-1")
    place(tmp_path / "sys/devices/system/node/online", "0")
    place(tmp_path / "sys/fs/cgroup/cgroup.controllers", "cpuset")
    code, text = refusal("--root", str(tmp_path), "--kubelet-version", "1.36")
    assert code == 4
    assert "expected the kernel's cgroup file system (cgroup2)" in text


def place(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-f", "-", "a/b/c=1"], "use either a file or containers, not both"),
        (["-f", "-", "--pods", "-"], "used twice"),
    ],
)
def test_options_that_exclude_each_other(words: list[str], expected: str) -> None:
    code, text = refusal(*words)
    assert code == 2
    assert expected in text
