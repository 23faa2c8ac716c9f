"""The colours and hatchings of pictures, and their style sheet for paper and for dark screens.

Owners have the colours of Okabe and Ito ("Color Universal Design", 2008), which colour-blind readers can
distinguish; letters and hatchings work without any colours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from cpuctl.exports.page import Attributes, Markup, element, joined, leaf

FONTS = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"

OWNERS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442")
"""Blue, orange, bluish green, reddish purple, sky blue, vermillion, yellow."""
_WHITE_ON = frozenset({"#0072b2"})
"""The colours on which white is easier to read than black."""
HATCHES = ("", "rising", "falling", "dots", "lines", "bars")
"""The hatchings over an owner's colour; each is used with every colour before the next one."""


class Theme(NamedTuple):
    """The colours of one medium; frames go from the outermost to the innermost."""

    paper: str
    ink: str
    muted: str
    frames: tuple[str, str, str, str]
    frame_line: str
    pool: str
    reserved: str
    line: str
    alarm: str


LIGHT = Theme(
    paper="#ffffff",
    ink="#1b1c1e",
    muted="#4a4e54",
    frames=("#f5f6f8", "#eaedf1", "#dfe3e9", "#d2d7df"),
    frame_line="#868d97",
    pool="#ffffff",
    reserved="#c3c8cf",
    line="#33363a",
    alarm="#b3261e",
)
DARK = Theme(
    paper="#16171a",
    ink="#f1f2f4",
    muted="#bcc1c8",
    frames=("#1e2024", "#272a2f", "#30343a", "#3b4047"),
    frame_line="#7f8792",
    pool="#101113",
    reserved="#565c65",
    line="#d5d8dc",
    alarm="#ff8a80",
)

Rules = Mapping[str, Mapping[str, str]]

_SHAPES: Rules = MappingProxyType(
    {
        "text": {"font-family": FONTS, "font-size": "12px"},
        ".h1": {"font-size": "20px", "font-weight": "bold"},
        ".b": {"font-weight": "bold"},
        ".s": {"font-size": "11px"},
        ".c": {"text-anchor": "middle"},
        ".e": {"text-anchor": "end"},
        ".fr": {"stroke-width": "1"},
        ".k": {"stroke-width": "1"},
        ".off": {"fill": "none", "stroke-dasharray": "3 2"},
        ".w": {"fill": "none", "stroke-width": "2.5"},
        ".gl": {"stroke-width": "1", "stroke-opacity": ".35"},
        ".ev": {"stroke-width": "1", "stroke-dasharray": "2 3", "stroke-opacity": ".7"},
    }
)


def owner_class(place: int) -> str:
    """Return the colour class of the owner at this position."""
    return f"o{place % len(OWNERS)}"


def owner_hatch(place: int) -> str:
    """Return the hatching of the owner at this position; empty for none."""
    return HATCHES[place // len(OWNERS) % len(HATCHES)]


def text_on(color: str) -> str:
    """Return the colour of text on an owner's colour."""
    return "#ffffff" if color in _WHITE_ON else "#000000"


def style_sheet(scope: str) -> Markup:
    """Write the rules for elements inside *scope*: on a page, the picture is only a part."""
    owners = {f".o{place}": {"fill": color} for place, color in enumerate(OWNERS)}
    on_owners = {f".x{place}": {"fill": text_on(color)} for place, color in enumerate(OWNERS)}
    parts = [
        *(line for rules in (_SHAPES, _colors(LIGHT), owners, on_owners) for line in _rules(scope, rules)),
        # Screen only: paper is always white.
        f"@media screen {{ {scope} {{ color-scheme: light dark; }} }}",
        "@media screen and (prefers-color-scheme: dark) {",
        *_rules(scope, _colors(DARK)),
        "}",
        f"@media print {{ {scope} {{ print-color-adjust: exact; max-width: 100%; height: auto; }} }}",
    ]
    return element("style", {}, Markup("\n" + "\n".join(parts) + "\n"))


def _colors(theme: Theme) -> Rules:
    frames = {
        f".f{depth}": {"fill": color, "stroke": theme.frame_line} for depth, color in enumerate(theme.frames)
    }
    return {
        ".bg": {"fill": theme.paper},
        "text": {"fill": theme.ink},
        ".m": {"fill": theme.muted},
        ".al": {"fill": theme.alarm},
        **frames,
        ".k": {"stroke": theme.line},
        ".sh": {"fill": theme.pool},
        ".rs": {"fill": theme.reserved},
        ".no": {"fill": theme.pool, "stroke": theme.alarm},
        ".ink": {"fill": theme.ink},
        ".w": {"stroke": theme.alarm},
        ".gl": {"stroke": theme.muted},
        ".ev": {"stroke": theme.ink},
        ".bd": {"fill": theme.paper, "stroke": theme.ink},
    }


def _rules(scope: str, rules: Rules) -> Iterator[str]:
    for selector, settings in rules.items():
        body = "; ".join(f"{name}: {value}" for name, value in settings.items())
        yield f"{scope} {selector} {{ {body} }}"


def hatchings() -> Markup:
    """Define the hatchings ``h-NAME``, in black over colours."""
    return element("defs", {}, *(_pattern(f"h-{name}", shape) for name, shape in _shapes().items()))


_SIZE = 6
_LOOK: Attributes = {"stroke": "#000000", "stroke-width": 1.2, "stroke-opacity": 0.45}


def _shapes() -> dict[str, Sequence[Markup]]:
    def path(drawing: str) -> Markup:
        return leaf("path", {"d": drawing, "fill": "none", **_LOOK})

    rising, falling = path("M-1 1l2 -2M0 6l6 -6M5 7l2 -2"), path("M-1 5l2 2M0 0l6 6M5 -1l2 2")
    return {
        "rising": [rising],
        "falling": [falling],
        "dots": [path("M2 3h2M3 2v2")],
        "lines": [path("M0 3h6")],
        "bars": [path("M3 0v6")],
        "cross": [rising, falling],
        "going": [path("M-1 1l2 -2M0 6l6 -6M5 7l2 -2M-1 4l5 -5M2 7l5 -5")],
    }


def _pattern(name: str, shapes: Sequence[Markup]) -> Markup:
    size: Attributes = {"id": name, "width": _SIZE, "height": _SIZE, "patternUnits": "userSpaceOnUse"}
    return element("pattern", size, joined(shapes))
