"""The fewest huge pages to add on a NUMA node for a refused pod; what is found has been tried.

More pages do not always help: a NUMA node that has enough in total, but not free, makes wider hints no longer
preferred. So low numbers are tried one by one; with large pages, there are no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from cpuctl.engine.explain.scenario import Replay, Scenario, SearchBudget, Starter, replay_scenario
from cpuctl.engine.memory.tables import MEMORY, free_in, is_memory, memory_account, page_bytes
from cpuctl.engine.outcome import Admitted
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from cpuctl.machine.machine_info import MachineInfo
    from cpuctl.pods.model import StoredPod

ONE_BY_ONE = 64
"""How many additional pages are tried one by one before the steps double."""


class MorePages(Record):
    """Huge pages of a size (KiB) on a NUMA node: their number before and after the change.

    ``enough`` is whether the pod is then admitted; if not, ``after`` is the largest number tried, and
    ``all_up_to`` the number up to which every one was tried. ``lost`` pods are no longer admitted then, those
    of the same template that are ``left`` are still not.
    """

    numa_node: int
    kib: int
    before: int
    after: int
    enough: bool
    lost: tuple[StoredPod, ...] = ()
    left: tuple[StoredPod, ...] = ()

    @property
    def all_up_to(self) -> int:
        """The number up to which every one was tried."""
        return min(self.after, self.before + ONE_BY_ONE)


def more_huge_pages(
    replay: Replay, info: MachineInfo, start_on: Callable[[MachineInfo], Starter], runs: SearchBudget
) -> Iterator[MorePages]:
    """Yield, for each NUMA node, the fewest additional pages of one size with which the pod is admitted.

    With pages or reservations that exceed a node's memory, the kubelet's sums wrap around and nearly
    everything fits: such numbers are not tried.
    """
    scenario = replay.scenario
    if isinstance(replay.admission.verdict, Admitted):
        return
    requested = {
        name: amount.value
        for container in scenario.pod.all_containers
        for name, amount in container.resources.requests.items()
        if is_memory(name) and name != MEMORY and amount.sign > 0
    }
    for name, amount in sorted(requested.items()):
        size = page_bytes(name)
        if size <= 0 or size % 1024 or _has_free_pages(replay, name):
            continue
        for node in info.nodes:
            before = node.hugepages.get(size // 1024, 0)
            on_node = partial(_with_pages, info, node.id, size // 1024)
            most = _most_pages(on_node, scenario, before, before - (-amount // size))

            admitted: dict[int, Replay] = {}

            def admits(
                count: int,
                on_node: Callable[[int], MachineInfo] = on_node,
                admitted: dict[int, Replay] = admitted,
            ) -> bool:
                replayed = replay_scenario(replace(scenario, start=start_on(on_node(count))), runs, 1)
                if isinstance(replayed, Replay) and isinstance(replayed.admission.verdict, Admitted):
                    admitted[count] = replayed
                return count in admitted

            found = fewest(admits, before, most)
            if found is None:
                yield MorePages(node.id, size // 1024, before, most, enough=False)
            else:
                lost, left = replay.lost_in(admitted[found]), replay.left_in(admitted[found])
                yield MorePages(node.id, size // 1024, before, found, enough=True, lost=lost, left=left)


def _has_free_pages(replay: Replay, name: str) -> bool:
    """Return whether a NUMA node has all pages free that the pod requests: more would help by chance only."""
    tables = replay.before.memory.state.tables
    requests = (each.resources.requests for each in replay.scenario.pod.all_containers)
    wanted = sum(amounts[name].value for amounts in requests if name in amounts)
    with_pages = (node for node, table in tables.items() if name in table.memory_map)
    return any(free_in(tables, (node,), name) >= wanted for node in with_pages)


def fewest(works: Callable[[int], bool], before: int, most: int) -> int | None:
    """Return the lowest number above *before*, up to *most*, that works; None if none of those tried does.

    After the first ones, steps double, and bisection finds the lowest number since the last that failed.
    """
    number, fails, step = before, before, 1
    while number < most:
        number = min(number + step, most)
        if works(number):
            break
        fails = number
        if number - before >= ONE_BY_ONE:
            step *= 2
    else:
        return None
    while number - fails > 1:
        middle = (fails + number) // 2
        number, fails = (middle, fails) if works(middle) else (number, middle)
    return number


def _most_pages(on_node: Callable[[int], MachineInfo], scenario: Scenario, before: int, wanted: int) -> int:
    """Return the largest number, up to *wanted*, for which the NUMA nodes have memory; at least *before*."""
    fits, most = before, wanted + 1
    while most - fits > 1:
        middle = (fits + most) // 2
        fits, most = (middle, most) if _has_memory_for_pages(on_node(middle), scenario) else (fits, middle)
    return fits


def _has_memory_for_pages(info: MachineInfo, scenario: Scenario) -> bool:
    """Return whether every NUMA node is known to have the memory of its huge pages and reservations."""
    account = memory_account(info, scenario.kubelet.config.reserved_memory)
    return not any(line.allocatable is None or line.overdrawn for line in account)


def _with_pages(info: MachineInfo, number: int, kib: int, count: int) -> MachineInfo:
    """Change the number of pages on one node; a page size that one node has is listed on all."""
    nodes = (
        replace(
            node,
            hugepages={**node.hugepages, kib: count if node.id == number else node.hugepages.get(kib, 0)},
        )
        for node in info.nodes
    )
    return replace(info, nodes=tuple(nodes))
