"""A recording made in the guest, read on the host: it gives the same answers as the live machine."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.guest.conftest import ROOT, Observed

pytestmark = pytest.mark.guest

CONTAINER = "/kubepods.slice/kubepods-pod1.slice/cri-containerd-1.scope"


@pytest.fixture
def recording(observed: Observed) -> Path:
    assert json.loads(observed.text("capture.json"))["kind"] == "Capture"
    return observed.folder / "node.tar.xz"


def answer(*words: str | Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "cpuctl", *words, "-o", "json"], cwd=ROOT, check=True, stdout=subprocess.PIPE
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def settled(topology: dict[str, Any]) -> dict[str, Any]:
    """Remove the source, and free memory, which changes from one moment to the next."""
    nodes = [{**node, "freeBytes": None} for node in topology["numaNodes"]]
    return {**topology, "sources": None, "numaNodes": nodes}


def test_the_topology_is_the_live_one(observed: Observed, recording: Path) -> None:
    again = answer("topology", "show", "-m", recording)
    assert settled(again) == settled(json.loads(observed.text("topology.json")))


def test_planning_with_the_recorded_configuration_gives_the_live_result(
    observed: Observed, recording: Path
) -> None:
    again = answer("plan", "-m", recording, "-T", "web=2/2,64Mi")
    live = json.loads(observed.text("plan.json"))
    # Only the live machine knows the size of the kubelet's file system.
    live["node"]["allocatable"].pop("ephemeral-storage", None)
    assert {**again, "sources": None} == {**live, "sources": None}


def test_the_pinned_container_is_recorded(recording: Path) -> None:
    with tarfile.open(recording) as tar:
        cpus, processes = (
            tar.extractfile(name) for name in (f"sys/fs/cgroup{CONTAINER}/cpuset.cpus", "processes.jsonl")
        )
        assert cpus is not None
        assert cpus.read() == b"2-3\n"
        assert processes is not None
        (pinned,) = (
            process for process in map(json.loads, processes) if process["cgroup"].endswith(CONTAINER)
        )
    assert [thread["cpus"] for thread in pinned["threads"]] == ["2-3"]
