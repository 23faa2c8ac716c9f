"""``cpuctl cgroups show`` proposes an audit if that reports what differs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.audit.node_tree import PODS, clean_node, resized_pods, with_kubelet_files
from tests.capture.node_texts import written
from tests.cli.conftest import Cpuctl


@pytest.mark.parametrize(("quota", "codes"), [(150_000, ["quota-too-low"]), (200_000, []), (250_000, [])])
def test_an_audit_is_proposed_for_a_quota_that_it_reports(
    quota: int, codes: list[str], tmp_path: Path, cpuctl: Cpuctl
) -> None:
    """Before 1.33 the quota of exclusive CPUs is that of the limit: a higher one throttles nothing."""
    node = clean_node()
    for group in (node.server.rpartition("/")[0], node.server):
        node.quota(group, 200_000, shares=2048)
    node.quota(node.server, quota, shares=2048)
    node.quota(node.front, 50_000)
    (tmp_path / "pods.json").write_text(json.dumps(PODS))
    root = written(with_kubelet_files(node).files, tmp_path / "node")
    words = ("-m", str(root), "--pods", str(tmp_path / "pods.json"), "--kubelet-version", "1.32")
    findings = json.loads(cpuctl("audit", *words, "-o", "json").out)["findings"]
    assert [each["code"] for each in findings] == codes
    document = json.loads(cpuctl("cgroups", "show", *words, "-o", "json").out)
    assert document["summary"]["differing"]
    assert ("next" in document) == bool(codes)


def test_as_long_as_a_resize_is_pending_the_allocated_limits_are_expected(
    tmp_path: Path, cpuctl: Cpuctl
) -> None:
    node, pods = clean_node(), resized_pods(4, 2, "PodResizePending")
    for group in (node.server.rpartition("/")[0], node.server):
        node.quota(group, 200_000, shares=2048)
    (tmp_path / "pods.json").write_text(json.dumps(pods))
    root = written(with_kubelet_files(node).files, tmp_path / "node")
    words = ("-m", str(root), "--pods", str(tmp_path / "pods.json"), "--kubelet-version", "1.32")
    assert json.loads(cpuctl("audit", *words, "-o", "json").out)["findings"] == []
    groups = json.loads(cpuctl("cgroups", "show", *words, "-o", "json").out)["groups"]
    expected = {each["path"]: each["files"]["cpu.max"]["expected"] for each in groups}
    assert expected[node.server] == expected[node.server.rpartition("/")[0]] == ["200000 100000"]
