"""The report page: one file that a browser needs nothing else for, now or in ten years."""

from __future__ import annotations

import re

from cpuctl.exports.page import Figure, Grid, Heading, Markup, Section, Sentences, StyledText, as_bytes, page
from cpuctl.exports.sheet import Drawing, Sheet


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


def test_news_are_told_by_signs_as_well_as_by_colour() -> None:
    text = example()
    assert '<td class="bad"><bdi>&#215; web</bdi></td>' in text
    assert '<p class="good"><bdi>&#10003; fine</bdi></p>' in text
    assert '<p class="warn"><bdi>! odd</bdi></p>' in text
    assert '<td class="n"><bdi>3</bdi></td>' in text


def test_short_lists_of_cpus_stay_in_one_line() -> None:
    """One that breaks behind a hyphen reads like another one; a long one has to break somewhere."""
    long = ",".join(map(str, range(0, 100, 2)))
    grid = Grid(
        (Heading("CPUS"),), tuple((StyledText(text),) for text in ("8-13,16-21,40-45", long, "4 CPUs"))
    )
    text = page("Plan", StyledText("fine"), [Section("S", (grid,))])
    assert '<td class="s"><bdi>8-13,16-21,40-45</bdi></td>' in text
    assert f"<td><bdi>{long}</bdi></td>" in text
    assert "<td><bdi>4 CPUs</bdi></td>" in text
    assert ".s { white-space: nowrap; }" in text
