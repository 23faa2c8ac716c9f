"""Examples of quantities; their laws are in ``tests/property/test_quantity.py``."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import pytest

from cpuctl.quantity import MAX_PLACES, Format, Quantity

INT64_MAX = 2**63 - 1
WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
WRONG_SUFFIX = "unable to parse quantity's suffix"
WRONG_NUMBER = "unable to parse numeric part of quantity"
BEYOND_BOUND = (
    "quantity has too many digits: "
    f"cpuctl computes with at most {MAX_PLACES} digits on either side of the decimal point"
)


@dataclass(frozen=True)
class Text:
    """The printed form of one input, and its notation."""

    text: str
    want: str
    format: Format = Format.DECIMAL_SI


@pytest.mark.parametrize(
    "case",
    [
        Text("0.000m", "0"),
        Text("-0", "0"),
        Text("0Ki", "0", Format.BINARY_SI),
        Text("0.0Gi", "0", Format.BINARY_SI),
        Text("100000", "100k"),
        Text("1.5", "1500m"),
        Text("-0.5", "-500m"),
        Text("1000m", "1"),
        Text("1.0", "1"),
        Text("0.0000000001", "1n"),
        Text("-1.0000000001", "-1000000001n"),
        Text("1024Ki", "1Mi", Format.BINARY_SI),
        Text("-2048Ki", "-2Mi", Format.BINARY_SI),
        Text("1.5Gi", "1536Mi", Format.BINARY_SI),
        Text("0.5Ki", "512", Format.BINARY_SI),
        Text("0.9765625Ki", "1k", Format.BINARY_SI),
        Text("0.1Gi", "107374182400m", Format.BINARY_SI),
        Text("0.0001Ki", "102400u"),
        Text("1000.5e2", "100050", Format.DECIMAL_EXPONENT),
        Text("1e20", "100e18", Format.DECIMAL_EXPONENT),
        Text("1E", "1E"),
        Text("9223372036854775808", "9223372036854775808"),
    ],
    ids=lambda case: case.text,
)
def test_prints_with_the_largest_suffix_that_leaves_a_whole_number(case: Text) -> None:
    quantity = Quantity.parse(case.text)
    assert str(quantity) == case.want
    assert quantity.format is case.format


@pytest.mark.parametrize("text", ["+1", "01", "1.", "1.500", "1E3", "0100m", "+66Ti", "+1n"])
def test_some_inputs_print_back_unchanged(text: str) -> None:
    """The kubelet keeps the text of a short form whose digits it cannot shorten."""
    assert str(Quantity.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "want"),
    [("+8Ki", "8Ki"), ("+1000", "1k"), ("+1.5", "1500m"), ("+0.100", "100m"), ("+1Pi", "1Pi")],
)
def test_other_inputs_lose_their_plus_sign(text: str, want: str) -> None:
    """Multiples of eight (binary), trailing thousands, odd scales, leading zeros and long forms."""
    assert str(Quantity.parse(text)) == want


@pytest.mark.parametrize(
    ("text", "want"), [("0" * 2000 + "1", "1"), ("0" * 2000 + "1Mi", "1Mi"), ("1e" + "0" * 2000 + "3", "1e3")]
)
def test_endless_zeros_are_not_kept(text: str, want: str) -> None:
    """The kubelet keeps them; here, thousands of replicas with a megabyte each would be too much."""
    assert str(Quantity.parse(text)) == want


def test_a_changed_quantity_forgets_its_input_text() -> None:
    assert str(Quantity.parse("+1") + Quantity.parse("0")) == "1"
    assert str(-Quantity.parse("+1")) == "-1"


def test_beyond_the_suffix_e_the_printed_magnitude_is_lost() -> None:
    """A kubelet defect up to 1.36, reproduced as it is: 1000E reads back as 1."""
    huge = Quantity.parse("1000000000000000000000")
    assert str(huge) == "1"
    assert huge.canonical() == Quantity.parse("1")
    assert huge.nano == 10**30


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("8Ei", INT64_MAX),
        ("-8Ei", -INT64_MAX),
        ("9007199254740991.99902343750001Ki", INT64_MAX),
        ("7Ei", 7 * 2**60),
    ],
)
def test_binary_suffixes_are_capped_at_64_bits(text: str, whole: int) -> None:
    assert Quantity.parse(text).nano == whole * 10**9


@dataclass(frozen=True)
class Refused:
    """The error for one unusable input."""

    text: str
    message: str


@pytest.mark.parametrize(
    "case",
    [
        Refused("", WRONG_FORMAT),
        Refused("abc", WRONG_FORMAT),
        Refused(" 1", WRONG_FORMAT),
        Refused("1\n", WRONG_FORMAT),
        Refused("1..5", WRONG_FORMAT),
        Refused("1.2.3", WRONG_FORMAT),
        Refused("1GI", WRONG_FORMAT),
        Refused("1e3m", WRONG_FORMAT),
        Refused("٣", WRONG_FORMAT),
        Refused("1K", WRONG_SUFFIX),
        Refused("1ki", WRONG_SUFFIX),
        Refused("1e", WRONG_SUFFIX),
        Refused("1E+", WRONG_SUFFIX),
        Refused("1ee5", WRONG_SUFFIX),
        Refused("--1", WRONG_SUFFIX),
        Refused("5Mi5", WRONG_SUFFIX),
        Refused("1e9223372036854775808", WRONG_SUFFIX),
        Refused("1e" + "9" * 5000, WRONG_SUFFIX),
        Refused("Ei", WRONG_NUMBER),
        Refused("-.Pi", WRONG_NUMBER),
        Refused(".e-10", WRONG_NUMBER),
        Refused("1e999999999", BEYOND_BOUND),
        Refused("1e-999999999", BEYOND_BOUND),
        Refused("0e9223372036854775807", BEYOND_BOUND),
        Refused("9" * 5000, BEYOND_BOUND),
        Refused("0." + "0" * 5000, BEYOND_BOUND),
        Refused("1" * (MAX_PLACES + 1), BEYOND_BOUND),
        Refused(f"1e{MAX_PLACES}", BEYOND_BOUND),
    ],
    ids=lambda case: case.text[:24].encode("unicode_escape").decode(),
)
def test_invalid_quantities_are_rejected(case: Refused) -> None:
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 - the whole text is compared below
        Quantity.parse(case.text)
    assert str(refusal.value) == case.message


@pytest.mark.parametrize("text", ["Gi", "m", "-", "+", ".", "-.k", "e5"])
def test_missing_digits_are_zero(text: str) -> None:
    """The kubelet's scanner accepts these, although its regular expression does not."""
    assert Quantity.parse(text).sign == 0


def test_quantities_up_to_the_limit_are_accepted() -> None:
    longest = "9" * MAX_PLACES + "." + "9" * (MAX_PLACES - 1) + "8"
    assert Quantity.parse(longest).nano == 10 ** (MAX_PLACES + 9)
    assert Quantity.parse("9" * (2 * MAX_PLACES - 1) + f"e-{MAX_PLACES - 1}").sign == 1
    assert Quantity.parse("1e" + "0" * 5000 + "3").value == 1000


@dataclass(frozen=True)
class Views:
    """The 64-bit views of one input."""

    text: str
    value: int
    milli: int
    exact: int | None
    integral_cpu: bool


@pytest.mark.parametrize(
    "case",
    [
        Views("2", 2, 2000, 2, integral_cpu=True),
        Views("500m", 1, 500, None, integral_cpu=False),
        Views("1000m", 1, 1000, None, integral_cpu=True),
        Views("999999u", 1, 1000, None, integral_cpu=True),
        Views("-1500m", -2, -1500, None, integral_cpu=False),
        Views("1n", 1, 1, None, integral_cpu=False),
        Views("2.000", 2, 2000, None, integral_cpu=True),
        Views("1.5k", 1500, 1500000, 1500, integral_cpu=True),
        Views("1Gi", 2**30, 2**30 * 1000, 2**30, integral_cpu=True),
        Views("1.5Gi", 3 * 2**29, 3 * 2**29 * 1000, None, integral_cpu=True),
        Views("99999999Mi", 99999999 * 2**20, 99999999 * 2**20 * 1000, 99999999 * 2**20, integral_cpu=True),
        Views("100000000Mi", 10**8 * 2**20, 10**8 * 2**20 * 1000, None, integral_cpu=True),
        Views("0e99", 0, 0, 0, integral_cpu=True),
        Views("0m", 0, 0, None, integral_cpu=True),
    ],
    ids=lambda case: case.text,
)
def test_integer_views(case: Views) -> None:
    quantity = Quantity.parse(case.text)
    assert (quantity.value, quantity.milli_value) == (case.value, case.milli)
    assert quantity.exact_int64 == case.exact
    assert quantity.is_integral_cpu is case.integral_cpu


@dataclass(frozen=True)
class Overflow:
    """How the views of one input wrap."""

    name: str
    text: str
    value: int
    milli: int


@pytest.mark.parametrize(
    "case",
    [
        Overflow("short form, power taken at once", "999999999999999999", 10**18 - 1, 3875820019684211736),
        Overflow("short form, the largest power taken at once", "99999999999G", 7766279630452241920, 0),
        Overflow("short form, power taken in steps", "1E", 10**18, 0),
        Overflow("long form, scaled up", "8Ei", INT64_MAX, -1000),
        Overflow("long form, scaled down", "9223372036854775808", -INT64_MAX - 1, 0),
        Overflow("long form, negative wraps before it is divided", "-4Pi", 6917529028, 6917529027642),
        Overflow("long form, negative and inexact", "-660956.2266Ti", -1818398717, -1818398718294),
    ],
    ids=lambda case: case.name,
)
def test_views_wrap_as_the_kubelets_integers_do(case: Overflow) -> None:
    quantity = Quantity.parse(case.text)
    assert (quantity.value, quantity.milli_value) == (case.value, case.milli)


def test_huge_powers_wrap_through_a_float() -> None:
    """A long form may hold whole powers of ten when short forms of large scale overflow in a sum."""
    total = Quantity(INT64_MAX, 18) + Quantity(2, 18)
    assert (total.value, total.milli_value) == (10**18, -(2**63))


@pytest.mark.parametrize(("places", "value"), [(18, 9), (19, -10)])
def test_a_zero_with_many_decimal_places_keeps_its_scale(places: int, value: int) -> None:
    """From 19 decimal places on, the kubelet divides before it wraps, else after: -10 then reads as 9."""
    total = Quantity.parse("0." + "0" * places) + Quantity.parse("-10")
    assert total == Quantity.from_value(-10)
    assert total.value == value


@dataclass(frozen=True)
class Sum:
    """Two operands and their sum; ``exact`` is its exact int64."""

    left: str
    right: str
    want: str
    format: Format
    exact: int | None


@pytest.mark.parametrize(
    "case",
    [
        Sum("1Gi", "1G", "2073741824", Format.BINARY_SI, 2073741824),
        Sum("1G", "1Gi", "2073741824", Format.DECIMAL_SI, 2073741824),
        Sum("0", "1Gi", "1Gi", Format.BINARY_SI, 2**30),
        Sum("1Gi", "0m", "1Gi", Format.BINARY_SI, 2**30),
        Sum("0Gi", "0m", "0", Format.DECIMAL_SI, 0),
        Sum("500m", "500m", "1", Format.DECIMAL_SI, None),
        Sum("1e3", "1", "1001", Format.DECIMAL_EXPONENT, 1001),
        Sum("1.5Gi", "0.5Gi", "2Gi", Format.BINARY_SI, None),
        Sum("9E", "9E", "18E", Format.DECIMAL_SI, None),
        Sum("900000000000000000", "1n", "900000000000000000000000001n", Format.DECIMAL_SI, None),
        Sum("9500P", "-999999999999999999", "8500000000000000001", Format.DECIMAL_SI, None),
        Sum("8Ei", "-1", "9223372036854775806", Format.BINARY_SI, None),
        Sum("999999999999999999", "1", "1E", Format.DECIMAL_SI, 10**18),
        Sum("0.0Gi", "1k", "1k", Format.DECIMAL_SI, None),
    ],
    ids=lambda case: f"{case.left}+{case.right}",
)
def test_addition(case: Sum) -> None:
    total = Quantity.parse(case.left) + Quantity.parse(case.right)
    assert str(total) == case.want
    assert total.format is case.format
    assert total.exact_int64 == case.exact


def test_a_sum_starts_from_the_empty_quantity() -> None:
    parts = [Quantity.parse("1Gi"), Quantity.parse("512Mi")]
    assert str(sum(parts, Quantity())) == "1536Mi"


def test_subtraction_keeps_the_left_format_unless_left_is_zero() -> None:
    assert str(Quantity.parse("2Gi") - Quantity.parse("1Gi")) == "1Gi"
    assert str(Quantity() - Quantity.parse("1Gi")) == "-1Gi"
    assert str(Quantity.parse("1") - Quantity.parse("1500m")) == "-500m"


def test_negating_the_smallest_short_form_goes_long() -> None:
    smallest = Quantity.from_value(-INT64_MAX - 1)
    assert smallest.exact_int64 == -INT64_MAX - 1
    assert (-smallest).nano == (INT64_MAX + 1) * 10**9
    assert (-smallest).value == -INT64_MAX - 1


def test_made_from_numbers() -> None:
    assert str(Quantity.from_value(2**30, Format.BINARY_SI)) == "1Gi"
    assert Quantity.from_value(1000).exact_int64 == 1000
    assert str(Quantity.from_milli(1500)) == "1500m"
    assert Quantity.from_milli(1000).exact_int64 is None


def test_numbers_beyond_64_bits_are_held_exactly() -> None:
    assert Quantity.from_value(INT64_MAX + 1) == Quantity.parse("9223372036854775808")
    assert Quantity.from_value(INT64_MAX + 1).exact_int64 is None
    assert Quantity.from_milli(INT64_MAX + 1) == Quantity.parse("9223372036854775808m")


@pytest.mark.parametrize(
    ("text", "exact"), [("1.5Gi", 3 * 2**29), ("1.0Gi", 2**30), ("1000m", 1), ("2.0", 2), ("1500m", None)]
)
def test_the_text_round_trip_makes_whole_numbers_exact(text: str, exact: int | None) -> None:
    assert Quantity.parse(text).exact_int64 is None
    assert Quantity.parse(text).canonical().exact_int64 == exact


def test_the_text_round_trip_can_change_the_notation() -> None:
    total = Quantity.parse("1Ki") + Quantity.parse("976")
    assert (str(total), total.format) == ("2000", Format.BINARY_SI)
    assert (str(total.canonical()), total.canonical().format) == ("2k", Format.DECIMAL_SI)


@pytest.mark.parametrize(
    ("text", "want"),
    [("1n", "1m"), ("1500u", "2m"), ("-1500u", "-2m"), ("+1", "+1"), ("+1m", "+1m"), ("0.1Ki", "102400m")],
)
def test_defaulting_rounds_up_to_milli(text: str, want: str) -> None:
    assert str(Quantity.parse(text).rounded_up_to_milli()) == want


def test_rounding_keeps_the_form() -> None:
    assert Quantity.parse("8Ei").rounded_up_to_milli().milli_value == -1000


def test_equality_and_hash_depend_on_the_value_not_the_text() -> None:
    spellings = [Quantity.parse(text) for text in ("1", "+1", "1000m", "1e0", "1.0", "0.001k")]
    assert len(set(spellings)) == 1
    assert Quantity.parse("1Ki") == Quantity.parse("1024")
    assert Quantity.parse("1Ki") != Quantity.parse("1k")
    assert Quantity.parse("1") != "1"


def test_order() -> None:
    ascending = ["-1Gi", "-1n", "0", "999m", "1", "1k", "1Ki", "1e99"]
    assert sorted(ascending[::2] + ascending[1::2], key=Quantity.parse) == ascending
    assert Quantity.parse("1") >= Quantity.parse("1000m")
    assert not Quantity.parse("1") > Quantity.parse("1000m")


def test_shows_its_text_when_debugged() -> None:
    assert repr(Quantity.parse("1.5Gi")) == "Quantity('1536Mi')"


def test_pickles() -> None:
    quantity = Quantity.parse("1.5Gi")
    assert pickle.loads(pickle.dumps(quantity)) == quantity  # noqa: S301 - our own bytes
