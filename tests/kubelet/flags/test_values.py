"""Lists on a command line, as Go's reader of comma-separated values parses them."""

from __future__ import annotations

import pytest

from cpuctl.kubelet.flags.table import FLAGS, GONE_BEFORE, flag_of
from cpuctl.kubelet.flags.values import csv_list
from cpuctl.kubelet.version import NEWEST, OLDEST


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("", []),
        ("a", ["a"]),
        ("a,b c,", ["a", "b c", ""]),
        (",", ["", ""]),
        ('"a","b,c"', ["a", "b,c"]),
        ('"a""b",c', ['a"b', "c"]),
        ('""', [""]),
        ('"a",', ["a", ""]),
        ("\na,b\nc", ["a", "b"]),
    ],
)
def test_fields(text: str, fields: list[str]) -> None:
    assert csv_list(text) == fields


def test_empty_lines_are_skipped() -> None:
    with pytest.raises(ValueError, match=r"^EOF$"):
        csv_list("\n\n")


BARE, STRAY = 'bare " in non-quoted-field', 'extraneous or missing " in quoted-field'


@pytest.mark.parametrize(
    ("text", "column", "what"),
    [
        ('a"b', 2, BARE),
        ('é"b', 3, BARE),
        ('a,b"', 4, BARE),
        ('"', 2, STRAY),
        ('a,"b', 5, STRAY),
        ('"a"b', 3, STRAY),
        ('"a""b', 6, STRAY),
    ],
)
def test_mistakes_are_the_same_as_in_go(text: str, column: int, what: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole text is compared
        csv_list(text)
    assert str(caught.value) == f"parse error on line 1, column {column}: {what}"


IN_1_27 = 153
CAME = {28: {"config-dir"}, 30: {"log-text-info-buffer-size", "log-text-split-stream"}, 31: {"fail-cgroupv1"}}
GONE = {
    30: {"azure-container-registry-config"},
    31: {"iptables-drop-bit", "iptables-masquerade-bit", "keep-terminated-pod-volumes"},
    34: {"cloud-config", "register-schedulable"},
    35: {"pod-infra-container-image"},
}


def flags(minor: int) -> set[str]:
    return {name for name in FLAGS if flag_of(name, minor)}


def test_the_oldest_release_has_as_many_flags_as_its_sources() -> None:
    assert len(flags(OLDEST)) == IN_1_27


@pytest.mark.parametrize("minor", range(OLDEST + 1, NEWEST + 1))
def test_flags_that_a_release_adds_and_removes(minor: int) -> None:
    before, after = flags(minor - 1), flags(minor)
    assert (after - before, before - after) == (CAME.get(minor, set()), GONE.get(minor, set()))


def test_a_flag_that_was_removed_earlier_belongs_to_no_release() -> None:
    assert not GONE_BEFORE.keys() & FLAGS.keys()
    assert GONE_BEFORE["master-service-namespace"] == OLDEST
