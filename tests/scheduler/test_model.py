"""Default spreading of replicas by the scheduler: figures of its own tests, and which pods are replicas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cpuctl.pods.reading.manifest_files import read_manifests
from cpuctl.scheduler.model import Domain, siblings_of, spread_scores


def test_siblings_on_nodes_without_zones_count_as_upstream() -> None:
    """Four, three, two and one: ``system defaulting`` in ``podtopologyspread/scoring_test.go`` of 1.36."""
    assert spread_scores([Domain(1, siblings) for siblings in (4, 3, 2, 1)], []) == [44, 66, 77, 100]


def test_zones_count_with_nodes_that_the_filter_keeps_out() -> None:
    """Two on a node of each zone, 3 and 6 in the zones: 2 ln 4 + 2 + 3 ln 4 + 4 = 13, and 17 with 6."""
    candidates = [Domain(1, 2, "zone1"), Domain(1, 2, "zone2")]
    others = [Domain(1, 1, "zone1"), Domain(1, 4, "zone2"), Domain(1, 9, "zone3")]
    assert spread_scores(candidates, others) == [100, 100 * 13 // 17]


def test_equal_nodes_are_counted_individually() -> None:
    apart = [Domain(1, 1, "a"), Domain(1, 1, "a"), Domain(1, 0, "b"), Domain(1, 0, None)]
    together = [Domain(2, 1, "a"), Domain(1, 0, "b"), Domain(1, 0, None)]
    alone = spread_scores(apart, [])
    assert alone[0] == alone[1]
    assert spread_scores(together, []) == alone[1:]


def test_a_node_without_a_host_name_has_no_replicas() -> None:
    assert spread_scores([Domain(1, 5, named=False), Domain(1, 0, named=False)], []) == [100, 100]
    assert spread_scores([Domain(1, 5, named=False), Domain(1, 0)], []) == [100, 0]
    assert spread_scores([], []) == []


@pytest.mark.parametrize(
    ("owner", "spec", "siblings"),
    [
        ("ReplicaSet/web-5f", {}, ("shop", "ReplicaSet/web-5f")),
        ("StatefulSet/db", {}, ("shop", "StatefulSet/db")),
        ("ReplicationController/old", {}, ("shop", "ReplicationController/old")),
        ("Job/nightly", {}, None),
        ("DaemonSet/log", {}, None),
        ("", {}, None),
        ("ReplicaSet/web-5f", {"topologySpreadConstraints": []}, ("shop", "ReplicaSet/web-5f")),
        ("ReplicaSet/web-5f", {"topologySpreadConstraints": [{"maxSkew": 1}]}, None),
    ],
)
def test_replicas_of_controllers_without_constraints_are_spread(
    owner: str, spec: dict[str, Any], siblings: tuple[str, str] | None, tmp_path: Path
) -> None:
    kind, _, name = owner.partition("/")
    versions = {"ReplicationController": "v1", "Job": "batch/v1"}
    references = [
        {"apiVersion": versions.get(kind, "apps/v1"), "kind": kind, "name": name, "controller": True}
    ]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "shop", "ownerReferences": references if owner else []},
        "spec": {"containers": [{"name": "c"}], **spec},
    }
    (tmp_path / "pod.json").write_text(json.dumps(pod))
    (read,) = read_manifests([str(tmp_path / "pod.json")]).pods
    assert siblings_of(read) == siblings
