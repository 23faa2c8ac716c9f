"""What a node has, what a configuration's reservations keep of it, and what pods get, by resource.

Rule: kubelet v1.36 ``cm/node_container_manager_linux.go`` and the node status; the equality that the memory
manager's static policy requires is that of ``memorymanager/memory_manager.go``. Process ids, and usually
storage, are not part of the machine information: what is reserved of them is not compared with anything.
"""

from collections.abc import Iterator, Mapping

from cpuctl.engine.node_capacity import left_for_pods, node_capacity, node_reservations
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.reservations import (
    RESERVING_SIGNALS,
    Reservations,
    total_by_resource,
)
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.quantity import Quantity
from cpuctl.records import Record

_ZERO = Quantity()
MEMORY_SETTINGS = "kubeReserved.memory, systemReserved.memory, or memory.available of evictionHard"
"""The settings that keep memory from pods, in words."""

_RESOURCES = ("cpu", "memory", "ephemeral-storage", "pid")


class ResourceLine(Record):
    """One resource; amounts that depend on an unknown capacity are None."""

    resource: str
    capacity: Quantity | None
    kube: Quantity
    system: Quantity
    eviction: Quantity | None
    reserved: Quantity | None
    allocatable: Quantity | None


class MemoryBalance(Record):
    """The memory manager's rule for one kind of memory: *listed* in reservedMemory must equal *reserved*."""

    kind: str
    listed: Quantity
    reserved: Quantity

    @property
    def equal(self) -> bool:
        """Whether the static policy accepts it."""
        return self.listed == self.reserved


class ReservationSummary(Record):
    """The resources, the memory limit of all pods together, and what ``reservedMemory`` says by NUMA node.

    ``pods_memory`` is the limit of the kubepods cgroup: hard eviction is not subtracted there. It is None
    if the machine's memory is not known.
    """

    lines: tuple[ResourceLine, ...]
    pods_memory: Quantity | None
    numa_nodes: Mapping[int, Mapping[str, Quantity]]
    balances: tuple[MemoryBalance, ...]


def summarize(
    info: MachineInfo,
    config: KubeletConfiguration,
    reservations: Reservations,
    capacity: Mapping[str, Quantity],
) -> ReservationSummary:
    """Put the figures together; a *capacity* of 0 memory means that it is not known.

    The capacity of CPUs is not known if the machine's cores are not: a kubelet uses these.
    """
    listed = _by_node(config)
    unknown = {name for name in ("memory",) if not capacity[name].sign}
    if not info.cores_known:
        unknown.add("cpu")
    known = {name: size for name, size in capacity.items() if name not in unknown}
    memory = known.get("memory")
    return ReservationSummary(
        lines=tuple(_lines(info, reservations, known)),
        pods_memory=None if memory is None else left_for_pods(config, reservations, "memory", memory),
        numa_nodes=listed,
        balances=tuple(_balances(config, reservations, capacity, known)),
    )


def _balances(
    config: KubeletConfiguration,
    reservations: Reservations,
    capacity: Mapping[str, Quantity],
    known: Mapping[str, Quantity],
) -> Iterator[MemoryBalance]:
    """Return the balances except those that depend on a share of unknown memory."""
    unresolved = reservations.kept_by_eviction(capacity).keys() - reservations.kept_by_eviction(known).keys()
    balances = memory_balances(config, reservations.total(capacity))
    return (balance for balance in balances if balance.kind not in unresolved)


def _lines(
    info: MachineInfo, reservations: Reservations, capacity: Mapping[str, Quantity]
) -> Iterator[ResourceLine]:
    eviction, total = reservations.kept_by_eviction(capacity), reservations.total(capacity)
    unknown_shares = {
        RESERVING_SIGNALS[signal] for signal in reservations.thresholds.keys() & RESERVING_SIGNALS
    }
    named = (reservations.kube.keys() | reservations.system.keys() | eviction.keys()) - capacity.keys()
    listed = {"cpu", "memory"} | capacity.keys() | named
    for resource in (name for name in _RESOURCES if name in listed):
        there, reserved = capacity.get(resource), total.get(resource, _ZERO)
        unresolved = resource in unknown_shares and resource not in eviction
        yield ResourceLine(
            resource=resource,
            capacity=there,
            kube=reservations.kube.get(resource, _ZERO),
            system=reservations.system.get(resource, _ZERO),
            eviction=None if unresolved else eviction.get(resource, _ZERO),
            reserved=None if there is None else reserved,
            allocatable=None if there is None else _allocatable(info, resource, there, reserved),
        )


def _allocatable(info: MachineInfo, resource: str, capacity: Quantity, reserved: Quantity) -> Quantity:
    """Return what the node's status offers; huge pages are not offered again as memory."""
    left = capacity - reserved
    if resource == "memory":
        pages = sum(kib * 1024 * count for node in info.nodes for kib, count in node.hugepages.items())
        left -= Quantity.from_value(pages)
    return max(left, _ZERO)


def _by_node(config: KubeletConfiguration) -> dict[int, dict[str, Quantity]]:
    nodes: dict[int, dict[str, Quantity]] = {}
    for item in config.reserved_memory:
        amounts = nodes.setdefault(item.numa_node, {})
        for kind, amount in item.limits.items():
            amounts[kind] = amounts.get(kind, _ZERO) + amount
    return dict(sorted(nodes.items()))


def memory_balances(
    config: KubeletConfiguration, reserved: Mapping[str, Quantity]
) -> Iterator[MemoryBalance]:
    """Compare ``reservedMemory`` with what is kept from pods; nothing if no manager checks either."""
    if config.memory_manager_policy != "Static" and not config.reserved_memory:
        return
    sums = {"memory": _ZERO} | total_by_resource(config.reserved_memory)
    for kind in sorted(sums):
        yield MemoryBalance(kind=kind, listed=_ZERO + sums[kind], reserved=reserved.get(kind, _ZERO))


def reservations_of_node(info: MachineInfo, config: KubeletConfiguration) -> ReservationSummary:
    """Compute what a configuration keeps from pods; raise GoError if the kubelet cannot."""
    return summarize(info, config, node_reservations(info, config), node_capacity(info))
