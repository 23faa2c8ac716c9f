"""Moves of pods on one node after which another one fits: a given pod, or the largest possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.engine.capacity.capacity import most_requested
from cpuctl.engine.capacity.defragment import (
    Immovable,
    LargestMoves,
    Moves,
    fewest_moves,
    immovable_pods,
    largest_after_moves,
)
from cpuctl.engine.capacity.probe import exclusive_pod, settled
from cpuctl.engine.node import Node
from cpuctl.errors import UsageError

if TYPE_CHECKING:
    from cpuctl.engine.capacity.probe import Progress
    from cpuctl.engine.start import NotStarted
    from cpuctl.operations.plan_inputs import Planning
    from cpuctl.pods.model import StoredPod

BUDGET = 20_000
"""The default number of evictions and admissions to try."""
_OPTION = "--defragment"


class Defragmentation(NamedTuple):
    """The result: for the given pod, or for the largest request that can be made to fit.

    ``shared`` are CPUs (a mask) that this pod, or the largest that fits now, would get without moves although
    they are reserved or another pod's.
    """

    found: Moves | LargestMoves
    immovable: tuple[Immovable, ...]
    shared: int

    @property
    def moves(self) -> Moves | None:
        """The moves, if there are any, and what is known about them."""
        return self.found if isinstance(self.found, Moves) else self.found.moves


def defragment(
    planning: Planning,
    budget: int,
    progress: Progress,
    stopped: Callable[[], bool] = lambda: False,
) -> Defragmentation | NotStarted:
    """Search on the node as its kubelet left it, or return why the kubelet does not start.

    Raise UsageError if the node's pods are unknown, for several pods, and if no pod is given although no
    pod has exclusive CPUs.
    """
    if len(planning.incoming) > 1:
        hint = "use a single pod, or none"
        raise UsageError(
            f"{len(planning.incoming)} pods given, expected at most one", where=_OPTION, hint=hint
        )
    if planning.initial.files.cpu is None and not planning.initial.running:
        hint = "specify its state files (--state) and its pods (--pods)"
        raise UsageError("the pods of this node are unknown", where=_OPTION, hint=hint)
    node = planning.start(planning.kubelet, planning.sources)
    if not isinstance(node, Node):
        return node
    node = settled(node)
    immovable = tuple(immovable_pods(node))
    if planning.incoming:
        moves = fewest_moves(node, planning.incoming[0], budget, progress, stopped)
        return Defragmentation(moves, immovable, _shared(node, planning.incoming[0]))
    if node.policy is None:
        hint = "specify the pod to make room for with -f or -T"
        raise UsageError(
            "the CPU Manager's policy is none: no pod has exclusive CPUs", where=_OPTION, hint=hint
        )
    node.server = None
    largest = largest_after_moves(node, most_requested(node), budget, progress, stopped)
    shared = _shared(node, exclusive_pod(node, largest.now)) if largest.now else 0
    return Defragmentation(largest, immovable, shared)


def _shared(node: Node, pod: StoredPod) -> int:
    return node.copy().admit(pod).taken_from_others
