"""``cgroups apply`` on this machine's own kernel, in groups of our own; elsewhere the guests do it."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from syrupy.assertion import SnapshotAssertion

from cpuctl.checkpoints.cpu_state import write_cpu_state
from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cpuset import CPUSet
from cpuctl.schemas import schema_text
from tests.cli.conftest import Cpuctl

V1 = Path("/sys/fs/cgroup/cpuset")
OWN, SHARED = "11111111-0000-4000-8000-000000000001", "11111111-0000-4000-8000-000000000002"

real_kernel = pytest.mark.skipif(
    not (os.access(V1, os.W_OK) and (V1 / "cpuset.cpus").exists() and (os.cpu_count() or 1) > 1),
    reason="this machine has no cgroup v1 cpuset that can be written",
)


class Node:
    """Two pods, of which one has CPU 1 for its own; both may run everywhere at first."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder
        self.own = root / "kubepods" / f"pod{OWN}" / ("a" * 64)
        self.shared = root / "kubepods" / "burstable" / f"pod{SHARED}" / ("b" * 64)
        self.state = folder / "cpu_manager_state"
        self.write_state()
        self.processes: list[subprocess.Popen[bytes]] = []

    def write_state(self, pool: str = "0") -> None:
        state = CPUStateFile(
            policy_name="static",
            default_cpu_set=CPUSet.parse(pool),
            entries={OWN: {"app": CPUSet.parse("1")}},
        )
        self.state.write_text(write_cpu_state(state))

    def make(self) -> None:
        for group in (self.own, self.shared):
            for path in [*reversed(group.parents), group]:
                if path.is_relative_to(self.root) and not path.exists():
                    path.mkdir()
                    (path / "cpuset.mems").write_text((path.parent / "cpuset.mems").read_text())
                    (path / "cpuset.cpus").write_text("0-1")
            self.processes.append(subprocess.Popen(["sleep", "600"]))
            (group / "tasks").write_text(str(self.processes[-1].pid))
        config = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "cgroupRoot": f"/{self.root.name}",
            "cpuManagerPolicy": "static",
            "reservedSystemCPUs": "0",
            "cpuManagerReconcilePeriod": "1s",
        }
        (self.folder / "config.json").write_text(json.dumps(config))
        pods = [pod("own", OWN, "a" * 64), pod("shared", SHARED, "b" * 64)]
        (self.folder / "pods.json").write_text(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})
        )

    def remove(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        for path in sorted(self.root.rglob("**/"), reverse=True):
            for _ in range(100):  # the kernel takes a moment to see that a process has ended
                try:
                    path.rmdir()
                    break
                except OSError:
                    time.sleep(0.01)

    @property
    def lists(self) -> list[str]:
        return [(group / "cpuset.cpus").read_text().strip() for group in (self.own, self.shared)]

    def command(self, *words: str) -> list[str]:
        return [
            *(sys.executable, "-m", "cpuctl", "cgroups", "apply", "-q"),
            *("--kubelet-config", str(self.folder / "config.json"), "--kubelet-version", "1.36"),
            *("--state", str(self.state), "--pods", str(self.folder / "pods.json"), *words),
        ]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*words), capture_output=True, text=True, check=False)

    def answer(self, *words: str) -> tuple[int, dict[str, Any]]:
        done = self.run("-o", "json", *words)
        document: dict[str, Any] = json.loads(done.stdout)
        jsonschema.validate(document, json.loads(schema_text("cgroupsapply")))
        return done.returncode, document


def pod(name: str, uid: str, container: str) -> dict[str, Any]:
    resources = {"cpu": "1", "memory": "64Mi"} if name == "own" else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": uid},
        "spec": {"containers": [{"name": "app", "image": "x", "resources": {"limits": resources}}]},
        "status": {
            "phase": "Running",
            "containerStatuses": [
                {"name": "app", "image": "x", "imageID": "", "ready": True, "restartCount": 0}
                | {"containerID": f"containerd://{container}", "state": {"running": {}}}
            ],
        },
    }


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    made = Node(V1 / f"cpuctl{os.getpid()}", tmp_path)
    try:
        made.make()
        yield made
    finally:
        made.remove()


@real_kernel
def test_a_dry_run_changes_nothing(node: Node) -> None:
    code, document = node.answer("--exit-code")
    assert (code, document["outcome"], node.lists) == (3, "Planned", ["0-1", "0-1"])
    assert [(each["subject"], each["before"], each["after"]) for each in document["writes"]] == [
        ("shop/shared/app", "0-1", "0"),
        ("shop/own/app", "0-1", "1"),
    ]


@real_kernel
@pytest.mark.parametrize("words", [[], ["--yes", "--no-wait", "-o", "wide"]], ids=["dry", "done"])
def test_how_it_looks(node: Node, words: list[str], snapshot: SnapshotAssertion) -> None:
    done = node.run(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.replace(node.root.name, "ROOT") == snapshot


@real_kernel
def test_it_writes_waits_and_logs(node: Node, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    code, document = node.answer("--yes", "--log", str(log))
    assert (code, document["outcome"], node.lists) == (0, "Applied", ["1", "0"])
    assert document["result"]["watchedSeconds"] == 3
    steps = [json.loads(line)["step"] for line in log.read_text().splitlines()]
    assert steps == ["writing", "written", "writing", "written"]
    assert node.answer("--yes")[1]["outcome"] == "Clean"


@real_kernel
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_undoes_everything(node: Node, number: int, code: int) -> None:
    process = subprocess.Popen(node.command("--yes"), stdout=subprocess.DEVNULL)
    wait_until(node, ["1", "0"])
    process.send_signal(number)
    assert process.wait(20) == code
    assert node.lists == ["0-1", "0-1"]


def wait_until(node: Node, lists: list[str]) -> None:
    for _ in range(2000):
        if node.lists == lists:
            return
        time.sleep(0.01)
    raise AssertionError(node.lists)


@real_kernel
def test_a_kill_leaves_what_a_second_run_finishes(node: Node) -> None:
    process = subprocess.Popen(node.command("--yes"), stdout=subprocess.DEVNULL)
    wait_until(node, ["1", "0"])
    process.kill()
    process.wait()
    assert node.answer("--yes", "--no-wait")[0] == 0
    assert node.lists == ["1", "0"]


@real_kernel
def test_a_rival_is_left_alone_and_told(node: Node) -> None:
    with subprocess.Popen(node.command("--yes", "-o", "json"), stdout=subprocess.PIPE) as process:
        wait_until(node, ["1", "0"])
        (node.shared / "cpuset.cpus").write_text("1")
        output, _ = process.communicate()
    document = json.loads(output)
    assert (process.returncode, document["outcome"]) == (6, "NotRestored")
    assert [each["group"].endswith("b" * 64) for each in document["result"]["notRestored"]] == [True]
    assert node.lists == ["0-1", "1"]


@real_kernel
def test_a_child_that_the_container_has_made_shrinks_first(node: Node) -> None:
    child = node.own / "init"
    child.mkdir()
    (child / "cpuset.mems").write_text((V1 / "cpuset.mems").read_text())
    (child / "cpuset.cpus").write_text("0-1")
    assert node.answer("--yes", "--no-wait")[0] == 0
    assert (child / "cpuset.cpus").read_text() == "1\n"


REFUSED = {
    "exclusive": ["shop/shared/app=1"],
    "reserved": ["shop/own/app=0"],
    "offline": ["shop/own/app=4000"],
}


@real_kernel
@pytest.mark.parametrize("code", REFUSED)
def test_refusals(node: Node, code: str) -> None:
    exit_code, document = node.answer("--yes", "--no-wait", *REFUSED[code])
    assert (exit_code, document["outcome"], node.lists) == (3, "Refused", ["0-1", "0-1"])
    (objection,) = document["objections"]
    assert (objection["code"], objection["force"]) == (code, f"--force-{code}")


@real_kernel
def test_what_the_kernel_refuses_is_undone(node: Node) -> None:
    """CPUs that no kernel has: the user insists, the kernel does not give in."""
    words = ["shop/shared/app=0", "shop/own/app=1,4000", "--force-offline", "--force-reserved"]
    code, document = node.answer("--yes", "--no-wait", *words)
    assert (code, document["outcome"], node.lists) == (5, "Undone", ["0-1", "0-1"])


@real_kernel
def test_a_plan_whose_state_has_moved_on_is_refused(node: Node, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    command = [*node.command(), "-o", "plan"]
    command[3:5] = ["audit"]
    plan.write_text(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    assert node.answer("-f", str(plan))[1]["summary"]["writes"] == 2
    node.write_state(pool="0-1")
    code, document = node.answer("-f", str(plan), "--yes")
    assert (code, node.lists) == (3, ["0-1", "0-1"])
    assert document["objections"][0]["code"] == "state-moved"


@real_kernel
def test_a_plan_of_pods_is_applied_by_their_names(node: Node, tmp_path: Path) -> None:
    """As ``cpuctl plan -o json`` prints it: from standard input, for pods whose UIDs it made up."""
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
    assert [each["subject"] for each in document["leftOut"]] == ["shop/absent/app"]


@real_kernel
def test_a_state_file_is_a_plan(node: Node, tmp_path: Path) -> None:
    other = tmp_path / "proposal"
    other.write_text(node.state.read_text())
    assert node.answer("-f", str(other), "--yes", "--no-wait")[0] == 0
    assert node.lists == ["1", "0"]


def test_a_plan_tells_which_state_it_was_made_from(tmp_path: Path, cpuctl: Cpuctl) -> None:
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


def refusal(*words: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "cpuctl", "cgroups", "apply", "-q", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == ""
    return done.returncode, done.stderr


def test_a_recording_cannot_be_changed(tmp_path: Path) -> None:
    (tmp_path / "node.tar.gz").write_bytes(b"")
    code, text = refusal("-m", str(tmp_path / "node.tar.gz"))
    assert code == 2
    assert "is no node: nothing can be changed in it" in text


def test_a_copy_of_a_node_cannot_be_changed(tmp_path: Path) -> None:
    """Files that look like control groups, on a disk."""
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
    assert "expected the kernel's control groups (cgroup2)" in text


def place(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-f", "-", "a/b/c=1"], "name a file or containers, not both"),
        (["-f", "-", "--pods", "-"], "named twice"),
    ],
)
def test_words_that_do_not_fit_together(words: list[str], expected: str) -> None:
    code, text = refusal(*words)
    assert code == 2
    assert expected in text
