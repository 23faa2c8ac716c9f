"""The report page is one self-contained file, without scripts."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given

from cpuctl.exports.page import (
    Figure,
    Grid,
    Heading,
    Markup,
    Section,
    Sentences,
    StyledText,
    as_bytes,
    element,
    joined,
    leaf,
    page,
    text,
)
from cpuctl.exports.sheet import Drawing, LegendItem, Sheet
from cpuctl.visible_text import printable
from tests.support.drawn_rows import HOSTILE


def example() -> str:
    svg = Sheet(title="T", lines=[], legend=[], notes=[], description="").around(Drawing(Markup(""), 1, 1))
    grid = Grid(
        (Heading("Pod"), Heading("Free", numbers=True)), ((StyledText("web", "bad"), StyledText("3")),)
    )
    sections = [
        Section("S", (grid, Figure(svg), Sentences((StyledText("fine", "good"), StyledText("odd", "warn")))))
    ]
    return as_bytes(page("Plan", StyledText("1 pod: 1 rejected", "bad"), sections)).decode("ascii")


def test_nothing_is_fetched_and_nothing_runs() -> None:
    text = example()
    assert not re.search(r"<(script|link|img|iframe|object|embed|base|form)\b", text)
    assert not re.search(r"\b(src|href|srcset|action|on[a-z]+)\s*=", text)
    assert "@import" not in text
    assert set(re.findall(r"url\(([^)]*)\)", text)) <= {"#h-rising"}
    assert set(re.findall(r"https?://[^\"' ]*", text)) == {
        "http://www.w3.org/2000/svg"
    }  # a name, not a place
    assert "default-src 'none'" in text.replace("&#39;", "'")


def test_status_is_shown_by_symbols_as_well_as_by_colour() -> None:
    text = example()
    assert '<td class="bad"><bdi>&#215; web</bdi></td>' in text
    assert '<p class="good"><bdi>&#10003; fine</bdi></p>' in text
    assert '<p class="warn"><bdi>! odd</bdi></p>' in text
    assert '<td class="n"><bdi>3</bdi></td>' in text


def test_short_cpu_lists_do_not_wrap() -> None:
    """A line break after a hyphen would make a list ambiguous; only long lists may wrap."""
    long = ",".join(map(str, range(0, 100, 2)))
    grid = Grid(
        (Heading("CPUS"),), tuple((StyledText(text),) for text in ("8-13,16-21,40-45", long, "4 CPUs"))
    )
    text = page("Plan", StyledText("fine"), [Section("S", (grid,))])
    assert '<td class="s"><bdi>8-13,16-21,40-45</bdi></td>' in text
    assert f"<td><bdi>{long}</bdi></td>" in text
    assert "<td><bdi>4 CPUs</bdi></td>" in text
    assert ".s { white-space: nowrap; }" in text


@given(HOSTILE)
def test_text_survives_escaping_and_parsing(value: str) -> None:
    parsed = ET.fromstring(as_bytes(element("a", {"b": value}, text(value))))  # noqa: S314
    assert (parsed.text or "") == printable(value)
    assert parsed.attrib["b"] == printable(value)


@given(HOSTILE)
def test_sheets_are_well_formed_for_any_text(value: str) -> None:
    item = LegendItem("sh", "", value, "", value)
    sheet = Sheet(title=value, lines=[value], legend=[item], notes=[value], description=value)
    root = ET.fromstring(as_bytes(sheet.around(Drawing(Markup(""), 10, 10))))  # noqa: S314
    known = {"svg", "title", "desc", "style", "defs", "pattern", "path", "rect", "g", "text"}
    assert {each.tag.partition("}")[2] for each in root.iter()} <= known


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: dict[str, list[str]] = {}
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, []).append(value or "")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def tags(markup: Markup) -> _Tags:
    parser = _Tags()
    parser.feed(as_bytes(markup).decode("ascii"))
    parser.close()
    return parser


@given(HOSTILE)
def test_names_add_no_elements_to_a_page(value: str) -> None:
    figure = Figure(element("svg", {}, text(value)))
    grid = Grid(
        (Heading(value), Heading("N", numbers=True)), ((StyledText(value), StyledText(value, "bad")),)
    )
    found = tags(
        page(value, StyledText(value), [Section(value, (figure, grid, Sentences((StyledText(value),))))])
    )
    known = "html head meta title style body header h1 p bdi main section h2 figure svg div table thead tr th"
    assert found.found <= {*known.split(), "tbody", "td", "footer"}
    assert set(found.attributes) <= {"lang", "charset", "http-equiv", "content", "name", "class", "scope"}
    if value.strip():
        assert printable(value) in "".join(found.texts)


@pytest.mark.parametrize(
    ("number", "want"), [(1, "1"), (1.0, "1"), (0.5, "0.5"), (1 / 3, "0.33"), (10.0, "10"), (1e6, "1000000")]
)
def test_numbers_are_short(number: float, want: str) -> None:
    assert leaf("a", {"b": number}) == f'<a b="{want}"/>'


def test_files_are_ascii_in_any_locale() -> None:
    name = "\u6f22/\N{GRINNING FACE}"
    assert as_bytes(joined([text(name)])) == b"&#28450;/&#128512;"
