"""Examples of CPU sets; their laws are in ``tests/property/test_cpuset.py``."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import pytest

from cpuctl.cpuset import MAX_CPU, CPUSet, list_problem
from tests.support.costs import seconds_below

INT64_MAX = 2**63 - 1


@dataclass(frozen=True)
class Text:
    """The printed form of one input."""

    text: str
    want: str


@pytest.mark.parametrize(
    "case",
    [
        Text("", ""),
        Text("0", "0"),
        Text("0-3", "0-3"),
        Text("2-2", "2"),
        Text("0-1", "0-1"),
        Text("5,3,1", "1,3,5"),
        Text("1,1,1", "1"),
        Text("0-3,2-5", "0-5"),
        Text("4-7,0-3", "0-7"),
        Text("0-3,5-7,9", "0-3,5-7,9"),
        Text("+1", "1"),
        Text("1-+3", "1-3"),
        Text("00-03", "0-3"),
        Text("63-64", "63-64"),
        Text("0,127-128,255", "0,127-128,255"),
        Text(f"{MAX_CPU}", f"{MAX_CPU}"),
        Text("0" * 5000 + "7", "7"),
    ],
    ids=lambda case: case.text[:20] or "empty",
)
def test_reads_the_list_format(case: Text) -> None:
    assert str(CPUSet.parse(case.text)) == case.want


@dataclass(frozen=True)
class Refused:
    """An input and the kubelet's error."""

    text: str
    error: str


def syntax(quoted: str) -> str:
    return f'strconv.Atoi: parsing "{quoted}": invalid syntax'


@pytest.mark.parametrize(
    "case",
    [
        Refused("3-1", 'invalid range "3-1" (3 > 1)'),
        Refused("0-3,94-91", 'invalid range "94-91" (94 > 91)'),
        Refused("1--3", 'invalid range "1--3" (1 > -3)'),
        Refused(" ", syntax(" ")),
        Refused(" 0", syntax(" 0")),
        Refused("0 ", syntax("0 ")),
        Refused("0, 1", syntax(" 1")),
        Refused("0\n", syntax(r"0\n")),
        Refused("0\t1", syntax(r"0\t1")),
        Refused('"0"', syntax(r"\"0\"")),
        Refused("1\\2", syntax(r"1\\2")),
        Refused("-", syntax("")),
        Refused("0-", syntax("")),
        Refused("-1", syntax("")),
        Refused("1,", syntax("")),
        Refused(",1", syntax("")),
        Refused(",", syntax("")),
        Refused("1-2-3", syntax("2-3")),
        Refused("0-3:2", syntax("3:2")),
        Refused("a", syntax("a")),
        Refused("0-a", syntax("a")),
        Refused("+", syntax("+")),
        Refused("0x1", syntax("0x1")),
        Refused("1.0", syntax("1.0")),
        Refused("1_0", syntax("1_0")),
        Refused("\N{ARABIC-INDIC DIGIT ONE}", syntax("\N{ARABIC-INDIC DIGIT ONE}")),
    ],
    ids=lambda case: repr(case.text),
)
def test_invalid_lists_get_the_kubelets_errors(case: Refused) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the whole text is compared below
        CPUSet.parse(case.text)
    assert str(refused.value) == case.error


@pytest.mark.parametrize("text", [str(INT64_MAX + 1), "99999999999999999999", "1" * 20_000])
def test_numbers_beyond_64_bits_are_out_of_range(text: str) -> None:
    """For any length: Python's own error about long digit strings never appears."""
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the whole text is compared below
        CPUSet.parse(text)
    assert str(refused.value) == f'strconv.Atoi: parsing "{text}": value out of range'


def test_the_end_of_a_range_may_be_any_64_bit_number() -> None:
    """The error is about the order only, no matter how negative the number is."""
    for last in (-INT64_MAX - 1, -MAX_CPU - 1):
        with pytest.raises(ValueError, match=rf'^invalid range "0-{last}" \(0 > {last}\)$'):
            CPUSet.parse(f"0-{last}")
    with pytest.raises(ValueError, match="value out of range"):
        CPUSet.parse(f"0-{-INT64_MAX - 2}")


@pytest.mark.parametrize("text", [f"{MAX_CPU + 1}", f"0-{MAX_CPU + 1}", f"{INT64_MAX}"])
def test_cpu_numbers_are_limited(text: str) -> None:
    """Without a limit, one short line of text would need gigabytes."""
    with pytest.raises(ValueError, match=rf"^CPU \d+ is beyond {MAX_CPU}, the largest CPU number"):
        CPUSet.parse(text)


def test_long_lists_take_no_longer_than_short_ones() -> None:
    """Adding each part separately would touch a mask of a million bits."""
    alternating = ",".join(map(str, range(0, MAX_CPU, 2)))
    nested = ",".join(f"{low}-{MAX_CPU - low}" for low in range(200_000))
    with seconds_below(20):
        assert str(CPUSet.parse(alternating)) == alternating
        assert str(CPUSet.parse(nested)) == f"0-{MAX_CPU}"


def test_long_lists_may_be_in_any_order() -> None:
    text = ",".join(f"{low}-{low + low % 3}" for low in range(9000, 0, -4)) + ",17,5-17,4"
    cpus = {cpu for low in range(9000, 0, -4) for cpu in range(low, low + low % 3 + 1)} | set(range(4, 18))
    assert set(CPUSet.parse(text)) == cpus


def test_lists_that_must_repeat_numbers_are_rejected() -> None:
    with pytest.raises(ValueError, match=r"^the list has 6000001 characters, cpuctl reads at most 5000000$"):
        CPUSet.parse("1," * 3_000_000 + "1")


def test_is_a_set() -> None:
    cpus = CPUSet.parse("1-3,8")
    assert list(cpus) == [1, 2, 3, 8]
    assert len(cpus) == 4
    assert 8 in cpus
    assert 4 not in cpus
    assert -1 not in cpus
    assert cpus
    assert not CPUSet()


def test_order_is_inclusion() -> None:
    assert CPUSet.parse("1-3") <= CPUSet.parse("0-3")
    assert CPUSet.parse("1-3") <= CPUSet.parse("1-3")
    assert not CPUSet.parse("1-4") <= CPUSet.parse("0-3")
    assert CPUSet.parse("0-1").isdisjoint(CPUSet.parse("2-3"))
    assert not CPUSet.parse("0-2").isdisjoint(CPUSet.parse("2-3"))


def test_runs_are_first_and_last() -> None:
    assert list(CPUSet.parse("0,2-3,63-65").runs()) == [(0, 0), (2, 3), (63, 65)]
    assert list(CPUSet().runs()) == []


def test_lowest() -> None:
    assert CPUSet.parse("65,8-9").lowest == 8
    with pytest.raises(IndexError, match=r"^the empty CPU set has no lowest CPU$"):
        _ = CPUSet().lowest


def test_single_cpus_of_the_largest_machines_have_different_hashes() -> None:
    """The hash of a plain integer repeats every 61 bits: tables by CPU would have only 61 buckets."""
    assert len({hash(CPUSet.of([cpu])) for cpu in range(8192)}) > 8000


def test_equality_and_hash_depend_on_the_content() -> None:
    spellings = [CPUSet.parse("0-2"), CPUSet.of([2, 1, 0, 1]), CPUSet(0b111)]
    assert len(set(spellings)) == 1
    assert CPUSet(1) != object()


def test_pickles() -> None:
    cpus = CPUSet.parse("0-3,8")
    assert pickle.loads(pickle.dumps(cpus)) == cpus  # noqa: S301 - our own bytes


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1-", "a number is missing"),
        ("0-3;", '"3;" is not a number'),
        ("99999999999999999999", "99999999999999999999 is too large"),
        ("3-0", 'invalid range "3-0" (3 > 0)'),
    ],
)
def test_problems_are_also_written_in_plain_words(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=r".") as found:
        CPUSet.parse(text)
    assert list_problem(found.value) == problem
