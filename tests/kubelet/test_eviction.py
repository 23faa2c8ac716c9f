from __future__ import annotations

import pytest

from cpuctl.kubelet.config import SettingError
from cpuctl.kubelet.reservations import Threshold, parse_thresholds
from cpuctl.quantity import Format, Quantity

HALF = 0.5


def test_amounts_and_shares() -> None:
    found = parse_thresholds({"memory.available": "100Mi", "nodefs.available": "50%"})
    assert found["memory.available"] == Threshold(Quantity.parse("100Mi"))
    assert found["nodefs.available"] == Threshold(share=HALF)


@pytest.mark.parametrize("text", ["0%", "100%"])
def test_0_and_100_percent_switch_a_threshold_off(text: str) -> None:
    assert parse_thresholds({"memory.available": text}) == {}


@pytest.mark.parametrize(
    ("text", "capacity", "want"),
    [
        ("1%", 137438953472, 1374389504),
        ("10%", 1000, 100),
        ("15%", 1 << 40, 164926750720),
        ("0.0%", 1 << 40, 0),
        ("99.9%", 1000, 999),
        ("NaN%", 1000, -(1 << 63)),
    ],
)
def test_shares_have_32_bits(text: str, capacity: int, want: int) -> None:
    """The first row is a recorded kubelet's answer; exact arithmetic would give 1374389534."""
    threshold = parse_thresholds({"memory.available": text})["memory.available"]
    resolved = threshold.of(Quantity.from_value(capacity))
    assert resolved == Quantity.from_value(want)
    assert resolved is not None
    assert resolved.format is Format.BINARY_SI


def test_a_share_of_something_unknown_is_unknown() -> None:
    assert Threshold(share=HALF).of(None) is None
    assert Threshold(Quantity.parse("1Gi")).of(None) == Quantity.parse("1Gi")


@pytest.mark.parametrize(
    ("thresholds", "want"),
    [
        ({"bogus": "1"}, "unsupported eviction signal bogus"),
        ({"memory.available": "-5%"}, "eviction percentage threshold memory.available must be >= 0%: -5%"),
        (
            {"memory.available": "120%"},
            "eviction percentage threshold memory.available must be <= 100%: 120%",
        ),
        (
            {"memory.available": "Inf%"},
            "eviction percentage threshold memory.available must be <= 100%: Inf%",
        ),
        ({"memory.available": "x%"}, 'strconv.ParseFloat: parsing "x": invalid syntax'),
        ({"memory.available": "0"}, "eviction threshold memory.available must be positive: 0"),
        ({"memory.available": "-1Mi"}, "eviction threshold memory.available must be positive: -1Mi"),
        (
            {"memory.available": "much"},
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ],
)
def test_errors_are_in_the_kubelets_words(thresholds: dict[str, str], want: str) -> None:
    with pytest.raises(SettingError) as caught:
        parse_thresholds(thresholds)
    assert str(caught.value) == want
    assert caught.value.path == ("evictionHard", next(iter(thresholds)))
