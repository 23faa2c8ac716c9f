"""What follows a rejection is simulated: the replacement of a pod is new, and may be admitted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cpuctl
from tests.support.schemas import follow_schema

FLAGS = "--cpu-manager-policy=static --reserved-cpus=0 --topology-manager-policy=single-numa-node"
NODE = ("-m", "synthetic:2s2n4c1t,near", "--kubelet-args", FLAGS, "--kubelet-version", "1.36")
DB, ONE, OTHER = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "123")
ACROSS = {DB: {"c": "3-4"}}
"""CPUs on both NUMA nodes, which single-numa-node does not admit again."""


def pod(uid: str, name: str, cpus: int, owner: str = "") -> dict[str, Any]:
    kind, _, owner_name = owner.partition("/")
    owners = [{"apiVersion": "apps/v1", "kind": kind, "name": owner_name, "uid": "r", "controller": True}]
    amounts = {"cpu": str(cpus), "memory": "64Mi"}
    resources = {"requests": amounts, "limits": amounts}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": uid,
            **({"ownerReferences": owners} if owner else {}),
        },
        "spec": {"containers": [{"name": "c", "image": "x", "resources": resources}]},
        "status": {"phase": "Running", "startTime": f"2026-01-01T00:00:0{name[-1]}Z"},
    }


def given(
    directory: Path, shared: str, entries: dict[str, dict[str, str]], *pods: dict[str, Any]
) -> tuple[str, ...]:
    """Write a node's state and running pods, and return the options that name them."""
    state = {"policyName": "static", "defaultCpuSet": shared, "entries": entries, "checksum": 0}
    (directory / "cpu_manager_state").write_text(json.dumps(state))
    (directory / "pods.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
    return "--state", str(directory), "--pods", str(directory / "pods.json")


@pytest.mark.parametrize(
    ("owner", "text"),
    [
        (
            "ReplicaSet/db",
            (
                "ReplicaSet/db replaces the pod immediately, and this node admits the replacement if it is "
                "bound here: a new pod holds nothing yet"
            ),
        ),
        (
            "",
            (
                "a pod without an owner is not replaced: it stays Failed; delete it and create it again, "
                "then this node admits it: a new pod holds nothing yet"
            ),
        ),
    ],
)
def test_a_replacement_does_not_hold_what_its_pod_is_rejected_for(
    owner: str, text: str, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    """Failed pods were said to accumulate, although the first replacement runs."""
    words = given(tmp_path, "0-2,5-7", ACROSS, pod(DB, "db-0", 2, owner))
    answer = cpuctl("explain", "shop/db-0", *NODE, *words, columns=400)
    assert "rejected with TopologyAffinityError when the kubelet restarts" in answer.out, answer
    assert re.search(rf"^THEN +{re.escape(text)}$", answer.out, re.MULTILINE), answer.out
    document = json.loads(cpuctl("explain", "shop/db-0", *NODE, *words, "-o", "json").out)
    follow_schema(document, "explanation")
    assert document["replacement"] == {"loops": False, "text": text, "admitted": True}
    replacement = cpuctl("plan", *NODE, *words, "-T", "new=2/2,64Mi")
    assert replacement.code == 0, replacement


def test_a_replacement_that_is_rejected_as_well_accumulates(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """The other pods, which are admitted again, leave no NUMA node with two CPUs."""
    held = ACROSS | {ONE: {"c": "1-2"}, OTHER: {"c": "5-7"}}
    pods = (pod(DB, "db-0", 2, "ReplicaSet/db"), pod(ONE, "one-1", 2), pod(OTHER, "other-2", 3))
    words = given(tmp_path, "0", held, *pods)
    document = json.loads(cpuctl("explain", "shop/db-0", *NODE, *words, "-o", "json").out)
    assert document["pod"]["reason"] == "TopologyAffinityError"
    assert (document["replacement"]["loops"], document["replacement"]["admitted"]) == (True, False)
    assert "failed pods accumulate" in document["replacement"]["text"]


def test_a_new_pod_with_the_uid_of_a_holder_is_replaced_by_one_that_holds_nothing(
    tmp_path: Path, cpuctl: Cpuctl
) -> None:
    words = given(tmp_path, "0-2,5-7", ACROSS)[:2]
    (tmp_path / "pod.json").write_text(json.dumps(pod(DB, "db-0", 2, "StatefulSet/db")))
    answer = cpuctl("explain", *NODE, *words, "-f", str(tmp_path / "pod.json"), "-o", "json")
    replacement = json.loads(answer.out)["replacement"]
    assert (replacement["loops"], replacement["admitted"]) == (False, True)
