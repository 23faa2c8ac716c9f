"""Why the hints of a round did not come to a preferred one.

Rules: kubelet v1.36 ``topologymanager/policy*.go`` (how hints are merged, and what a policy admits); how each
provider makes them is in ``cpus`` and ``memory``.
"""

from __future__ import annotations

from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.explain.decision import Blocked, Decision, Rule, counted, nodes_text
from cpuctl.engine.explain.offers import SINGLE, Offer, Round, Standing
from cpuctl.engine.explain.rules.cpus import blocked_by_cpus
from cpuctl.engine.explain.rules.memory import blocked_by_memory
from cpuctl.engine.hints.hints import HintRule
from cpuctl.engine.hints.topology_manager import Merged
from cpuctl.engine.memory.hints import MemoryHints
from cpuctl.engine.node import Node
from cpuctl.pods.model import Pod


def hint_decision(told: Round, seen: Node, pod: Pod) -> Decision | None:
    """Name the rule that kept a round from a preferred hint, None where there is one.

    *seen* is the node as the managers saw it.
    """
    if not isinstance(told.merged, Merged) or told.merged.hint.preferred:
        return None
    for standing in (Standing.IMPOSSIBLE, Standing.UNUSABLE):
        for offer in told.offers:
            if offer.standing is standing:
                rule, why = _blocked(offer, told, seen, pod)
                return Decision(rule=rule, why=why, container=told.name, provider=offer.provider)
    return Decision(rule=Rule.MASK_INEQUALITY, why=_disagreement(told), container=told.name)


def _blocked(offer: Offer, told: Round, seen: Node, pod: Pod) -> Blocked:
    policy = seen.topology_manager.policy
    match offer.rule:
        case None:
            return _blocked_list(offer, pod, seen)
        case CPUHints() as hints:
            return blocked_by_cpus(hints, policy)
        case MemoryHints() as hints:
            return blocked_by_memory(hints, told.container, pod, seen)
        case hints:
            return _blocked_rule(offer, hints, policy)


def _blocked_list(offer: Offer, pod: Pod, seen: Node) -> Blocked:
    if seen.cpu.rules.divides(pod) and pod.uid not in seen.cpu.state.assignments:
        return Rule.EMPTY_POOL, (
            f"the containers with {offer.resource} of their own leave nothing of the pod's for the others"
        )
    if offer.provider == "cpu":
        return Rule.OTHER_ASSIGNMENT, (
            "it holds another number of exclusive CPUs already than it asks for now: no hint can be right"
        )
    return Rule.OTHER_ASSIGNMENT, f"what it holds of {offer.resource} already is on NUMA nodes that do not do"


def _blocked_rule(offer: Offer, hints: HintRule, policy: str) -> Blocked:
    if offer.standing is Standing.IMPOSSIBLE:
        return Rule.NOT_ENOUGH, f"it asks for more of {offer.resource} than is free on the whole node"
    if policy == SINGLE and hints.width > 1:
        return Rule.LARGER_THAN_A_NODE, (
            f"{SINGLE} takes only hints of one NUMA node, and no node has as much of {offer.resource}"
        )
    if policy == SINGLE:
        return Rule.NO_SINGLE_NODE, (
            f"{SINGLE} takes only hints of one NUMA node, and no node has enough of {offer.resource} free"
        )
    return Rule.WIDTH_FROM_CAPACITY, (
        f"{counted(hints.width, 'NUMA node')} would have enough of {offer.resource} if all were free, so "
        f"only sets of that size are preferred; what is free now takes {hints.narrowest}"
    )


def _disagreement(told: Round) -> str:
    wants = "; ".join(f"{offer.resource} {_sets(offer.usable)}" for offer in told.offers if offer.usable)
    return f"every provider has hints that the policy takes, but no set of NUMA nodes is in all: {wants}"


def _sets(usable: frozenset[int]) -> str:
    return " or ".join(map(nodes_text, sorted(sorted(usable), key=int.bit_count)))
