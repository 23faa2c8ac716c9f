"""Public threads about kubelets that surprise, each put to cpuctl as one command: what it is told to say.

``k/k`` is kubernetes/kubernetes. The machines, files and flags are those of the threads.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.audit.node_tree import clean_node, with_kubelet_files
from tests.capture.node_texts import written
from tests.cli.conftest import Cpuctl, Result

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
SHARED_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "coredns"},
    "spec": {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "100m"}}}]},
}
FILES = {
    "log-files.yaml": f"{HEAD}containerLogMaxFiles: 1\n",
    "shutdown.yaml": f"{HEAD}shutdownGracePeriod: 10s\nshutdownGracePeriodCriticalPods: 15s\n",
    "fraction.yaml": f"{HEAD}kubeReserved: {{memory: 500m}}\n",
    "socket.yaml": f"{HEAD}cpuManagerPolicy: static\nreservedSystemCPUs: 0,32\n"
    "cpuManagerPolicyOptions: {align-by-socket: 'true'}\n"
    "featureGates: {CPUManagerPolicyAlphaOptions: true}\n",
    "burstable.json": json.dumps(SHARED_POD),
    "psm/pod_status_manager_state": '{"data":"{\\"allocations\\":{}}","checksum":1}"x',
}
STATIC = "--cpu-manager-policy=static"

Ask = Callable[..., Result]


@pytest.fixture
def ask(tmp_path: Path, cpuctl: Cpuctl) -> Ask:
    """Return a function that runs one command beside the files."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    def call(*words: str) -> Result:
        return cpuctl(*words, "-q", columns=400, cwd=tmp_path)

    return call


RESERVED_TOO = "Burstable and BestEffort containers run on CPUs 0-127, the reserved 0-4 among them; strict"
SHARING = ("-m", "synthetic:2s2n32c2t", "--kubelet-args", f"{STATIC} --reserved-cpus=0-4")


@pytest.mark.parametrize(
    "command",
    [
        ("config", "check"),
        ("config", "show"),
        ("plan", "-f", "burstable.json"),
        ("explain", "default/coredns", "-f", "burstable.json"),
    ],
    ids=" ".join,
)
def test_b1_reserved_cpus_are_shared_too(command: tuple[str, ...], ask: Ask) -> None:
    """k/k 115994, 103910, 104147, 87862, and k8s-snap 1879."""
    assert RESERVED_TOO in ask(*command, *SHARING).out


def test_b1_of_a_node_that_runs(tmp_path: Path, cpuctl: Cpuctl) -> None:
    node = str(written(with_kubelet_files(clean_node()).files, tmp_path / "node"))
    said = cpuctl("audit", "-q", "-m", node, columns=400).out
    assert "Burstable and BestEffort containers run on CPUs 0,2-4,6-7, the reserved 0,4 among them" in said
