"""Which rule of the kubelet refused a pod, read from the trace of its admission.

Rules: kubelet v1.36 ``topologymanager/policy*.go`` (how hints are merged, and what a policy admits); how each
provider makes them is in ``cpumanager/policy_static.go`` and ``memorymanager/policy_static.go``: a NUMA node
whose memory is in use can only be used alone or in its group.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from cpuctl.checkpoints.model import named_nodes
from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.explain.decision import Blocked, Decision, Rule, nodes_text
from cpuctl.engine.explain.memory_rules import HintNodes, blocked_allocation, blocked_by_memory
from cpuctl.engine.explain.offers import SINGLE, Offer, OfferStatus, Round, memory_requested, whole_cpus
from cpuctl.engine.explain.scenario import Replay
from cpuctl.engine.hints.hints import HintRule
from cpuctl.engine.hints.topology_manager import Merged
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.memory.hints import MemoryHints
from cpuctl.engine.memory.manager import AllocationFailure
from cpuctl.engine.memory.state import MemoryManagerState
from cpuctl.engine.memory.tables import is_memory
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Rejected, RejectionReason
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.phrases import all_of, byte_text, counted, named
from cpuctl.pods.model import StoredPod
from cpuctl.quantity import Format, Quantity


def hint_decision(round_: Round, node: Node, pod: StoredPod) -> Decision | None:
    """Return the rule that kept a round from a preferred hint, None if it has one.

    *node* is the node as the managers saw it.
    """
    if not isinstance(round_.merged, Merged) or round_.merged.hint.preferred:
        return None
    for status in (OfferStatus.IMPOSSIBLE, OfferStatus.UNUSABLE):
        for offer in round_.offers:
            if offer.status is status:
                rule, why = _blocked(offer, round_, node, pod)
                return Decision(rule=rule, why=why, container=round_.name, provider=offer.provider)
    return Decision(rule=Rule.MASK_INEQUALITY, why=_disagreement(round_), container=round_.name)


def _blocked(offer: Offer, round_: Round, node: Node, pod: StoredPod) -> Blocked:
    policy = node.topology_manager.policy
    match offer.rule:
        case None:
            return _blocked_list(offer, pod, node)
        case CPUHints() as hints:
            held = _held(round_, node, pod)
            if held.bit_count() == hints.request:
                return _bound_to(held, node, policy)
            return blocked_by_cpus(hints, policy, _sizes(node))
        case MemoryHints() as hints:
            return blocked_by_memory(hints, round_.container, pod, node)
        case hints:
            return _blocked_rule(offer, hints, policy)


def _held(round_: Round, node: Node, pod: StoredPod) -> int:
    """Return the CPUs (a mask) that a container, or its pod, already has.

    If these are as many as requested, all hints are about them.
    """
    state = node.cpu.state
    if round_.container is None:
        return state.held_by(pod.uid)
    return state.assigned(pod.uid, round_.container.name) or 0


def _bound_to(held: int, node: Node, policy: str) -> Blocked:
    nodes = {number for number, cpus in node.topology.numa_nodes.items() if cpus & held}
    rules = {
        SINGLE: "accepts only hints of one NUMA node",
        "restricted": "accepts only hints with the smallest number of NUMA nodes that would be enough if "
        "empty",
    }
    return Rule.OTHER_ASSIGNMENT, (
        f"it already holds {named(CPUSet(held))}, on {named_nodes(nodes)}, and keeps them; {policy} "
        f"{rules.get(policy, 'prefers fewer NUMA nodes')}"
    )


def _blocked_list(offer: Offer, pod: StoredPod, node: Node) -> Blocked:
    if node.cpu.rules.divides(pod) and pod.uid not in node.cpu.state.assignments:
        return Rule.EMPTY_POOL, (
            f"the containers with their own {offer.resource} requests use all {offer.resource} of the pod: "
            "nothing is left for the others"
        )
    if offer.provider == "cpu":
        return Rule.OTHER_ASSIGNMENT, (
            "it already holds a different number of exclusive CPUs than it requests now: no hint can fit"
        )
    return Rule.OTHER_ASSIGNMENT, f"the {offer.resource} it already holds is on NUMA nodes that do not fit"


def _blocked_rule(offer: Offer, hints: HintRule, policy: str) -> Blocked:
    if offer.status is OfferStatus.IMPOSSIBLE:
        return Rule.NOT_ENOUGH, f"it requests more {offer.resource} than is free on the node"
    if policy == SINGLE and hints.width > 1:
        return Rule.LARGER_THAN_A_NODE, (
            f"{SINGLE} accepts only hints of one NUMA node, and no node has that much {offer.resource}"
        )
    if policy == SINGLE:
        return Rule.NO_SINGLE_NODE, (
            f"{SINGLE} accepts only hints of one NUMA node, and no node has enough {offer.resource} free"
        )
    return Rule.WIDTH_FROM_CAPACITY, (
        f"{counted(hints.width, 'NUMA node')} would have enough {offer.resource} when empty, so only sets "
        f"of that size are preferred; now {counted(hints.narrowest, 'NUMA node')} are needed"
    )


def _disagreement(round_: Round) -> str:
    wants = "; ".join(f"{offer.resource} {_sets(offer.usable)}" for offer in round_.offers if offer.usable)
    # best-effort accepts all hints; the others only preferred ones.
    admitted = isinstance(round_.merged, Merged) and round_.merged.admit
    hints = "preferred hints" if admitted else "hints that the policy accepts"
    return f"every provider has {hints}, but these have no set of NUMA nodes in common: {wants}"


_SETS_SHOWN = 4


def _sets(usable: frozenset[NodeMask]) -> str:
    ordered = sorted(sorted(usable), key=int.bit_count)
    more = len(ordered) - _SETS_SHOWN
    listed = " or ".join(map(nodes_text, ordered[:_SETS_SHOWN] if more > 1 else ordered))
    return f"{listed}, or one of {more} other sets" if more > 1 else listed


class NodeSize(NamedTuple):
    """How many CPUs a NUMA node has, and how many of them are not reserved."""

    cpus: int
    usable: int


def _sizes(node: Node) -> list[NodeSize]:
    reserved = node.cpu.policy.reserved if node.cpu.policy else 0
    nodes = node.topology.numa_nodes.values()
    return [NodeSize(cpus.bit_count(), (cpus & ~reserved).bit_count()) for cpus in nodes]


def blocked_by_cpus(hints: CPUHints, policy: str, sizes: Sequence[NodeSize] = ()) -> Blocked:
    """Return the rule by which there are no CPU hints, or none that the policy accepts.

    *sizes* are those of all NUMA nodes, if they are known.
    """
    if not hints.narrowest:
        return Rule.NOT_ENOUGH, not_enough_cpus(hints.request, sum(hints.free.values()))
    return _no_single_node(hints) if policy == SINGLE else _too_wide_for_cpus(hints, policy, sizes)


def not_enough_cpus(request: int, free: int) -> str:
    """Return the reason that the whole node does not have enough free CPUs."""
    have = f"{free or 'none'} {'is' if free == 1 else 'are'}"
    return f"it requests {counted(request, 'exclusive CPU')}, but {have} free for exclusive use on the node"


def _no_single_node(hints: CPUHints) -> Blocked:
    requested = counted(hints.request, "CPU")
    if hints.width > 1:
        return Rule.LARGER_THAN_A_NODE, (
            f"{SINGLE} accepts only hints of one NUMA node, but the request ({requested}) needs at least "
            f"{hints.width}, even if they are empty"
        )
    if max(hints.free.values()) + hints.reusable >= hints.request:
        return _bound(hints)
    most = max(hints.free, key=lambda node: hints.free[node])
    return Rule.NO_SINGLE_NODE, (
        f"{SINGLE} accepts only hints of one NUMA node; {sum(hints.free.values())} CPUs are free, but no "
        f"node has {requested} free: at most {hints.free[most]}, on NUMA node {most}"
    )


def _too_wide_for_cpus(hints: CPUHints, policy: str, sizes: Sequence[NodeSize]) -> Blocked:
    largest = sorted(hints.free.values(), reverse=True)[: hints.width]
    if hints.reusable + sum(largest) >= hints.request:
        return _bound(hints)
    if sizes and (reason := _never_free(hints, policy, sizes)):
        return Rule.WIDTH_FROM_CAPACITY, reason
    wide = "sets of that size" + (", or of as few whole sockets," if hints.socket_rule else "")
    verdict = "rejects what is not preferred" if policy == "restricted" else "accepts it anyway"
    requested, nodes = counted(hints.request, "CPU"), counted(hints.width, "NUMA node")
    return Rule.WIDTH_FROM_CAPACITY, (
        f"{requested} fit into {nodes} when empty, so "
        f"only {wide} are preferred; now {counted(hints.narrowest, 'NUMA node')} are needed, "
        f"and {policy} {verdict}"
    )


def _never_free(hints: CPUHints, policy: str, sizes: Sequence[NodeSize]) -> str:
    """Return why even empty NUMA nodes do not help: reserved CPUs count for the preferred number of nodes."""
    largest = sorted(sizes, reverse=True)[: hints.width]
    cpus, most = sum(each.cpus for each in largest), _most_usable(sizes, hints.width)
    if most >= hints.request:
        return ""
    upto = "" if len({each.cpus for each in sizes}) == 1 else "up to "
    # On other nodes, fewer CPUs may be reserved.
    kept = cpus - most if sum(each.usable for each in largest) == most else "some"
    has, prefers = "a NUMA node has", "one node"
    if hints.width > 1:
        has, prefers = f"{hints.width} NUMA nodes have", f"{hints.width} nodes"
    return (
        f"{has} {upto}{cpus} CPUs, so the kubelet prefers {prefers}"
        + (", or as few whole sockets" if hints.socket_rule else "")
        + f"; but {kept} {'is' if kept == 1 else 'are'} reserved, so at most {most} can ever be free there; "
        + f"{policy} {'rejects what is not preferred' if policy == 'restricted' else 'admits the pod anyway'}"
    )


def _most_usable(sizes: Sequence[NodeSize], count: int) -> int:
    return sum(sorted((each.usable for each in sizes), reverse=True)[:count])


def _bound(hints: CPUHints) -> Blocked:
    are = "is" if hints.reusable == 1 else "are"
    return Rule.REUSE_BINDS, (
        f"{counted(hints.reusable, 'CPU')} that its other containers hold {are} on "
        f"{nodes_text(hints.required)}: every hint must include these nodes, and no preferred hint with "
        f"them has {hints.request} CPUs"
    )


OUT_OF = "OutOf"
"""The beginning of the reason if the node is too small; the resource's name follows."""


_WRAPPING = "Allocate failed due to ", ", which is unexpected"
_SHORT_OF_DEVICES = re.compile(
    r"requested number of devices unavailable for (?P<resource>\S+)\. "
    r"Requested: (?P<requested>\d+), Available: (?P<free>\d+)"
)
_BEGINNINGS = {
    "no healthy devices present": Rule.UNHEALTHY_DEVICES,
    "previously allocated devices are no longer healthy": Rule.UNHEALTHY_DEVICES,
    "pod ": Rule.OTHER_ASSIGNMENT,
}
"""The beginnings of the device manager's errors; the last one means that a pod's request has changed."""


def refusal(replay: Replay, refused: Rejected, rounds: Sequence[Round]) -> Decision:
    """Return the rule that refused the pod; *rounds* are those of the Topology Manager."""
    if refused.reason == RejectionReason.TOPOLOGY_AFFINITY:
        unmet = hint_decision(rounds[-1], replay.after, replay.scenario.pod)
        if unmet is not None:
            return unmet
    if refused.reason.startswith(OUT_OF):
        return Decision(rule=Rule.NODE_FIT, why=_shortage(refused, replay.scenario.kubelet.config))
    rule, why, provider = _of_allocation(replay, refused, rounds)
    return Decision(rule=rule, why=why, container=refused.container, provider=provider)


def _memory_failure(refused: Rejected) -> AllocationFailure | None:
    """Find the Memory Manager's error in a refusal's message; None if another manager refused."""
    return next(
        (failure for failure in AllocationFailure if f"[memorymanager] {failure}," in refused.message), None
    )


def _of_allocation(replay: Replay, refused: Rejected, rounds: Sequence[Round]) -> tuple[Rule, str, str]:
    """Return the rule, the reason, and the manager that could not allocate."""
    if blocked := blocked_by_devices(refused):
        return *blocked, "devices"
    if failure := _memory_failure(refused):
        return *_of_memory(replay, refused, rounds, failure), "memory"
    return *_of_cpus(replay, refused), "cpu"


def _shortage(refused: Rejected, config: KubeletConfiguration) -> str:
    details, resource = refused.details, refused.reason.removeprefix(OUT_OF)
    left = details["capacity"] - details["used"]
    if resource == "pods":
        limit = "podsPerCore" if details["capacity"] < config.max_pods else "maxPods"
        return f"the node has {counted(details['used'], 'pod')}, and allows {details['capacity']} ({limit})"
    requested, free, capacity = _amount_texts(resource, details["requested"], left, details["capacity"])
    of = "" if resource == "cpu" else f" of {resource}"
    if left == details["capacity"]:
        have = f"the node has only {capacity} for pods" if left else "the node has none"
    elif left > 0:
        have = f"only {free} of {capacity} {'is' if free == '1' else 'are'} free"
    else:
        have = f"none of {capacity} is free"
    return f"the pod requests {requested}{of}, but {have}"


def _cpus(milli: int) -> str:
    return f"{_number(milli)} CPU{'' if milli == 1000 else 's'}"


def _number(milli: int) -> str:
    return str(milli / 1000).removesuffix(".0")


def _amount_texts(resource: str, requested: int, free: int, capacity: int) -> tuple[str, ...]:
    """Format amounts: CPUs, bytes (exactly if they would look alike), or plain numbers."""
    amounts = (requested, free, capacity)
    if resource == "cpu":
        return _cpus(requested), _number(free), _cpus(capacity)
    if not is_memory(resource) and resource != "ephemeral-storage":
        return tuple(map(str, amounts))
    rounded = tuple(map(byte_text, amounts))
    exact = rounded[0] in rounded[1:]
    return tuple(str(Quantity.from_value(each, Format.BINARY_SI)) for each in amounts) if exact else rounded


def _of_memory(
    replay: Replay, refused: Rejected, rounds: Sequence[Round], failure: AllocationFailure
) -> Blocked:
    pod, merged = replay.scenario.pod, rounds[-1].merged if rounds else None
    container = next((each for each in pod.all_containers if each.name == refused.container), None)
    request = memory_requested(replay.after, pod, container)
    if container is not None and request == {} and replay.after.memory.rules.divides(pod):
        return Rule.NO_OWN_RESOURCES, _no_own_resources(container.name, replay.after.topology_manager.policy)
    if request == {}:
        return Rule.NOTHING_ALLOCATED, (
            "this kubelet reads a running container's resources from status.allocatedResources, which has "
            "none, and the Static policy fails when there is no memory to allocate"
        )
    state = replay.after.memory.state
    hint = _hint_nodes(state, pod, merged.hint.nodes) if isinstance(merged, Merged) else None
    return blocked_allocation(failure, request or {}, hint, state.tables)


def _hint_nodes(state: MemoryManagerState, pod: StoredPod, nodes: NodeMask | None) -> HintNodes | None:
    if nodes is None:
        return None
    lent = state.reusable_for(pod.uid).items()
    return HintNodes(nodes, {name: amount for (of, name), amount in lent if of == nodes})


def _no_own_resources(container: str, policy: str) -> str:
    """Return what the Memory Manager does with a container without its own requests."""
    no_policy = policy == "none"
    how = "without a Topology Manager policy" if no_policy else "with scope container"
    instead = "a Topology Manager policy with scope pod" if no_policy else "topologyManagerScope pod"
    return (
        f"{how}, the managers consider each container separately; container {container} has no cpu and "
        "memory requests equal to its limits, and the Static policy fails when there is no memory to "
        f"allocate; KEP-5526 says such a container runs in the node's shared pool (workaround: {instead}, or "
        "give it its own requests equal to limits)"
    )


def _too_few_cores(replay: Replay, requested: int, free: int) -> str:
    """Say how many CPUs count as free with full-pcpus-only, and which others do not."""
    policy, held = replay.after.policy, replay.after.cpu.state.assignments.get(replay.scenario.pod.uid)
    ignored = []
    if policy is not None and policy.reserved_physical & ~policy.reserved:
        ignored.append("CPUs on cores with reserved CPUs")
    if held:
        ignored.append("CPUs that the pod already has")
    why = f"with full-pcpus-only, {all_of(ignored)} do not count: " if ignored else ""
    return f"{why}{counted(free, 'CPU')} {'is' if free == 1 else 'are'} free, {requested} are requested"


def _of_cpus(replay: Replay, refused: Rejected) -> Blocked:
    details = refused.details
    if refused.reason == RejectionReason.EMPTY_POD_SHARED_POOL:
        return Rule.EMPTY_POOL, refused.message
    if refused.reason == RejectionReason.SMT_ALIGNMENT:
        count, per_core, free = details["requested"], details["cpusPerCore"], details["freePhysicalCPUs"]
        if count % per_core:
            return Rule.WHOLE_CORES, (
                f"full-pcpus-only allocates whole cores; {counted(count, 'CPU')} "
                f"{'is' if count == 1 else 'are'} not a multiple of {per_core}"
            )
        return Rule.FREE_CORES, _too_few_cores(replay, count, free)
    if "free" in details:
        return Rule.NOT_ENOUGH, not_enough_cpus(details["requested"], details["free"])
    resources = replay.scenario.pod.resources
    if refused.reason == RejectionReason.UNEXPECTED_ADMISSION and resources is not None:
        return _of_pod(whole_cpus(resources.requests), replay.after, refused)
    return Rule.UNKNOWN, refused.message


def _of_pod(total: int, node: Node, refused: Rejected) -> Blocked:
    """Return why a divided pod gets no CPUs as a whole, or a container none of the pod's CPUs."""
    if refused.container:
        return Rule.OVER_BUDGET, (
            f"the pod's {counted(total, 'CPU')} are not enough for its containers' own requests"
        )
    reserved = node.cpu.policy.reserved if node.cpu.policy else 0
    return Rule.NOT_ENOUGH, not_enough_cpus(total, (node.cpu.state.default & ~reserved).bit_count())


def blocked_by_devices(refused: Rejected) -> Blocked | None:
    """Return the rule behind an error of the device manager; None if the error is from another manager."""
    if refused.reason != RejectionReason.UNEXPECTED_ADMISSION:
        return None
    before, behind = _WRAPPING
    error = refused.message.removeprefix(before).removesuffix(behind)
    if short := _SHORT_OF_DEVICES.fullmatch(error):
        free = int(short["free"])
        are = f"{free or 'none'} {'is' if free == 1 else 'are'}"
        return Rule.NOT_ENOUGH, (
            f"it requests {short['requested']} {short['resource']}, but {are} free on the node"
        )
    return next(
        ((rule, error) for beginning, rule in _BEGINNINGS.items() if error.startswith(beginning)), None
    )
