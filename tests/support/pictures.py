"""Parsing pictures: boxes, letters and tooltips from the text of an SVG."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from cpuctl.exports.page import Markup, as_bytes
from cpuctl.exports.text_width import text_width

NS = "{http://www.w3.org/2000/svg}"
_SIZES = {"h1": 20.0, "s": 11.0}


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle on the page."""

    x: float
    y: float
    width: float
    height: float
    classes: frozenset[str] = frozenset()

    def contains(self, other: Rect) -> bool:
        """Whether it contains another one, including its edges."""
        return (
            self.x <= other.x + 0.01
            and self.y <= other.y + 0.01
            and other.x + other.width <= self.x + self.width + 0.02
            and other.y + other.height <= self.y + self.height + 0.02
        )

    def apart(self, other: Rect) -> bool:
        """Whether they have nothing in common."""
        return (
            self.x + self.width <= other.x + 0.02
            or other.x + other.width <= self.x + 0.02
            or self.y + self.height <= other.y + 0.02
            or other.y + other.height <= self.y + 0.02
        )


@dataclass(frozen=True, slots=True)
class Written:
    """A text with its position and estimated width."""

    text: str
    rect: Rect


class Picture:
    """A picture as an XML parser sees it."""

    def __init__(self, markup: Markup) -> None:
        self.root = ET.fromstring(as_bytes(markup))  # noqa: S314  # our own
        width, height = map(float, self.root.attrib["viewBox"].split()[2:])
        self.size = Rect(0, 0, width, height)

    def groups(self, key: str) -> list[ET.Element]:
        """Return the groups with this data attribute."""
        return [group for group in self.root.iter(f"{NS}g") if f"data-{key}" in group.attrib]

    @property
    def cpus(self) -> dict[int, ET.Element]:
        """The group of every CPU; fail if one is drawn twice."""
        groups = self.groups("cpu")
        found = {int(group.attrib["data-cpu"]): group for group in groups}
        assert len(found) == len(groups)
        return found

    def rects(self, *classes: str) -> list[Rect]:
        """Return the boxes with one of the classes, with their positions on the page."""
        return [rect for rect in self._rects() if rect.classes & set(classes)]

    def texts(self) -> list[Written]:
        """Return every text."""
        return [
            written for element, dx, dy in self._placed("text") for written in [_written(element, dx, dy)]
        ]

    def _rects(self) -> Iterator[Rect]:
        for element, dx, dy in self._placed("rect"):
            if "x" in element.attrib:
                x, y, width, height = (float(element.attrib[key]) for key in ("x", "y", "width", "height"))
                yield Rect(x + dx, y + dy, width, height, frozenset(element.get("class", "").split()))

    def _placed(self, name: str) -> Iterator[tuple[ET.Element, float, float]]:
        def walk(element: ET.Element, dx: float, dy: float) -> Iterator[tuple[ET.Element, float, float]]:
            if element.tag == f"{NS}defs":
                return
            if moved := re.fullmatch(r"translate\((\S+) (\S+)\)", element.get("transform", "")):
                dx, dy = dx + float(moved[1]), dy + float(moved[2])
            if element.tag == NS + name:
                yield element, dx, dy
            for child in element:
                yield from walk(child, dx, dy)

        return walk(self.root, 0, 0)


def tooltip(group: ET.Element) -> str:
    """Return the tooltip of a group."""
    return group.findtext(f"{NS}title") or ""


def letters(group: ET.Element) -> list[str]:
    """Return the texts of a group."""
    return [own_text(element) for element in group.findall(f"{NS}text")]


def own_text(element: ET.Element) -> str:
    """Return an element's text without its tooltip."""
    return (element.text or "") + "".join(child.tail or "" for child in element)


def _written(element: ET.Element, dx: float, dy: float) -> Written:
    classes = element.get("class", "").split()
    size = next((_SIZES[name] for name in classes if name in _SIZES), 12.0)
    text = own_text(element)
    width = text_width(text, size, bold="b" in classes or "h1" in classes)
    x, y = float(element.attrib["x"]) + dx, float(element.attrib["y"]) + dy
    x -= width / 2 if "c" in classes else width if "e" in classes else 0
    return Written(text, Rect(x, y - size * 0.95, width, size * 1.2))
