"""How many more pods of one shape a node takes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from cpuctl.engine.capacity.probe import copies_of, shape_of
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Verdict
from cpuctl.engine.progress import Progress
from cpuctl.pods.model import Pod

MAX_COPIES = 500
"""Copies that are tried of one pod; a kubelet's own limit of pods nearly always comes first."""


class Copies(NamedTuple):
    """``fits`` more of each of these pods, which are alike; ``stop`` refuses the next, None at the bound."""

    pods: tuple[Pod, ...]
    fits: int
    stop: Verdict | None


def alike(pods: Iterable[Pod]) -> list[tuple[Pod, ...]]:
    """Group pods that differ in their names only, in the order of their first ones."""
    shapes: dict[object, list[Pod]] = {}
    for pod in pods:
        shapes.setdefault(shape_of(pod), []).append(pod)
    return [tuple(group) for group in shapes.values()]


def more_copies(node: Node, pods: tuple[Pod, ...], progress: Progress) -> Copies:
    """Admit copies of *pods*, which are alike, until one is not admitted; *node* stays as it is."""
    node = node.copy()
    fits = 0
    for copy in islice(copies_of(node, pods[0]), MAX_COPIES):
        progress("admitting copies", fits, 0)
        verdict = node.admit(copy).verdict
        if not isinstance(verdict, Admitted):
            return Copies(pods, fits, verdict)
        fits += 1
    return Copies(pods, fits, None)
