"""What happens in a replay: numbers above its chart, and a list that says what each stands for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cpuctl.exports.markup import Markup, element, joined, leaf, text
from cpuctl.exports.sheet import Drawing, words
from cpuctl.exports.text_width import fitted, text_width, wrapped
from cpuctl.exports.timeline.facts import Event, TimelineFacts
from cpuctl.exports.wording import counted

RADIUS = 9.0
"""That of the circle around a number, in the picture's unit."""
_APART = 2 * RADIUS + 3
_LINE, _BADGE, _SIZE = 17.0, 26.0, 12.0
_TIME_MOST, _WHO_MOST = 90.0, 200.0
_MOST_AT_ONCE, _MOST_FAILURES = 12, 20


class Cluster(NamedTuple):
    """What happens so close together that one number stands for it; ``x`` is where, from the plot's edge."""

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
        """Whether something among it is what nobody wants."""
        return any(event.bad for event in self.events)


def _badge(cluster: Cluster, x: float, y: float) -> Iterator[Markup]:
    yield leaf("circle", {"class": "bd", "cx": x, "cy": y, "r": RADIUS})
    yield words(str(cluster.number), x, y + 4, "b s c al" if cluster.bad else "b s c")


def clusters(events: Sequence[Event], end: int, width: float) -> list[Cluster]:
    """Put events together whose numbers would cover each other; those behind the *end* stand at it.

    *end* is in nanoseconds, *width* how much of the picture that is.
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
    """Write what happens, one line a thing, behind its number; then what was not as expected."""
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
            parts.append(words(f"and {counted(more, 'thing')} more", _BADGE + time + 10, y + 13, "m"))
            y += _LINE
        y += 6
    for failure in _failures(facts.failures):
        shown = fitted(failure, width, _SIZE, bold=True)
        parts.append(words(shown, 0, y + 13, "b al", full=failure))
        y += _LINE
    return Drawing(joined(parts, "\n"), width, y)


def _line(event: Event, widths: tuple[float, float, float], y: float) -> Iterator[list[Markup]]:
    """Write a thing in as many lines as it takes: when and who stand in the first."""
    time, who, width = widths
    what = f"! {event.text}" if event.bad else event.text
    start = _BADGE + time + 10 + who + (12 if who else 0)
    ahead = [
        words(fitted(event.at, time, _SIZE), _BADGE + time, y, "m e", full=event.at),
        words(fitted(event.who, who, _SIZE), _BADGE + time + 10, y, full=event.who),
    ]
    for number, line in enumerate(wrapped(what, width - start, _SIZE)):
        yield [*ahead, words(line, start, y + number * _LINE, "al" if event.bad else "")]
        ahead = []


def _failures(failures: Sequence[str]) -> Iterator[str]:
    yield from (f"! not as expected {failure}" for failure in failures[:_MOST_FAILURES])
    if (more := len(failures) - _MOST_FAILURES) > 0:
        yield f"! and {counted(more, 'value')} more not as expected"
