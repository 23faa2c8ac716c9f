"""Logs of several releases, line by line: the same events in different words."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpuctl.errors import InputError
from cpuctl.timeline import log_events
from cpuctl.timeline.log_events import LogEvent, LogEventKind, read_events

LOGS = Path("fixtures/logs")
ODD = "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"
FEW = (
    "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 4, requested CPUs = 6, "
    "CPUs per core = 2"
)
STATE = 'current set of available CPUs "0-7" doesn\'t match with CPUs in state "0-3"'


def reported(name: str, *kinds: LogEventKind) -> list[LogEvent]:
    return [each for each in read_events((LOGS / name).read_text(), name) if each.kind in kinds]


@pytest.mark.parametrize(
    ("name", "version"),
    [("kubelet-1.27.log", "v1.27.4"), ("kubelet-1.31.jsonl", "v1.31.2"), ("kubelet-1.36.jsonl", "v1.36.0")],
)
def test_releases_log_assigned_cpus(name: str, version: str) -> None:
    assert {each.version for each in reported(name, LogEventKind.STARTED)} == {version}
    (assigned,) = reported(name, LogEventKind.ASSIGNED)
    assert (assigned.uid, assigned.container, str(assigned.cpus)) == ("uid-web", "app", "1,5")
    (ran,) = reported(name, LogEventKind.RAN)
    assert (ran.pod, ran.uid) == ("shop/web", "uid-web")
    agreed = reported(name, LogEventKind.AGREED)
    assert {each.pod for each in agreed} <= {"shop/web", "shop/odd"}
    assert agreed


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("kubelet-1.27.log", [("", "", ODD)]),
        (
            "kubelet-1.31.jsonl",
            [("", "", FEW), ("shop/big", "SMTAlignmentError", FEW)],
        ),
        ("kubelet-1.36.jsonl", [("shop/odd", "", ODD), ("shop/odd", "SMTAlignmentError", ODD)]),
    ],
)
def test_rejections_have_the_message_of_the_release(name: str, found: list[tuple[str, str, str]]) -> None:
    assert [(each.pod, each.reason, each.text) for each in reported(name, LogEventKind.REJECTED)] == found


def test_a_failed_start_has_its_reason() -> None:
    (failed,) = reported("kubelet-1.31.jsonl", LogEventKind.START_FAILED)
    assert failed.text == f"start cpu manager error: {STATE}"
    first, second = reported("kubelet-1.31.jsonl", LogEventKind.STARTED)
    assert (first.process, second.process) == ("77", "91")


def test_events_of_the_recorder_count_if_they_reject() -> None:
    line = (
        'I0823 12:00:00.000001 1 event.go:1] "Event occurred" object="a/b" kind="Pod" type="{}" '
        'reason="{}" message="m"'
    )
    text = "\n".join(
        line.format(*each)
        for each in [("Warning", "TopologyAffinityError"), ("Warning", "BackOff"), ("Normal", "OutOfcpu")]
    )
    (found,) = read_events(text, "log")
    assert (found.pod, found.reason, found.text) == ("a/b", "TopologyAffinityError", "m")


@pytest.mark.parametrize(
    ("printed", "hints"),
    [
        (
            (
                "map[cpu:[{NUMANodeAffinity:01 Preferred:true} {NUMANodeAffinity:11 Preferred:false}] "
                "memory:[] hugepages-2Mi:[{NUMANodeAffinity:10 Preferred:true}]]"
            ),
            {"cpu": "node 0 preferred; nodes 0-1", "hugepages-2Mi": "node 1 preferred"},
        ),
        (
            (
                '{"cpu":[{"NUMANodeAffinity":10,"Preferred":true},'
                '{"NUMANodeAffinity":null,"Preferred":false}],"memory":null}'
            ),
            {"cpu": "any nodes; nodes 1,3 preferred"},
        ),
        ("map[]", {}),
        ("map[cpu:[{NUMANodeAffinity:21 Preferred:true}]]", {"cpu": ""}),
    ],
)
def test_hints_are_read_as_go_prints_them_or_as_json(printed: str, hints: dict[str, str]) -> None:
    line = f'I0823 12:34:51.000431 1 x.go:1] "TopologyHints" hints={printed} pod="a/b" containerName="c"'
    (event,) = read_events(line, "x")
    assert (event.pod, event.container, dict(event.hints)) == ("a/b", "c", hints)


def test_the_policy_is_that_of_the_cpu_manager() -> None:
    lines = (
        '{"ts": 1, "msg": "Starting", "policy": "static"}',
        '{"ts": 2, "msg": "Starting", "policy": "None"}',
        '{"ts": 3, "msg": "Starting", "controller": "x"}',
    )
    assert [(each.kind, each.text) for each in read_events("\n".join(lines), "log")] == [
        (LogEventKind.POLICY, "static")
    ]


def test_times_never_go_back() -> None:
    head = 'I0823 12:00:0{}.000001 1 state_mem.go:88] "Updated default CPUSet" cpuSet="0-3"'
    late, early = read_events(head.format(5) + "\n" + head.format(4), "log")
    assert late.at == early.at


def test_a_truncated_list_is_reported_with_its_line() -> None:
    text = '\nI0823 12:00:00.000001 1 state_mem.go:88] "Updated default CPUSet" cpuSet="0-'
    with pytest.raises(InputError) as raised:
        list(read_events(text + '"', "kubelet.log"))
    assert raised.value.where == "kubelet.log line 2"


def test_the_number_of_events_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_events, "MAX_EVENTS", 2)
    with pytest.raises(InputError, match="more than 2 events"):
        reported("kubelet-1.27.log", *LogEventKind)
