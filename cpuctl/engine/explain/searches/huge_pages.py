"""The fewest huge pages to add on a NUMA node for a refused pod; each number is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from cpuctl.engine.explain.scenario import Replay, Scenario, SearchBudget, Starter, replay_scenario
from cpuctl.engine.memory.tables import MEMORY, is_memory, memory_account, page_bytes
from cpuctl.engine.outcome import Admitted
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from cpuctl.machine.machine_info import MachineInfo

_MOST_RUNS = 64


class MorePages(Record):
    """Huge pages of a size (KiB) on a NUMA node: their number before and after the change.

    ``enough`` is whether the pod is then admitted; if not, ``after`` is the largest number tried.
    """

    numa_node: int
    kib: int
    before: int
    after: int
    enough: bool


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
        if size <= 0 or size % 1024:
            continue
        for node in info.nodes:
            before = tried = node.hugepages.get(size // 1024, 0)
            enough = False
            for count in range(before + 1, before + min(-(-amount // size), _MOST_RUNS) + 1):
                changed = _with_pages(info, node.id, size // 1024, count)
                if not _has_memory_for_pages(changed, scenario):
                    break
                tried = count
                replayed = replay_scenario(replace(scenario, start=start_on(changed)), runs, 1)
                enough = isinstance(replayed, Replay) and isinstance(replayed.admission.verdict, Admitted)
                if enough:
                    break
            yield MorePages(node.id, size // 1024, before, tried, enough)


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
