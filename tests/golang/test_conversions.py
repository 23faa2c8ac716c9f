from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from cpuctl.golang.conversions import (
    aggregated,
    float32,
    float_text,
    map_text,
    parse_atoi,
    parse_bool,
    parse_float32,
    parse_int,
    reads_true,
)
from cpuctl.golang.text import quoted
from tests.support.costs import seconds_below


def test_booleans() -> None:
    assert all(map(parse_bool, ["1", "t", "T", "TRUE", "true", "True"]))
    assert not any(map(parse_bool, ["0", "f", "F", "FALSE", "false", "False"]))
    assert list(map(reads_true, ["true", "0", "yes", ""])) == [True, False, False, False]


@pytest.mark.parametrize("text", ["", "yes", "tRUE"])
def test_other_booleans_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=rf'^strconv.ParseBool: parsing "{text}": invalid syntax$'):
        parse_bool(text)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("plain ä", '"plain ä"'),
        ('say "hi"\\', r'"say \"hi\"\\"'),
        ("\t\n\x00\x7f", r'"\t\n\x00\x7f"'),
        ("\u200b\U000e0001", r'"\u200b\U000e0001"'),
    ],
)
def test_quoting(text: str, want: str) -> None:
    assert quoted(text) == want


def test_long_invalid_digit_strings_are_rejected_quickly() -> None:
    with seconds_below(5), pytest.raises(ValueError, match=r"invalid syntax$"):
        parse_float32("1" * 100_000 + "x")


def test_maps_are_printed_in_order_of_keys() -> None:
    assert map_text({"b": 1, "a": "x"}) == "map[a:x b:1]"
    assert map_text({}) == "map[]"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("0", 0),
        ("-1", -1),
        ("+7", 7),
        ("010", 8),
        ("1_000", 1000),
        ("0_10", 8),
        ("0x_1f", 31),
        ("0o10", 8),
        ("0x1F", 31),
        ("0b11", 3),
        ("2147483647", 2**31 - 1),
    ],
)
def test_integers_may_have_a_base_prefix(text: str, want: int) -> None:
    assert parse_int(text, bits=32) == want


@dataclass(frozen=True)
class BadNumber:
    """A text that Go rejects as a number of some kind, and its words after ``parsing "...": ``."""

    read: Callable[[str], float]
    text: str
    want: str


def of_32_bits(text: str) -> int:
    return parse_int(text, bits=32)


BAD_NUMBERS = [
    *(
        BadNumber(parse_int, text, "invalid syntax")
        for text in ("", "-", "1.0", "09", "0b2", "\uff11", "1 ", "1__0", "_1", "1_")
    ),
    *(
        BadNumber(of_32_bits, text, "value out of range")
        for text in ("2147483648", "-2147483649", "9" * 5000)
    ),
    *(BadNumber(parse_atoi, text, "invalid syntax") for text in ("", "true", "+", "0x10", "--1", "\uff11")),
    *(BadNumber(parse_atoi, text, "value out of range") for text in ("9223372036854775808", "9" * 5000)),
    # The excess digit comes before the character that is not a digit.
    *(
        BadNumber(of_32_bits, text, "value out of range")
        for text in ("99999999999x", "0x1ffffffffg", "-4294967296 ")
    ),
    *(
        BadNumber(of_32_bits, text, "invalid syntax")
        for text in ("4294967295x", "4294967295_", "09999999999999")
    ),
    BadNumber(parse_atoi, "99999999999999999999s", "value out of range"),
    BadNumber(parse_atoi, "9999999999999999999s", "invalid syntax"),
    *(BadNumber(parse_float32, text, "invalid syntax") for text in ("", ".", "5%", "1e", "nano", "-nan")),
    *(BadNumber(parse_float32, text, "value out of range") for text in ("4e38", "1e400")),
]
FUNCTIONS: dict[Callable[[str], float], str] = {
    parse_int: "ParseInt",
    of_32_bits: "ParseInt",
    parse_atoi: "Atoi",
    parse_float32: "ParseFloat",
}


@pytest.mark.parametrize("case", BAD_NUMBERS, ids=lambda case: f"{case.read.__name__} {case.text[:20]!r}")
def test_invalid_numbers_get_the_errors_of_go(case: BadNumber) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole text is compared
        case.read(case.text)
    assert str(caught.value) == f'strconv.{FUNCTIONS[case.read]}: parsing "{case.text}": {case.want}'


def test_decimal_integers_may_have_leading_zeros() -> None:
    assert [parse_atoi(text) for text in ("007", "-0", "+12", "-9223372036854775808")] == [7, 0, 12, -(2**63)]


def test_percentages_have_32_bits() -> None:
    assert parse_float32("0.1") == 0.10000000149011612
    assert parse_float32("-1.5e1") == -15
    assert float32(16777217) == 16777216


@pytest.mark.parametrize(
    ("number", "want"), [(1.0, "1"), (-2.0, "-2"), (1.5, "1.5"), (0.1, "0.1"), (1e21, "1e+21")]
)
def test_floats_are_written_with_the_fewest_digits(number: float, want: str) -> None:
    assert float_text(number) == want


def test_several_errors_are_in_brackets_without_duplicates() -> None:
    assert aggregated(["a"]) == "a"
    assert aggregated(["a", "a"]) == "a"
    assert aggregated(["b", "a", "b"]) == "[b, a]"
