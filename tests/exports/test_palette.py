"""Colours are distinguishable with any colour vision, in print and in dark mode, and never the only sign."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pytest

from cpuctl.exports.answer_text import mark_of
from cpuctl.exports.palette import (
    DARK,
    HATCHES,
    LIGHT,
    OWNERS,
    Theme,
    hatchings,
    owner_class,
    owner_hatch,
    style_sheet,
    text_on,
)

Triple = Sequence[float]

# Severity 1.0 of Machado, Oliveira and Fernandes (2009), in linear RGB.
DEFICIENCIES = {
    "none": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
READABLE, VISIBLE = 4.5, 3.0
"""The minimum contrasts of WCAG 2: of text, and of meaningful shapes."""


def linear(color: str) -> list[float]:
    channels = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def contrast(one: str, other: str) -> float:
    luminances = [
        sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(x), strict=True)) for x in (one, other)
    ]
    return (max(luminances) + 0.05) / (min(luminances) + 0.05)


def lab(rgb: Triple) -> list[float]:
    matrix = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    xyz = [sum(w * c for w, c in zip(line, rgb, strict=True)) for line in matrix]
    x, y, z = (
        v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116
        for v in (max(part / white, 0) for part, white in zip(xyz, (0.9505, 1, 1.089), strict=True))
    )
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)]


def seen(color: str, matrix: Sequence[Triple]) -> list[float]:
    rgb = linear(color)
    return lab([min(max(sum(w * c for w, c in zip(line, rgb, strict=True)), 0), 1) for line in matrix])


def test_contrast_is_computed_as_wcag_does() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_is_readable_on_every_background(theme: Theme) -> None:
    grounds = (theme.paper, *theme.frames, theme.pool, theme.reserved)
    assert min(contrast(theme.ink, ground) for ground in grounds) >= READABLE
    assert min(contrast(theme.muted, ground) for ground in (theme.paper, *theme.frames)) >= READABLE
    assert contrast(theme.alarm, theme.paper) >= READABLE


@pytest.mark.parametrize("color", OWNERS)
def test_letters_are_readable_on_owner_colours(color: str) -> None:
    assert contrast(text_on(color), color) >= READABLE


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_boxes_stand_out_by_their_borders(theme: Theme) -> None:
    """Yellow on white has too little contrast, which is why every CPU has a border."""
    assert min(contrast(theme.line, ground) for ground in (theme.paper, *theme.frames)) >= VISIBLE
    assert contrast(theme.frame_line, theme.paper) >= VISIBLE
    assert min(contrast(theme.alarm, ground) for ground in (theme.paper, theme.pool)) >= VISIBLE


@pytest.mark.parametrize("kind", DEFICIENCIES)
def test_owner_colours_differ_for_colour_blind_readers(kind: str) -> None:
    colors = [seen(color, DEFICIENCIES[kind]) for color in OWNERS]
    distances = [
        sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5
        for one, other in combinations(colors, 2)
    ]
    assert min(distances) > 10  # 2.3 is just noticeable


def test_the_measure_detects_red_and_green() -> None:
    red, green = (seen(color, DEFICIENCIES["deuteranopia"]) for color in ("#a05000", "#707000"))
    assert sum((a - b) ** 2 for a, b in zip(red, green, strict=True)) ** 0.5 < 10


def test_many_owners_differ_by_hatching_and_all_by_letters() -> None:
    looks = {(owner_class(place), owner_hatch(place)) for place in range(len(OWNERS) * len(HATCHES))}
    assert len(looks) == len(OWNERS) * len(HATCHES)
    assert len({mark_of(place) for place in range(5000)}) == 5000
    assert [mark_of(place) for place in (0, 25, 26, 701, 702)] == ["a", "z", "aa", "zz", "aaa"]


def test_every_used_hatching_is_defined() -> None:
    defined = hatchings()
    for place in range(50):
        name = owner_hatch(place)
        assert not name or f'id="h-{name}"' in defined
    assert all(f'id="h-{name}"' in defined for name in ("cross", "going"))


def test_dark_colours_are_for_screens_only() -> None:
    sheet = style_sheet(".scope")
    light, dark = sheet.split("@media screen and (prefers-color-scheme: dark) {")
    assert DARK.paper in dark
    assert DARK.paper not in light
    rules = [line for line in sheet.splitlines() if "{" in line and not line.startswith("@media")]
    assert [rule for rule in rules if not rule.startswith(".scope ")] == []
