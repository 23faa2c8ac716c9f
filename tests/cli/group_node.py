"""Pods on this machine's own kernel, in groups of our own below its cgroup v1 cpuset hierarchy."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cpuctl.checkpoints.cpu_state import write_cpu_state
from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cpuset import CPUSet
from tests.support.schemas import follow_schema

V1 = Path("/sys/fs/cgroup/cpuset")
OWN, SHARED = "11111111-0000-4000-8000-000000000001", "11111111-0000-4000-8000-000000000002"

real_kernel = pytest.mark.skipif(
    not (os.access(V1, os.W_OK) and (V1 / "cpuset.cpus").exists() and (os.cpu_count() or 1) > 1),
    reason="this machine has no cgroup v1 cpuset that can be written: make guest does this in guests",
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
        follow_schema(document, "cgroupsapply")
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


@contextmanager
def node_of_groups(folder: Path) -> Iterator[Node]:
    """Make the node, and leave nothing of it; of all tests that run at once, one has it at a time.

    cpuctl itself would refuse to write beside another one.
    """
    made = Node(V1 / f"cpuctl{os.getpid()}", folder)
    with (Path(tempfile.gettempdir()) / f"cpuctl-tests-{os.getuid()}.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        try:
            made.make()
            yield made
        finally:
            made.remove()


def wait_until(node: Node, lists: list[str]) -> None:
    for _ in range(2000):
        if node.lists == lists:
            return
        time.sleep(0.01)
    raise AssertionError(node.lists)
