"""What a kubelet cannot decode: the error that it would print, then all errors that follow."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cpuctl
from tests.support.schemas import follow_schema

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
FLAGS = "--max-pods=many --nothing=1 --pod-infra-container-image pause --v=a"
ANSWERING = {
    "config check": ("--kubelet-version", "1.36"),
    "config show": ("--kubelet-version", "1.36"),
    "config reserve": ("--kubelet-version", "1.36", "--cpu-count", "1"),
    "config versions": ("--from", "1.36", "--to", "1.37"),
    "plan": ("--kubelet-version", "1.36", "-T", "a=1/1"),
    "explain": ("--kubelet-version", "1.36", "-T", "a=1/1"),
    "resize": ("--kubelet-version", "1.36", "-T", "a=1/1", "--set", "a:cpu=2"),
    "checkpoint verify": ("--kubelet-version", "1.36"),
    "checkpoint repair": ("--kubelet-version", "1.36"),
    "checkpoint new": ("--kubelet-version", "1.36", "-T", "a=1/1"),
    "checkpoint migrate": ("--to", "1.36"),
}
"""Commands whose answer depends on whether the kubelet starts, and the options that they need."""
COMMANDS = {
    **ANSWERING,
    "pods show": ("--kubelet-version", "1.36", "-T", "a=1/1"),
}
EXPECTED = [
    ("--kubelet-args", 'invalid argument "many" for "--max-pods" flag'),
    ("--kubelet-args", "unknown flag: --nothing"),
    ("--kubelet-args", "--pod-infra-container-image was removed in 1.35"),
    ("--kubelet-args", 'invalid argument "a" for "-v, --v" flag'),
    ("wrong.yaml:3", "cpuManagerPolicy: "),
    ("wrong.yaml:4", "maxPods: "),
    ("conf.d/10.conf:3", "podsPerCore: "),
    ("conf.d/20.conf:3", "topologyManagerScope: "),
]
"""In the order in which a kubelet finds them: flags, main file, drop-ins."""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Write a configuration with mistakes in every file."""
    (tmp_path / "wrong.yaml").write_text(f"{HEAD}cpuManagerPolicy: 7\nmaxPods: many\n")
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "10.conf").write_text(f"{HEAD}podsPerCore: many\n")
    (tmp_path / "conf.d" / "20.conf").write_text(f"{HEAD}topologyManagerScope: 1\n")
    return tmp_path


def words(*flags: str) -> tuple[str, ...]:
    reported = ("--kubelet-config", "wrong.yaml")
    return ("-m", "synthetic:1s1n4c1t,mem=8Gi", *reported, *flags)


@pytest.mark.parametrize("path", COMMANDS)
def test_all_are_reported_at_once(path: str, directory: Path, cpuctl: Cpuctl) -> None:
    """Commands that report whether the kubelet starts list them as findings; all others, as errors."""
    more = () if path == "pods show" else ("--config-dir", "conf.d", "--kubelet-args", FLAGS)
    expected = EXPECTED[4:6] if path == "pods show" else EXPECTED
    result = cpuctl(*path.split(), *words(*more), *COMMANDS[path], "-o", "json", cwd=directory)
    if path in ANSWERING:
        assert result.code == 3
        start = start_of(json.loads(result.out))
        reported = [f"{start['settingsToFix'][0]['where']}: {start['error']}", *start["later"]]
    else:
        assert result.code == 4
        reported = [line for line in result.err.splitlines() if line.startswith("error: ")]
    assert len(reported) == len(expected), reported
    for (place, what), line in zip(expected[1:], reported[1:], strict=True):
        assert place in line, (place, line)
        assert what in line, (what, line)


def start_of(document: Any) -> Any:  # JSON
    """Return the start from any answer that has one."""
    holder = document.get("proof") or document.get("rejection") or document
    start = holder["start"]
    return start["from"] if document["kind"] == "ConfigVersions" else start


FLAG, FILE = "--kubelet-args", "--kubelet-config"
BROKEN = {
    "an unknown flag": (FLAG, "--nothing=1"),
    "a removed flag": (FLAG, "--pod-infra-container-image=pause"),
    "a flag's value": (FLAG, "--max-pods=many --v=a"),
    "a field's kind": (FILE, "cpuManagerPolicy: 7\nmaxPods: many\n"),
    "a quantity": (FILE, "evictionHard: {memory.available: 100Mi}\nsyncFrequency: 1\n"),
    "another version": (FILE, "apiVersion: kubelet.config.k8s.io/v2\nkind: KubeletConfiguration\n"),
    "a manifest": (FILE, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"),
    "not a mapping": (FILE, "- a\n- b\n"),
    "not YAML": (FILE, "a: [\n"),
    "an empty file": (FILE, ""),
    "gates": (FLAG, "--feature-gates=CPUManager=perhaps"),
}
"""What a kubelet cannot load, with an error of its own."""
UNUSABLE: dict[str, Callable[[Path], object]] = {
    "no such file": Path.exists,
    "not text": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "a directory": Path.mkdir,
}
"""What cannot be read as a configuration: what a kubelet would do with it is unknown."""


def given_to(path: str, option: str, value: str, directory: Path) -> tuple[str, ...]:
    """Write the command line that gives the kubelet a broken flag or file."""
    if option == FILE:
        head = HEAD if value[:1].islower() and not value.startswith(("apiVersion", "a:")) else ""
        (directory / "broken.yaml").write_text(head + value)
        value = "broken.yaml"
    return (*path.split(), "-m", "synthetic:1s1n4c1t,mem=8Gi", f"{option}={value}", *ANSWERING[path])


@pytest.mark.parametrize("path", ANSWERING)
@pytest.mark.parametrize("broken", BROKEN)
def test_every_command_gives_the_same_answer(broken: str, path: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    """Stage, error, log, fix and later errors are as in ``config check``."""
    checked = cpuctl(*given_to("config check", *BROKEN[broken], tmp_path), "-o", "json", cwd=tmp_path)
    expected = json.loads(checked.out)["start"]
    assert (checked.code, expected["outcome"]) == (3, "Rejected")
    assert expected["fix"]

    arguments = given_to(path, *BROKEN[broken], tmp_path)
    result = cpuctl(*arguments, "-o", "json", cwd=tmp_path)
    document = json.loads(result.out)
    follow_schema(document)
    assert (result.code, start_of(document)) == (3, expected)

    table = cpuctl(*arguments, columns=400, cwd=tmp_path)
    assert table.code == 3
    lines = table.out.splitlines()
    assert any(line.endswith(f"would not start: {expected['error']}") for line in lines)
    assert f"  fix: {expected['fix']}" in lines


@pytest.mark.parametrize("path", ANSWERING)
@pytest.mark.parametrize("what", UNUSABLE)
def test_what_is_not_a_configuration_is_unusable(
    what: str, path: str, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    UNUSABLE[what](tmp_path / "other.yaml")
    machine = ("-m", "synthetic:1s1n4c1t,mem=8Gi", FILE, "other.yaml")
    result = cpuctl(*path.split(), *machine, *ANSWERING[path], cwd=tmp_path)
    assert (result.code, result.out) == (4, "")
    assert result.err.startswith("error: other.yaml")


@pytest.mark.parametrize("release", ["1.28", "1.30", "1.36"])
def test_drop_ins_are_all_read(release: str, directory: Path, cpuctl: Cpuctl) -> None:
    (directory / "wrong.yaml").write_text(HEAD)
    more = ("--config-dir", "conf.d", "--kubelet-version", release, "-o", "json")
    document = json.loads(cpuctl("config", "check", *words(*more), cwd=directory).out)
    found = [(each["where"], each["setting"]) for each in document["findings"] if each["severity"] == "error"]
    assert found == [("conf.d/10.conf:3", "podsPerCore"), ("conf.d/20.conf:3", "topologyManagerScope")]


@pytest.mark.parametrize("path", ["config versions", "plan"])
def test_the_other_side_reports_all_too(path: str, cpuctl: Cpuctl) -> None:
    """Removed flags: first the one that the kubelet would print, then the others."""
    gone = "--azure-container-registry-config=y --pod-infra-container-image=x"
    reported = ("-m", "synthetic:1s1n4c1t,mem=8Gi", "--kubelet-args", gone)
    requested = {
        "config versions": ("--from", "1.28", "--to", "1.36"),
        "plan": ("--kubelet-version", "1.28", "-T", "a=1/1", "--compare", "", "1.36"),
    }[path]
    result = cpuctl(*path.split(), *reported, *requested, "-o", "json")
    document = json.loads(result.out)
    follow_schema(document)
    start = document["start"]["to"] if path == "config versions" else document["b"]["start"]
    assert start["error"] == "unknown flag: --azure-container-registry-config"
    (later,) = start["later"]
    assert "unknown flag: --pod-infra-container-image" in later
    lines = cpuctl(*path.split(), *reported, *requested, columns=300).out.splitlines()
    (first,) = (number for number, line in enumerate(lines) if line.endswith(start["error"]))
    assert lines[first + 1 : first + 4] == [
        "  where: --kubelet-args",
        f"  fix: {start['fix']}",
        f"  {later} (once the first is fixed)",
    ]


def test_a_comparison_checks_both_sides(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """If the given configuration cannot be loaded but the other file can, the other one is planned."""
    (tmp_path / "good.yaml").write_text(HEAD)
    reported = ("-m", "synthetic:1s1n4c1t,mem=8Gi", "--kubelet-args=--nothing=1", "--kubelet-version", "1.36")
    requested = ("plan", *reported, "-T", "a=1/1", "--compare", "1.37", "good.yaml", "-o", "json")
    (tmp_path / "bad.yaml").write_text(f"{HEAD}maxPods: many\n")
    result = cpuctl(*requested, cwd=tmp_path)
    document = json.loads(result.out)
    follow_schema(document, "plancomparison")
    assert result.code == 3
    assert [document[side]["start"]["error"] for side in ("a", "b")] == ["unknown flag: --nothing"] * 2

    bad = ("-m", reported[1], "--kubelet-config", "bad.yaml")
    result = cpuctl("plan", *bad, "-T", "a=1/1", "--compare", "", "good.yaml", "-o", "json", cwd=tmp_path)
    document = json.loads(result.out)
    assert result.code == 3
    assert document["a"]["start"]["stage"] == "configDecode"
    follow_schema(document, "plancomparison")
    assert document["b"]["start"]["outcome"] == "Started"
    assert document["b"]["summary"]["admitted"] == 1
    assert document["pods"][0]["a"] is None
    assert document["pods"][0]["b"]["outcome"] == "Admitted"
    shown = cpuctl("plan", *bad, "-T", "a=1/1", "--compare", "", "good.yaml", columns=300, cwd=tmp_path).out
    assert shown.startswith("A: the current configuration. The kubelet would not start:")
    assert "No pods differ" not in shown


def test_no_changes_are_reported_for_what_cannot_be_loaded(cpuctl: Cpuctl) -> None:
    """The other release is checked all the same; the answer does not claim that nothing changes."""
    reported = ("-m", "synthetic:1s1n4c1t,mem=8Gi", "--kubelet-args=--pod-infra-container-image=pause")
    result = cpuctl("config", "versions", *reported, "--from", "1.36", "--to", "1.34", columns=300)
    assert result.code == 3
    lines = result.out.splitlines()
    assert "Kubelet 1.34 would start." in lines
    assert "Other changes are unknown: kubelet 1.36 cannot load the configuration." in lines
    assert not any("change" in line for line in lines if not line.startswith("Other changes"))
