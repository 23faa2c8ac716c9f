"""``cpuctl replay``: snapshots, output formats, failed expectations, playing live.

Snapshots are in ``__snapshots__``; ``pytest --snapshot-update`` takes new ones, which are reviewed before
they are kept.
"""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import ROOT, Cpuctl
from tests.cli.test_golden import drawn_lines
from tests.support.schemas import follow_schema

STORY = "fixtures/timelines/scenario-1.yaml"
PICTURES = {
    "the use case of the KEP": ("fixtures/timelines/scenario-1.yaml",),
    "wide": ("fixtures/timelines/scenario-5.yaml", "-o", "wide"),
    "several containers": ("fixtures/timelines/several-containers.yaml",),
    "a kubelet that does not start": ("fixtures/timelines/offline-cpu.yaml",),
    "CPUs of a whole pod": ("fixtures/timelines/kep-5526-lifecycle.yaml",),
    "the log of a kubelet": (
        "fixtures/logs/kubelet-1.36.jsonl",
        *("-f", "fixtures/logs/pods.yaml", "-m", "synthetic:1s1n4c2t"),
        *("--kubelet-config", "fixtures/logs/kubelet.yaml"),
    ),
    "nothing happens": ("fixtures/timelines/gates-1.yaml", "--until", "0s"),
}
FAILING = """\
apiVersion: cpuctl/v1alpha1
kind: Timeline
machine: synthetic:1s1n2c2t
kubelet: {config: {cpuManagerPolicy: static, reservedSystemCPUs: "0,2"}}
pods: ["web=2,1Gi"]
events:
- at: 0s
  admit: web
  expect:
    containers: {web/web: {cpus: "1", cgroup: "1,3", downward: "1"}}
    pods: {web: {phase: Failed}}
- at: 1s
  expect: {stateFile: null, sharedPool: "0,2"}
"""


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("name", PICTURES)
def test_pictures(name: str, width: int, cpuctl: Cpuctl, snapshot: SnapshotAssertion) -> None:
    result = cpuctl("replay", *PICTURES[name], columns=width)
    assert result.code == 0
    assert str(result) == snapshot
    assert not [line for line in result.out.splitlines() if line != line.rstrip()]
    assert [line for line in drawn_lines(result.out) if len(line) > width] == []


def test_the_answer_follows_its_schema_in_every_form(cpuctl: Cpuctl) -> None:
    answer = json.loads(cpuctl("replay", STORY, "-o", "json").out)
    follow_schema(answer, "replay")
    assert yaml.safe_load(cpuctl("replay", STORY, "-o", "yaml").out) == answer
    lines = cpuctl("replay", STORY, "-o", "jsonl").out.splitlines()
    assert list(map(json.loads, lines)) == answer["entries"]


def test_the_first_difference_from_a_kubelets_log_is_named(cpuctl: Cpuctl) -> None:
    words = ("fixtures/logs/kubelet-1.31.jsonl", *PICTURES["the log of a kubelet"][1:])
    result = cpuctl("replay", *words)
    assert result.code == 3
    first = "first difference at 403ms: kubelet.running: false according to the log, true as computed"
    assert first in result.out.splitlines()
    assert "does not mention shop/odd, shop/agent" in result.err
    answer = json.loads(cpuctl("replay", *words, "-o", "json").out)
    follow_schema(answer, "replay")
    assert answer["log"] == words[0]
    assert answer["expectations"]["failures"][0]["where"] == f"{words[0]} line 6"


def test_a_log_with_another_policy_than_the_configuration_is_noted(cpuctl: Cpuctl) -> None:
    words = ("replay", "fixtures/logs/kubelet-1.27.log", "-m", "synthetic:1s1n4c2t,far")
    warning = (
        "the CPU Manager policy is static in fixtures/logs/kubelet-1.27.log line 4, but none in this "
        "configuration: use --kubelet-config with that of the kubelet"
    )
    assert warning in " ".join(cpuctl(*words).err.split())
    log = Path("fixtures/logs/kubelet-1.27.log").read_text(encoding="utf-8").splitlines(keepends=True)
    excerpt = "".join(line for line in log if "Kubelet version" not in line)
    cut = cpuctl("replay", "-", *words[2:], stdin=excerpt.encode())
    assert "the CPU Manager policy is static in <stdin> line 3, but none" in " ".join(cut.err.split())
    configured = cpuctl(*words, "--kubelet-config", "fixtures/logs/kubelet.yaml")
    assert "CPU Manager policy is" not in configured.err


def test_a_configuration_that_cannot_be_loaded_does_not_start_the_kubelet(
    tmp_path: Path, cpuctl: Cpuctl
) -> None:
    """As in a timeline. The log is of a kubelet that ran, which is the first difference."""
    (tmp_path / "k.yaml").write_text(
        "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\nmaxPods: a"
    )
    words = (*PICTURES["the log of a kubelet"][:-1], str(tmp_path / "k.yaml"))
    result = cpuctl("replay", *words, "-o", "json")
    answer = json.loads(result.out)
    follow_schema(answer, "replay")
    assert result.code == 3
    began = answer["entries"][0]
    assert (began["what"], began["details"]["stage"]) == ("KubeletFailed", "configDecode")
    first = answer["expectations"]["failures"][0]
    assert (first["what"], first["expected"], first["found"]) == ("kubelet.running", True, False)
    assert "warning: the kubelet cannot load this configuration:" in result.err


def test_a_rejected_pod_is_granted_nothing(tmp_path: Path, cpuctl: Cpuctl) -> None:
    kubelet = '{config: {cpuManagerPolicy: static, reservedSystemCPUs: "0,2"}}'
    (tmp_path / "t.yaml").write_text(
        "apiVersion: cpuctl/v1alpha1\nkind: Timeline\nmachine: synthetic:1s1n2c2t\n"
        f'kubelet: {kubelet}\npods: ["web=1,1Gi", "big=3,1Gi"]\n'
        "events:\n- {at: 0s, admit: web}\n- {at: 1s, admit: big}\n"
    )
    answer = json.loads(cpuctl("replay", str(tmp_path / "t.yaml"), "-o", "json").out)
    follow_schema(answer, "replay")
    held = {
        name: (each["cpus"], each["cgroup"], each["allocated"], each["actual"])
        for name, each in answer["final"]["containers"].items()
    }
    assert held == {"default/web/web": ("1", "1", "1", "1"), "default/big/big": ("", None, None, None)}


def test_a_kubelet_that_does_not_start_has_an_answer(cpuctl: Cpuctl) -> None:
    result = cpuctl("replay", "fixtures/timelines/gates-5.yaml", "--until", "3s", "-o", "json")
    answer = json.loads(result.out)
    follow_schema(answer, "replay")
    assert answer["final"]["kubelet"]["running"] is False


def test_failed_expectations_are_shown_and_exit_with_3(
    tmp_path: Path, cpuctl: Cpuctl, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "t.yaml").write_text(FAILING)
    result = cpuctl("replay", "t.yaml", cwd=tmp_path, columns=80)
    assert result.code == 3
    assert str(result) == snapshot
    assert cpuctl("replay", "t.yaml", "--exit-zero", cwd=tmp_path).code == 0
    assert cpuctl("replay", "t.yaml", "--until", "500ms", "-o", "json", cwd=tmp_path).code == 3


def test_the_example_timeline_can_be_replayed(tmp_path: Path, cpuctl: Cpuctl) -> None:
    result = cpuctl("replay", "--new")
    assert (result.code, result.err) == (0, "")
    assert sum(line.lstrip().startswith("#") for line in result.out.splitlines()) > 5
    (tmp_path / "t.yaml").write_text(result.out)
    replayed = cpuctl("replay", "t.yaml", cwd=tmp_path)
    assert replayed.code == 0
    assert "5 checks: all as expected" in replayed.out


def test_a_timeline_comes_from_standard_input(cpuctl: Cpuctl) -> None:
    result = cpuctl("replay", "-", "-o", "json", stdin=(ROOT / STORY).read_bytes())
    assert result.code == 0
    assert json.loads(result.out)["sources"]["timeline"]["value"] == "<stdin>"


def test_paths_in_a_timeline_are_relative_to_it(tmp_path: Path, cpuctl: Cpuctl) -> None:
    folder = tmp_path / "stories"
    folder.mkdir()
    machine = ROOT / "fixtures" / "machines" / "2s-2numa-32cpu.tar.xz"
    (folder / "machine.tar.xz").write_bytes(machine.read_bytes())
    (folder / "kubelet.yaml").write_bytes((ROOT / "fixtures" / "kubelet" / "static.yaml").read_bytes())
    text = (
        "{apiVersion: cpuctl/v1alpha1, kind: Timeline, machine: machine.tar.xz, "
        "kubelet: {config: kubelet.yaml}, pods: ['web=2,1Gi'], events: [{at: 0s, admit: web}]}"
    )
    (folder / "t.yaml").write_text(text)
    result = cpuctl("replay", "stories/t.yaml", "-o", "json", cwd=tmp_path)
    assert json.loads(result.out)["final"]["containers"]["default/web/web"]["cpus"]


def test_a_missing_machine_is_not_an_error_of_the_timeline(cpuctl: Cpuctl) -> None:
    refused = cpuctl("replay", "fixtures/timelines/case-a.yaml", "-m", "nope")
    assert refused.err.startswith("error: nope: cannot be read: no such file or directory\n")


def test_the_same_timeline_on_another_machine(cpuctl: Cpuctl) -> None:
    result = cpuctl("replay", STORY, "-m", "synthetic:2s4n16c2t", "-o", "json", "--exit-zero")
    answer = json.loads(result.out)
    assert answer["sources"]["machine"]["value"] == "synthetic:2s4n16c2t"
    assert answer["final"]["containers"]["default/dpdk/app"]["cpus"] == "1-2,33"


def test_it_ends_at_the_given_time(cpuctl: Cpuctl) -> None:
    answer = json.loads(cpuctl("replay", STORY, "--until", "3s", "-o", "json").out)
    assert answer["until"] == "3s"
    assert answer["final"]["containers"]["default/dpdk/app"]["pending"] == "1-2,11"
    assert [each["end"] for each in answer["scaleDowns"]] == ["open"]


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path, cpuctl: Cpuctl) -> None:
    text = FAILING.replace('pods: ["web=2,1Gi"]', 'pods: ["web=2,1Gi"]\ndescription: "a\\e[2Jb"')
    (tmp_path / "t.yaml").write_text(text)
    assert "a\\x1b[2Jb" in cpuctl("replay", "t.yaml", cwd=tmp_path).out


class TestFollow:
    def test_following_gives_the_same_entries(self, cpuctl: Cpuctl) -> None:
        followed = cpuctl("replay", STORY, "--follow", "--speed", "1000x", "-o", "jsonl")
        assert followed.out == cpuctl("replay", STORY, "-o", "jsonl").out

    def test_a_timeline_without_events_is_followed_too(self, cpuctl: Cpuctl) -> None:
        text = b"{apiVersion: cpuctl/v1alpha1, kind: Timeline, machine: synthetic:1s1n2c1t, events: []}"
        result = cpuctl("replay", "-", "--follow", "-o", "jsonl", stdin=text)
        assert [json.loads(line)["what"] for line in result.out.splitlines()] == ["KubeletStarted"]

    def test_the_table_ends_with_the_summary(self, cpuctl: Cpuctl, snapshot: SnapshotAssertion) -> None:
        result = cpuctl("replay", STORY, "--follow", "--speed", "1000", columns=80)
        assert result.code == 0
        assert str(result) == snapshot

    def test_following_takes_time(self, cpuctl: Cpuctl) -> None:
        """Ten seconds at twenty times the speed take at least half a second."""
        began = time.monotonic()
        assert cpuctl("replay", STORY, "--follow", "--speed", "20x").code == 0
        assert time.monotonic() - began >= 0.5

    def test_failed_expectations_exit_with_3_when_following(self, tmp_path: Path, cpuctl: Cpuctl) -> None:
        (tmp_path / "t.yaml").write_text(FAILING)
        result = cpuctl("replay", "t.yaml", "--follow", "--speed", "1000x", cwd=tmp_path)
        assert result.code == 3
        assert "values not as expected" in result.out

    def test_interrupting_it_exits_with_130(self) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "cpuctl", "replay", STORY, "--follow"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert "kubelet 1.37 starts" in first
        assert process.returncode == 130
        assert "Traceback" not in err

    def test_a_terminal_shows_progress(self) -> None:
        """The progress bar is on stderr, so that a pipe gets only the answer."""
        master, slave = pty.openpty()
        with subprocess.Popen(
            [sys.executable, "-m", "cpuctl", "replay", STORY, "--follow", "--speed", "10x", "-o", "jsonl"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=slave,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
        ) as process:
            os.close(slave)
            shown = b"".join(iter(lambda: _read(master), b""))
            out, _ = process.communicate(timeout=30)
        os.close(master)
        assert b"replaying" in shown
        assert re.search(rb"[1-9][0-9]*%", shown)
        assert all(json.loads(line) for line in out.splitlines())


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other side is closed
        return b""
