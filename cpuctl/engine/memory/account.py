"""What a Memory Manager counts on every NUMA node before anybody has memory of it.

The kubelet's sums wrap around at 64 bits where more is taken than there is; here that is told instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cpuctl.engine.memory.tables import MEMORY, fresh_tables, page_bytes
from cpuctl.kubelet.config import ReservedMemory
from cpuctl.machine.machine_info import MachineInfo

_BYTE = 10**9
"""One byte in the unit of ``Quantity.nano``."""


class NodeAmounts(NamedTuple):
    """One resource of one NUMA node in bytes; None is not known, as nothing was recorded.

    ``huge_pages`` is what of memory is set aside as huge pages. Where that and ``reserved`` are more than
    the ``total``, ``allocatable`` is what the kubelet goes on with, and ``overdrawn`` by how much.
    """

    numa_node: int
    resource: str
    total: int | None
    reserved: int
    huge_pages: int | None
    allocatable: int | None

    @property
    def overdrawn(self) -> int:
        """The bytes that are taken and not there, as far as that is known."""
        if self.total is None:
            return 0
        return max(0, self.reserved + (self.huge_pages or 0) - self.total)


def memory_account(info: MachineInfo, reserved: Iterable[ReservedMemory]) -> Iterator[NodeAmounts]:
    """Count by NUMA node and resource, memory first; what is reserved of other nodes is passed over."""
    listed: dict[int, dict[str, int]] = {}
    for item in reserved:
        amounts = listed.setdefault(item.numa_node, {})
        for name, quantity in item.limits.items():
            amounts[name] = amounts.get(name, 0) + quantity.nano // _BYTE
    memory_known = {node.id: bool(info.memory_bytes) and node.memory_known for node in info.nodes}
    for number, node in sorted(fresh_tables(info, listed).items()):
        pages = {name: table.total for name, table in node.memory_map.items() if name != MEMORY}
        for name in (MEMORY, *sorted(pages, key=page_bytes)):
            table = node.memory_map[name]
            known = name != MEMORY or memory_known[number]
            pages_known = name != MEMORY or info.hugepages_known
            yield NodeAmounts(
                numa_node=number,
                resource=name,
                total=table.total if known else None,
                reserved=table.system_reserved,
                huge_pages=sum(pages.values()) * (name == MEMORY) if pages_known else None,
                allocatable=table.allocatable if known and pages_known else None,
            )
