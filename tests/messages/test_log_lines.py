"""Lines of kubelet logs are parsed the same way with any prefix around klog's own text."""

from __future__ import annotations

import json

import pytest

from cpuctl.messages.log_lines import MOST_CHARACTERS, is_log, read_log

SECOND = 10**9
KLOG = 'I0301 00:00:01.000002    7 state_mem.go:80] "Updated desired CPUSet" podUID="u" cpuSet="1,5"'
FIELDS = {"podUID": "u", "cpuSet": "1,5"}
BEFORE = 'I0228 23:59:59.000002    7 state_mem.go:80] "Cleared state"'


def journal(message: object, micro: str = "1700000000000002") -> str:
    return json.dumps({"__REALTIME_TIMESTAMP": micro, "_PID": "9", "MESSAGE": message})


@pytest.mark.parametrize(
    ("line", "process"),
    [
        (KLOG, "7"),
        (f"Mar 01 00:00:01 node7 kubelet[7]: {KLOG}\r", "7"),
        (f"2026-03-01T00:00:01+0000 node7 kubelet[7]: {KLOG}", "7"),
        (f"microshift[7]: kubelet {KLOG}", "7"),
        (journal(KLOG), "7"),
        (journal(list(KLOG.encode())), "7"),
        (json.dumps({"ts": 1.5, "v": 0, "caller": "a.go:1", "msg": "Updated desired CPUSet"} | FIELDS), ""),
        (journal(json.dumps({"ts": 1.5, "v": 0, "msg": "Updated desired CPUSet"} | FIELDS)), "9"),
    ],
)
def test_every_form_of_a_line_is_parsed_the_same(line: str, process: str) -> None:
    (found,) = read_log(f"something else\n{line}\n{{broken\n")
    assert (found.number, found.message, found.fields, found.process) == (
        2,
        "Updated desired CPUSet",
        FIELDS,
        process,
    )


@pytest.mark.parametrize(
    ("first", "second", "seconds"),
    [
        (BEFORE, KLOG, 24 * 3600 + 2),  # an unknown year has all days
        (f"2026-02-28T23:59:59+0000 a b: {BEFORE}", f"2026-03-01T00:00:01+0000 a b: {KLOG}", 2),
        (BEFORE.replace("0228", "1231"), KLOG.replace("0301", "0101"), 2),
        (journal(KLOG), journal(KLOG, "1700000060000002"), 60),
        ('{"ts": 5000.25, "msg": "a"}', '{"ts": 7000.25, "msg": "b"}', 2),
    ],
)
def test_elapsed_times_follow_the_calendar(first: str, second: str, seconds: int) -> None:
    before, after = read_log(f"{first}\n{second}")
    assert after.at - before.at == seconds * SECOND


def test_pod_names_are_read_in_every_notation() -> None:
    head = 'I0301 00:00:01.000002    7 kubelet.go:1] "SyncLoop ADD" source="api" pods='
    objects = [{"name": "web", "namespace": "a"}, {"name": "db", "namespace": "b"}]
    lines = [
        head + "[a/web b/db]",
        head + '["a/web","b/db"]',
        json.dumps({"ts": 1, "msg": "SyncLoop ADD", "source": "api", "pods": objects}),
    ]
    assert {line.fields["pods"] for line in read_log("\n".join(lines))} == {"a/web b/db"}


def test_values_may_contain_symbols_and_newlines() -> None:
    text = (
        'E0301 00:00:01.000002    7 a.go:1] "Allocate \\"x\\"" err="a=b \\"c\\"" hint={A:01 B:true} last=<\n'
        "\tone\n\ttwo\n >\n" + KLOG
    )
    first, second = read_log(text)
    assert first.message == 'Allocate "x"'
    assert first.fields == {"err": 'a=b "c"', "hint": "{A:01 B:true}", "last": "one two"}
    assert second.fields == FIELDS
    (inside,) = read_log(journal(text.partition("\n" + KLOG)[0]))
    assert inside.fields == first.fields


@pytest.mark.parametrize(
    "line",
    [
        KLOG.replace("0301", "0231"),
        KLOG.replace("00:00:01", "25:00:01"),
        '{"ts": 1e400, "msg": "a"}',
        '{"ts": true, "msg": "a"}',
        '{"ts": -1, "msg": "a"}',
        '{"ts": 1, "msg": 2}',
        journal([300, "x"]),
        journal(None),
        "[" * 100_000,
        '{"a":' * 100_000,
        "I" * MOST_CHARACTERS,
    ],
)
def test_invalid_lines_are_skipped(line: str) -> None:
    assert not is_log(line)
    assert is_log(f"{line}\n{KLOG}"[-MOST_CHARACTERS:])
