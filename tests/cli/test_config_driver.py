"""``cpuctl config check`` for a node on which the CPU driver runs, or will run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.capture.node_texts import written
from tests.cli.conftest import Cpuctl
from tests.machine.sysfs_writer import small_machine

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
MACHINE = ("-m", "synthetic:2n16c2t")


def found(cpuctl: Cpuctl, directory: Path, config: str, *words: str) -> tuple[int, list[dict[str, Any]]]:
    """Check a configuration; return the exit code and the findings about the driver."""
    file = directory / "kubelet.yaml"
    file.write_text(HEAD + config)
    result = cpuctl("config", "check", "--kubelet-config", str(file), *words, "-o", "json")
    findings = json.loads(result.out)["findings"]
    return result.code, [each for each in findings if each["code"].startswith("driver-")]


STATIC = "cpuManagerPolicy: static\nreservedSystemCPUs: 0,16\n"
NONE = "reservedSystemCPUs: 0,16\n"


@pytest.mark.parametrize(
    ("config", "flags", "codes", "code"),
    [
        (STATIC, "--reserved-cpus 0,16", ["driver-static-policy"], 3),
        (STATIC, "--reserved-cpus 0", ["driver-static-policy", "driver-reserves-others"], 3),
        (NONE, "--reserved-cpus 0-1", ["driver-reserves-others"], 0),
        (NONE, "--reserved-cpus 0,16", [], 0),
        (STATIC, "", [], 0),
    ],
)
def test_a_driver_that_will_run_next_to_the_kubelet(
    cpuctl: Cpuctl, tmp_path: Path, config: str, flags: str, codes: list[str], code: int
) -> None:
    words = ("--driver-args", flags) if flags else ()
    exit_code, findings = found(cpuctl, tmp_path, config, *MACHINE, *words)
    assert [each["code"] for each in findings] == codes
    assert exit_code == code


def test_a_driver_that_runs_on_the_node_is_found_by_its_file(cpuctl: Cpuctl, tmp_path: Path) -> None:
    files = {**small_machine(), "var/run/cdi/dra.cpu.json": '{"kind": "dra.k8s.io/cpu", "devices": []}'}
    node = written(files, tmp_path / "node")
    static = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
    _, findings = found(cpuctl, tmp_path, static, "-m", str(node))
    assert [(each["code"], each["severity"]) for each in findings] == [("driver-static-policy", "error")]
    assert found(cpuctl, tmp_path, "reservedSystemCPUs: '0'\n", "-m", str(node))[1] == []
