"""Less of everything, for pods that no change of a single request admits.

All containers get less CPU, memory and huge pages in proportion, then as much more as the node allows: all
containers together, so that equal ones stay equal, then each alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cpuctl.engine.cpu.manager import request_step
from cpuctl.engine.explain.scenario import Replay, SearchBudget
from cpuctl.engine.explain.searches.changes import Amount, RequestChange
from cpuctl.engine.explain.searches.trials import (
    Choice,
    first_admitted,
    highest_admitted,
    in_bytes,
    pods_again,
)
from cpuctl.engine.memory.tables import MEMORY, is_memory, page_bytes
from cpuctl.pods.model import StoredPod
from cpuctl.quantity import Quantity

PARTS = 16
"""In how many steps requests are reduced in proportion."""


def less_of_all(replay: Replay, runs: SearchBudget) -> Iterator[RequestChange]:
    """Yield the requests that are admitted with less CPU and memory for every container, if some are."""
    pod = replay.scenario.pod
    choices = list(in_proportion(pod, request_step(replay.before.cpu.policy)))
    runs.note_in_proportion({resource for choice in choices for _, resource in choice})
    for change in first_admitted(replay, choices, runs):
        yield _raised(replay, change, runs)


def in_proportion(pod: StoredPod, unit: int) -> Iterator[Choice]:
    """Give every container less CPU, memory and huge pages, in steps of one sixteenth."""
    for part in range(PARTS - 1, 0, -1):
        yield {
            (each.name, name): _part(name, amount, part, unit)
            for each in pod.all_containers
            for name, amount in each.resources.requests.items()
            if name == "cpu" or is_memory(name)
        }


def _part(name: str, amount: Quantity, part: int, unit: int) -> Quantity:
    if name != "cpu":
        step = _bytes_step(name)
        least = 0 if name == MEMORY else step
        return in_bytes(max(amount.value * part // PARTS // step * step, least))
    if amount.is_integral_cpu:
        return Quantity.from_value(max(amount.value * part // PARTS // unit * unit, unit))
    return Quantity.from_milli(amount.milli_value * part // PARTS)


def _raised(replay: Replay, change: RequestChange, runs: SearchBudget) -> RequestChange:
    """Raise reduced requests again as far as the pod is still admitted: CPUs, then memory, then pages."""
    pages = {each.resource for each in change.amounts} - {"cpu", MEMORY}
    for resource in ("cpu", MEMORY, *sorted(pages)):
        change = _raised_alike(
            replay, change, [each for each in change.amounts if each.resource == resource], runs
        )
        same = [each for each in change.amounts if each.resource == resource]
        for amount in same if len(same) > 1 else ():
            change = _raised_alike(replay, change, [amount], runs, least=_worthwhile(amount))
    return change


def _worthwhile(amount: Amount) -> int:
    """Return by how many steps to raise one request at least; a little more is not worth unequal requests."""
    if amount.resource == "cpu":
        return 1
    return max(amount.after.value // _bytes_step(amount.resource) // PARTS, 1)


def _raised_alike(
    replay: Replay, change: RequestChange, amounts: Sequence[Amount], runs: SearchBudget, least: int = 1
) -> RequestChange:
    """Raise some amounts of a change together, by at least *least* steps, if the pod is still admitted."""
    unit = request_step(replay.before.cpu.policy)
    longest = max((_steps_below(each, unit) for each in amounts), default=0)
    current = longest + 1
    # What is found has to be verified within the bound, too.
    trials = (current.bit_length() + 2) * pods_again(replay)
    if not amounts or not runs.affords(trials + len(replay.scenario.pods)):
        return change
    reduced = {(each.container, each.resource): each.after for each in change.amounts}

    def attempt(count: int) -> RequestChange | None:
        larger = {(each.container, each.resource): _larger(each, count, longest, unit) for each in amounts}
        return next(first_admitted(replay, [{**reduced, **larger}], runs), None)

    if least < current:
        raised_least = attempt(least)
        if raised_least is None:
            return change
        change = raised_least
    return attempt(current) or highest_admitted(attempt, least, current) or change


def _steps_below(amount: Amount, unit: int) -> int:
    """Count the steps from a reduced request that stay below the current one; parts of CPUs have none."""
    if not _whole(amount):
        return 0
    return max(amount.before.value - amount.after.value - 1, 0) // _step(amount, unit)


def _larger(amount: Amount, count: int, longest: int, unit: int) -> Quantity:
    """Raise a request in proportion by *count* of the *longest* steps; to the current one with one more."""
    if count > longest:
        return amount.before
    if not _whole(amount):
        return amount.after
    steps = _steps_below(amount, unit) * count // longest
    return Quantity.from_value(amount.after.value + steps * _step(amount, unit), amount.after.format)


def _whole(amount: Amount) -> bool:
    return amount.resource != "cpu" or (amount.before.is_integral_cpu and amount.after.is_integral_cpu)


def _step(amount: Amount, unit: int) -> int:
    return unit if amount.resource == "cpu" else _bytes_step(amount.resource)


def _bytes_step(resource: str) -> int:
    """Return the bytes by which memory (1 MiB) or huge pages (one page) are reduced."""
    return 1 << 20 if resource == MEMORY else max(page_bytes(resource), 1)
