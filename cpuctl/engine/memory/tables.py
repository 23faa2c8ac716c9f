"""The Memory Manager's tables: memory and huge pages of every NUMA node, and its group of nodes.

Rule: kubelet v1.36 ``pkg/kubelet/cm/memorymanager`` (``policy_static.go``, machine state). Sums wrap at 64
bits as the kubelet's do; only ``memory_account``, made before any pod has memory, reports that instead.
Tables are values: a change makes new ones.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from cpuctl.checkpoints.model import MemoryBlock, MemoryNode, MemoryTable
from cpuctl.golang.text import GoError
from cpuctl.kubelet.config import ReservedMemory
from cpuctl.machine.machine_info import InfoNode, MachineInfo
from cpuctl.machine.model import NODE_DIRECTORY
from cpuctl.pods.model import Container, ContainerKind, StoredPod
from cpuctl.quantity import Format, Quantity
from cpuctl.records import Record, replace

MEMORY = "memory"
_HUGE_PAGES = "hugepages-"
_WRAP = (1 << 64) - 1

Tables = dict[int, MemoryNode]
"""The tables of every NUMA node by id."""


def is_memory(resource: str) -> bool:
    """Return whether the Memory Manager counts a resource."""
    return resource == MEMORY or is_huge_pages(resource)


def is_huge_pages(resource: str) -> bool:
    """Return whether a resource is huge pages of any size, not ordinary memory."""
    return resource.startswith(_HUGE_PAGES)


def page_bytes(resource: str) -> int:
    """Return the size of one page of a huge page resource; 0 if its name, as in a damaged file, has none."""
    try:
        return Quantity.parse(resource.removeprefix(_HUGE_PAGES)).value
    except GoError:
        return 0


def pages_file(numa_node: int, kib: int) -> str:
    """Return the kernel's file that sets how many pages of *kib* KiB a NUMA node has (*hugetlbpage.rst*)."""
    return f"/{NODE_DIRECTORY}/node{numa_node}/hugepages/hugepages-{kib}kB/nr_hugepages"


def hugepages_by_name(node: InfoNode) -> dict[str, int]:
    """Return the bytes that a NUMA node has of every huge page size, by resource name."""
    return {
        f"{_HUGE_PAGES}{Quantity.from_value(kib << 10, Format.BINARY_SI)}": (kib << 10) * count
        for kib, count in node.hugepages.items()
    }


def wrapped(number: int) -> int:
    """Return the low 64 bits."""
    return number & _WRAP


def fresh_tables(info: MachineInfo, reserved: Mapping[int, Mapping[str, int]]) -> Tables:
    """Return the tables of a machine with no memory assigned yet.

    *reserved* are the bytes that pods never get, by NUMA node and resource.
    """
    return {node.id: _fresh_node(node, reserved.get(node.id, {})) for node in info.nodes}


def _fresh_node(node: InfoNode, reserved: Mapping[str, int]) -> MemoryNode:
    pages = hugepages_by_name(node)
    tables = {name: _fresh_table(total, reserved.get(name, 0)) for name, total in pages.items()}
    # Huge pages are subtracted from the memory for pods, but not from its total.
    tables[MEMORY] = _fresh_table(node.memory_bytes, reserved.get(MEMORY, 0), sum(pages.values()))
    return MemoryNode(number_of_assignments=0, memory_map=tables, cells=(node.id,))


def _fresh_table(total: int, reserved: int, elsewhere: int = 0) -> MemoryTable:
    free = wrapped(total - reserved - elsewhere)
    return MemoryTable(total=total, system_reserved=reserved, allocatable=free, reserved=0, free=free)


def free_in(tables: Mapping[int, MemoryNode], nodes: Iterable[int], resource: str) -> int:
    """Add up the bytes that are free on some nodes."""
    return wrapped(sum(tables[node].memory_map[resource].free for node in nodes))


def allocatable_in(tables: Mapping[int, MemoryNode], nodes: Iterable[int], resource: str) -> int:
    """Add up the bytes that pods could get on some nodes if none were assigned."""
    return wrapped(sum(tables[node].memory_map[resource].allocatable for node in nodes))


def may_wrap(tables: Mapping[int, MemoryNode], resources: Collection[str]) -> bool:
    """Return whether a sum over nodes may exceed 64 bits: some node reserves more than it has."""
    for node in tables.values():
        for name in resources:
            table = node.memory_map[name]
            if table.allocatable > table.total:
                return True
    return False


def charge(tables: Tables, nodes: Sequence[int], resource: str, amount: int) -> None:
    """Take bytes from nodes, lowest first, and make them a group; each counts it, even if it gives none."""
    for number in nodes:
        node = tables[number]
        taken = min(amount, node.memory_map[resource].free)
        amount -= taken
        tables[number] = MemoryNode(
            number_of_assignments=node.number_of_assignments + 1,
            memory_map=_moved(node.memory_map, resource, taken),
            cells=tuple(nodes),
        )


def release(tables: Tables, blocks: Iterable[MemoryBlock]) -> None:
    """Return blocks to their nodes, lowest first; a node that is no longer used leaves its group."""
    for block in blocks:
        amount = block.size
        for number in block.numa_affinity:
            node = tables[number]
            given = min(amount, node.memory_map[block.type].reserved)
            amount -= given
            left = node.number_of_assignments - 1
            tables[number] = MemoryNode(
                number_of_assignments=left,
                memory_map=_moved(node.memory_map, block.type, -given),
                cells=node.cells if left else (number,),
            )


def _moved(tables: Mapping[str, MemoryTable], resource: str, taken: int) -> Mapping[str, MemoryTable]:
    """Move an amount from free to reserved."""
    if not taken:
        return tables
    table = tables[resource]
    return {**tables, resource: replace(table, reserved=table.reserved + taken, free=table.free - taken)}


def violates_groups(tables: Mapping[int, MemoryNode], members: list[int]) -> bool:
    """Return whether one of several nodes is in use alone or in another group."""
    return any(
        tables[node].number_of_assignments and set(tables[node].cells) != set(members) for node in members
    )


_BYTE = 10**9
"""One byte in the unit of ``Quantity.nano``."""


class NodeAmounts(Record):
    """One resource of one NUMA node in bytes; None if it was not recorded.

    ``huge_pages`` is the memory set aside as huge pages. If that plus ``reserved`` exceeds ``total``,
    ``allocatable`` is the wrapped value that the kubelet goes on with, and ``overdrawn`` the excess.
    """

    numa_node: int
    resource: str
    total: int | None
    reserved: int
    huge_pages: int | None
    allocatable: int | None

    @property
    def overdrawn(self) -> int:
        """The bytes that are taken but do not exist, as far as known."""
        if self.total is None:
            return 0
        return max(0, self.reserved + (self.huge_pages or 0) - self.total)


def memory_account(info: MachineInfo, reserved: Iterable[ReservedMemory]) -> Iterator[NodeAmounts]:
    """Yield amounts by NUMA node and resource, memory first; reservations of other nodes are ignored."""
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


# How much memory and huge pages a container or a pod requests from the Memory Manager.
#
# Rule: kubelet v1.36 ``policy_static.go``. Amounts are the kubelet's unsigned 64-bit numbers.


MemoryRequest = Mapping[str, int]
"""Bytes by resource name; a request of 0 counts as a request."""

_Sums = dict[str, int]


def container_request(container: Container) -> MemoryRequest | None:
    """Return a container's requests; None if one is not written as a whole number (``1.5Gi``, ``1000m``)."""
    request = {}
    for name, quantity in container.resources.requests.items():
        if is_memory(name):
            amount = quantity.exact_int64
            if amount is None:
                return None
            request[name] = wrapped(amount)
    return request


def pod_request(pod: StoredPod) -> MemoryRequest | None:
    """Add up what a pod needs at once of each resource that an app container requests; None as above."""
    apps: _Sums = {}
    sidecars: _Sums = {}
    peaks: _Sums = {}
    for container in pod.all_containers:
        request = container_request(container)
        if request is None:
            return None
        for name, amount in request.items():
            match container.kind:
                case ContainerKind.SIDECAR:
                    _add(sidecars, name, amount)
                case ContainerKind.INIT:
                    peaks[name] = max(peaks.get(name, 0), wrapped(sidecars.get(name, 0) + amount))
                case ContainerKind.APP:
                    _add(apps, name, amount)
    return {
        name: max(wrapped(amount + sidecars.get(name, 0)), peaks.get(name, 0))
        for name, amount in apps.items()
    }


def _add(sums: _Sums, name: str, amount: int) -> None:
    sums[name] = wrapped(sums.get(name, 0) + amount)
