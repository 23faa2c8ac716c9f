"""Why a kubelet decided about a pod as it did: everything an answer needs, read from one told story."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.engine.explain.decision import Decision, Rule
from cpuctl.engine.explain.known_defects import KnownDefect, known_defects
from cpuctl.engine.explain.offers import Round, round_of
from cpuctl.engine.explain.shares import Holder, NodeShare, holders, node_shares
from cpuctl.engine.explain.story import Telling
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Forbidden, KubeletFault, Rejected, Undetermined
from cpuctl.pods.model import StoredPod

if TYPE_CHECKING:
    from cpuctl.engine.explain.searches.searches import Search

_NOTHING_HELPS = (Rule.INPUT_LACKS, Rule.FAILED_BEFORE, Rule.API_SERVER)


class Explanation(NamedTuple):
    """One decision explained.

    Shares and holders are those of the node as ``seen`` by the kubelet when it decided, before it gave
    anything to a pod that it admitted. ``unaligned`` names the rules that kept an admitted pod from a
    preferred hint.
    """

    telling: Telling
    decision: Decision
    unaligned: tuple[Decision, ...]
    rounds: tuple[Round, ...]
    seen: Node
    shares: tuple[NodeShare, ...]
    holders: tuple[Holder, ...]
    defects: tuple[KnownDefect, ...]
    searches: tuple[Search, ...]


def explain(telling: Telling, tick: Callable[[], None] = lambda: None) -> Explanation:
    """Explain a told story; for a pod that was not admitted or aligned look for what would change that.

    *tick* is told of every run of the engine.
    """
    pod = telling.story.pod
    rounds = tuple(round_of(asked, pod, telling.before) for asked in telling.admission.asked)
    decision, seen = deciding_rule(telling, rounds), _as_decided(telling)
    admitted = isinstance(telling.admission.verdict, Admitted)
    unaligned = _unaligned(rounds, seen, pod) if admitted else ()
    if unaligned:
        telling = telling._replace(story=telling.story._replace(aligned=True))
    return Explanation(
        telling=telling,
        decision=decision,
        unaligned=unaligned,
        rounds=rounds,
        seen=seen,
        shares=node_shares(seen, pod),
        holders=tuple(holders(seen, pod)),
        defects=(*known_defects(telling, decision, rounds), *_departures(telling), *_releases(telling)),
        searches=() if admitted and not unaligned else _searches(telling, decision, tick),
    )


def _departures(telling: Telling) -> Iterator[KnownDefect]:
    if telling.story.pod.resources is None:
        return iter(())

    from cpuctl.engine.explain.kep_departures import kep_departures

    return kep_departures(telling)


def _releases(telling: Telling) -> Iterator[KnownDefect]:
    from cpuctl.engine.explain.releases import release_notes

    return release_notes(telling)


def _unaligned(rounds: Sequence[Round], seen: Node, pod: StoredPod) -> tuple[Decision, ...]:
    if not rounds:
        return ()

    from cpuctl.engine.explain.rules.hints import hint_decision

    return tuple(filter(None, (hint_decision(each, seen, pod) for each in rounds)))


def _searches(telling: Telling, decision: Decision, tick: Callable[[], None]) -> tuple[Search, ...]:
    if decision.rule in _NOTHING_HELPS:
        return ()

    from cpuctl.engine.explain.searches.searches import search

    return search(telling, decision, tick)


def _as_decided(telling: Telling) -> Node:
    """Return the node that the decision rests on: cleaned up, and with what a refused pod had got by then."""
    if not isinstance(telling.admission.verdict, Admitted):
        return telling.after
    node = telling.before.copy()
    node.clean_up()
    return node


def deciding_rule(telling: Telling, rounds: Sequence[Round]) -> Decision:
    """Name the rule that decided; *rounds* are those of the Topology Manager."""
    match telling.admission.verdict:
        case Admitted():
            return Decision(rule=Rule.ADMITTED, why="every check of the kubelet passes")
        case KubeletFault() as fault if telling.before.fault:
            return Decision(rule=Rule.FAILED_BEFORE, why=_failed_before(telling, fault))
        case KubeletFault() as fault:
            return Decision(rule=Rule.KUBELET_FAULT, why=f"{fault.kind} in {fault.where}: {fault.why}")
        case Forbidden(refusals=refusals):
            why = f"the API server never stores this pod, and no kubelet hears of it: {'; '.join(refusals)}"
            return Decision(rule=Rule.API_SERVER, why=why)
        case Undetermined(text=why):
            return Decision(rule=Rule.INPUT_LACKS, why=why)
        case Rejected() as refused:
            from cpuctl.engine.explain.rules.refusals import refusal

            return refusal(telling, refused, rounds)


def _failed_before(telling: Telling, fault: KubeletFault) -> str:
    failing = (each.pod for each in telling.admissions if isinstance(each.verdict, KubeletFault))
    return f"the kubelet has failed at {next(failing).full_name} ({fault.kind} in {fault.where})"
