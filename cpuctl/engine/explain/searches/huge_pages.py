"""The fewest huge pages to add on a NUMA node for a refused pod; each number is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from cpuctl.engine.explain.scenario import Replay, SearchBudget, Starter, replay_scenario
from cpuctl.engine.memory.tables import MEMORY, is_memory, page_bytes
from cpuctl.engine.outcome import Admitted
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from cpuctl.machine.machine_info import MachineInfo

_MOST_RUNS = 64


class MorePages(Record):
    """Huge pages of a size (KiB) on a NUMA node: their number before and after the change."""

    numa_node: int
    kib: int
    before: int
    after: int


def more_huge_pages(
    replay: Replay, info: MachineInfo, start_on: Callable[[MachineInfo], Starter], runs: SearchBudget
) -> Iterator[MorePages]:
    """Yield, for each NUMA node, the fewest additional pages of one size with which the pod is admitted."""
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
        most = min(-(-amount // size), _MOST_RUNS) if size > 0 and not size % 1024 else 0
        for node in info.nodes:
            taken = sum(kib * count for kib, count in node.hugepages.items()) << 10
            for more in range(1, min(most, max(node.memory_bytes - taken, 0) // max(size, 1)) + 1):
                changed = _with_pages(info, node.id, size // 1024, more)
                replayed = replay_scenario(replace(scenario, start=start_on(changed)), runs, 1)
                if isinstance(replayed, Replay) and isinstance(replayed.admission.verdict, Admitted):
                    before = node.hugepages.get(size // 1024, 0)
                    yield MorePages(node.id, size // 1024, before, before + more)
                    break


def _with_pages(info: MachineInfo, number: int, kib: int, more: int) -> MachineInfo:
    """Add pages on one node; a page size that one node has is listed on all."""
    nodes = (
        replace(
            node,
            hugepages={
                **node.hugepages,
                kib: node.hugepages.get(kib, 0) + (more if node.id == number else 0),
            },
        )
        for node in info.nodes
    )
    return replace(info, nodes=tuple(nodes))
