"""Prometheus' own tool accepts the metrics of an audit, and the alerts on them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.audit.node_tree import clean_node, with_kubelet_files
from tests.capture.node_texts import written
from tests.cli.conftest import ROOT, Cpuctl, cpuctl
from tests.cli.test_audit import faulty

__all__ = ["cpuctl"]
pytestmark = pytest.mark.tools


def test_promtool_accepts_metrics_and_alerts(tmp_path: Path, cpuctl: Cpuctl) -> None:  # the fixture
    promtool = shutil.which("promtool")
    assert promtool, "tests/tools/install-packages"
    node = str(written(with_kubelet_files(faulty(clean_node())).files, tmp_path / "node"))
    metrics = cpuctl("audit", "--root", node, "--kubelet-version", "1.36", "-q", "-o", "prom").out
    subprocess.run([promtool, "check", "metrics"], input=metrics, text=True, check=True)
    subprocess.run([promtool, "check", "rules", str(ROOT / "contrib/monitoring/alerts.yaml")], check=True)
