"""The answer of ``cpuctl advise --defragment`` as a plain document (schema: ``defragmentation``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.answering.config.starts import not_started_answer
from cpuctl.answering.plan.plan_answer import cpu_list, refusal_answer, verdict_answer
from cpuctl.answering.plan.plan_document import planning_header
from cpuctl.engine.capacity.defragment import LargestMoves, Moves, Step

if TYPE_CHECKING:
    from cpuctl.answers import defragmentation as answers
    from cpuctl.answers.start import UnstartedHeader
    from cpuctl.operations.configuration import NotStartedOutcome
    from cpuctl.operations.defragmentation import Defragmentation
    from cpuctl.operations.plan_inputs import Planning


def defragmentation_document(planning: Planning, done: Defragmentation, budget: int) -> answers.FoundMoves:
    """Describe a plan of moves, or that there is none."""
    found, moves = done.found, done.moves
    hopeless: answers.WhyNotPart = {}
    if moves is not None and moves.why_not is not None:
        hopeless = {"whyNot": refusal_answer(moves.why_not)}
    return {
        "apiVersion": API_VERSION,
        "kind": "Defragmentation",
        **planning_header(planning),
        "start": {"outcome": "Started"},
        "pod": _given(found) if isinstance(found, Moves) else None,
        "largest": _largest(found) if isinstance(found, LargestMoves) else None,
        "moves": None if moves is None or moves.steps is None else moves.evictions,
        "steps": [
            {"action": step.kind, "pod": _name(step, found), "cpus": cpu_list(step.cpus)}
            for step in (moves.steps if moves else None) or ()
        ],
        "fewest": _fewest(found),
        "immovable": [{"pod": each.pod.full_name, "why": each.why} for each in done.immovable],
        "search": {"tried": found.tried, "budget": budget, "ended": found.ended},
        **hopeless,
    }


def unstarted_document(start: NotStartedOutcome, header: UnstartedHeader) -> answers.UnstartedDefragmentation:
    """Describe a kubelet that does not start, or cannot load its configuration."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Defragmentation",
        **header,
        "start": not_started_answer(start),
    }


def _name(step: Step, found: Moves | LargestMoves) -> str:
    """Name a pod; one that nobody has asked for has no name."""
    nameless = found.moves.pod.uid if isinstance(found, LargestMoves) and found.moves else None
    return "" if step.pod.uid == nameless else step.pod.full_name


def _given(moves: Moves) -> answers.GivenPod:
    return {"name": moves.pod.full_name, "now": verdict_answer(moves.now)}


def _largest(found: LargestMoves) -> answers.LargestPod:
    return {"cpus": found.cpus, "now": found.now, "proven": found.proven}


def _fewest(found: Moves | LargestMoves) -> bool:
    if isinstance(found, LargestMoves):
        return found.proven if found.moves is None else _fewest(found.moves)
    return found.ended == "all" or (found.steps is not None and found.excluded == found.evictions - 1)
