"""Hints and what they come to, written as the recordings do."""

from __future__ import annotations

from collections.abc import Iterable

from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.hints import Hint, HintList
from cpuctl.engine.hints.topology_manager import Answer, HintRound
from cpuctl.engine.outcome import KubeletFault, Undetermined
from tests.conformance.corpus import Json


def provider_calls(asked: Iterable[HintRound]) -> list[Json]:
    """List the calls in the kubelet's order: the CPU Manager, then the Memory Manager, round by round."""
    return [
        {"provider": provider, "container": _name(each), "hints": _written(answer)}
        for each in asked
        for provider, answer in each.answers.items()
    ]


def merged(asked: HintRound) -> Json:
    """Write the result of one round."""
    if isinstance(asked.merged, KubeletFault):
        return {"container": _name(asked), "panic": asked.merged.why}
    if isinstance(asked.merged, Undetermined):
        return {"container": _name(asked), **undetermined(asked.merged)}
    return {"container": _name(asked), "admit": asked.merged.admit, **written(asked.merged.hint)}


def undetermined(result: Undetermined) -> Json:
    """Write that no answer is known."""
    return {"undetermined": result.why, "variants": list(result.variants)}


def hint_list(hints: HintList) -> list[Json]:
    """Write hints in their order."""
    return [written(hint) for hint in hints]


def _name(asked: HintRound) -> str | None:
    return asked.container.name if asked.container else None


def _written(answer: Answer) -> Json | None:
    if answer is None:
        return None
    return {name: hint_list(hints or []) for name, hints in answer.items()}


def written(hint: Hint) -> Json:
    """Write one hint."""
    nodes = None if hint.nodes is None else list(CPUSet(hint.nodes))
    return {"numa": nodes, "preferred": hint.preferred}
