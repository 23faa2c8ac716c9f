"""The sheet that pictures are drawn on: a title, the drawing, its legend, and a description in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from cpuctl.exports.page import Attributes, Markup, element, joined, leaf, text
from cpuctl.exports.palette import hatchings, style_sheet
from cpuctl.exports.text_width import bounded, fitted, text_width, wrapped

MARGIN = 20.0
"""The margin around everything; all lengths are in the picture's unit, a pixel at its original size."""
_NARROWEST = 680.0
_TITLE, _LINE = 20.0, 12.0
SMALL = 11.0
"""The size of small letters."""
_SCOPE = "cpuctl-picture"
_ITEM_LEAST, _ITEM_MOST, _ITEM_HEIGHT = 180.0, 440.0, 24.0
_SWATCH_WIDTH, _SWATCH_HEIGHT, _SWATCH_GAP, _ITEM_GAP = 30.0, 18.0, 8.0, 14.0
_LONGEST_TIP = 1000
_FREE = 4.0
"""The free space around letters in a hatching."""
_MOST_LINES, _LONGEST_DESCRIPTION = 20, 4000


class LegendItem(NamedTuple):
    """An entry of a legend: classes and hatching of its swatch, the letters in it, and its meaning."""

    classes: str
    hatch: str
    mark: str
    mark_class: str
    label: str


class Drawing(NamedTuple):
    """A drawing from its corner on, with its size."""

    markup: Markup
    width: float
    height: float


class Rectangle(NamedTuple):
    """A rectangle of the drawing."""

    x: float
    y: float
    width: float
    height: float


def text_at(content: str, x: float, y: float, classes: str = "", *, full: str = "") -> Markup:
    """Write text on its baseline; *full* is the text before it was shortened."""
    attributes: dict[str, str | float] = {"x": x, "y": y}
    if classes:
        attributes["class"] = classes
    tip = [element("title", {}, text(bounded(full, _LONGEST_TIP)))] if full and full != content else []
    return element("text", attributes, *tip, text(content))


def box(x: float, y: float, width: float, height: float, **others: str | float) -> Markup:
    """Draw a rectangle; ``class_`` means ``class``."""
    named = {name.rstrip("_"): value for name, value in others.items()}
    return leaf("rect", {"x": x, "y": y, "width": width, "height": height, **named})


def hatched(area: Rectangle, hatch: str, letters: str = "") -> Markup:
    """Draw a hatching, if there is one, over an area, on both sides of the letters in its middle."""
    if not hatch:
        return Markup("")
    free = text_width(letters, SMALL, bold=True) + _FREE if letters else 0
    side = (area.width - free) / 2 if letters else area.width
    starts = (area.x, area.x + area.width - side) if letters else (area.x,)
    return joined(box(x, area.y, side, area.height, fill=f"url(#{hatch})") for x in starts if side > 0)


class Sheet(NamedTuple):
    """The surroundings of a drawing; ``notes`` follow the legend, ``description`` is for screen readers."""

    title: str
    lines: Sequence[str]
    legend: Sequence[LegendItem]
    notes: Sequence[str]
    description: str

    def around(self, drawing: Drawing, footer: Drawing | None = None) -> Markup:
        """Combine everything into one self-contained SVG."""
        inside = max(drawing.width, _NARROWEST, footer.width if footer else 0)
        header, y = self._header(inside)
        parts = [*header, _moved(drawing, MARGIN, y)]
        y += drawing.height + 18
        legend, y = self._legend(inside, y)
        parts += legend
        if footer is not None:
            parts.append(_moved(footer, MARGIN, y + 8))
            y += footer.height + 8
        return self._svg(inside + 2 * MARGIN, y + MARGIN - 6, parts)

    def _header(self, width: float) -> tuple[list[Markup], float]:
        y = MARGIN - 8
        parts: list[Markup] = []
        for line in wrapped(self.title, width, _TITLE, bold=True):
            y += _TITLE + 4
            parts.append(text_at(line, MARGIN, y, "h1"))
        y += 6
        for line in _lines(self.lines, width):
            y += 16
            parts.append(text_at(line, MARGIN, y, "m"))
        return parts, y + 18

    def _legend(self, width: float, y: float) -> tuple[list[Markup], float]:
        widest = max(map(_item_width, self.legend), default=_ITEM_LEAST)
        columns = max(int(width // min(max(widest, _ITEM_LEAST), _ITEM_MOST)), 1)
        lines = -(-len(self.legend) // columns)
        step = width / columns
        parts = [
            joined(_item(item, MARGIN + index // lines * step, y + index % lines * _ITEM_HEIGHT, step))
            for index, item in enumerate(self.legend)
        ]
        y += lines * _ITEM_HEIGHT
        for note in _lines(self.notes, width):
            parts.append(text_at(note, MARGIN, y + 12, "m"))
            y += 18
        return parts, y

    def _svg(self, width: float, height: float, parts: Iterable[Markup]) -> Markup:
        root: Attributes = {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width:.0f} {height:.0f}",
            "width": f"{width:.0f}",
            "height": f"{height:.0f}",
            "role": "img",
            "aria-labelledby": "cpuctl-title cpuctl-description",
            "class": _SCOPE,
        }
        return element(
            "svg",
            root,
            element("title", {"id": "cpuctl-title"}, text(self.title)),
            element(
                "desc", {"id": "cpuctl-description"}, text(bounded(self.description, _LONGEST_DESCRIPTION))
            ),
            style_sheet(f".{_SCOPE}"),
            hatchings(),
            leaf("rect", {"class": "bg", "width": "100%", "height": "100%"}),
            Markup("\n"),
            joined(parts, "\n"),
            Markup("\n"),
        )


def _lines(texts: Iterable[str], width: float) -> Iterator[str]:
    lines = (line for each in texts for line in wrapped(each, width, _LINE))
    return islice(lines, _MOST_LINES)


def _moved(drawing: Drawing, x: float, y: float) -> Markup:
    return element("g", {"transform": f"translate({x:.2f} {y:.2f})"}, drawing.markup)


def _swatch_width(item: LegendItem) -> float:
    return max(_SWATCH_WIDTH, text_width(item.mark, SMALL, bold=True) + 8)


def _item_width(item: LegendItem) -> float:
    return _swatch_width(item) + _SWATCH_GAP + text_width(item.label, _LINE) + _ITEM_GAP


def _item(item: LegendItem, x: float, y: float, width: float) -> Iterator[Markup]:
    wide = _swatch_width(item)
    yield box(x, y, wide, _SWATCH_HEIGHT, class_=f"k {item.classes}", rx=3)
    yield hatched(Rectangle(x, y, wide, _SWATCH_HEIGHT), item.hatch, item.mark)
    if item.mark:
        yield text_at(item.mark, x + wide / 2, y + 13, f"b s c {item.mark_class}".rstrip())
    shown = fitted(item.label, width - wide - _SWATCH_GAP - _ITEM_GAP, _LINE)
    yield text_at(shown, x + wide + _SWATCH_GAP, y + 13, full=item.label)
