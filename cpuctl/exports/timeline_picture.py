"""A replay as a picture: a row for CPUs with the same history, time from left to right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.exports.answer_text import mark_of
from cpuctl.exports.page import Markup, element, joined, leaf, text
from cpuctl.exports.palette import owner_class, owner_hatch
from cpuctl.exports.sheet import SMALL, Drawing, LegendItem, Rectangle, Sheet, box, hatched, text_at
from cpuctl.exports.text_width import fitted, text_width, wrapped
from cpuctl.phrases import counted

if TYPE_CHECKING:
    from cpuctl.answers.replay import ChartRow, Entry, Replay, Span


_SECOND = 1_000_000_000
_MINUTE, _HOUR = 60 * _SECOND, 3600 * _SECOND
_STEPS = (
    *(number * unit for unit in (1, 1000, 1_000_000) for number in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    *(number * unit for unit in (_SECOND, _MINUTE) for number in (1, 2, 5, 10, 15, 30)),
    *(number * _HOUR for number in (1, 2, 4, 6, 12, 24, 48, 96, 168)),
)
"""Round times, in nanoseconds."""


def tick_step(end: int, length: int, min_gap: int) -> int:
    """Choose a round time between ticks, *min_gap* on an axis of *length* that ends at *end*."""
    return next((step for step in _STEPS if step * length >= end * min_gap), _STEPS[-1])


def tick_text(time: int) -> str:
    """Write a round time: ``0.5s``, ``1m30s``, ``2h``."""
    hours, rest = divmod(time, _HOUR)
    minutes, below = divmod(rest, _MINUTE)
    parts = ((hours, "h"), (minutes, "m"), (below / _SECOND, "s"))
    return "".join(f"{count:g}{unit}" for count, unit in parts if count) or "0"


def drawn_until(replay: Replay) -> int:
    """Return where a replay's chart ends: a little after the last event."""
    last = max((span["nanoseconds"][1] for row in replay["chart"] for span in row["spans"]), default=0)
    happens = replay["entries"][-1]["nanoseconds"] * 9 // 8 if replay["entries"] else 0
    return min(happens, last) or last


BAD = frozenset(
    {
        "Forbidden",
        "KubeletFailed",
        "Rejected",
        "ResizeInfeasible",
        "CpusetRejected",
        "ContainerWaits",
    }
)
"""The kinds of unwanted events."""


def short(name: str) -> str:
    """Leave out the default namespace."""
    return name.removeprefix("default/")


def owner_names(rows: Iterable[ChartRow]) -> list[str]:
    """Name the containers of a chart in order of appearance."""
    return list(
        dict.fromkeys(span["container"] for row in rows for span in row["spans"] if span["container"])
    )


class Event(NamedTuple):
    """An event at a time in nanoseconds; ``at`` is the time in words."""

    time: int
    at: str
    who: str
    text: str
    bad: bool


class TimelineFacts(NamedTuple):
    """A picture's content; ``marks`` are the letters of each container.

    ``end`` is the end of the drawing, in nanoseconds from the start.
    """

    title: str
    lines: tuple[str, ...]
    rows: Sequence[ChartRow]
    marks: Mapping[str, str]
    end: int
    events: tuple[Event, ...]
    failures: tuple[str, ...]


def replay_facts(replay: Replay) -> TimelineFacts:
    """Return the facts of a replay in the answer of ``cpuctl replay``."""
    first, *rest = (replay["description"] or "Replay").splitlines()
    names = owner_names(replay["chart"])
    return TimelineFacts(
        title=first,
        lines=(*rest, *_sums(replay)),
        rows=replay["chart"],
        marks={name: mark_of(place).upper() for place, name in enumerate(names)},
        end=drawn_until(replay),
        events=tuple(map(_event, replay["entries"])),
        failures=tuple(
            f"at {each['at']}, {each['where']}: {each['what']}: expected {each['expected']}, "
            f"found {each['found']}"
            for each in replay["expectations"]["failures"]
        ),
    )


def _sums(replay: Replay) -> Iterator[str]:
    what = [counted(replay["pods"], "pod"), f"until {replay['until']}"]
    checked, failures = replay["expectations"]["checked"], replay["expectations"]["failures"]
    if checked:
        came = f"{counted(len(failures), 'value')} not as expected" if failures else "all as expected"
        what.append(f"{counted(checked, 'check')}: {came}")
    yield ", ".join(what)
    sources = replay["sources"]
    yield "; ".join(
        f"{name}: {sources[name]['value']}" for name in ("timeline", "machine") if name in sources
    )


def _event(entry: Entry) -> Event:
    who = " ".join(filter(None, (short(entry["pod"]), entry["container"])))
    return Event(entry["nanoseconds"], entry["at"], who, entry["text"], entry["what"] in BAD)


_PLOT = 880.0
_LABEL_LEAST, _LABEL_MOST = 60.0, 190.0
_ROW, _ROW_GAP = 22.0, 4.0
_AXIS = 20.0
_TICKS_APART = 70
_MOST_OWNERS = 60
_NOT_OWN = {
    "leaving": "to be released",
    "contested": "exclusive to another, but still in its cgroup",
    "shared": "in the shared pool",
    "none": "not in use",
}


def timeline_svg(facts: TimelineFacts) -> Markup:
    """Draw a replay; the same facts give the same text."""
    sheet = Sheet(
        title=facts.title,
        lines=facts.lines,
        legend=list(_legend(facts)),
        notes=list(_notes(facts)),
        description=_description(facts),
    )
    plot = _Plot.of(facts)
    return sheet.around(plot.drawing(), event_list(facts, plot.clusters, plot.label + _PLOT))


class _Plot(NamedTuple):
    facts: TimelineFacts
    label: float
    clusters: list[Cluster]
    places: Mapping[str, int]

    @classmethod
    def of(cls, facts: TimelineFacts) -> _Plot:
        widest = max((text_width(row["cpus"], 12) for row in facts.rows), default=0) + 10
        found = clusters(facts.events, facts.end, _PLOT)
        places = {name: place for place, name in enumerate(facts.marks)}
        return cls(facts, min(max(widest, _LABEL_LEAST), _LABEL_MOST), found, places)

    def drawing(self) -> Drawing:
        """Draw marks for events, the axis, and the rows below it."""
        top = _AXIS + 2 * RADIUS + 6
        height = top + len(self.facts.rows) * (_ROW + _ROW_GAP)
        parts = [
            text_at("CPUs", 0, 12, "b"),
            *self._ticks(top, height),
            *(
                part
                for index, row in enumerate(self.facts.rows)
                for part in self._row(row, top + index * (_ROW + _ROW_GAP))
            ),
            *(cluster.drawn(self.label, _AXIS, height) for cluster in self.clusters),
        ]
        return Drawing(joined(parts, "\n"), self.label + _PLOT, height)

    def _x(self, time: int) -> float:
        return self.label + min(time, self.facts.end) / max(self.facts.end, 1) * _PLOT

    def _ticks(self, top: float, height: float) -> Iterator[Markup]:
        step = tick_step(self.facts.end, int(_PLOT), _TICKS_APART)
        for number in range(self.facts.end // step + 1):
            x, label = self._x(number * step), tick_text(number * step)
            half = text_width(label, SMALL) / 2
            edge = self.label + _PLOT
            yield leaf("path", {"class": "gl", "d": f"M{x:.1f} {top:.1f}V{height:.1f}"})
            at, side = (edge, "e") if x + half > edge else (x, "c")
            yield text_at(label, at, 12, f"m s {side}")

    def _row(self, row: ChartRow, y: float) -> Iterator[Markup]:
        label = fitted(row["cpus"], self.label - 8, 12)
        yield text_at(label, 0, y + 15, full=row["cpus"])
        for span in row["spans"]:
            if span["nanoseconds"][0] < self.facts.end:
                yield self._span(row["cpus"], span, y)

    def _span(self, cpus: str, span: Span, y: float) -> Markup:
        start, end = span["nanoseconds"]
        x = self._x(start)
        width = self._x(end) - x
        look = self._look(span)
        mark = look.mark if text_width(look.mark, SMALL, bold=True) + 6 < width else ""
        parts = [
            element("title", {}, text(self._tip(cpus, span))),
            box(x, y, width, _ROW, class_=f"k {look.classes}", rx=2),
            hatched(Rectangle(x, y, width, _ROW), look.hatch, mark),
        ]
        if span["use"] == "contested" and width > 4:
            parts.append(box(x + 1, y + 1, width - 2, _ROW - 2, class_="w", rx=2))
        if mark:
            parts.append(text_at(mark, x + width / 2, y + 15, f"b s c {look.mark_class}".rstrip()))
        attributes = {"data-cpus": cpus, "data-use": span["use"], "data-owner": span["container"]}
        return element("g", {**attributes, "data-from": start, "data-until": end}, *parts)

    def _look(self, span: Span) -> LegendItem:
        name = span["container"]
        return _look(span["use"], self.places.get(name, 0), self.facts.marks.get(name, ""))

    def _tip(self, cpus: str, span: Span) -> str:
        name = span["container"]
        owner = f"{self.facts.marks[name]} {short(name)}" if name else ""
        what = ", ".join(filter(None, (owner, _NOT_OWN.get(span["use"], ""))))
        return f"CPUs {cpus}; {what}; {span['from']} to {span['until']}"


def _look(use: str, place: int, mark: str, meaning: str = "") -> LegendItem:
    """Return the appearance of a use of CPUs by the owner at this position."""
    color, hatch = owner_class(place), owner_hatch(place)
    letters = f"x{color[1:]}"
    match use:
        case "owned":
            return LegendItem(color, f"h-{hatch}" if hatch else "", mark, letters, meaning)
        case "leaving":
            return LegendItem(f"{color} go", "h-going", mark.lower(), letters, meaning)
        case "contested":
            return LegendItem(color, "h-cross", f"!{mark}", letters, meaning)
        case "shared":
            return LegendItem("sh", "", "", "", meaning)
        case _:
            return LegendItem("off", "", "", "", meaning)


def _legend(facts: TimelineFacts) -> Iterator[LegendItem]:
    used = {span["use"] for row in facts.rows for span in row["spans"]}
    meanings = {
        "leaving": "to be released",
        "contested": "to be released, but exclusive to another",
        "shared": "shared pool",
        "none": "not in use",
    }
    for use, meaning in meanings.items():
        if use in used:
            yield _look(use, 0, "a" if use == "leaving" else "", meaning)
    for place, (name, mark) in enumerate(list(facts.marks.items())[:_MOST_OWNERS]):
        yield _look("owned", place, mark, short(name))


def _notes(facts: TimelineFacts) -> Iterator[str]:
    if (more := len(facts.marks) - _MOST_OWNERS) > 0:
        yield f"and {counted(more, 'more container')}: hover over a row to see its owner"


def _description(facts: TimelineFacts) -> str:
    """Describe in words what the picture shows."""
    rows = [
        f"CPUs {row['cpus']}: "
        + ", ".join(
            f"{span['use']} {short(span['container'])}".rstrip() + f" from {span['from']}"
            for span in row["spans"]
        )
        for row in facts.rows
    ]
    return ". ".join([*facts.lines, *rows])


RADIUS = 9.0
"""The radius of the circle around a number, in the picture's unit."""
_APART = 2 * RADIUS + 3
_LINE, _BADGE, _SIZE = 17.0, 26.0, 12.0
_TIME_MOST, _WHO_MOST = 90.0, 200.0
_MOST_AT_ONCE, _MOST_FAILURES = 12, 20


class Cluster(NamedTuple):
    """Events so close together that they share one number; ``x`` is its distance from the plot's edge."""

    number: int
    x: float
    events: tuple[Event, ...]

    def drawn(self, label: float, y: float, height: float) -> Markup:
        """Draw the number, and a line down to the plot's end."""
        x = self.x + label
        tip = "; ".join(
            f"{event.at} {event.who} {event.text}".replace("  ", " ") for event in self.events[:3]
        )
        return element(
            "g",
            {"data-events": len(self.events)},
            element("title", {}, text(tip)),
            leaf("path", {"class": "ev", "d": f"M{x:.1f} {y + 2 * RADIUS:.1f}V{height:.1f}"}),
            *_badge(self, x, y + RADIUS),
        )

    @property
    def bad(self) -> bool:
        """Whether it includes an unwanted event."""
        return any(event.bad for event in self.events)


def _badge(cluster: Cluster, x: float, y: float) -> Iterator[Markup]:
    yield leaf("circle", {"class": "bd", "cx": x, "cy": y, "r": RADIUS})
    yield text_at(str(cluster.number), x, y + 4, "b s c al" if cluster.bad else "b s c")


def clusters(events: Sequence[Event], end: int, width: float) -> list[Cluster]:
    """Group events whose numbers would overlap; those after the *end* are placed at it.

    *end* is in nanoseconds, *width* the corresponding width in the picture.
    """
    groups: list[tuple[float, list[Event]]] = []
    for event in events:
        x = min(event.time, end) / max(end, 1) * width
        if groups and x - groups[-1][0] < _APART:
            groups[-1][1].append(event)
        else:
            groups.append((x, [event]))
    return [Cluster(number, x, tuple(found)) for number, (x, found) in enumerate(groups, 1)]


def event_list(facts: TimelineFacts, found: Sequence[Cluster], width: float) -> Drawing:
    """Write one line per event, after its number; then the unexpected results."""
    time = min(max((text_width(event.at, _SIZE) for event in facts.events), default=0), _TIME_MOST)
    who = min(max((text_width(event.who, _SIZE) for event in facts.events), default=0), _WHO_MOST)
    parts: list[Markup] = []
    y = 0.0
    for cluster in found:
        parts += _badge(cluster, RADIUS, y + 9)
        for event in cluster.events[:_MOST_AT_ONCE]:
            lines = list(_line(event, (time, who, width), y + 13))
            parts += [joined(line) for line in lines]
            y += _LINE * len(lines)
        if (more := len(cluster.events) - _MOST_AT_ONCE) > 0:
            parts.append(text_at(f"and {counted(more, 'thing')} more", _BADGE + time + 10, y + 13, "m"))
            y += _LINE
        y += 6
    for failure in _failures(facts.failures):
        shown = fitted(failure, width, _SIZE, bold=True)
        parts.append(text_at(shown, 0, y + 13, "b al", full=failure))
        y += _LINE
    return Drawing(joined(parts, "\n"), width, y)


def _line(event: Event, widths: tuple[float, float, float], y: float) -> Iterator[list[Markup]]:
    """Write an event in as many lines as it takes: the first has the time and the subject."""
    time, who, width = widths
    what = f"! {event.text}" if event.bad else event.text
    start = _BADGE + time + 10 + who + (12 if who else 0)
    ahead = [
        text_at(fitted(event.at, time, _SIZE), _BADGE + time, y, "m e", full=event.at),
        text_at(fitted(event.who, who, _SIZE), _BADGE + time + 10, y, full=event.who),
    ]
    for number, line in enumerate(wrapped(what, width - start, _SIZE)):
        yield [*ahead, text_at(line, start, y + number * _LINE, "al" if event.bad else "")]
        ahead = []


def _failures(failures: Sequence[str]) -> Iterator[str]:
    yield from (f"! not as expected {failure}" for failure in failures[:_MOST_FAILURES])
    if (more := len(failures) - _MOST_FAILURES) > 0:
        yield f"! and {counted(more, 'value')} more not as expected"
