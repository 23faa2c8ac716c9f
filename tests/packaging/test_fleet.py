"""Collecting recordings from a cluster: the manifest and the script of ``contrib/fleet``."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.test_examples import calls, wrong

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "contrib/fleet"
NAMESPACE, DAEMON_SET = yaml.safe_load_all((FOLDER / "capture.yaml").read_text())
POD: dict[str, Any] = DAEMON_SET["spec"]["template"]["spec"]
NODES = ("worker-1", "worker-2.example.com", "worker-3")


def test_the_manifest_is_consistent() -> None:
    labels = DAEMON_SET["spec"]["template"]["metadata"]["labels"]
    assert DAEMON_SET["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert DAEMON_SET["metadata"]["namespace"] == NAMESPACE["metadata"]["name"]
    (container,) = POD["containers"]
    assert [each["name"] for each in container["volumeMounts"]] == [each["name"] for each in POD["volumes"]]


def test_the_pod_may_only_read_the_node() -> None:
    (container,) = POD["containers"]
    assert all(mount["readOnly"] for mount in container["volumeMounts"])
    security = container["securityContext"]
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert (security["allowPrivilegeEscalation"], security["readOnlyRootFilesystem"]) == (False, True)
    assert POD["automountServiceAccountToken"] is False


@pytest.fixture
def kubectl(tmp_path: Path) -> Path:
    """Lists one pod per node, and runs a pod's command locally; for $BROKEN it prints half and fails."""
    program = tmp_path / "kubectl"
    listed = "".join(f"{node} pod-{node}\\n" for node in NODES)
    program.write_text(
        "#!/bin/sh\n"
        """printf '%s\\n' "$*" >>"$0.words"\n"""
        f"case $* in *' get pods '*) printf '{listed}' ;;\n"
        '*"pod-$BROKEN "*) echo half; exit 1 ;;\n'
        "*) printf '%s' \"$4\" ;; esac\n"
    )
    program.chmod(0o755)
    return program


def collect(directory: Path, kubectl: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (FOLDER / "collect", directory),
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "KUBECTL": f"{kubectl} --context lab", "BROKEN": "none", **environment},
    )


def recorded(directory: Path) -> list[str]:
    return sorted(each.name for each in directory.iterdir())


def test_each_recording_is_named_after_its_node(kubectl: Path, tmp_path: Path) -> None:
    done = collect(tmp_path / "r", kubectl, CAPTURE="--anonymize")
    assert (done.returncode, done.stderr) == (0, "")
    assert recorded(tmp_path / "r") == [f"{node}.tar.gz" for node in NODES]
    requested = (tmp_path / "kubectl.words").read_text().splitlines()
    assert all(line.startswith("--context lab -n cpuctl ") for line in requested)
    captures = [words for line in requested for words in calls(line.partition(" -- ")[2])]
    assert captures == [["capture", "-q", "--anonymize", "--root", "/host", "-"]] * len(NODES)
    assert wrong(captures[0]) == ""


def test_a_node_that_fails_is_reported_and_leaves_no_partial_file(kubectl: Path, tmp_path: Path) -> None:
    done = collect(tmp_path / "r", kubectl, BROKEN="worker-3")
    assert (done.returncode, done.stderr) == (1, "worker-3: not recorded\n")
    assert recorded(tmp_path / "r") == [f"{node}.tar.gz" for node in NODES[:2]]


def test_without_pods_there_is_nothing_to_collect(tmp_path: Path) -> None:
    done = collect(tmp_path / "r", Path("true"))
    assert (done.returncode, done.stderr) == (1, "no pod of cpuctl-capture is running in namespace cpuctl\n")
