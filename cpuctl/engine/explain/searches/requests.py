"""The requests nearest to the refused ones that are admitted: the largest below, the smallest above.

They are tried on the node that the pod found. Amounts of memory are those at which the Memory Manager's
answer can change: a set of NUMA nodes is a hint for a request as long as it has that much, free and in total.
So the largest request that is admitted is the amount of some set; more than the total of some set makes wider
hints the preferred ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import accumulate, combinations

from cpuctl.checkpoints.model import MemoryNode, MemoryTable
from cpuctl.engine.cpu.manager import request_step
from cpuctl.engine.explain.decision import Decision, Rule
from cpuctl.engine.explain.offers import LISTED_NODES, memory_requested, whole_cpus
from cpuctl.engine.explain.rules import OUT_OF
from cpuctl.engine.explain.scenario import Replay, SearchBudget
from cpuctl.engine.explain.searches.changes import RequestChange
from cpuctl.engine.explain.searches.reductions import less_of_all
from cpuctl.engine.explain.searches.trials import (
    Choice,
    first_admitted,
    highest_admitted,
    in_bytes,
    largest_admitted,
)
from cpuctl.engine.memory.tables import MEMORY, is_huge_pages, is_memory
from cpuctl.engine.outcome import Rejected
from cpuctl.pods.model import StoredPod
from cpuctl.pods.requests import pod_requests
from cpuctl.quantity import Quantity
from cpuctl.records import Record

_MEBI = 20
_ROUND = 100
"""The step, in milli CPUs, for parts of CPUs below what fits."""
_LEAST = {"cpu": Quantity.parse("100m"), MEMORY: Quantity.parse("64Mi")}
_NOTHING = Quantity()


def nearest_requests(replay: Replay, decision: Decision, runs: SearchBudget) -> Iterator[RequestChange]:
    """Yield other requests that might be admitted, for the resources that were refused.

    Requests of one container are changed first: the refused one, or the one that requests most if the pod was
    refused as a whole. CPUs are tried one by one, or core by core if the policy requires that. If less for
    one container is not enough, all get less, or none of a resource other than CPUs and memory. A pod that is
    already running cannot change its requests.
    """
    verdict, pod = replay.admission.verdict, replay.scenario.pod
    if replay.scenario.restarted:
        return
    if isinstance(verdict, Rejected) and verdict.reason.startswith(OUT_OF):
        fitting = list(_fitting(replay, decision, verdict, runs))
        fitting = fitting or list(_without_a_resource(replay, runs))
        is_divisible = verdict.reason in (f"{OUT_OF}cpu", f"{OUT_OF}{MEMORY}")
        yield from fitting or (less_of_all(replay, runs) if is_divisible else ())
        return
    if decision.rule is Rule.NO_OWN_RESOURCES:
        yield from first_admitted(replay, with_own_resources(pod), runs)
        return
    found: list[RequestChange] = []
    if decision.provider in ("cpu", ""):
        found += _other_cpus(replay, decision, runs)
    if decision.provider == "devices" or decision.rule is Rule.MASK_INEQUALITY:
        found += _fewer_devices(replay, decision, runs)
    if decision.provider == "memory" or decision.rule is Rule.MASK_INEQUALITY:
        found += _other_memory(replay, decision, runs)
    found = found or list(_without_a_resource(replay, runs))
    yield from found or less_of_all(replay, runs)


def _fitting(
    replay: Replay, decision: Decision, refused: Rejected, runs: SearchBudget
) -> Iterator[RequestChange]:
    """Reduce the largest request for the missing resource by the shortage.

    If that is not enough for CPUs, limit the requests of all containers.
    """
    resource, details = refused.reason.removeprefix(OUT_OF), refused.details
    left, requested = details["capacity"] - details["used"], details["requested"]
    # Pods of one template share what all of them leave.
    by_replicas = len(_admitted_replicas(replay)) * requested
    share = (left + by_replicas) // (len(replay.earlier_replicas) + 1)
    short, found = requested - share, False
    for asker in _counted(replay, decision, resource):
        amounts = _less(replay, asker, resource, short)
        choices: Iterator[Choice] = (
            {(asker.name, resource): amount} for amount in amounts if amount.sign > 0
        )
        pod = replay.scenario.pod
        within = (choice for choice in choices if _within_pod(pod, choice, resource))
        for change in largest_admitted(replay, within, runs):
            found = True
            yield change
    if resource == "cpu" and not found:
        yield from _limited(replay, left, runs)


def _counted(replay: Replay, decision: Decision, resource: str) -> list[RequestingContainer]:
    """Return whose request decides whether the pod fits: the pod's own counts instead of its containers'."""
    node, pod = replay.before, replay.scenario.pod
    own = pod.resources.requests if pod.resources is not None and node.pod_level_resources else {}
    if own.get(resource, _NOTHING).sign > 0 and not node.cpu.rules.divides(pod):
        return [RequestingContainer("", own)]
    return containers_to_change(replay, decision, resource)


def _less(replay: Replay, asker: RequestingContainer, resource: str, short: int) -> Iterable[Quantity]:
    """Return smaller requests that may fit, the largest first."""
    before = asker.requests[resource]
    if resource in replay.before.devices.pools:
        return [Quantity.from_value(before.value - short)]
    if resource != "cpu":
        return [in_bytes(before.value - short >> _MEBI << _MEBI)]
    rest = before.milli_value - short
    if asker.name in _exclusive(replay):
        return (Quantity.from_value(count) for count in range(rest // 1000, 0, -1))
    # A whole number can be a claim to exclusive CPUs, which are not always free.
    return (Quantity.from_milli(amount) for amount in (rest, (rest - 1) // _ROUND * _ROUND))


def _exclusive(replay: Replay) -> set[str]:
    """Name the containers with exclusive CPUs, and the pod ("") if managers divide its own.

    Those stay exclusive: they get whole CPUs. Policies in place of the kubelet have other rules, so all
    containers with whole CPUs are included.
    """
    node, pod = replay.before, replay.scenario.pod
    requests = {each.name: each.resources.requests for each in pod.all_containers}
    if pod.resources is not None and node.cpu.rules.divides(pod):
        requests[""] = pod.resources.requests
    whole = {name for name, amounts in requests.items() if whole_cpus(amounts)}
    if node.what_if is not None:
        return whole
    shared = {each.name for each in pod.all_containers if node.why_shared(pod, each)}
    return whole - shared if node.policy else set()


def _limited(replay: Replay, left: int, runs: SearchBudget) -> Iterator[RequestChange]:
    """Find the highest limit on the CPUs of every container with which the pod fits into *left* (milli)."""
    pod = replay.scenario.pod
    counts = {each.name: _milli_cpus(each.resources.requests) for each in pod.all_containers}
    counts = {name: count for name, count in counts.items() if count > 0}
    own = _milli_cpus(pod.resources.requests) if pod.resources is not None else 0
    if len(counts) + (own > 0) < 2 or replay.before.cpu.rules.divides(pod):
        return
    exclusive, unit = _exclusive(replay), _unit(replay)

    def attempt(limit: int) -> RequestChange | None:
        after = limited_cpus(counts, limit, exclusive, unit)
        if own:
            concurrent = sum(after.get(each.name, 0) for each in pod.containers)
            after[""] = min(own, max(limit, concurrent))
        choice = {(name, "cpu"): Quantity.from_milli(count) for name, count in after.items()}
        return next(first_admitted(replay, [choice], runs), None)

    most = max(counts.values()) if replay.earlier_replicas else min(max(counts.values()), left)
    best = highest_admitted(attempt, 0, most + 1)
    if best is not None:
        yield best


def limited_cpus(
    counts: Mapping[str, int], limit: int, exclusive: Collection[str], unit: int
) -> dict[str, int]:
    """Limit CPUs (milli); those of *exclusive* containers to whole units, but at least one."""
    step = unit * 1000
    return {
        name: max(min(count, limit) // step * step, step) if name in exclusive else min(count, limit)
        for name, count in counts.items()
    }


def _milli_cpus(requests: Mapping[str, Quantity]) -> int:
    return requests.get("cpu", _NOTHING).milli_value


def _other_cpus(replay: Replay, decision: Decision, runs: SearchBudget) -> Iterator[RequestChange]:
    unit, free = _unit(replay), _free(replay)
    counts = {each.name: whole_cpus(each.resources.requests) for each in replay.scenario.pod.all_containers}
    whole = {name: count for name, count in counts.items() if count}
    for asker in containers_to_change(replay, decision, "cpu"):
        count = whole_cpus(asker.requests)
        if not count:
            continue
        fewer = range(min(count - 1, free) // unit * unit, 0, -unit)
        more = range((count // unit + 1) * unit, free + 1, unit)
        if replay.earlier_replicas:
            more = more[:1]  # only to make whole cores: the more all of them get, the fewer are admitted
        for others, for_all, trial in (
            (fewer, fewer_for_all(whole, unit, free), largest_admitted),
            (more, all_rounded_up(whole, unit), first_admitted),
        ):
            of_one = ({(asker.name, "cpu"): Quantity.from_value(other)} for other in others)
            found = list(trial(replay, of_one, runs))
            yield from found or trial(replay, for_all if whole and asker.name else (), runs)


def _fewer_devices(replay: Replay, decision: Decision, runs: SearchBudget) -> Iterator[RequestChange]:
    for resource, pool in replay.before.devices.pools.items():
        for asker in containers_to_change(replay, decision, resource):
            most = min(asker.requests[resource].value - 1, pool.healthy.bit_count())
            fewer = ({(asker.name, resource): Quantity.from_value(count)} for count in range(most, 0, -1))
            yield from largest_admitted(replay, fewer, runs)


def _other_memory(replay: Replay, decision: Decision, runs: SearchBudget) -> Iterator[RequestChange]:
    """Try the amounts of each resource on sets of NUMA nodes, or the same amounts as whole numbers."""
    pod = replay.scenario.pod
    if decision.rule is Rule.QUANTITY_FORM:
        yield from first_admitted(replay, normalized_memory_requests(pod), runs)
        return
    for asker in containers_to_change(replay, decision, MEMORY):
        for resource in asker.requests:  # NUMA nodes have none of what the Memory Manager does not manage
            yield from _other_amounts(replay, asker, decision, resource, runs)


def _other_amounts(
    replay: Replay, asker: RequestingContainer, decision: Decision, resource: str, runs: SearchBudget
) -> Iterator[RequestChange]:
    if replay.earlier_replicas:
        yield from _shared_memory(replay, asker, resource, runs)
        return
    tables, amount = replay.after.memory.state.tables, asker.requests[resource].value
    total = memory_requested(replay.before, replay.scenario.pod, None) or {}
    # Hints for the whole pod are for the amount that its containers need at the same time.
    of_others = 0 if decision.container else total.get(resource, amount) - amount
    below = amounts_below(tables, resource, amount + of_others)
    above = amounts_above(tables, resource, amount + of_others) if resource == MEMORY else []
    most = _most_left(replay, asker, resource) + of_others
    below = sorted({*below, most} if of_others < most < amount + of_others else below, reverse=True)
    for amounts in (below, above):
        others = (other - of_others for other in amounts if other > of_others)
        choices = ({(asker.name, resource): in_bytes(other)} for other in others)
        yield from first_admitted(replay, choices, runs)


def _shared_memory(
    replay: Replay, asker: RequestingContainer, resource: str, runs: SearchBudget
) -> Iterator[RequestChange]:
    """Bisect the request (in Mi) of all pods of a template: what one gets less is free for the next."""

    def attempt(mebi: int) -> RequestChange | None:
        choice = {(asker.name, resource): in_bytes(mebi << _MEBI)}
        return next(first_admitted(replay, [choice], runs), None)

    if best := highest_admitted(attempt, 0, asker.requests[resource].value >> _MEBI):
        yield best


def _admitted_replicas(replay: Replay) -> list[str]:
    """List the UIDs of earlier pods of the same template that were admitted."""
    pods = (replay.scenario.pods[at].uid for at in replay.earlier_replicas)
    return [uid for uid in pods if uid in replay.admitted]


def _most_left(replay: Replay, asker: RequestingContainer, resource: str) -> int:
    """Return how much of a resource (in whole Mi) the node's other pods and the rest of this one leave."""
    node, pod = replay.before, replay.scenario.pod
    left = node.left_for(pod).get(resource, 0)
    if asker.name:
        total = pod_requests(pod, pod_level=node.pod_level_resources).get(resource, _NOTHING)
        left -= total.value - asker.requests[resource].value
    return max(left, 0) >> _MEBI << _MEBI


def _without_a_resource(replay: Replay, runs: SearchBudget) -> Iterator[RequestChange]:
    """Try to request nothing of one resource: huge pages or devices."""
    pod = replay.scenario.pod
    for resource in without_a_resource(pod):
        yield from first_admitted(replay, [resource], runs)


def _free(replay: Replay) -> int:
    """Count the CPUs that could become exclusive when the pod arrives, for each pod of its template."""
    node, replicas = replay.before.copy(), _admitted_replicas(replay)
    node.clean_up()
    reserved = node.cpu.policy.reserved if node.cpu.policy else 0
    free = (node.cpu.state.default & ~reserved).bit_count()
    held = sum(node.cpu.state.held_by(uid).bit_count() for uid in replicas)
    return (free + held) // (len(replicas) + 1)


def _unit(replay: Replay) -> int:
    """Return the number of CPUs that are allocated together: those of a core, or one."""
    return request_step(replay.before.cpu.policy)


def fewer_for_all(counts: Mapping[str, int], unit: int, most: int) -> Iterator[Choice]:
    """Limit the CPUs of each container, from the largest request or *most* down to one *unit*."""
    for limit in range(min(max(counts.values()), most) // unit * unit, 0, -unit):
        yield {
            (name, "cpu"): Quantity.from_value(max(min(count // unit * unit, limit), unit))
            for name, count in counts.items()
        }


def all_rounded_up(counts: Mapping[str, int], unit: int) -> Iterator[Choice]:
    """Round every request up to whole units, if a unit is more than one CPU."""
    if unit > 1:
        yield {(name, "cpu"): Quantity.from_value(-(-count // unit) * unit) for name, count in counts.items()}


def without_a_resource(pod: StoredPod) -> Iterator[Choice]:
    """For each resource other than CPUs, memory and storage, request none of it."""
    requested = {each.name: each.resources.requests for each in pod.all_containers}
    if pod.resources is not None:
        requested[""] = pod.resources.requests
    names = {
        resource
        for requests in requested.values()
        for resource, amount in requests.items()
        if amount.sign > 0 and ("/" in resource or is_huge_pages(resource))
    }
    for resource in sorted(names):
        yield {
            (name, resource): _NOTHING
            for name, requests in requested.items()
            if requests.get(resource, _NOTHING).sign > 0
        }


def with_own_resources(pod: StoredPod) -> Iterator[Choice]:
    """Give each container equal cpu and memory requests and limits: its limit, its request, or a minimum."""
    choice: dict[tuple[str, str], Quantity] = {}
    for each in pod.all_containers:
        for name, least in _LEAST.items():
            request, limit = (side.get(name) for side in (each.resources.requests, each.resources.limits))
            if request != limit or request is None:
                choice[each.name, name] = limit or request or least
    if choice and all(_within_pod(pod, choice, name) for name in _LEAST):
        yield choice


def _within_pod(pod: StoredPod, choice: Choice, name: str) -> bool:
    """Return whether containers then request no more than their pod, as the API server requires."""
    if pod.resources is None:
        return True
    total = Quantity()
    for each in pod.containers:
        total += choice.get((each.name, name), each.resources.requests.get(name, Quantity()))
    return not choice.get(("", name), pod.resources.requests.get(name, Quantity())) < total


def normalized_memory_requests(pod: StoredPod) -> Iterator[Choice]:
    """Rewrite memory requests that are not whole numbers as the API would write them."""
    yield {
        (each.name, name): amount.canonical()
        for each in pod.all_containers
        for name, amount in each.resources.requests.items()
        if is_memory(name) and amount.exact_int64 is None
    }


class RequestingContainer(Record):
    """A container that requests resources, or the pod itself if the name is empty."""

    name: str
    requests: Mapping[str, Quantity]


def containers_to_change(replay: Replay, decision: Decision, resource: str) -> list[RequestingContainer]:
    """Return whose request for a resource is decisive: the refused container, or else the largest requester.

    If the pod's own resources are divided among its containers, the pod itself is included.
    """
    pod = replay.scenario.pod
    containers = [RequestingContainer(each.name, each.resources.requests) for each in pod.all_containers]
    asking = [each for each in containers if each.requests.get(resource, _NOTHING).sign > 0]
    named = [each for each in asking if each.name == decision.container]
    if pod.resources is not None and replay.before.cpu.rules.divides(pod):
        own = RequestingContainer("", pod.resources.requests)
        return [*named, own] if own.requests.get(resource, _NOTHING).sign > 0 else named
    return [max(named or asking, key=lambda each: each.requests[resource])] if asking else []


def amounts_below(tables: Mapping[int, MemoryNode], resource: str, most: int) -> list[int]:
    """List the amounts of sets of nodes, free and in total, below *most*; largest first, in whole Mi."""
    amounts = {
        amount >> _MEBI << _MEBI
        for count in (_free_bytes, _allocatable)
        for amount in _sums(tables, resource, count)
    }
    return sorted((amount for amount in amounts if 0 < amount < most), reverse=True)


def amounts_above(tables: Mapping[int, MemoryNode], resource: str, least: int) -> list[int]:
    """List the amounts just above the total of a set of nodes, above *least*; smallest first.

    Amounts above the free memory of all nodes are left out.
    """
    amounts = {(amount >> _MEBI) + 1 << _MEBI for amount in _sums(tables, resource, _allocatable)}
    free = sum(
        _free_bytes(node.memory_map[resource]) for node in tables.values() if resource in node.memory_map
    )
    return sorted(amount for amount in amounts if least < amount <= free)


def _free_bytes(table: MemoryTable) -> int:
    return table.free


def _allocatable(table: MemoryTable) -> int:
    return table.allocatable


def _sums(
    tables: Mapping[int, MemoryNode], resource: str, amount: Callable[[MemoryTable], int]
) -> Iterator[int]:
    """Yield the sum of every set of nodes; with many nodes, only of single ones and of the largest ones."""
    maps = (node.memory_map for node in tables.values())
    each = sorted((amount(entry[resource]) for entry in maps if resource in entry), reverse=True)
    if len(each) > LISTED_NODES:
        yield from each
        yield from accumulate(each)
        return
    for size in range(1, len(each) + 1):
        yield from map(sum, combinations(each, size))
