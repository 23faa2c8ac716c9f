from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from cpuctl.capture.collected import Process, Thread
from cpuctl.capture.node import processes as module
from cpuctl.capture.node.processes import deciding_cgroup, process_lines
from tests.capture.node_texts import SCOPE, node_texts, process, recorded, status


def only(texts: dict[str, str]) -> Process:
    (found,) = recorded(texts).processes
    return found


def test_a_process_is_recorded_with_its_allowed_cpus() -> None:
    found = only(process(80, "trading-engine", "/pod", "trade", "--fast", cpus="1-2", user=1000))
    assert found == Process(
        pid=80,
        cgroup="/pod",
        kernel=False,
        user=1000,
        nested=False,
        threads=(Thread(80, "trading-engine", "1-2", "0-1"),),
    )


def test_every_thread_has_its_own_affinity() -> None:
    texts = process(5, "main", "/") | {"proc/5/task/17/status": status("worker", 17, cpus="3")}
    assert [(thread.tid, thread.comm, thread.cpus) for thread in only(texts).threads] == [
        (5, "main", "0-7"),
        (17, "worker", "3"),
    ]


def test_a_process_that_ends_meanwhile_is_not_a_failure() -> None:
    collected = recorded({"proc/5/cgroup": "0::/\n", **process(6, "left", "/")})
    assert [found.pid for found in collected.processes] == [6]
    assert collected.unreadable == ()


def test_a_thread_that_ends_meanwhile_is_left_out() -> None:
    texts = process(5, "main", "/") | {"proc/5/task/17/comm": "gone"}
    assert [thread.tid for thread in only(texts).threads] == [5]


@dataclass(frozen=True)
class Kind:
    name: str
    texts: dict[str, str]
    kernel: bool


def with_line(texts: dict[str, str], line: str) -> dict[str, str]:
    return {path: text + line if path.endswith("status") else text for path, text in texts.items()}


KINDS = [
    Kind("kthreadd", process(2, "kthreadd", "/", parent=0), kernel=True),
    Kind("its children", process(9, "kworker/0:1", "/", parent=2), kernel=True),
    Kind("others", process(9, "kworker/0:1", "/", parent=1), kernel=False),
    Kind("marked by the kernel", with_line(process(9, "x", "/"), "Kthread:\t1\n"), kernel=True),
    Kind("denied by the kernel", with_line(process(2, "init", "/"), "Kthread:\t0\n"), kernel=False),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_kernel_threads_are_marked(kind: Kind) -> None:
    assert only(kind.texts).kernel is kind.kernel


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("0::/init.scope\n", "/init.scope"),
        ("4:memory:/m\n3:cpuset:/c\n1:cpu,cpuacct:/x\n", "/c"),
        ("3:cpuset,cpu:/joined\n0::/unified\n", "/joined"),
        ("9:name=systemd:/s\n0::/a:b\n", "/a:b"),
        ("9:name=systemd:/s\n", ""),
        ("", ""),
    ],
)
def test_the_group_that_determines_cpus(text: str, want: str) -> None:
    assert deciding_cgroup(text) == want


def test_every_process_is_a_line_of_json() -> None:
    lines = [json.loads(line) for line in process_lines(recorded().processes).splitlines()]
    assert [line["pid"] for line in lines] == [1, 2, 9, 70, 80]
    assert lines[4] == {
        "pid": 80,
        "cgroup": f"/{SCOPE}",
        "threads": [{"tid": 80, "comm": "trading-engine", "cpus": "1-2", "mems": "0-1"}],
    }
    assert lines[2]["kernel"] is True


@pytest.mark.parametrize("bound", ["MAX_THREADS", "MAX_TEXT"])
def test_the_number_of_threads_and_their_text_are_bounded(
    bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, bound, {"MAX_THREADS": 3, "MAX_TEXT": 800}[bound])
    collected = recorded()
    area = {area.name: area for area in collected.areas}["processes"]
    assert [found.pid for found in collected.processes] == [1, 2, 9]
    assert area.notes == ("only the first 3 processes are recorded because there are too many threads",)


def test_the_bound_on_text_is_never_too_low() -> None:
    """Names of control characters and emoji take the most bytes per character."""
    for name in ("\x01" * 15, "\N{MOUSE FACE}" * 15, '"\\' * 7):
        found = Process(
            pid=5, cgroup=name, kernel=True, user=0, nested=False, threads=(Thread(5, name, None, None),) * 9
        )
        assert len(process_lines([found]).encode()) <= module._longest_line(found)


def test_only_the_kubelets_command_line_is_read() -> None:
    """The one that is read is reduced to known flags."""
    text = process_lines(recorded(node_texts()).processes)
    assert "trade" not in text.replace("trading-engine", "")
