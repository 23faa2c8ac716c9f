"""What a kubelet cannot decode: the error that it would print, then all to which it would come."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from cpuctl.schemas import schema_text
from tests.cli.conftest import Cpuctl

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
FLAGS = "--max-pods=many --nothing=1 --pod-infra-container-image pause --v=a"
COMMANDS = {
    "config check": ("--kubelet-version", "1.36"),
    "config show": ("--kubelet-version", "1.36"),
    "config versions": ("--from", "1.36"),
    "config reserve": ("--kubelet-version", "1.36", "--reserved-cpus", "1"),
    "plan": ("--kubelet-version", "1.36", "-T", "a=1/1"),
    "explain": ("--kubelet-version", "1.36", "-T", "a=1/1"),
    "resize": ("--kubelet-version", "1.36", "-T", "a=1/1", "--set", "a:cpu=2"),
    "checkpoint verify": ("--kubelet-version", "1.36"),
    "checkpoint repair": ("--kubelet-version", "1.36"),
    "checkpoint new": ("--kubelet-version", "1.36", "-T", "a=1/1"),
    "pods show": ("--kubelet-version", "1.36", "-T", "a=1/1"),
}
INTO = "json: cannot unmarshal"
EXPECTED = [
    ("--kubelet-args", 'invalid argument "many" for "--max-pods" flag'),
    ("--kubelet-args", "unknown flag: --nothing"),
    ("--kubelet-args", "--pod-infra-container-image is gone since 1.35"),
    ("--kubelet-args", 'invalid argument "a" for "-v, --v" flag'),
    ("wrong.yaml:3", "cpuManagerPolicy: "),
    ("wrong.yaml:4", "maxPods: "),
    ("conf.d/10.conf:3", "podsPerCore: "),
    ("conf.d/20.conf:3", "topologyManagerScope: "),
]
"""In the order in which a kubelet comes to them: flags, main file, drop-ins."""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Write a configuration with mistakes everywhere."""
    (tmp_path / "wrong.yaml").write_text(f"{HEAD}cpuManagerPolicy: 7\nmaxPods: many\n")
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "10.conf").write_text(f"{HEAD}podsPerCore: many\n")
    (tmp_path / "conf.d" / "20.conf").write_text(f"{HEAD}topologyManagerScope: 1\n")
    return tmp_path


def words(*flags: str) -> tuple[str, ...]:
    told = ("--kubelet-config", "wrong.yaml")
    return ("-m", "synthetic:1s1n4c1t,mem=8Gi", *told, *flags)


@pytest.mark.parametrize("path", COMMANDS)
def test_all_are_told_at_once(path: str, directory: Path, cpuctl: Cpuctl) -> None:
    """By commands that answer the question among the findings, by all others as errors."""
    more = () if path == "pods show" else ("--config-dir", "conf.d", "--kubelet-args", FLAGS)
    expected = EXPECTED[4:6] if path == "pods show" else EXPECTED
    result = cpuctl(*path.split(), *words(*more), *COMMANDS[path], "-o", "json", cwd=directory)
    if result.out:
        assert result.code == 3
        document = json.loads(result.out)
        findings = [each for each in document["findings"] if each["severity"] == "error"]
        assert document["summary"]["error"] == len(expected)
        told = [
            f"{each.get('where') or ''} {each.get('setting') or ''}: {each['message']}" for each in findings
        ]
    else:
        assert result.code == 4
        told = [line for line in result.err.splitlines() if line.startswith("error: ")]
    assert len(told) == len(expected), told
    for (place, what), line in zip(expected[1:], told[1:], strict=True):
        assert place in line, (place, line)
        assert what in line, (what, line)


@pytest.mark.parametrize("release", ["1.28", "1.30", "1.36"])
def test_drop_ins_are_all_read(release: str, directory: Path, cpuctl: Cpuctl) -> None:
    (directory / "wrong.yaml").write_text(HEAD)
    more = ("--config-dir", "conf.d", "--kubelet-version", release, "-o", "json")
    document = json.loads(cpuctl("config", "check", *words(*more), cwd=directory).out)
    found = [(each["where"], each["setting"]) for each in document["findings"] if each["severity"] == "error"]
    assert found == [("conf.d/10.conf:3", "podsPerCore"), ("conf.d/20.conf:3", "topologyManagerScope")]


@pytest.mark.parametrize("path", ["config versions", "plan"])
def test_the_other_side_tells_all_too(path: str, cpuctl: Cpuctl) -> None:
    """Flags that are gone: first the one that the kubelet would print, then the others."""
    gone = "--azure-container-registry-config=y --pod-infra-container-image=x"
    told = ("-m", "synthetic:1s1n4c1t,mem=8Gi", "--kubelet-args", gone)
    asked = {
        "config versions": ("--from", "1.28", "--to", "1.36"),
        "plan": ("--kubelet-version", "1.28", "-T", "a=1/1", "--compare", "", "1.36"),
    }[path]
    result = cpuctl(*path.split(), *told, *asked, "-o", "json")
    document = json.loads(result.out)
    jsonschema.validate(document, json.loads(schema_text(document["kind"].lower())))
    start = document["start"]["to"] if path == "config versions" else document["b"]["start"]
    assert start["error"] == "unknown flag: --azure-container-registry-config"
    (later,) = start["later"]
    assert "unknown flag: --pod-infra-container-image" in later
    lines = cpuctl(*path.split(), *told, *asked, columns=300).out.splitlines()
    (first,) = (number for number, line in enumerate(lines) if line.endswith(start["error"]))
    assert lines[first + 1] == f"  {later} (once the first is mended)"
