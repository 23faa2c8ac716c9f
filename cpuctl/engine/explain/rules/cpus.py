"""Why the CPU Manager's hints hold nothing that a policy takes.

Rule: kubelet v1.36 ``pkg/kubelet/cm/cpumanager/policy_static.go``, hint generation.
"""

from __future__ import annotations

from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.explain.decision import Blocked, Rule, counted, nodes_text
from cpuctl.engine.explain.offers import SINGLE


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
    verdict = "refuses what is not preferred" if policy == "restricted" else "takes it all the same"
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
