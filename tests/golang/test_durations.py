from __future__ import annotations

import pytest

from cpuctl.golang.durations import duration_text, parse_duration


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("+0", 0),
        ("0s", 0),
        ("10s", 10_000_000_000),
        ("1m30s", 90_000_000_000),
        ("1h", 3_600_000_000_000),
        ("100ms", 100_000_000),
        ("1us", 1_000),
        ("1µs", 1_000),
        ("1μs", 1_000),
        ("5ns", 5),
        (".5s", 500_000_000),
        ("1.s", 1_000_000_000),
        ("-1.5s", -1_500_000_000),
        ("0.1ns", 0),
        ("0" * 5000 + "5s", 5_000_000_000),
        ("9223372036854775807ns", 2**63 - 1),
        ("-9223372036854775808ns", -(2**63)),
    ],
)
def test_durations_are_nanoseconds(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        (".s", 'time: invalid duration ".s"'),
        ("s", 'time: invalid duration "s"'),
        ("5", 'time: missing unit in duration "5"'),
        ("1m5", 'time: missing unit in duration "1m5"'),
        ("5x", 'time: unknown unit "x" in duration "5x"'),
        ("5 s", 'time: unknown unit " s" in duration "5 s"'),
        ("5s\n", r'time: unknown unit "s\x0a" in duration "5s\x0a"'),
        ("5é\x7f", 'time: unknown unit "\\xc3\\xa9\x7f" in duration "5\\xc3\\xa9\x7f"'),
        ('5"', r'time: unknown unit "\"" in duration "5\""'),
        ("99999999999999999999", 'time: invalid duration "99999999999999999999"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ("99999999999999999999h", 'time: invalid duration "99999999999999999999h"'),
    ],
)
def test_errors_are_those_of_go(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole text is compared
        parse_duration(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("nanoseconds", "want"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1_100, "1.1µs"),
        (100_000_000, "100ms"),
        (1_500_000_000, "1.5s"),
        (60_000_000_000, "1m0s"),
        (3_600_000_000_000, "1h0m0s"),
        (90_061_000_000_001, "25h1m1.000000001s"),
        (-300_000_000_000, "-5m0s"),
    ],
)
def test_durations_are_written_as_go_does(nanoseconds: int, want: str) -> None:
    assert duration_text(nanoseconds) == want
    assert parse_duration(want) == nanoseconds
