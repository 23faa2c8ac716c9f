"""One page in one file: headings, tables, sentences, a picture; nothing for a browser to fetch or run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, NewType

from cpuctl import __version__
from cpuctl.visible_text import printable

Markup = NewType("Markup", str)
"""Text that is markup already."""
Value = str | int | float
Attributes = Mapping[str, Value]

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


def text(value: str) -> Markup:
    """Escape a text: characters that XML forbids, and invisible ones, become escapes."""
    return Markup(printable(value).translate(_ESCAPES))


def element(name: str, attributes: Attributes, *children: Markup) -> Markup:
    """Write an element with its content."""
    return Markup(f"<{name}{_written(attributes)}>{''.join(children)}</{name}>")


def leaf(name: str, attributes: Attributes) -> Markup:
    """Write an element without content (in HTML, a void element)."""
    return Markup(f"<{name}{_written(attributes)}/>")


def joined(parts: Iterable[Markup], between: str = "") -> Markup:
    """Join markup."""
    return Markup(between.join(parts))


def as_bytes(markup: Markup) -> bytes:
    """Encode a file in ASCII, with references for other characters, so that any assumed encoding works."""
    return markup.encode("ascii", "xmlcharrefreplace")


def _written(attributes: Attributes) -> str:
    return "".join(f' {name}="{_value(value)}"' for name, value in attributes.items())


def _value(value: Value) -> str:
    match value:
        case float():
            return f"{value:.2f}".rstrip("0").rstrip(".")
        case int():
            return str(value)
        case str():
            return text(value)


Tone = Literal["", "good", "warn", "bad", "unknown"]
SEVERITY_TONES: Mapping[str, Tone] = {"error": "bad", "warning": "warn", "note": ""}


class StyledText(NamedTuple):
    """Some text, and whether it is good or bad news."""

    text: str
    tone: Tone = ""
    swatch: str = ""
    """Classes of the small box around it, if it is a mark in a drawing."""
    link: str = ""
    """A file next to the page that it links to."""


class Sentences(NamedTuple):
    """Lines of text, one below the other."""

    lines: tuple[StyledText, ...]


class Heading(NamedTuple):
    """A column's name, and whether it holds numbers."""

    name: str
    numbers: bool = False


class Grid(NamedTuple):
    """Rows under headings."""

    headings: tuple[Heading, ...]
    rows: tuple[tuple[StyledText, ...], ...]
    about: tuple[Attributes, ...] = ()
    """The subject of each row, as attributes for scripts of a page."""


class Figure(NamedTuple):
    """A picture, as SVG."""

    svg: Markup


_SHORT_LIST = re.compile(r"[0-9][0-9,-]{0,29}")
"""A list of CPUs that is kept on one line: broken after a hyphen, it could be misread."""

Part = Sentences | Grid | Figure


class Section(NamedTuple):
    """Parts under a heading."""

    title: str
    parts: tuple[Part, ...]


MARKS: Mapping[Tone, str] = {
    "": "",
    "good": "\N{CHECK MARK} ",
    "warn": "! ",
    "bad": "\N{MULTIPLICATION SIGN} ",
    "unknown": "? ",
}
"""Good and bad news can be distinguished without colours."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Nothing can be fetched or run, whatever names the answer contains."""

BASE_STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1b1c1e; --muted: #4a4e54; --line: #c9ced6;
  --head: #eef0f3; --good: #1a6b3c; --warn: #8a4b00; --bad: #b3261e; }
@media screen and (prefers-color-scheme: dark) {
  :root { --paper: #16171a; --ink: #f1f2f4; --muted: #bcc1c8; --line: #41464e; --head: #24272c;
    --good: #7fd6a3; --warn: #ffb95c; --bad: #ff8a80; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 78rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; padding-bottom: .25rem; border-bottom: 1px solid var(--line); }
p { margin: .25rem 0; overflow-wrap: anywhere; }
.verdict { font-size: 1.1rem; font-weight: bold; }
.table, figure { margin: .5rem 0; overflow-x: auto; }
table { border-collapse: collapse; min-width: 30%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line);
  overflow-wrap: break-word; max-width: 34rem; }
th { background: var(--head); font-size: .8rem; letter-spacing: .03em; white-space: nowrap;
  text-transform: uppercase; }
.n { text-align: right; } .s { white-space: nowrap; }
.good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); }
footer { margin-top: 2.5rem; color: var(--muted); font-size: .85rem; }
@media print {
  :root { color-scheme: light; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  .table, figure { overflow: visible; }
  th { print-color-adjust: exact; }
  tr, figure { break-inside: avoid; }
  h2 { break-after: avoid; }
}
"""


def page(title: str, verdict: StyledText, sections: Sequence[Section]) -> Markup:
    """Write the page; the same content gives the same text."""
    top = element("header", {}, element("h1", {}, text(title)), verdict_markup(verdict))
    main = element("main", {}, joined(map(_section, sections), "\n"))
    return html_document(title, [top, main, footer()])


def html_document(
    title: str,
    body: Iterable[Markup],
    *,
    policy: str = POLICY,
    style: str = BASE_STYLE,
    metas: Iterable[Markup] = (),
) -> Markup:
    """Build a document from the parts of its body."""
    head = element(
        "head",
        {},
        leaf("meta", {"charset": "utf-8"}),
        leaf("meta", {"http-equiv": "Content-Security-Policy", "content": policy}),
        leaf("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        *metas,
        element("title", {}, text(title)),
        element("style", {}, Markup(style)),
    )
    content = element("body", {}, joined(body, "\n"))
    document = element("html", {"lang": "en"}, joined([head, content], "\n"))
    return Markup(f"<!DOCTYPE html>\n{document}\n")


def verdict_markup(verdict: StyledText) -> Markup:
    """Write the sentence below the title."""
    return element("p", {"class": f"verdict {verdict.tone}".rstrip()}, styled_markup(verdict))


def footer() -> Markup:
    """Name the program that has written the page."""
    return element("footer", {}, text(f"Generated by cpuctl {__version__}."))


def _section(section: Section) -> Markup:
    parts = [part_markup(part) for part in section.parts]
    return element("section", {}, joined([element("h2", {}, text(section.title)), *parts], "\n"))


def part_markup(part: Part) -> Markup:
    """Write a part of a page."""
    match part:
        case Sentences(lines=lines):
            return joined((_toned("p", line) for line in lines), "\n")
        case Figure(svg=svg):
            return element("figure", {}, svg)
        case Grid():
            return element("div", {"class": "table"}, element("table", {}, *_rows(part)))


def _rows(grid: Grid) -> Iterator[Markup]:
    headings = [
        element("th", {"scope": "col", **({"class": "n"} if each.numbers else {})}, text(each.name))
        for each in grid.headings
    ]
    yield element("thead", {}, element("tr", {}, *headings))
    about = grid.about or ({},) * len(grid.rows)
    rows = [
        element(
            "tr",
            attributes,
            *(
                _toned("td", styled, _layout(heading, styled))
                for heading, styled in zip(grid.headings, row, strict=True)
            ),
        )
        for row, attributes in zip(grid.rows, about, strict=True)
    ]
    yield element("tbody", {}, joined(rows, "\n"))


def _layout(heading: Heading, styled: StyledText) -> str:
    if heading.numbers:
        return "n"
    return "s" if _SHORT_LIST.fullmatch(styled.text) else ""


def _toned(name: str, styled: StyledText, others: str = "") -> Markup:
    classes = " ".join(filter(None, (others, styled.tone)))
    return element(name, {"class": classes} if classes else {}, styled_markup(styled))


def styled_markup(styled: StyledText) -> Markup:
    """Isolate the direction of a text."""
    if not styled.text:
        return Markup("")
    content = element("bdi", {}, text(f"{MARKS[styled.tone]}{styled.text}"))
    if styled.link:
        return element("a", {"href": styled.link}, content)
    return element("span", {"class": f"swatch {styled.swatch}"}, content) if styled.swatch else content
