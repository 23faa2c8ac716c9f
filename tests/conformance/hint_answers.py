"""Hints and what they come to, written as the recordings do."""

from __future__ import annotations

from collections.abc import Iterable

from cpuctl.cpuset import CPUSet
from cpuctl.engine.admission import Asked
from cpuctl.engine.hint_merge import HintList
from cpuctl.engine.hints import Hint
from tests.conformance.corpus import Json


def provider_calls(asked: Iterable[Asked]) -> list[Json]:
    """List the calls in the kubelet's order: the CPU Manager, then the Memory Manager, round by round."""
    return [
        {"provider": provider, "container": _name(each), "hints": answer}
        for each in asked
        for provider, answer in (("cpu", _answer(each)), ("memory", None))
    ]


def merged(asked: Asked) -> Json:
    """Write the result of one round."""
    hint = asked.merged.hint
    return {"container": _name(asked), "admit": asked.merged.admit, **_hint(hint)}


def hint_list(hints: HintList) -> list[Json]:
    """Write hints in their order."""
    return [_hint(hint) for hint in hints]


def _name(asked: Asked) -> str | None:
    return asked.container.name if asked.container else None


def _answer(asked: Asked) -> Json | None:
    if asked.cpu is None:
        return None
    return {name: hint_list(hints) for name, hints in asked.cpu.items()}


def _hint(hint: Hint) -> Json:
    nodes = None if hint.nodes is None else list(CPUSet(hint.nodes))
    return {"numa": nodes, "preferred": hint.preferred}
