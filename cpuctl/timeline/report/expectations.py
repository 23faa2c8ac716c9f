"""Does a replay come to what its timeline expects? What does not is told as a difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cpuctl.documents.document import Origin
from cpuctl.documents.places import path_text
from cpuctl.timeline.model import Moment, Wanted
from cpuctl.timeline.report.views import VIEWS
from cpuctl.timeline.world.world import World


class Failure(NamedTuple):
    """One value that is not as expected: where the expectation stands, of what, and both values.

    ``at`` is the time in nanoseconds.
    """

    at: int
    where: Origin | str | None
    what: str
    expected: Wanted
    found: object

    @property
    def place(self) -> str:
        """Name file, line and path of the expectation; finding the line reads the file once more."""
        if isinstance(self.where, Origin):
            return self.where.document.where(self.where.path)
        return self.where or ""


def check(world: World, moment: Moment) -> list[Failure]:
    """Compare what is expected now with what can be seen."""
    return [
        Failure(moment.at, moment.where, path_text(path), expected, found)
        for section, expected in moment.expect.items()
        for path, expected, found in _differences((section,), expected, VIEWS[section](world))
    ]


def _differences(
    path: tuple[str, ...], wanted: Wanted, seen: object
) -> Iterator[tuple[tuple[str, ...], Wanted, object]]:
    """Yield every value that is expected and not there; what is not mentioned may be anything."""
    if isinstance(wanted, Mapping) and isinstance(seen, Mapping):
        for key, member in wanted.items():
            yield from _differences((*path, key), member, seen.get(key))
    elif wanted != seen:
        yield path, wanted, seen
