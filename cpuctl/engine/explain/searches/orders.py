"""Where in the order of pods this one would have been admitted."""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.engine.explain.searches.changes import Earlier
from cpuctl.engine.explain.story import REMEMBERED, Runs, Telling


def earlier_places(telling: Telling, runs: Runs) -> Iterator[Earlier]:
    """Yield the places at which the pod might be admitted, the one that overtakes the fewest pods first.

    After a restart there is nothing to choose: a kubelet takes the oldest pod first.
    """
    story = telling.story
    if story.restarted:
        return
    if len(telling.befores) <= story.asked:
        runs.left_out = f"places more than {REMEMBERED - 1} pods earlier"
    for back, node in enumerate(reversed(telling.befores[:-1]), 1):
        if not runs.allow():
            return
        if story.is_met_by(runs.admit(node.copy(), story.pod)):
            place = story.asked - back
            yield Earlier(place, story.pods[place : story.asked])
