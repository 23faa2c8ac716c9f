"""The pods of an audit (``--pods``): those of the node, or of another one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cpuctl import option_names
from tests.audit.node_tree import PODS, SERVER, clean_node, with_kubelet_files
from tests.capture.node_texts import written
from tests.cli.conftest import Cpuctl
from tests.cli.test_audit_fixes import begin, state
from tests.support.audited_node import Node

NEW = {"kind": "Pod", "metadata": {"name": "new"}, "spec": PODS["items"][0]["spec"]}
NAMELESS = [pod | {"metadata": pod["metadata"] | {"uid": ""}} for pod in PODS["items"]]


@pytest.mark.parametrize(
    ("items", "warning"),
    [
        (PODS["items"], ""),
        (NAMELESS, "no pod on this node is among those in pods.json: are these all pods of this node? ("),
        (
            [*PODS["items"], NEW],
            "default/new in pods.json has no UID, so it is not among the pods of this",
        ),
    ],
    ids=["the node's", "none with a UID", "one without a UID"],
)
def test_pods_that_are_not_the_nodes_are_doubted(
    items: Any, warning: str, cpuctl: Cpuctl, tmp_path: Path
) -> None:
    written(with_kubelet_files(clean_node()).files, tmp_path / "node")
    (tmp_path / "pods.json").write_text(json.dumps(PODS | {"items": items}))
    for command in ("audit", "report"):
        answer = cpuctl(command, "-m", "node", "--pods", "pods.json", cwd=tmp_path, columns=300)
        doubts = [line for line in answer.err.splitlines() if option_names.PODS_OF_NODE in line]
        assert len(doubts) == bool(warning)
        assert all(line.startswith(f"warning: {warning}") for line in doubts)


def test_pods_are_not_requested_if_they_were_given(cpuctl: Cpuctl, tmp_path: Path) -> None:
    node = clean_node()
    node.cpuset(node.server, cpus="0-7")
    written(with_kubelet_files(node).files, tmp_path / "node")
    (tmp_path / "pods.json").write_text(json.dumps(PODS).replace(SERVER, "f" * len(SERVER)))
    words = ("audit", "-m", "node", "--check", "cpusets", "-q")
    asked = "; use --pods to identify the container"
    assert asked in cpuctl(*words, cwd=tmp_path, columns=300).out
    named = cpuctl(*words, "--pods", "pods.json", cwd=tmp_path, columns=300)
    assert "no container of its pod should have CPUs 0-7; allowed: " in named.out
    assert asked not in named.out


def test_no_repair_is_proposed_for_the_pods_of_another_node(
    tmp_path: Path, cpuctl: Cpuctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would end with exit code 4."""
    node = Node(tmp_path, cpuctl)
    begin(node, monkeypatch)
    state(node, "0-4,6-7")
    node.pods["items"] = node.pods["items"][1:]
    node.file.write_text(json.dumps(node.pods))
    (found,) = (each for each in node.audit() if each["code"] == "held-twice")
    assert found["fix"] == option_names.NO_POD_LEFT
