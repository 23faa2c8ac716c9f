"""Hints and the results of merging them, written as in the recordings."""

from __future__ import annotations

from collections.abc import Iterable

from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.hints import Hint, HintList
from cpuctl.engine.hints.topology_manager import Answer, HintRound
from cpuctl.engine.outcome import KubeletFault, Undetermined
from tests.conformance.corpus import Json


def provider_calls(requested: Iterable[HintRound]) -> list[Json]:
    """List the calls in the kubelet's order: the CPU Manager, then the Memory Manager, round by round."""
    return [
        {"provider": provider, "container": _name(each), "hints": _written(answer)}
        for each in requested
        for provider, answer in each.answers.items()
    ]


def merged(requested: HintRound) -> Json:
    """Write the result of one round."""
    if isinstance(requested.merged, KubeletFault):
        return {"container": _name(requested), "panic": requested.merged.why}
    if isinstance(requested.merged, Undetermined):
        return {"container": _name(requested), **undetermined(requested.merged)}
    return {"container": _name(requested), "admit": requested.merged.admit, **written(requested.merged.hint)}


def undetermined(result: Undetermined) -> Json:
    """Write that no answer is known."""
    return {"undetermined": result.why, "variants": list(result.variants)}


def hint_list(hints: HintList) -> list[Json]:
    """Write hints in their order."""
    return [written(hint) for hint in hints]


def _name(requested: HintRound) -> str | None:
    return requested.container.name if requested.container else None


def _written(answer: Answer) -> Json | None:
    if answer is None:
        return None
    return {name: hint_list(hints or []) for name, hints in answer.items()}


def written(hint: Hint) -> Json:
    """Write one hint."""
    nodes = None if hint.nodes is None else list(CPUSet(hint.nodes))
    return {"numa": nodes, "preferred": hint.preferred}
