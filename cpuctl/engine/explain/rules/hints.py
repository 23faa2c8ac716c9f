"""Why the hints of a round did not come to a preferred one.

Rules: kubelet v1.36 ``topologymanager/policy*.go`` (how hints are merged, and what a policy admits); how each
provider makes them is in ``cpumanager/policy_static.go``, for CPUs, and in ``memory``.
"""

from __future__ import annotations

from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.explain.decision import Blocked, Decision, Rule, counted, nodes_text
from cpuctl.engine.explain.offers import SINGLE, Offer, Round, Standing
from cpuctl.engine.explain.rules.memory import blocked_by_memory
from cpuctl.engine.hints.hints import HintRule
from cpuctl.engine.hints.topology_manager import Merged
from cpuctl.engine.memory.hints import MemoryHints
from cpuctl.engine.node import Node
from cpuctl.pods.model import StoredPod


def hint_decision(round_: Round, node: Node, pod: StoredPod) -> Decision | None:
    """Name the rule that kept a round from a preferred hint, None where there is one.

    *node* is the node as the managers saw it.
    """
    if not isinstance(round_.merged, Merged) or round_.merged.hint.preferred:
        return None
    for standing in (Standing.IMPOSSIBLE, Standing.UNUSABLE):
        for offer in round_.offers:
            if offer.standing is standing:
                rule, why = _blocked(offer, round_, node, pod)
                return Decision(rule=rule, why=why, container=round_.name, provider=offer.provider)
    return Decision(rule=Rule.MASK_INEQUALITY, why=_disagreement(round_), container=round_.name)


def _blocked(offer: Offer, round_: Round, node: Node, pod: StoredPod) -> Blocked:
    policy = node.topology_manager.policy
    match offer.rule:
        case None:
            return _blocked_list(offer, pod, node)
        case CPUHints() as hints:
            return blocked_by_cpus(hints, policy)
        case MemoryHints() as hints:
            return blocked_by_memory(hints, round_.container, pod, node)
        case hints:
            return _blocked_rule(offer, hints, policy)


def _blocked_list(offer: Offer, pod: StoredPod, node: Node) -> Blocked:
    if node.cpu.rules.divides(pod) and pod.uid not in node.cpu.state.assignments:
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


def _disagreement(round_: Round) -> str:
    wants = "; ".join(f"{offer.resource} {_sets(offer.usable)}" for offer in round_.offers if offer.usable)
    return f"every provider has hints that the policy takes, but no set of NUMA nodes is in all: {wants}"


def _sets(usable: frozenset[int]) -> str:
    return " or ".join(map(nodes_text, sorted(sorted(usable), key=int.bit_count)))


def blocked_by_cpus(hints: CPUHints, policy: str) -> Blocked:
    """Name the rule: hints are impossible, or none of them is one that the policy takes."""
    if not hints.narrowest:
        return Rule.NOT_ENOUGH, not_enough_cpus(hints.request, sum(hints.free.values()))
    return _no_single_node(hints) if policy == SINGLE else _too_wide(hints, policy)


def not_enough_cpus(request: int, free: int) -> str:
    """Say that a node lacks CPUs altogether."""
    return f"it asks for {counted(request, 'exclusive CPU')}, and {free} of the whole node are free for that"


def _no_single_node(hints: CPUHints) -> Blocked:
    asked = counted(hints.request, "CPU")
    if hints.width > 1:
        return Rule.LARGER_THAN_A_NODE, (
            f"{SINGLE} takes only hints of one NUMA node, and {asked} take {hints.width} "
            "even when all of them are free"
        )
    if max(hints.free.values()) + hints.reusable >= hints.request:
        return _bound(hints)
    most = max(hints.free, key=lambda node: hints.free[node])
    return Rule.NO_SINGLE_NODE, (
        f"{SINGLE} takes only hints of one NUMA node; {sum(hints.free.values())} CPUs are free, but no node "
        f"has {asked} of them: the most are {hints.free[most]} on NUMA node {most}"
    )


def _too_wide(hints: CPUHints, policy: str) -> Blocked:
    largest = sorted(hints.free.values(), reverse=True)[: hints.width]
    if hints.reusable + sum(largest) >= hints.request:
        return _bound(hints)
    wide = "sets of that size" + (", or of as few whole sockets," if hints.socket_rule else "")
    verdict = "rejects what is not preferred" if policy == "restricted" else "takes it all the same"
    return Rule.WIDTH_FROM_CAPACITY, (
        f"{counted(hints.request, 'CPU')} fit into {counted(hints.width, 'NUMA node')} when all is free, so "
        f"only {wide} are preferred; what is free now takes {hints.narrowest}, and {policy} {verdict}"
    )


def _bound(hints: CPUHints) -> Blocked:
    return Rule.REUSE_BINDS, (
        f"{counted(hints.reusable, 'CPU')} that its other containers hold lie in "
        f"{nodes_text(hints.required)}: every hint must hold these nodes, and with them no preferred one has "
        f"{hints.request} CPUs"
    )
