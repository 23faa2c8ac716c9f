"""Signals that end a command, and closed output pipes: no partial answer on stderr, no file, no traceback."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.robustness.forks import PROJECT

SHORT = "-m synthetic:1s1n4c1t"
NODE = "fixtures/nodes/v2-2-numa"
SECONDS = 60
READING = (
    f"plan {SHORT} -f - --svg {{}}/a.svg --html {{}}/a.html --write-state {{}}",
    f"explain {SHORT} -f -",
    "pods show -f - -o json",
    "pods lint -f -",
    "pods diff - --kubelet-version 1.36 --to 1.37",
    "replay - --svg {}/a.svg",
    f"audit -m {NODE}/node.tar.xz --pods -",
    "cgroups apply -f -",
    f"checkpoint repair {NODE}/node.tar.xz --kubelet-version 1.36 --pods - --write-state {{}}",
    f"config check {SHORT} --kubelet-config -",
)
"""Command lines that wait for the end of their input."""

ANSWERING = (
    "topology -m synthetic:8s64n256c2t -o wide",
    "topology map -m synthetic:8s64n256c2t",
    f"plan {SHORT} -T a=100m/100m,1Mi",
    f"plan {SHORT} -T a=100m/100m,1Mi -o yaml",
    f"explain {SHORT} -T a=1/1,1Gi",
    "pods show -f fixtures/pods -o jsonl",
    "pods lint -f fixtures/pods -o json",
    "replay fixtures/timelines/case-a.yaml",
    "replay fixtures/timelines/case-a.yaml --svg -",
    f"audit -m {NODE}/node.tar.xz",
    f"cgroups show -m {NODE}/node.tar.xz -o jsonl",
    f"checkpoint dump {NODE}/node.tar.xz --map",
    f"config show {SHORT} -o yaml",
    "capture --root {} -",
    "schema plan",
    "completion bash",
    "--help",
    "plan --help",
)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("line", READING)
def test_a_signal_ends_a_command_quietly(line: str, number: signal.Signals, tmp_path: Path) -> None:
    """A shell shows death by SIGTERM as 143."""
    words = [sys.executable, "-m", "cpuctl", *shlex.split(line.format(tmp_path, tmp_path, tmp_path))]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, cwd=PROJECT) as process:
        assert process.stdin is not None
        # More than a pipe holds: once everything is written, the process is reading and waits for more.
        process.stdin.write(b"# a comment\n" * 100_000)
        process.stdin.flush()
        process.send_signal(number)
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out, err) == (130 if number == signal.SIGINT else -number, b"", b"")
    assert list(tmp_path.iterdir()) == []


ENDED_WHILE_WRITING = (
    "import os, signal; from cpuctl.__main__ import main;"
    "os.fsync = lambda _: os.kill(os.getpid(), signal.{}); main()"
)


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM"])
def test_a_signal_during_a_write_leaves_no_file(name: str, tmp_path: Path) -> None:
    words = ["plan", "-q", *shlex.split(SHORT), "-T", "a=1/1,1Gi", "--html", str(tmp_path / "a.html")]
    command = [sys.executable, "-c", ENDED_WHILE_WRITING.format(name), *words]
    done = subprocess.run(command, cwd=PROJECT, check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (-getattr(signal, name), b"")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", ANSWERING)
def test_a_closed_stdout_ends_a_command_quietly(line: str, tmp_path: Path) -> None:
    """A shell shows death by SIGPIPE as 141."""
    (tmp_path / "sys").mkdir()
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-m", "cpuctl", *shlex.split(line.format(tmp_path))]
    try:
        done = subprocess.run(
            words, stdout=writing, stderr=subprocess.PIPE, check=False, cwd=PROJECT, timeout=SECONDS
        )
    finally:
        os.close(writing)
    assert done.returncode == -signal.SIGPIPE
    assert b"error" not in done.stderr
    assert b"Traceback" not in done.stderr
