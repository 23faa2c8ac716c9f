"""A file of another tool after ``--kubelet-config``: read, named, and what it leaves open said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cpuctl

FILES = {
    "k3s.yaml": "kubelet-arg:\n- cpu-manager-policy=static\n- reserved-cpus=0-1\n",
    "configz.json": json.dumps(
        {"kubeletconfig": {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0-1"}}
    ),
    "pp.yaml": "apiVersion: performance.openshift.io/v2\nkind: PerformanceProfile\nspec:\n"
    "  cpu: {isolated: 2-15, reserved: 0-1}\n",
}


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("k3s.yaml", "a configuration of k3s or RKE2"),
        ("configz.json", "the answer of a kubelet's /configz"),
        ("pp.yaml", "a PerformanceProfile"),
    ],
)
def test_it_is_read_to_what_the_kubelet_gets(cpuctl: Cpuctl, tmp_path: Path, name: str, what: str) -> None:
    path = tmp_path / name
    path.write_text(FILES[name], encoding="utf-8")
    words = ("-m", "synthetic:1s1n8c2t", "--kubelet-config", str(path))
    result = cpuctl("config", "check", *words, "-o", "json")
    node = json.loads(result.out)["node"]
    assert (result.code, node["cpuManagerPolicy"], node["reservedCPUs"]) == (0, "static", "0-1")
    assert f"warning: {path}: read as {what}" in result.err
    plan = json.loads(cpuctl("plan", *words, "-T", "a=2/2,1Gi", "-o", "json").out)
    assert plan["sources"]["kubeletConfiguration"]["value"] == f"{path} ({what})"


def test_flags_beside_it_win_over_its_own(cpuctl: Cpuctl, tmp_path: Path) -> None:
    path = tmp_path / "k3s.yaml"
    path.write_text(FILES["k3s.yaml"], encoding="utf-8")
    words = ("-m", "synthetic:1s1n8c2t", "--kubelet-config", str(path), "--kubelet-args=--reserved-cpus=3")
    node = json.loads(cpuctl("config", "check", *words, "-o", "json").out)["node"]
    assert node["reservedCPUs"] == "3"
