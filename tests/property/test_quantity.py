"""Laws of quantities, checked against exact rational numbers."""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.quantity import Quantity

NANO = Fraction(1, 10**9)
INT64_MAX = 2**63 - 1
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
REFUSALS = (
    "quantities must match",
    "unable to parse quantity's suffix",
    "unable to parse numeric part",
    "quantity has too many digits",
)

SIGNS = st.sampled_from(["", "-", "+"])


def numbers(digits: int) -> st.SearchStrategy[str]:
    some = st.text("0123456789", min_size=1, max_size=digits)
    return some | st.builds("{}.{}".format, some, some)


def suffixes(finest: int, coarsest: int) -> st.SearchStrategy[str]:
    """Draw decimal suffixes and exponents between two powers of ten, and every binary suffix."""
    named = [suffix for suffix, power in DECIMAL.items() if finest <= power <= coarsest]
    exponents = st.builds("{}{}".format, st.sampled_from("eE"), st.integers(finest, coarsest))
    return st.sampled_from([*named, *BINARY]) | exponents


NEAR_THE_CAP = st.integers(INT64_MAX - 2, INT64_MAX + 2).map(str)
TEXTS = st.builds("{}{}{}".format, SIGNS, numbers(25) | NEAR_THE_CAP, suffixes(-40, 40))
QUANTITIES = st.builds(Quantity.parse, TEXTS)
SUMS = st.builds(Quantity.__add__, QUANTITIES, QUANTITIES)

# Below 10^20, so that a sum of two stays within the suffixes that the kubelet prints; in sums below 2^62, so
# that one with a binary suffix is not capped when it is read back.
MODEST = st.builds(Quantity.parse, st.builds("{}{}{}".format, SIGNS, numbers(11), suffixes(-12, 9)))
SUMMANDS = MODEST.filter(lambda quantity: abs(quantity.nano) < 10**9 << 62)
MODEST_SUMS = st.builds(Quantity.__add__, SUMMANDS, SUMMANDS)

# Below 2^63 thousandths, so that no view wraps.
COUNTABLE = st.builds(
    Quantity.parse,
    st.builds("{}{}".format, numbers(3), suffixes(-12, 12).filter(lambda suffix: suffix not in {"Pi", "Ei"})),
)


def away_from_zero(number: Fraction) -> int:
    return ceil(number) if number > 0 else -ceil(-number)


def held(text: str) -> Fraction:
    """Return the value of the notation by its definition: rounded to nano, binary suffixes capped."""
    match = re.fullmatch(r"([+-]?[0-9.]+)(.*)", text)
    assert match
    number, suffix = match.groups()
    factor = Fraction(2) ** BINARY[suffix] if suffix in BINARY else Fraction(10) ** _power(suffix)
    exact = away_from_zero(Fraction(number) * factor / NANO) * NANO
    return max(min(exact, Fraction(INT64_MAX)), Fraction(-INT64_MAX)) if suffix in BINARY else exact


def _power(suffix: str) -> int:
    return DECIMAL[suffix] if suffix in DECIMAL else int(suffix[1:])


def exact(quantity: Quantity) -> Fraction:
    return quantity.nano * NANO


def refusal_of(text: str) -> str | None:
    try:
        Quantity.parse(text)
    except ValueError as error:
        return str(error)
    return None


@given(TEXTS)
def test_parsing_agrees_with_the_definition(text: str) -> None:
    quantity = Quantity.parse(text)
    assert exact(quantity) == held(text)
    assert quantity.sign == (held(text) > 0) - (held(text) < 0)


@given(st.text() | st.text("0123456789.+-eEinumkKMGTP", max_size=12))
def test_any_text_is_read_or_rejected_in_known_words(text: str) -> None:
    refusal = refusal_of(text)
    assert refusal is None or refusal.startswith(REFUSALS)


@given(MODEST | MODEST_SUMS)
def test_printed_text_keeps_the_value(quantity: Quantity) -> None:
    assert quantity.canonical() == quantity


@given(QUANTITIES)
def test_the_second_text_round_trip_changes_nothing(quantity: Quantity) -> None:
    once = quantity.canonical()
    twice = once.canonical()
    assert (str(twice), twice, twice.format) == (str(once), once, once.format)
    assert twice.exact_int64 == once.exact_int64


@given(TEXTS, TEXTS)
def test_order_equality_and_hash_agree_with_rational_numbers(left: str, right: str) -> None:
    a, b = Quantity.parse(left), Quantity.parse(right)
    assert (a == b, a < b, a <= b) == (
        held(left) == held(right),
        held(left) < held(right),
        held(left) <= held(right),
    )
    assert (a > b, a >= b) == (b < a, b <= a)


@given(st.integers(-(10**12), 10**12))
def test_spellings_of_one_value_are_equal_and_have_the_same_hash(number: int) -> None:
    spellings = {Quantity.parse(f"{number}{text}") for text in ("", ".0", "e0", "000m", "000000000n")}
    assert len(spellings) == 1


@given(QUANTITIES, QUANTITIES, QUANTITIES)
def test_addition_is_exact_in_any_order(a: Quantity, b: Quantity, c: Quantity) -> None:
    assert exact(a + b) == exact(a) + exact(b)
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)


@given(QUANTITIES, QUANTITIES)
def test_subtraction_undoes_addition(a: Quantity, b: Quantity) -> None:
    assert a + b - b == a
    assert a - b == a + -b
    negated = -a
    assert -negated == a


@given(QUANTITIES, QUANTITIES)
def test_a_sum_has_the_right_operands_format_only_if_the_left_is_zero(a: Quantity, b: Quantity) -> None:
    assert (a + b).format is (a.format if a.sign else b.format)
    assert (a - b).format is (a + b).format


@given(QUANTITIES | SUMS)
def test_views_are_64_bit_integers(quantity: Quantity) -> None:
    for view in (quantity.value, quantity.milli_value):
        assert -INT64_MAX - 1 <= view <= INT64_MAX


@given(COUNTABLE)
def test_views_in_range_round_up(quantity: Quantity) -> None:
    """Negative long forms wrap early (see the examples), so this holds from zero upwards."""
    assert quantity.value == ceil(exact(quantity))
    assert quantity.milli_value == ceil(exact(quantity) * 1000)
    assert quantity.is_integral_cpu is (quantity.milli_value % 1000 == 0)


@given(MODEST | MODEST_SUMS | QUANTITIES)
def test_the_exact_view_is_exact_or_absent(quantity: Quantity) -> None:
    view = quantity.exact_int64
    assert view is None or view == exact(quantity) == quantity.value


@given(QUANTITIES)
def test_rounding_to_milli_moves_away_from_zero_by_less_than_a_milli(quantity: Quantity) -> None:
    rounded = quantity.rounded_up_to_milli()
    assert exact(rounded) == Fraction(away_from_zero(exact(quantity) * 1000), 1000)
    assert rounded.format is quantity.format
    assert rounded.rounded_up_to_milli() == rounded


@given(st.integers(-(2**63), INT64_MAX))
def test_numbers_are_returned_unchanged(number: int) -> None:
    assert Quantity.from_value(number).exact_int64 == number
    assert Quantity.from_milli(number).milli_value == number
