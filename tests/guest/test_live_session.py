"""The comparison of a session with the kernel's files: what it accepts, and what it does not."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.guest.live_session import kernel
from tests.guest.live_session.events import SLOWEST, UNDONE, WANTED, Watched
from tests.guest.live_session.kernel import Round
from tests.guest.live_session.rates import Quantity, Row, Spell, compare, gaps, wrong_cpus
from tests.guest.live_session.reports import Reported

STATE = json.dumps({"defaultCpuSet": "0-1", "entries": {"u-1": {"server": "2-3"}}})
GROUP = "/kubepods.slice/kubepods-podu_1.slice/cri-containerd-d1.scope"
TIMES = "cpu 0\ncpu2 0 0 0 {idle} 0 0 0 0 0 0\n"


def round_at(
    at: float, *, idle: float = 0.0, allowed: str = "0-1", irq: str = "0", quota: str = "max"
) -> Round:
    """Make a round in which CPU 2 has been idle for some seconds, and a process outside may run somewhere."""
    texts = {
        "/proc/stat": TIMES.format(idle=round(idle * 100)),
        "/proc/interrupts": "     CPU0  CPU2\n  4:  1  2  IO-APIC 4-edge ttyS0\n",
        "/proc/irq/4/smp_affinity_list": irq,
        "/proc/irq/4/effective_affinity_list": irq,
        "/proc/irq/default_smp_affinity": "3",
        "/sys/devices/virtual/workqueue/cpumask": "3",
        "/sys/devices/system/cpu/online": "0-3",
        "/sys/devices/system/node/node0/cpulist": "0-3",
        "/var/lib/kubelet/cpu_manager_state": STATE,
    }
    files = {"cpu.max": f"{quota} 100000", "cpuset.cpus": "2-3", "cpuset.cpus.effective": "2-3"}
    group = {"files": {name: [at, text] for name, text in files.items()}, "threads": ["90"], "counts": {}}
    tasks = {
        "500": {"pid": 500, "comm": "stray", "allowed": allowed, "kernel": False, "group": "/", "at": at}
    }
    copies = {path: [at, text] for path, text in texts.items()}
    raw = {"at": at, "until": at + 1, "files": copies, "groups": {GROUP: group}, "tasks": tasks, "memory": {}}
    return Round(raw)


def test_facts_are_the_expected_findings_of_an_audit() -> None:
    assert round_at(0).facts() == frozenset()
    assert round_at(0, allowed="0-2").facts() == {("foreign-processes", "500")}
    assert round_at(0, irq="3").facts() == {("interrupt", "4")}
    assert round_at(0, quota="5000").facts() == {("quota-on-exclusive", GROUP)}


BUSY = Quantity("load", "CPUs", lambda document: document, kernel.busy, 0.05)


def row(reported: float, *, missing: bool = False) -> Row:
    """Compare a minute in which CPU 2 was idle for a quarter of the time."""
    spells = [Spell(at, at + 1, {"2": reported}) for at in range(61) if not (missing and 10 <= at < 15)]
    return compare(BUSY, spells, [round_at(at, idle=at / 4) for at in range(0, 61, 5)])


def test_rates_are_compared_over_the_same_time() -> None:
    (first, second) = row(0.75).windows
    assert (first.key, first.seconds, first.counted, first.difference) == ("2", 30, 0.75, 0)
    assert second.begin == 30
    assert row(0.75).wrong == []
    assert [text.split(":")[0] for text in row(0.85).wrong] == ["load of 2", "load of 2", "load"]
    assert [window.begin for window in row(0.75, missing=True).windows] == [30], "nothing about a part"
    long = [Spell(at, at + 12, {"2": 0.75}) for at in range(0, 61, 12)]
    assert compare(BUSY, long, [round_at(at, idle=at / 4) for at in range(0, 61, 5)]).windows == []


def test_moments_are_compared_with_the_cpus_of_their_time() -> None:
    def spell(at: float, *cpus: int) -> Spell:
        return Spell(at, at + 1, {"time": f"{at}", "cpus": [{"cpu": cpu} for cpu in cpus]})

    rounds = [round_at(0), round_at(5)]
    assert wrong_cpus([spell(0, 2), spell(60, 2, 3)], rounds) == [], "nothing is known a minute later"
    assert wrong_cpus([spell(1, 2, 3)], rounds) == ["1: top has 2 CPUs, the kernel 1"]
    assert gaps([spell(0, 2), spell(3, 2)]) == [2]


def finding(code: str, **more: Any) -> dict[str, Any]:
    parts = {"code": code, "subject": "", "path": None, "fix": "", "message": "", "detected": ""}
    return parts | more


STRAY = finding("foreign-processes", path="/", fix="taskset -acp 0-1 500")


def event(at: float, name: str, **more: Any) -> dict[str, Any]:
    return {"time": datetime.fromtimestamp(at, UTC).isoformat(), "event": name, "message": name, **more}


def watched(*events: dict[str, Any]) -> Watched:
    """A thread strays from second 100 to 200; everything else in a session happens much later."""
    moments = {each.moment: {"at": 1000.0, "until": 1000.0} for each in WANTED}
    moments |= {"stray": {"at": 100.0, "until": 100.0}, "stray ends": {"at": 200.0, "until": 200.0}}
    rounds = [round_at(at, allowed="0-2" if 100 < at < 200 else "0-1") for at in range(5, 400, 10)]
    return Watched(events, moments, rounds, audit=5.0)


FOUND, RESOLVED = event(104, "Found", finding=STRAY), event(215, "Resolved", finding=STRAY)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((FOUND, RESOLVED), []),
        ((RESOLVED,), ["stray: Found foreign-processes was missed"]),
        ((FOUND,), ["stray ends: Resolved foreign-processes was missed"]),
        ((event(140, "Found", finding=STRAY), RESOLVED), ["stray: Found foreign-processes came 40 s late"]),
        (
            (FOUND, event(105, "Found", finding=STRAY), RESOLVED),
            ["stray: Found foreign-processes came 2 times"],
        ),
    ],
)
def test_an_event_occurs_once_and_in_time(events: tuple[dict[str, Any], ...], expected: list[str]) -> None:
    reported = [text for text in watched(*events).wrong() if text.startswith("stray")]
    assert reported == expected


def test_actions_that_are_over_too_soon_may_be_unreported() -> None:
    """The thread strays for less time than an audit takes, so there is no finding to resolve."""
    slow = watched()._replace(audit=60.0)
    assert [each.short for each in slow.wanted() if each.wanted.code == "foreign-processes"] == [True, True]
    assert [text for text in slow.wrong() if text.startswith("stray: ")] == []


def silent(audit: float, *brief: str) -> list[str]:
    """Return the faults of a watch that reported nothing; actions lasted ten minutes, *brief* ones one."""
    moments = {}
    for number, (done, undone) in enumerate(UNDONE.items(), 1):
        for name, at in ((done, 1000.0 * number), (undone, 1000.0 * number + (60 if done in brief else 600))):
            moments[name] = {"at": at, "until": at}
    return Watched((), moments, [round_at(5)], audit).wrong()


def test_slow_audits_do_not_excuse_a_whole_session() -> None:
    """Up to three of six actions may be too short; the others are still reported as missed."""
    some = silent(30, "quota", "CPU offline", "memory moved")
    assert [text for text in some if not text.endswith(" was missed")] == []
    assert {text.partition(":")[0] for text in some} == {"stray", "interrupt", "pod comes"}
    most = silent(30, "quota", "CPU offline", "memory moved", "interrupt")
    assert most[0].startswith("interrupt, quota, CPU offline, memory moved were over before")
    assert silent(SLOWEST) == silent(1)
    assert silent(SLOWEST + 1) == ["audits take 36 s here: nothing could be late", *silent(1)]
    assert [text.split()[0] for text in silent(1000)] == ["audits", "stray,"], "none is reported as missed"


def test_events_without_a_cause_are_untrue() -> None:
    never = event(300, "Found", finding=finding("interrupt", subject="IRQ 4 (ttyS0)"))
    assert [text.split()[1] for text in watched(FOUND, RESOLVED, never).untrue()] == ["Found:"]
    assert list(watched(FOUND, RESOLVED, event(1, "KubeletStarted")).untrue())
    assert list(watched(FOUND).unresolved()) == ["Found was not resolved"]
    assert list(watched(FOUND, RESOLVED).unresolved()) == []


def report(*findings: dict[str, Any], cpus: str = "2-3") -> Reported:
    holder = {"podUID": "u-1", "container": "server", "cpus": cpus}
    container = {"path": GROUP, "threads": 1, "mems": {"effective": ""}}
    container["cpus"] = {"configured": "2-3", "effective": "2-3"}
    document = {
        "recordedAt": datetime.fromtimestamp(12, UTC).isoformat(),
        "machine": {"summary": {"online": "0-3"}, "numaNodes": [{"id": 0, "cpus": "0-3"}]},
        "holders": {"cpus": {"holders": [holder], "sharedPool": "0-1", "exclusive": "2-3"}},
        "audit": {"containers": [container], "findings": list(findings)},
    }
    return Reported("now", document, {"from": 10.0, "until": 20.0}, [round_at(15, allowed="0-2")])


def test_a_report_is_compared_with_the_kernels_files() -> None:
    assert report(STRAY).wrong() == []
    assert report().wrong() == ["report now: foreign-processes"]
    assert report(STRAY, finding("cpus-offline")).wrong() == ["report now: cpus-offline"]
    assert report(STRAY, cpus="2").wrong() == ["report now: who holds CPUs"]
