"""Which rule of the kubelet refused a pod, read from the trace of its admission.

Rules: kubelet v1.36 ``topologymanager/policy*.go`` (how hints are merged, and what a policy admits); how each
provider makes them is in ``cpumanager/policy_static.go`` and ``memorymanager/policy_static.go``: a NUMA node
whose memory is in use can only be used alone or in its group.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from cpuctl.checkpoints.model import MemoryNode, named_nodes, node_list
from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.explain.decision import Blocked, Decision, Rule, bytes_text, nodes_text
from cpuctl.engine.explain.offers import SINGLE, Offer, OfferStatus, Round, memory_requested, whole_cpus
from cpuctl.engine.explain.scenario import Replay
from cpuctl.engine.hints.common_sets import CommonSets
from cpuctl.engine.hints.coverage import Coverage
from cpuctl.engine.hints.hints import HintRule
from cpuctl.engine.hints.topology_manager import Merged
from cpuctl.engine.masks import NODE_0, NodeMask
from cpuctl.engine.memory.hints import MemoryHints
from cpuctl.engine.memory.manager import AllocationFailure
from cpuctl.engine.memory.tables import MEMORY, MemoryRequest, allocatable_in, free_in, is_memory
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Rejected, RejectionReason
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.phrases import byte_text, counted, named
from cpuctl.pods.model import Container, StoredPod
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
            is_bound = held.bit_count() == hints.request
            return _bound_to(held, node, policy) if is_bound else blocked_by_cpus(hints, policy)
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
        SINGLE: "only accepts hints of one NUMA node",
        "restricted": "only accepts hints of as few NUMA nodes as would do if they were empty",
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
            f"{SINGLE} only accepts hints of one NUMA node, and no node has that much {offer.resource}"
        )
    if policy == SINGLE:
        return Rule.NO_SINGLE_NODE, (
            f"{SINGLE} only accepts hints of one NUMA node, and no node has enough {offer.resource} free"
        )
    return Rule.WIDTH_FROM_CAPACITY, (
        f"{counted(hints.width, 'NUMA node')} would have enough {offer.resource} when empty, so only sets "
        f"of that size are preferred; now {counted(hints.narrowest, 'NUMA node')} are needed"
    )


def _disagreement(round_: Round) -> str:
    wants = "; ".join(f"{offer.resource} {_sets(offer.usable)}" for offer in round_.offers if offer.usable)
    return f"every provider has hints that the policy accepts, but no set of NUMA nodes in common: {wants}"


_SETS_SHOWN = 4


def _sets(usable: frozenset[NodeMask]) -> str:
    ordered = sorted(sorted(usable), key=int.bit_count)
    more = len(ordered) - _SETS_SHOWN
    listed = " or ".join(map(nodes_text, ordered[:_SETS_SHOWN] if more > 1 else ordered))
    return f"{listed}, or one of {more} other sets" if more > 1 else listed


def blocked_by_cpus(hints: CPUHints, policy: str) -> Blocked:
    """Return the rule by which there are no CPU hints, or none that the policy accepts."""
    if not hints.narrowest:
        return Rule.NOT_ENOUGH, not_enough_cpus(hints.request, sum(hints.free.values()))
    return _no_single_node(hints) if policy == SINGLE else _too_wide_for_cpus(hints, policy)


def not_enough_cpus(request: int, free: int) -> str:
    """Return the reason that the whole node does not have enough free CPUs."""
    have = f"{free or 'none'} {'is' if free == 1 else 'are'}"
    return f"it requests {counted(request, 'exclusive CPU')}, but {have} free for exclusive use on the node"


def _no_single_node(hints: CPUHints) -> Blocked:
    requested = counted(hints.request, "CPU")
    if hints.width > 1:
        return Rule.LARGER_THAN_A_NODE, (
            f"{SINGLE} only accepts hints of one NUMA node, but the request ({requested}) needs at least "
            f"{hints.width}, even if they are empty"
        )
    if max(hints.free.values()) + hints.reusable >= hints.request:
        return _bound(hints)
    most = max(hints.free, key=lambda node: hints.free[node])
    return Rule.NO_SINGLE_NODE, (
        f"{SINGLE} only accepts hints of one NUMA node; {sum(hints.free.values())} CPUs are free, but no "
        f"node has {requested} free: at most {hints.free[most]}, on NUMA node {most}"
    )


def _too_wide_for_cpus(hints: CPUHints, policy: str) -> Blocked:
    largest = sorted(hints.free.values(), reverse=True)[: hints.width]
    if hints.reusable + sum(largest) >= hints.request:
        return _bound(hints)
    wide = "sets of that size" + (", or of as few whole sockets," if hints.socket_rule else "")
    verdict = "rejects what is not preferred" if policy == "restricted" else "accepts it anyway"
    return Rule.WIDTH_FROM_CAPACITY, (
        f"{counted(hints.request, 'CPU')} fit into {counted(hints.width, 'NUMA node')} when empty, so "
        f"only {wide} are preferred; now {counted(hints.narrowest, 'NUMA node')} are needed, "
        f"and {policy} {verdict}"
    )


def _bound(hints: CPUHints) -> Blocked:
    are = "is" if hints.reusable == 1 else "are"
    return Rule.REUSE_BINDS, (
        f"{counted(hints.reusable, 'CPU')} that its other containers hold {are} on "
        f"{nodes_text(hints.required)}: every hint must include these nodes, and no preferred hint with "
        f"them has {hints.request} CPUs"
    )


Tables = Mapping[int, MemoryNode]
AmountIn = Callable[[Tables, Iterable[int], str], int]
"""Function that adds up the bytes of a resource on some nodes."""


def blocked_by_memory(hints: MemoryHints, container: Container | None, pod: StoredPod, node: Node) -> Blocked:
    """Return the rule by which the policy accepts none of the memory hints, of which there are some."""
    request = memory_requested(node, pod, container) or {}
    tables, policy = node.memory.state.tables, node.topology_manager.policy
    if policy != SINGLE:
        return _too_wide(hints.width, request, tables)
    requested = f"{SINGLE} only accepts hints of one NUMA node"
    if hints.width > 1:
        return (
            Rule.LARGER_THAN_A_NODE,
            (
                f"{requested}, but the request ({amounts(request)}) needs at least {hints.width}, even if "
                "they are empty"
            ),
        )
    if _serves(tables, request, 1):
        return (
            Rule.GROUP_RULE,
            f"{requested}, but the nodes with {amounts(request)} are in groups: {groups(tables)}",
        )
    return Rule.NO_SINGLE_NODE, f"{requested}, but none has {amounts(request)} free: {_free(tables, request)}"


def blocked_allocation(
    failure: AllocationFailure, request: MemoryRequest, affinity: NodeMask | None, tables: Tables
) -> Blocked:
    """Return the rule behind an error of the Memory Manager.

    *affinity* is the mask of NUMA nodes of the merged hint, None without one.
    """
    match failure:
        case AllocationFailure.NOT_EXACT:
            return Rule.QUANTITY_FORM, (
                "a request of memory or huge pages is not written as a whole number of bytes, Ki, Mi or Gi"
            )
        case AllocationFailure.VIOLATES_GROUPS:
            nodes = "" if affinity is None else f" {nodes_text(affinity)}"
            return Rule.GROUP_RULE, (
                f"the hint{nodes} has nodes that are used individually or in other groups: {groups(tables)}"
            )
        case AllocationFailure.DEFAULT_NOT_PREFERRED | AllocationFailure.EXTENSION_NOT_PREFERRED:
            return _too_wide(_width(tables, request), request, tables)
        case AllocationFailure.NO_DEFAULT:
            return _none_at_all(request, tables)
        case AllocationFailure.NOT_EXTENDED:
            return _not_extended(request, affinity, tables)


def _too_wide(width: int, request: MemoryRequest, tables: Tables) -> Blocked:
    nodes = counted(width, "NUMA node")
    fit = f"{amounts(request)} fit into {nodes} when empty, so only sets of that size"
    if _serves(tables, request, width):
        return Rule.GROUP_RULE, (
            f"{fit} are preferred; enough is free, but on nodes that are used individually or in other "
            f"groups: {groups(tables)}"
        )
    return Rule.WIDTH_FROM_CAPACITY, f"{fit} are preferred, and none has that now: {_free(tables, request)}"


def _none_at_all(request: MemoryRequest, tables: Tables) -> Blocked:
    for name, amount in request.items():
        free = free_in(tables, tables, name)
        if free < amount:
            have = (
                f"all NUMA nodes together have {bytes_text(free)} free"
                if free
                else "no NUMA node has any free"
            )
            return Rule.NOT_ENOUGH, f"{bytes_text(amount)} of {name} are requested, but {have}"
    return Rule.GROUP_RULE, (
        f"{_requested_and_free(request, tables)}, but they cannot be combined, as nodes in use stay in their "
        f"groups: {groups(tables)}"
    )


def _requested_and_free(request: MemoryRequest, tables: Tables) -> str:
    free = " and ".join(bytes_text(free_in(tables, tables, name)) for name in request)
    return f"{amounts(request)} are requested, and all NUMA nodes together have {free} free"


def _not_extended(request: MemoryRequest, affinity: NodeMask | None, tables: Tables) -> Blocked:
    if MEMORY not in request:
        return Rule.HUGE_PAGES_ALONE, (
            "the hint's NUMA nodes have too few huge pages, and the kubelet only looks for others if the "
            "container also requests memory"
        )
    rule, why = _none_at_all(request, tables)
    if affinity is None:
        return rule, why
    if rule is Rule.GROUP_RULE:
        why = (
            f"{_requested_and_free(request, tables)}, but the kubelet only adds nodes to those of the hint, "
            f"and nodes in use stay in their groups: {groups(tables)}"
        )
    if affinity.bit_count() == 1:
        free = amounts({name: free_in(tables, CPUSet(affinity), name) for name in request})
        return rule, f"{nodes_text(affinity)}, which the hint names, has {free} free; {why}"
    free = _free(tables, request, CPUSet(affinity))
    return rule, f"{nodes_text(affinity)}, which the hint names, have {free} free; {why}"


def _serves(tables: Tables, request: MemoryRequest, size: int, amount: AmountIn = free_in) -> bool:
    """Return whether any *size* nodes have the requested amount, free by default, regardless of groups."""
    nodes = NodeMask(CPUSet.of(tables).mask)
    coverages = [
        Coverage.of(nodes, {NODE_0 << node: amount(tables, (node,), name) for node in tables}, (), wanted)
        for name, wanted in request.items()
    ]
    return CommonSets.common(coverages, size).possible


def _width(tables: Tables, request: MemoryRequest) -> int:
    """Return the fewest nodes that would be enough if all memory were free."""
    sizes = range(1, len(tables))
    return next((size for size in sizes if _serves(tables, request, size, allocatable_in)), len(tables))


def amounts(request: MemoryRequest) -> str:
    """Format a request: ``4Gi of memory and 1Gi of hugepages-1Gi``."""
    return " and ".join(f"{bytes_text(amount)} of {name}" for name, amount in request.items())


def groups(tables: Tables) -> str:
    """Format the groups of the nodes that are in use: ``node 0 alone, nodes 1-2 together``."""
    used = {tuple(sorted(node.cells)) for node in tables.values() if node.number_of_assignments}
    return ", ".join(
        f"nodes {node_list(nodes)} together" if len(nodes) > 1 else f"node {nodes[0]} alone"
        for nodes in sorted(used)
    )


def _free(tables: Tables, request: MemoryRequest, nodes: Iterable[int] | None = None) -> str:
    return ", ".join(
        f"{bytes_text(free_in(tables, (node,), name))} of {name} on node {node}"
        for name in request
        for node in (tables if nodes is None else nodes)
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
    affinity = merged.hint.nodes if isinstance(merged, Merged) else None
    if container is not None and request == {} and replay.after.memory.rules.divides(pod):
        return Rule.NO_OWN_RESOURCES, _no_own_resources(container.name, replay.after.topology_manager.policy)
    if request == {}:
        return Rule.NOTHING_ALLOCATED, (
            "this kubelet reads a running container's resources from status.allocatedResources, which has "
            "none, and the Static policy fails when there is no memory to allocate"
        )
    tables = replay.after.memory.state.tables
    return blocked_allocation(failure, request or {}, affinity, tables)


def _no_own_resources(container: str, policy: str) -> str:
    """Return what the Memory Manager does with a container without its own requests."""
    no_policy = policy == "none"
    how = "without a Topology Manager policy" if no_policy else "with scope container"
    instead = "a Topology Manager policy with scope pod" if no_policy else "topologyManagerScope pod"
    return (
        f"{how} the managers only look at containers, {container} has no cpu and memory requests equal to "
        "its limits, and the Static policy fails when there is no memory to allocate; KEP-5526 says such "
        f"a container runs in the node's shared pool (workaround: {instead}, or "
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
    why = f"with full-pcpus-only, {' and '.join(ignored)} do not count: " if ignored else ""
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
