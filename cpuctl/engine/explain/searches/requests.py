"""The requests nearest to the refused ones that are admitted: the largest below, the smallest above."""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.engine.explain.asked_amounts import memory_asked, whole_cpus
from cpuctl.engine.explain.decision import Decision, Rule
from cpuctl.engine.explain.rules.refusals import OUT_OF
from cpuctl.engine.explain.searches.changes import RequestChange
from cpuctl.engine.explain.searches.memory_amounts import amounts_above, amounts_below
from cpuctl.engine.explain.searches.request_choices import (
    all_rounded_up,
    fewer_for_all,
    in_bytes,
    in_proportion,
    with_own_resources,
    written_anew,
)
from cpuctl.engine.explain.searches.request_trials import Asker, askers_to_change, first_admitted
from cpuctl.engine.explain.story import Runs, Telling
from cpuctl.engine.memory.tables import MEMORY
from cpuctl.engine.outcome import Rejected
from cpuctl.quantity import Quantity

_MEBI = 20


def nearest_requests(telling: Telling, decision: Decision, runs: Runs) -> Iterator[RequestChange]:
    """Yield other requests that might be admitted, of what was decided about.

    First of one container: the refused one, or the one that requests most where the pod was refused as a
    whole. CPUs are tried one by one, or core by core if the policy wants that. Where less for one container
    is not enough, all get less. A pod that runs already cannot ask for anything else.
    """
    verdict = telling.admission.verdict
    if telling.story.restarted:
        return
    if isinstance(verdict, Rejected) and verdict.reason.startswith(OUT_OF):
        yield from _fitting(telling, decision, verdict, runs)
        return
    if decision.rule is Rule.NO_OWN_RESOURCES:
        yield from first_admitted(telling, with_own_resources(telling.story.pod), runs)
        return
    found: list[RequestChange] = []
    if decision.provider in ("cpu", ""):
        found += _other_cpus(telling, decision, runs)
    if decision.provider == "devices" or decision.rule is Rule.MASK_INEQUALITY:
        found += _fewer_devices(telling, decision, runs)
    if decision.provider == "memory" or decision.rule is Rule.MASK_INEQUALITY:
        found += _other_memory(telling, decision, runs)
    yield from found or first_admitted(telling, in_proportion(telling.story.pod, _unit(telling)), runs)


def _fitting(telling: Telling, decision: Decision, refused: Rejected, runs: Runs) -> Iterator[RequestChange]:
    """Take what the node is short of from the container that requests most of it."""
    resource, details = refused.reason.removeprefix(OUT_OF), refused.details
    for asker in askers_to_change(telling, decision, resource):
        before = asker.requests[resource]
        short = details["requested"] - (details["capacity"] - details["used"])
        if resource in telling.before.devices.pools:
            after = [Quantity.from_value(before.value - short)]
        elif resource != "cpu":
            after = [in_bytes(before.value - short >> _MEBI << _MEBI)]
        elif whole_cpus(asker.requests):
            # An exclusive claim is one of whole CPUs, and stays one.
            most = (before.milli_value - short) // 1000
            after = [Quantity.from_value(count) for count in range(most, 0, -1)]
        else:
            after = [Quantity.from_milli(before.milli_value - short)]
        choices = ({(asker.name, resource): amount} for amount in after if amount.sign > 0)
        yield from first_admitted(telling, choices, runs)


def _other_cpus(telling: Telling, decision: Decision, runs: Runs) -> Iterator[RequestChange]:
    unit, free = _unit(telling), _free(telling)
    counts = {each.name: whole_cpus(each.resources.requests) for each in telling.story.pod.all_containers}
    whole = {name: count for name, count in counts.items() if count}
    for asker in askers_to_change(telling, decision, "cpu"):
        count = whole_cpus(asker.requests)
        if not count:
            continue
        fewer = range(min(count - 1, free) // unit * unit, 0, -unit)
        more = range((count // unit + 1) * unit, free + 1, unit)
        for others, for_all in (
            (fewer, fewer_for_all(whole, unit, free)),
            (more, all_rounded_up(whole, unit)),
        ):
            of_one = ({(asker.name, "cpu"): Quantity.from_value(other)} for other in others)
            found = list(first_admitted(telling, of_one, runs))
            yield from found or first_admitted(telling, for_all if whole and asker.name else (), runs)


def _fewer_devices(telling: Telling, decision: Decision, runs: Runs) -> Iterator[RequestChange]:
    for resource, pool in telling.before.devices.pools.items():
        for asker in askers_to_change(telling, decision, resource):
            most = min(asker.requests[resource].value - 1, pool.healthy.bit_count())
            fewer = ({(asker.name, resource): Quantity.from_value(count)} for count in range(most, 0, -1))
            yield from first_admitted(telling, fewer, runs)


def _other_memory(telling: Telling, decision: Decision, runs: Runs) -> Iterator[RequestChange]:
    """Try what sets of NUMA nodes have of each resource, or the same amounts as whole numbers."""
    pod = telling.story.pod
    if decision.rule is Rule.QUANTITY_FORM:
        yield from first_admitted(telling, written_anew(pod), runs)
        return
    for asker in askers_to_change(telling, decision, MEMORY):
        for resource in asker.requests:  # NUMA nodes have nothing of what the Memory Manager does not count
            yield from _other_amounts(telling, asker, decision, resource, runs)


def _other_amounts(
    telling: Telling, asker: Asker, decision: Decision, resource: str, runs: Runs
) -> Iterator[RequestChange]:
    tables, amount = telling.after.memory.state.tables, asker.requests[resource].value
    total = memory_asked(telling.before, telling.story.pod, None) or {}
    # Hints for the pod as a whole are asked for with what its containers need at once.
    beside = 0 if decision.container else total.get(resource, amount) - amount
    below = amounts_below(tables, resource, amount + beside)
    above = amounts_above(tables, resource, amount + beside) if resource == MEMORY else []
    for amounts in (below, above):
        others = (other - beside for other in amounts if other > beside)
        choices = ({(asker.name, resource): in_bytes(other)} for other in others)
        yield from first_admitted(telling, choices, runs)


def _free(telling: Telling) -> int:
    """Count the CPUs that could become exclusive when the pod comes."""
    node = telling.before.copy()
    node.clean_up()
    reserved = node.cpu.policy.reserved if node.cpu.policy else 0
    return (node.cpu.state.default & ~reserved).bit_count()


def _unit(telling: Telling) -> int:
    """Tell in what portions CPUs are handed out."""
    policy = telling.before.cpu.policy
    whole_cores = policy is not None and policy.options.full_pcpus_only
    return max(telling.before.topology.cpus_per_core, 1) if whole_cores else 1
