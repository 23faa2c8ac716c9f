"""What another release does with the same pods, and which difference between the two causes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.checkpoints.model import named_nodes
from cpuctl.cpuset import CPUSet
from cpuctl.engine.admission import Admission
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import (
    Admitted,
    Forbidden,
    KubeletFault,
    Pending,
    Rejected,
    StartRefused,
    Undetermined,
)
from cpuctl.engine.placement import Placement
from cpuctl.golang.text import GoError
from cpuctl.quantity import Format, Quantity
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.engine.start import StartResult
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.pods.model import StoredPod


_ADMITTED, _UNKNOWN = "admitted", "undetermined: "
_NO_START = "the kubelet does not start"
_UNKNOWN_START = f"{_UNKNOWN}whether the kubelet starts is unknown"


class _Fate(Enum):
    """Whether a pod is admitted, as far as that is known."""

    ADMITTED = "admitted"
    NOT_ADMITTED = "notAdmitted"
    UNKNOWN = "unknown"


class PodEffect(NamedTuple):
    """One pod whose fate differs or is not known: what happens to it on either side, in words.

    ``may_be_lost``: the old kubelet may admit it, and it is not certain that the new one does.
    """

    pod: str
    before: str
    after: str
    may_be_lost: bool


class Effects(NamedTuple):
    """Answers that differ, and the differences and gates that each change such an answer alone.

    ``shown_by_start`` change whether, or with which error, the kubelet starts with the node's state files;
    ``shown_by_pods`` change what happens to a pod. ``pods`` is None if there are no pods; ``refused`` are
    those that neither kubelet admits, for the same reason, even if the amounts in its messages differ.
    """

    pods: tuple[PodEffect, ...] | None
    refused: tuple[PodEffect, ...]
    shown_by_pods: frozenset[str]
    shown_by_start: frozenset[str]

    @property
    def keeps_pods(self) -> bool:
        """Whether the new kubelet certainly admits all pods that the old one may admit."""
        return not any(each.may_be_lost for each in (*(self.pods or ()), *self.refused))


NO_EFFECTS = Effects((), (), frozenset(), frozenset())
"""The effects on pods if neither kubelet starts."""

Start = Callable[["Kubelet"], "StartResult"]
"""Starts a kubelet on the machine and lets it go on from the existing state."""


class _Outcome(NamedTuple):
    """What happens to a pod, in words, and the part of it that is compared.

    Messages contain amounts that other pods change. ``is_exclusive``: it has exclusive CPUs.
    """

    text: str
    compared: str
    fate: _Fate
    is_exclusive: bool = False

    def beside(self, other: _Outcome) -> str:
        """Return the text; name the shared CPUs of a pod that has exclusive ones on the other side."""
        if self.is_exclusive or not other.is_exclusive or self.fate is not _Fate.ADMITTED:
            return self.text
        return f"{_ADMITTED}, on the shared CPUs{self.text.removeprefix(_ADMITTED)}"

    def may_be_lost(self, after: _Outcome) -> bool:
        """Return whether the pod may be admitted now, but not certainly *after* a change."""
        return self.fate is not _Fate.NOT_ADMITTED and after.fate is not _Fate.ADMITTED


_NOT_STARTED = _Outcome(_NO_START, _NO_START, _Fate.NOT_ADMITTED)
_MAY_NOT_START = _Outcome(_UNKNOWN_START, _UNKNOWN_START, _Fate.UNKNOWN)


class _Outcomes(NamedTuple):
    start: str
    pods: tuple[_Outcome, ...]


class ReleaseSide(NamedTuple):
    """One of two kubelets, the pods as the API server of its release stores them, and how it starts.

    The first *running* pods run when it restarts.
    """

    kubelet: Kubelet
    pods: Sequence[StoredPod]
    start: Start
    running: int = 0

    def outcomes(self, kubelet: Kubelet | None = None) -> _Outcomes:
        """Start the kubelet, or another one in its place, and let it decide on the pods."""
        node = self.start(kubelet or self.kubelet)
        if not isinstance(node, Node):
            stated = node.error if isinstance(node, StartRefused) else node.why
            instead = _MAY_NOT_START if isinstance(node, Undetermined) else _NOT_STARTED
            return _Outcomes(stated, (instead,) * len(self.pods))
        again = map(_outcome, node.readmit(self.pods[: self.running])) if self.running else ()
        return _Outcomes("", (*again, *(_outcome(node.admit(pod)) for pod in self.pods[self.running :])))


def effects_of(
    sides: tuple[ReleaseSide, ReleaseSide], names: Iterable[str], gates: Mapping[str, tuple[bool, bool]] = {}
) -> Effects:
    """Let both kubelets start and admit the same pods, and again with each difference in *names* reversed.

    *gates* are reversed, too: feature gates, each with whether it is on for either kubelet. A kubelet that
    does not start has no pods to compare.
    """
    outcomes = tuple(side.outcomes() for side in sides)
    pods = sides[0].pods
    pairs = list(zip(outcomes[0].pods, outcomes[1].pods, strict=True))
    effects = [_effect(pod, *pair) for pod, pair in zip(pods, pairs, strict=True)]
    # What a difference changes for other pods is undone by another one, such as the default of a gate.
    places = [place for place, pair in enumerate(pairs) if _differs(*pair)]
    changed = tuple(effects[place] for place in places)
    refused = tuple(
        effect
        for effect, pair in zip(effects, pairs, strict=True)
        if not _differs(*pair) and pair[0].fate is not _Fate.ADMITTED
    )
    by_start, by_pods = set(), set()
    starts_differ = outcomes[0].start != outcomes[1].start
    for name, kubelets in _reversed(sides, names, gates) if starts_differ or places else ():
        for side, known, kubelet in zip(sides, outcomes, kubelets, strict=True):
            other = side.outcomes(kubelet)
            if other.start != known.start:
                if starts_differ:
                    by_start.add(name)
            elif any(other.pods[place].compared != known.pods[place].compared for place in places):
                by_pods.add(name)
    return Effects(changed if pods else None, refused, frozenset(by_pods), frozenset(by_start))


def _effect(pod: StoredPod, was: _Outcome, becomes: _Outcome) -> PodEffect:
    return PodEffect(pod.full_name, was.beside(becomes), becomes.beside(was), was.may_be_lost(becomes))


def _reversed(
    sides: tuple[ReleaseSide, ReleaseSide], names: Iterable[str], gates: Mapping[str, tuple[bool, bool]]
) -> Iterator[tuple[str, list[Kubelet]]]:
    """Yield both kubelets with one difference, or one feature gate, as the other kubelet has it."""
    for name in names:
        yield name, [replace(side.kubelet, turned=frozenset({name})) for side in sides]
    for gate, states in gates.items():
        others = zip(sides, reversed(states), strict=True)
        yield gate, [_switched(side.kubelet, gate, on=on) for side, on in others]


def _switched(kubelet: Kubelet, gate: str, *, on: bool) -> Kubelet:
    """Return a kubelet with a feature gate on or off, or unchanged if it rejects that."""
    switched = replace(kubelet, gate_flags={**kubelet.gate_flags, gate: on})
    try:
        switched.gates.with_overrides({})
    except GoError:
        return kubelet
    return switched


def effects_of_one(side: ReleaseSide, *, is_newer: bool) -> Effects:
    """Let one kubelet start and admit the pods; the other does not start, whatever the state files are.

    *is_newer*: it is the one to change to.
    """
    outcomes = zip(side.pods, side.outcomes().pods, strict=True)
    pods = tuple(
        _effect(pod, *((_NOT_STARTED, what) if is_newer else (what, _NOT_STARTED)))
        for pod, what in outcomes
        if what.text != _NO_START
    )
    return Effects(pods if side.pods else None, (), frozenset(), frozenset())


def _differs(before: _Outcome, after: _Outcome) -> bool:
    return before.compared != after.compared or before.fate is _Fate.UNKNOWN


def _outcome(admission: Admission) -> _Outcome:
    text, verdict = _text(admission), admission.verdict
    if isinstance(verdict, Admitted):
        is_exclusive = any(each.exclusive for each in admission.placements)
        return _Outcome(text, text, _Fate.ADMITTED, is_exclusive)
    fate = _Fate.UNKNOWN if isinstance(verdict, Undetermined) else _Fate.NOT_ADMITTED
    return _Outcome(text, verdict.reason if isinstance(verdict, Rejected) else text, fate)


def _text(admission: Admission) -> str:
    match admission.verdict:
        case Admitted():
            claims = ", ".join(each.name for each in admission.pod.resource_claims)
            with_claims = f"with resource claims {claims}" if claims else ""
            placed = "; ".join(filter(None, (*map(_placement, admission.placements), with_claims)))
            return f"{_ADMITTED}: {placed}" if placed else _ADMITTED
        case Rejected(reason=reason, message=message):
            return f"rejected: {reason}: {message}"
        case Forbidden(refusals=refusals):
            return f"rejected by the API server: {refusals[0]}"
        case Pending(message=message):
            return f"stays pending: {message}"
        case KubeletFault(where=where, why=why):
            return f"the kubelet fails in {where}: {why}"
        case Undetermined(why=why):
            return f"{_UNKNOWN}{why}"


def _placement(placement: Placement) -> str:
    parts = [f"CPUs {CPUSet(placement.cpus)}"] if placement.exclusive else []
    for block in placement.memory:
        size = Quantity.from_value(block.size, Format.BINARY_SI)
        parts.append(f"{size} of {block.type} on {named_nodes(block.numa_affinity)}")
    return f"{placement.container.name} {', '.join(parts)}" if parts else ""
