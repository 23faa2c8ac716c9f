"""What ``cgroups apply`` reports once it has written, even if its answer cannot be written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cpuctl.cli import cgroups
from cpuctl.cli.app import run
from cpuctl.cli.output import Document, Style, emit_after_change
from cpuctl.cli.render.blocks import Lines
from cpuctl.cli.render.layouts.cgroupsapply import blocks
from tests.cli.group_node import Node, node_of_groups, real_kernel, wait_until

FULL = Path("/dev/full")
no_full_device = pytest.mark.skipif(not FULL.exists(), reason="no device here that is always full")
LOST = "the answer cannot be written: no space left on the device"


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with node_of_groups(tmp_path) as made:
        yield made


@real_kernel
@no_full_device
@pytest.mark.parametrize("form", ["table", "json"])
def test_a_lost_answer_is_reported_with_what_was_written(node: Node, form: str) -> None:
    """Exit code 5 would mean that nothing was changed."""
    with FULL.open("w") as full:
        words = node.command("--yes", "--no-wait", "-o", form)
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, node.lists) == (6, ["1", "0"])
    assert done.stderr.splitlines() == [
        f"error: stdout: cgroups were written, but {LOST}",
        "hint: check them with cpuctl cgroups show",
    ]


@real_kernel
@pytest.mark.parametrize("form", ["table", "json"])
@pytest.mark.parametrize("words", [["--yes", "--no-wait"], []], ids=["written", "dry"])
def test_a_closed_pipe_is_reported_only_after_a_change(node: Node, form: str, words: list[str]) -> None:
    """If nothing was changed, SIGPIPE ends cpuctl as it ends other tools."""
    reader, writer = os.pipe()
    os.close(reader)
    command = node.command(*words, "-o", form)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    if words:
        assert (done.returncode, node.lists) == (6, ["1", "0"])
        assert "cgroups were written, but the answer cannot be written" in done.stderr
    else:
        assert (done.returncode, done.stderr, node.lists) == (-signal.SIGPIPE, "", ["0-1", "0-1"])


@real_kernel
@no_full_device
def test_a_lost_answer_is_reported_with_what_is_not_restored(node: Node) -> None:
    with FULL.open("w") as full:
        words = node.command("--yes")
        with subprocess.Popen(words, stdout=full, stderr=subprocess.PIPE, text=True) as process:
            wait_until(node, ["1", "0"])
            (node.shared / "cpuset.cpus").write_text("1")
            _, text = process.communicate()
    assert (process.returncode, node.lists) == (6, ["0-1", "1"])
    assert f"the change failed and could not be fully undone, but {LOST}" in text
    assert f"{node.shared.name}/cpuset.cpus: another process, perhaps the kubelet, has written '1'" in text


@real_kernel
@no_full_device
def test_a_dry_run_without_a_reader_has_changed_nothing(node: Node) -> None:
    with FULL.open("w") as full:
        done = subprocess.run(node.command(), stdout=full, stderr=subprocess.DEVNULL, check=False)
    assert (done.returncode, node.lists) == (5, ["0-1", "0-1"])


@real_kernel
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_after_the_last_check_is_too_late(
    node: Node, number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its exit code would mean that everything is as before."""

    def interrupted(document: Document, style: Style, *words: str) -> None:
        os.kill(os.getpid(), number)
        emit_after_change(document, style, *words)

    monkeypatch.setattr(cgroups, "emit_after_change", interrupted)
    received: list[int] = []
    before = signal.signal(number, lambda caught, _frame: received.append(caught))
    try:
        code = run(node.command("--yes", "--no-wait", "-o", "json")[3:])
    finally:
        signal.signal(number, before)
    assert (code, json.loads(capsys.readouterr().out)["outcome"]) == (0, "Applied")
    assert (node.lists, received) == (["1", "0"], [])


@real_kernel
def test_a_log_pipe_without_a_reader_is_an_error(node: Node, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = node.run("--yes", "--no-wait", "--log", str(tmp_path / "pipe"))
    assert (done.returncode, node.lists) == (5, ["0-1", "0-1"])
    assert "--log" in done.stderr


@real_kernel
@no_full_device
@pytest.mark.parametrize("quiet", [(), ("-q",)])
def test_nothing_is_changed_without_a_log_entry(node: Node, quiet: tuple[str, ...]) -> None:
    before = node.lists
    words = node.command("--yes", "--no-wait", "--log", str(FULL), "-o", "json", *quiet)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (5, "")
    assert f"error: --log {FULL}: the log could not be written" in done.stderr
    assert "no space left on the device" in done.stderr
    assert node.lists == before


def below(group: Path, name: bytes) -> Path:
    """Create a group with all of its parent's CPUs."""
    child = group / os.fsdecode(name)
    child.mkdir()
    for file in ("cpuset.mems", "cpuset.cpus"):
        (child / file).write_text((group / file).read_text())
    return child


@real_kernel
@pytest.mark.parametrize("form", ["table", "json"])
def test_hostile_group_names_are_handled_and_escaped(node: Node, tmp_path: Path, form: str) -> None:
    """A container that can create groups chooses their names; kernels reject line breaks only."""
    child = below(node.own, b"x \x1b[2J';reboot")
    log = tmp_path / "log"
    words = node.command("--yes", "--no-wait", "--log", str(log), "-o", form)
    done = subprocess.run(words, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (child / "cpuset.cpus").read_text() == "1\n"
    assert b"\x1b" not in done.stdout
    assert len([json.loads(line) for line in log.read_text().splitlines()]) == 6


@real_kernel
def test_a_group_with_a_name_that_is_not_utf8_is_reported(node: Node) -> None:
    """Its group is not read, and v1 rejects removing the CPUs that it uses."""
    below(node.own, b"x\xff")
    code, document = node.answer("--yes", "--no-wait")
    assert (code, document["outcome"], node.lists) == (5, "Undone", ["0-1", "0-1"])
    (warning,) = document["warnings"]
    assert warning.endswith("/x\\xff: its name is not valid UTF-8: skipped")


@pytest.mark.parametrize(
    ("request_kind", "left_out", "expected"),
    [
        ("CgroupsPlan", [], "the plan is empty."),
        ("CgroupsPlan", [{"subject": "a/b/c", "why": "x"}], "all containers were skipped."),
        ("State", [], "no container that gets CPUs from the state is running here."),
        ("Plan", [], "no container that gets CPUs from the plan is running here."),
    ],
)
def test_values_are_as_requested_only_if_any_were_compared(
    request_kind: str, left_out: list[dict[str, str]], expected: str
) -> None:
    document: Any = {
        "request": request_kind,
        "outcome": "Clean",
        "summary": {"containers": 0, "groups": 0, "writes": 0},
        "objections": [],
        "writes": [],
        "skipped": left_out,
        "result": None,
    }
    assert _last_line(document) == f"Nothing to do: {expected}"
    document["summary"]["containers"] = 1
    assert _last_line(document) == "Nothing to do: all values are as requested."


def _last_line(document: Any) -> str:
    *_, last = blocks(document, wide=False)
    assert isinstance(last, Lines)
    return last.lines[-1].text
