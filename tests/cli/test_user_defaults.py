"""User defaults: used if nothing else is given, and never silently."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cpuctl.documents.files import read_input
from tests.cli.conftest import ROOT, Cpuctl

RECORDED = "fixtures/machines/2s-2numa-32cpu.tar.xz"
SMALL = "synthetic:1s1n4c2t"
STATIC = ("--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0")
POD = ("-T", "a=2/2,1Gi")


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of the configuration file, which does not exist yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "cpuctl").mkdir()
    return tmp_path / "cpuctl" / "config.yaml"


def sources(cpuctl: Cpuctl, *words: str) -> dict[str, Any]:
    result = cpuctl(*words, "-o", "json")
    assert result.code in (0, 3), result
    found: dict[str, Any] = json.loads(result.out)["sources"]
    return found


def test_variables_replace_this_host_and_the_newest_release(
    cpuctl: Cpuctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CPUCTL_MACHINE", RECORDED)
    monkeypatch.setenv("CPUCTL_KUBELET_VERSION", "1.34")
    shown = cpuctl("plan", *POD, *STATIC)
    assert f"note: machine: {RECORDED} (CPUCTL_MACHINE)\n" in shown.err
    assert "note: kubelet version: 1.34 (CPUCTL_KUBELET_VERSION)\n" in shown.err
    named = cpuctl("plan", "-m", RECORDED, "--kubelet-version", "1.34", *POD, *STATIC)
    assert shown.out == named.out
    assert sources(cpuctl, "plan", *POD)["machine"] == {"value": RECORDED, "from": "environment"}


def test_a_process_with_a_configuration_file_ends_quietly(configured: Path) -> None:
    """Places in the file are found lazily: the interpreter exits before the text is read to its end."""
    configured.write_text(f"machine: {SMALL}\n")
    command = [sys.executable, "-m", "cpuctl", "topology", "-q"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "words",
    [
        ("topology", "show"),
        ("config", "show"),
        ("config", "versions", "--to", "1.36"),
        ("explain", "a", *POD),
        ("resize", *POD, "--set", "a:cpu=3"),
    ],
)
def test_every_command_that_would_read_this_host_uses_the_file(
    words: tuple[str, ...], cpuctl: Cpuctl, configured: Path
) -> None:
    configured.write_text(f"machine: {RECORDED}\nkubeletVersion: '1.35'\n")
    found = sources(cpuctl, *words)
    assert found["machine"] == {"value": RECORDED, "from": "configFile"}
    if words[0] in ("explain", "resize"):
        assert found["kubeletVersion"] == {"value": "1.35", "from": "configFile"}


def test_the_most_specific_setting_takes_precedence(
    cpuctl: Cpuctl, configured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this order: an option or argument, the variable, the file."""
    configured.write_text("machine: synthetic:1s1n2c1t\nkubeletVersion: '1.33'\n")
    words = ("plan", *POD)
    found = sources(cpuctl, *words)
    assert (found["machine"]["value"], found["kubeletVersion"]["value"]) == ("synthetic:1s1n2c1t", "1.33")
    assert f"note: kubelet version: 1.33 ({configured})\n" in cpuctl(*words).err
    monkeypatch.setenv("CPUCTL_MACHINE", SMALL)
    monkeypatch.setenv("CPUCTL_KUBELET_VERSION", "1.34")
    found = sources(cpuctl, *words)
    assert (found["machine"]["value"], found["kubeletVersion"]["value"]) == (SMALL, "1.34")
    options = ("-m", RECORDED, "--kubelet-version", "1.35")
    assert str(configured) not in cpuctl(*words, *options).err
    found = sources(cpuctl, *words, *options)
    assert found["machine"] == {"value": RECORDED, "from": "given"}
    assert found["kubeletVersion"] == {"value": "1.35", "from": "given"}
    assert sources(cpuctl, "topology", "show", RECORDED)["machine"] == {"value": RECORDED, "from": "given"}
    assert sources(cpuctl, "topology", "show", SMALL)["machine"] == {"value": SMALL, "from": "given"}
    assert sources(cpuctl, "topology", "show", "-m", "live")["machine"]["from"] == "live"


def test_explicit_inputs_are_not_replaced(
    cpuctl: Cpuctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node below --root, state files, or a timeline."""
    monkeypatch.setenv("CPUCTL_MACHINE", "synthetic:8s8n8c2t")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "cpu_manager_state").write_text(
        '{"policyName":"none","defaultCpuSet":"","checksum":1}'
    )
    for words in (
        ("audit", "--root", str(tmp_path)),
        ("checkpoint", "dump", str(tmp_path / "state")),
        ("checkpoint", "verify", str(tmp_path / "state")),
        ("replay", "fixtures/timelines/fragmentation.yaml"),
    ):
        assert "synthetic:8s8n8c2t" not in str(cpuctl(*words)), words


WRONG = {
    "unknown": (
        "machine: live\nmachin: x\n",
        ":2: machin: unknown setting",
        "known settings: machine, kubeletVersion",
    ),
    "number": (
        "kubeletVersion: 1.36\n",
        ":1: kubeletVersion: expected a string, found the number 1.36",
        "put it in quotes",
    ),
    "no mapping": ("- machine\n", ":1: expected a mapping, found a list", ""),
    "no release": ("\nkubeletVersion: newest\n", ':2: kubeletVersion: "newest"', ""),
    "no machine": ("machine: /nowhere\n", ":1: machine: /nowhere: ", ""),
    "no YAML": ("machine: [\n", ":2:1: ", ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_in_the_file_are_reported_with_their_line(name: str, cpuctl: Cpuctl, configured: Path) -> None:
    text, reported, hint = WRONG[name]
    machine = "machine: synthetic:1s1n4c2t\n" if name == "no release" else ""
    configured.write_text(text.replace("\n", machine, 1) if machine else text)
    result = cpuctl("plan", *POD)
    assert result.code == 4, result
    assert f"error: {configured}{reported}" in result.err
    assert hint in result.err


def test_an_invalid_variable_is_named(cpuctl: Cpuctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPUCTL_MACHINE", "/nowhere")
    assert "error: CPUCTL_MACHINE: /nowhere: " in cpuctl("topology").err
    monkeypatch.setenv("CPUCTL_MACHINE", SMALL)
    monkeypatch.setenv("CPUCTL_KUBELET_VERSION", "newest")
    result = cpuctl("plan", *POD)
    assert (result.code, "error: CPUCTL_KUBELET_VERSION: " in result.err) == (2, True), result


def test_a_fleet_reads_the_file_once_per_run(
    cpuctl: Cpuctl, configured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []

    def counting(name: str, *words: Any) -> bytes:
        reads.append(name)
        return read_input(name, *words)

    monkeypatch.setattr("cpuctl.documents.files.read_input", counting)
    for name in ("2s-2numa-32cpu.tar.xz", "2s-8numa-64cpu.tar.xz"):
        shutil.copy(ROOT / "fixtures/machines" / name, tmp_path)
    for version in ("1.33", "1.34"):
        configured.write_text(f"kubeletVersion: '{version}'\n")
        os.utime(configured, (0, int(version[2:])))
        result = cpuctl("fleet", "list", str(tmp_path), "--jobs", "1", "-o", "json")
        assert {node["kubelet"]["version"] for node in json.loads(result.out)["nodes"]} == {version}
    assert reads.count(str(configured)) == 2


def test_an_empty_file_has_no_effect(cpuctl: Cpuctl, configured: Path) -> None:
    configured.write_text("# nothing yet\n")
    assert sources(cpuctl, "topology", "show", "-m", SMALL)["machine"]["from"] == "given"
    assert cpuctl("topology", "show").code == 0


def test_without_a_home_directory_there_is_no_file(
    cpuctl: Cpuctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container without /etc/passwd; a relative XDG_CONFIG_HOME is ignored."""
    (tmp_path / "cpuctl").mkdir()
    (tmp_path / "cpuctl" / "config.yaml").write_text("kubeletVersion: '1.33'\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", ".")
    monkeypatch.setenv("HOME", "~")
    words = ("plan", *POD, "-m", SMALL, "-o", "json")
    found = json.loads(cpuctl(*words, cwd=tmp_path).out)["sources"]
    assert found["kubeletVersion"]["from"] == "default"
