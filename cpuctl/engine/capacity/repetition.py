"""Repeated admission of the same pods: how many copies of a whole set fit on a node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count, islice
from typing import NamedTuple

from cpuctl.engine.admission import Admission
from cpuctl.engine.capacity.probe import Progress, known_uids, no_progress
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted
from cpuctl.pods.identity import copied
from cpuctl.pods.model import StoredPod
from cpuctl.records import replace

MAX_PODS = 2000
"""Limit on the pods planned by repetition: several times what any kubelet is built for."""

_WHAT = "admitting copies"


class Repetition(NamedTuple):
    """Rounds of the same pods on ``node``, which is in the state after them.

    All pods of the first ``fitted`` rounds are admitted and start. ``stop`` is the first decision of the next
    round for which that is not so. If it is None, all requested rounds fit or, with ``bounded``, all that
    ``MAX_PODS`` allows.
    """

    node: Node
    admissions: tuple[Admission, ...]
    rounds: int
    fitted: int
    stop: Admission | None
    bounded: bool = False


def repeat(
    node: Node, pods: Sequence[StoredPod], rounds: int, progress: Progress = no_progress
) -> Repetition:
    """Admit *pods* for the requested number of rounds, regardless of the results."""
    admissions: list[Admission] = []
    fitted, stop = 0, None
    for number, copies in enumerate(islice(_copies(node, pods), rounds)):
        progress(_WHAT, number, rounds)
        done = [node.admit(pod) for pod in copies]
        admissions += done
        stop = stop or _first_refused(node, done)
        fitted += stop is None
    return Repetition(node=node, admissions=tuple(admissions), rounds=rounds, fitted=fitted, stop=stop)


def repeat_while_they_fit(
    node: Node, pods: Sequence[StoredPod], progress: Progress = no_progress
) -> Repetition:
    """Admit *pods* until a round does not fit, and undo that round unless it is the first."""
    allowed = max(MAX_PODS // len(pods), 1)
    admissions: list[Admission] = []
    fitted, stop = 0, None
    for copies in islice(_copies(node, pods), allowed):
        progress(_WHAT, fitted, 0)
        trial = node.copy() if fitted else node
        done = [trial.admit(pod) for pod in copies]
        stop = _first_refused(trial, done)
        if stop is None or not fitted:
            node = trial
            admissions += done
        if stop is not None:
            break
        fitted += 1
    return Repetition(
        node=node,
        admissions=tuple(admissions),
        rounds=max(fitted, 1),
        fitted=fitted,
        stop=stop,
        bounded=stop is None,
    )


def _copies(node: Node, pods: Sequence[StoredPod]) -> Iterator[tuple[StoredPod, ...]]:
    """Yield *pods* as they are, then an endless series of copies, each with its own UIDs."""
    taken = {*known_uids(node), *(pod.uid for pod in pods)}
    yield tuple(pods)
    # No two copies have the same name, so their UIDs, which are built from the names, differ.
    for number in count(2):
        yield copied(pods, number, taken)


def _first_refused(node: Node, admissions: Iterable[Admission]) -> Admission | None:
    """Find the first pod that does not run on *node*; its verdict gives the reason."""
    outcomes = ((each, node.came_of(each)) for each in admissions)
    refused = (
        replace(each, verdict=verdict) for each, verdict in outcomes if not isinstance(verdict, Admitted)
    )
    return next(refused, None)
