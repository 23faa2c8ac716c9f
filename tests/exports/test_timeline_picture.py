"""The picture of a replay: rows without gaps or overlaps, and a number for every event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.exports.timeline_picture import drawn_until, replay_facts, tick_step, tick_text, timeline_svg
from cpuctl.visible_text import printable
from tests.support.drawn_rows import HOSTILE
from tests.support.pictures import Picture, letters, tooltip

SECOND = 1_000_000_000
USES = ("owned", "leaving", "contested", "shared", "none")


def span(start: int, end: int, use: str, container: str = "") -> dict[str, Any]:
    times = {"from": f"{start}ns", "until": f"{end}ns", "nanoseconds": [start, end]}
    return {**times, "use": use, "container": container}


def entry(at: int, text: str = "starts", pod: str = "default/web", what: str = "Started") -> dict[str, Any]:
    return {"at": f"{at}ns", "nanoseconds": at, "what": what, "pod": pod, "container": "app", "text": text}


def replay(chart: list[dict[str, Any]], entries: list[dict[str, Any]], **more: Any) -> Any:
    return {
        "description": "",
        "pods": 1,
        "until": "20s",
        "sources": {},
        "chart": chart,
        "entries": entries,
        "expectations": {"checked": 0, "failures": []},
        **more,
    }


@st.composite
def replays(draw: st.DrawFn) -> Any:
    end = draw(st.integers(1, 10**13))
    times = st.integers(0, end)
    names = draw(st.lists(HOSTILE.filter(bool), min_size=1, max_size=5))
    chart = []
    for cpu in range(draw(st.integers(0, 8))):
        cuts = sorted({0, end, *draw(st.lists(times, max_size=5))})
        spans = []
        for start, stop in pairwise(cuts):
            use = draw(st.sampled_from(USES))
            owner = draw(st.sampled_from(names)) if use in USES[:3] else ""
            spans.append(span(start, stop, use, owner))
        chart.append({"cpus": str(cpu), "spans": spans})
    entries = [
        entry(at, draw(HOSTILE), draw(HOSTILE), draw(st.sampled_from(["Started", "Rejected"])))
        for at in sorted(draw(st.lists(times, max_size=12)))
    ]
    return replay(chart, entries, description=draw(HOSTILE))


@given(replays())
def test_rows_cover_the_whole_chart(answer: Any) -> None:
    picture = Picture(timeline_svg(replay_facts(answer)))
    end = drawn_until(answer)
    wanted = [
        (row["cpus"], each["use"], printable(each["container"]), *each["nanoseconds"])
        for row in answer["chart"]
        for each in row["spans"]
        if each["nanoseconds"][0] < end
    ]
    found = [
        (*(group.attrib[f"data-{key}"] for key in ("cpus", "use", "owner")), *_times(group.attrib))
        for group in picture.groups("use")
    ]
    assert found == wanted
    spans = picture.rects("k")
    assert all(one.apart(other) for one, other in combinations(spans, 2))
    assert all(picture.size.contains(box) for box in spans)


def _times(attributes: Mapping[str, str]) -> Iterator[int]:
    yield from (int(attributes[f"data-{key}"]) for key in ("from", "until"))


@given(replays())
def test_every_event_has_a_number_and_all_text_is_on_the_page(answer: Any) -> None:
    picture = Picture(timeline_svg(replay_facts(answer)))
    groups = picture.groups("events")
    assert sum(int(group.attrib["data-events"]) for group in groups) == len(answer["entries"])
    assert [letters(group) for group in groups] == [[str(n + 1)] for n in range(len(groups))]
    assert [text for text in picture.texts() if not picture.size.contains(text.rect)] == []


def test_letters_show_owners_and_cpus_to_be_released() -> None:
    spans = [
        span(0, 4 * SECOND, "shared"),
        span(4 * SECOND, 8 * SECOND, "owned", "default/web/app"),
        span(8 * SECOND, 12 * SECOND, "leaving", "default/web/app"),
        span(12 * SECOND, 16 * SECOND, "contested", "shop/db/main"),
    ]
    answer = replay([{"cpus": "2-3", "spans": spans}], [entry(15 * SECOND)])
    groups = Picture(timeline_svg(replay_facts(answer))).groups("use")
    assert [letters(group) for group in groups] == [[], ["A"], ["a"], ["!B"]]
    assert tooltip(groups[1]) == "CPUs 2-3; A web/app; 4000000000ns to 8000000000ns"
    assert tooltip(groups[2]).startswith("CPUs 2-3; A web/app, to be released;")


def test_rejections_are_marked_and_failed_expectations_listed() -> None:
    failure = {"at": "5s", "where": "web", "what": "cpus", "expected": "1", "found": "2"}
    answer = replay(
        [{"cpus": "0", "spans": [span(0, 20 * SECOND, "shared")]}],
        [entry(0), entry(SECOND, "is refused", what="Rejected")],
        expectations={"checked": 3, "failures": [failure]},
    )
    texts = [text.text for text in Picture(timeline_svg(replay_facts(answer))).texts()]
    assert "! is refused" in texts
    assert "! not as expected at 5s, web: cpus: expected 1, found 2" in texts
    assert "1 pod, until 20s, 3 checks: 1 value not as expected" in texts


@pytest.mark.parametrize("end", [1, 10**6, 3 * SECOND, 3600 * SECOND, 10**15])
def test_ticks_are_at_round_times_and_far_enough_apart(end: int) -> None:
    step = tick_step(end, 880, 70)
    assert step * 880 >= end * 70 or step == 168 * 3600 * SECOND
    assert len(tick_text(step)) <= 8
