"""``cpuctl top`` without its screen: one sample in every format, streams of samples, recordings, errors."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cli.conftest import Cpuctl
from tests.support.running_node import Running, counting_node
from tests.support.schemas import follow_schema

V36 = ("--kubelet-version", "1.36")


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the root of a node on which one second passes with every wait."""
    running = Running(tmp_path / "node", counting_node())
    running.write()

    def wait(_seconds: float) -> None:
        running.pass_time(1, {1: {"user": 0.5}, 5: {"user": 1.0}, 2: {"system": 0.25}})
        running.used += 1
        running.came["24"] = {5: running.came.get("24", {}).get(5, 0) + 30}
        running.tree.process(500, "stray", "/system.slice/backup.service", "0-7")
        running.on[500], running.ran[500] = 5, running.ran.get(500, 0) + 0.5
        running.write()

    # The clock of this process is not changed: other threads wait on it.
    clock = SimpleNamespace(monotonic=lambda: running.now, sleep=wait)
    for module in ("cpuctl.cli.top", "cpuctl.operations.top"):
        monkeypatch.setattr(f"{module}.time", clock)
    return str(tmp_path / "node")


def test_one_sample_as_a_table(node: str, cpuctl: Cpuctl) -> None:
    result = cpuctl("top", "--once", "--root", node, *V36, "-q", columns=160)
    assert result.code == 0, result
    lines = result.out.splitlines()
    assert lines[0].endswith("8 CPUs, cgroup v2, CPU Manager policy static")
    (row,) = (line.split() for line in lines if "server" in line and "thread" not in line)
    assert row[1:] == ["server", "1,5", "50", "100", "1.00", "0.50", "0%", "0%", "1", "30", "0ms", "0", "0"]
    assert any(
        "500 (stray), thread in cgroup /system.slice/backup.service, on CPU 5" in line for line in lines
    )
    assert any(line.split()[:4] == ["shared", "pool", "0,2-4,6-7", "4.2%"] for line in lines), result.out


def test_one_sample_in_other_formats(node: str, cpuctl: Cpuctl) -> None:
    answer = json.loads(cpuctl("top", "--once", "--root", node, *V36, "-o", "json").out)
    follow_schema(answer)
    assert answer["cpus"][2]["system"] == 0.25
    assert "cpuManagerPolicy: static" in cpuctl("top", "--once", "--root", node, *V36, "-o", "yaml").out
    wide = cpuctl("top", "--once", "--root", node, *V36, "-q", "-o", "wide").out
    assert "24 (PCI-MSI 524288-edge eth0), 30 per second" in wide
    assert any(line.split()[:6] == ["5", "0", "0", "0", "1", "exclusive"] for line in wide.splitlines()), wide


def test_samples_are_streamed_recorded_and_replayed(node: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    file = str(tmp_path / "top.jsonl.gz")
    words = ("--root", node, *V36, "-q", "-o", "jsonl", "--samples", "3", "--record", file)
    streamed = cpuctl("top", *words)
    assert streamed.code == 0, streamed
    moments: list[Any] = [json.loads(line) for line in streamed.out.splitlines()]
    assert len(moments) == 3
    assert cpuctl("top", "--replay", file, "-o", "jsonl").out == streamed.out
    first = cpuctl("top", "--replay", file, "-o", "jsonl", "--samples", "2")
    assert (first.code, first.out.count("\n"), streamed.out.startswith(first.out)) == (0, 2, True)
    more = cpuctl("top", "--replay", file, "-o", "jsonl", "--samples", "9")
    assert (more.code, more.out.count("\n")) == (0, 3)
    last = cpuctl("top", "--replay", file, "--once", "-o", "json")
    assert json.loads(last.out) == moments[-1]
    line = cpuctl("top", "--replay", file, "--once", "-o", "jsonl")
    assert (line.code, json.loads(line.out)) == (0, moments[-1])
    again = cpuctl("top", *words)
    assert (again.code, "the file exists" in again.err) == (2, True)


def test_a_default_machine_does_not_conflict_with_a_replay(
    node: str, tmp_path: Path, cpuctl: Cpuctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recording is replayed even if another machine is the user's default."""
    file = str(tmp_path / "top.jsonl")
    cpuctl("top", "--once", "--root", node, *V36, "-q", "--record", file)
    monkeypatch.setenv("CPUCTL_MACHINE", "fixtures/nodes/v2-2-numa/node.tar.xz")
    assert cpuctl("top", "--replay", file, "--once", "-o", "json").code == 0


def test_this_host(cpuctl: Cpuctl) -> None:
    """The kernel that runs the tests is read, without a substitute."""
    result = cpuctl("top", "--once", "--interval", "0.2", "-o", "json")
    assert result.code == 0, result
    answer = json.loads(result.out)
    follow_schema(answer)
    assert any(each["busy"] is not None for each in answer["cpus"])


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "is not a terminal"),
        (("-o", "json"), "add --once"),
        (("--once", "--samples", "2"), "requires -o jsonl"),
        (("--once", "--interval", "0"), "0.2 to 3600"),
        (("--replay", "a", "--record", "b"), "--record: cannot be used with --replay"),
        (("--replay", "a", "--root", "/x"), "--root: cannot be used with --replay"),
        (("--replay", "a", "-m", "live"), "--machine: cannot be used with --replay"),
        (("--replay", "a", "--kubelet-config", "b"), "--kubelet-config: cannot be used with --replay"),
        (("--replay", "a", "--ignore-unknown-gates"), "--ignore-unknown-gates: cannot be used with --replay"),
        (("--once", "--interval", "nan"), "--interval: expected a number, found nan"),
        (("--once", "--interval", "inf"), "--interval: expected a number, found inf"),
        (("--once", "--interval", "-1"), "0.2 to 3600 seconds, found -1"),
        (("--once", "--interval", "1e300"), "0.2 to 3600 seconds, found 1e+300"),
        (("--once", "-m", "fixtures/nodes/v2-2-numa/node.tar.xz"), "a recording is a snapshot"),
    ],
)
def test_invalid_options_are_rejected_by_top(words: tuple[str, ...], complaint: str, cpuctl: Cpuctl) -> None:
    result = cpuctl("top", *words)
    assert (result.code, result.out) == (2, ""), result
    assert complaint in result.err


def test_a_copy_of_a_node_is_rejected(tmp_path: Path, cpuctl: Cpuctl) -> None:
    Running(tmp_path, counting_node()).write()
    result = cpuctl("top", "--once", "--interval", "0.2", "--root", str(tmp_path), *V36)
    assert (result.code, "do not change" in result.err) == (4, True), result


REPLAY = ("top", "--replay", "fixtures/live/top.jsonl.gz", "--once", "-q")


def test_a_table_too_wide_is_split_and_names_each_container_twice(cpuctl: Cpuctl) -> None:
    shown = cpuctl(*REPLAY, columns=80).out
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.count("forwarder") == 2
    assert cpuctl(*REPLAY, columns=160).out.count("forwarder") == 1


def test_a_disturbance_leads_to_an_audit(cpuctl: Cpuctl) -> None:
    assert cpuctl(*REPLAY).out.endswith("\nNext, on the node, to find the cause: sudo cpuctl audit\n")


def test_a_host_without_a_kubelet_is_told_in_words_what_is_unknown(tmp_path: Path, cpuctl: Cpuctl) -> None:
    sample = json.loads(cpuctl(*REPLAY, "-o", "json").out)
    nothing = {"what": "containers, sharedPool", "why": "the CPU Manager's state file cannot be read"}
    sample |= {"cpuManagerPolicy": None, "containers": [], "sharedPool": None, "unknown": [nothing]}
    (tmp_path / "one.jsonl").write_text(json.dumps(sample) + "\n")
    shown = cpuctl("top", "--replay", f"{tmp_path}/one.jsonl", "--once", "-q").out
    assert "unknown: containers with exclusive CPUs, shared pool: the CPU Manager's state" in shown
    assert shown.endswith("\nNext, on a node with a running kubelet: sudo cpuctl top\n")
