"""What becomes of a resize."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from cpuctl.engine.hints.topology_manager import Asked
from cpuctl.engine.outcome import Admitted
from cpuctl.engine.placement import Placement
from cpuctl.engine.provider import Refusal


class Departure(StrEnum):
    """What the KEP wants instead of the reference implementation's answer."""

    FORBIDDEN = "a size below the baseline, or a move between shared and exclusive CPUs, is refused as such"
    ENDED = "an init container that has ended is left alone"
    POSSIBLE = "a resize within baseline, present and free CPUs is done"
    NOTHING_KEPT = "a refusal changes nothing"
    FINAL = "a refusal by the resource managers is final, not tried again"


class Resized(NamedTuple):
    """The verdict on a resize, the rounds of hints it rests on, and what each container came to until then.

    ``departures`` say where the KEP's text and its reference implementation differ on it.
    """

    verdict: Admitted | Refusal
    asked: tuple[Asked, ...] = ()
    placements: tuple[Placement, ...] = ()
    departures: tuple[Departure, ...] = ()
