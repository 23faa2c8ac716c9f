"""The verdict on a start agrees with the number of errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cpuctl.records import replace
from tests.cli.conftest import Cpuctl
from tests.cli.test_odd_machines import recorded
from tests.cli.test_schemas import check
from tests.cli.test_unrecorded_facts import MISSING, STATIC, WHOLE
from tests.support.state_files import CPU_STATE, cpus, write_states

TWO_REASONS = """apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
cpuManagerPolicyOptions: {no-such-option: "true"}
reservedSystemCPUs: "0-x"
"""
STATE = ("checkpoint", "verify")


@pytest.mark.parametrize("command", [("config", "check"), STATE])
def test_an_undetermined_start_is_not_an_error(
    cpuctl: Cpuctl, tmp_path: Path, command: tuple[str, ...]
) -> None:
    files = {path: text for path, text in WHOLE.items() if not re.search(MISSING["memory"], path)}
    node = ("-m", recorded(tmp_path / "node", files), "--kubelet-args", STATIC)
    state = write_states(
        tmp_path / "state", replace(CPU_STATE, entries={}, default_cpu_set=cpus("0-15")), None
    )
    words = (*node, str(state), "--kubelet-version", "1.36") if command == STATE else node
    shown = cpuctl(*command, *words)
    assert shown.code == 3
    assert "unknown" in shown.out.splitlines()[0]
    assert "0 errors, 0 warnings, start undetermined" in shown.out.splitlines()
    assert "error:" not in shown.out
    document = json.loads(cpuctl(*command, *words, "-o", "json").out)
    check(document)
    assert document["summary"]["error"] == 0
    assert ("undetermined", "note") in [(each["code"], each["severity"]) for each in document["findings"]]


def test_the_reason_of_the_verdict_is_among_the_errors(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """A kubelet stops at the first reason; another setting's error does not replace it."""
    (tmp_path / "kubelet.yaml").write_text(TWO_REASONS)
    words = ("-m", "synthetic:4c,mem=8Gi", "--kubelet-config", str(tmp_path / "kubelet.yaml"))
    shown = cpuctl("config", "check", *words).out
    assert "\n2 errors, 0 warnings (including the failed start)\n" in shown
    document = json.loads(cpuctl("config", "check", *words, "-o", "json").out)
    errors = [each["setting"] for each in document["findings"] if each["severity"] == "error"]
    assert errors == ["reservedSystemCPUs", "cpuManagerPolicyOptions.no-such-option"]
    assert document["findings"][0]["message"] == document["start"]["error"]


def test_an_error_in_a_state_file_does_not_hide_that_of_a_setting(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """The kubelet does not get as far as reading the state file, which is also invalid."""
    (tmp_path / "kubelet.yaml").write_text(TWO_REASONS)
    (tmp_path / "cpu_manager_state").write_text("{")
    words = ("-m", "synthetic:4c,mem=8Gi", "--kubelet-config", str(tmp_path / "kubelet.yaml"))
    document = json.loads(
        cpuctl(
            *STATE, str(tmp_path / "cpu_manager_state"), *words, "--kubelet-version", "1.36", "-o", "json"
        ).out
    )
    assert document["start"]["outcome"] == "Rejected"
    assert "not-started" in [each["code"] for each in document["findings"]]


@pytest.mark.parametrize(
    ("name", "text", "want"),
    [
        ("cpu_manager_state", '{"policyName":"none","defaultCpuSet":"","checksum":1}', ("Rejected", 1)),
        ("cpu_manager_state", "{", ("Rejected", 1)),
        ("dra_manager_state", "{", ("Undetermined", 0)),
    ],
)
@pytest.mark.parametrize("command", [("config", "check", "--state"), STATE])
def test_an_invalid_file_is_an_error_only_if_every_release_reads_it(
    cpuctl: Cpuctl,
    tmp_path: Path,
    command: tuple[str, ...],
    name: str,
    text: str,
    want: tuple[str, int],
) -> None:
    """If every release rejects a file, it is an error; claims are read by newer releases only."""
    (tmp_path / name).write_text(text)
    words = (*command, str(tmp_path / name), "-m", "synthetic:4c,mem=8Gi")
    shown = cpuctl(*words, "-o", "json")
    document = json.loads(shown.out)
    assert (document["start"]["outcome"], document["summary"]["error"]) == want
    assert shown.code == 3
