"""What a Memory Manager does with its state file at start: it replays all assignments, and compares.

Rule: kubelet v1.36 ``memorymanager/policy_static.go``, ``validateState``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from cpuctl.checkpoints.model import MemoryBlock, MemoryNode, MemoryStateFile
from cpuctl.engine.memory.state import MemoryManagerState
from cpuctl.engine.memory.tables import Tables, charge, wrapped
from cpuctl.engine.outcome import FaultKind, KubeletFault, Undetermined

_MOST_ORDERS = 64
_EMPTY = "[memorymanager] machine state can not be empty when it has memory assignments"
_DIFFERENT = "[memorymanager] the expected machine state is different from the real one"
_CHANCE = (
    "in memory_manager_state a NUMA node belongs to several groups: whether the kubelet accepts "
    "it depends on the iteration order of a map"
)


class HeldBlock(NamedTuple):
    """A block and its holder."""

    uid: str
    container: str
    block: MemoryBlock


def restored(
    saved: MemoryStateFile, fresh: Mapping[int, MemoryNode], *, compares_groups: bool = True
) -> MemoryManagerState | str | KubeletFault | Undetermined:
    """Take over a file of the static policy, or return the kubelet's error.

    *fresh* are the tables of the machine as it is now; *compares_groups* is False for a kubelet that
    compares each NUMA node separately. Return a fault if the kubelet crashes on the file, Undetermined if
    its answer depends on the order of a map.
    """
    difference = _difference if compares_groups else _difference_of_nodes
    state = MemoryManagerState.of_file(saved)
    if not state.tables:
        return _EMPTY if state.blocks else MemoryManagerState(dict(fresh))
    held = list(held_blocks(state))
    differs = partial(difference, state.tables)
    objection = _objection(fresh, held, differs)
    for order in _other_orders(held):
        other = _objection(fresh, order, differs)
        if bool(other) != bool(objection):
            return Undetermined(_CHANCE, variants=("it starts", f"it does not: {_text(objection or other)}"))
    return objection or state


def _text(objection: str | KubeletFault) -> str:
    if isinstance(objection, KubeletFault):
        return f"it crashes in the {objection.where}: {objection.why}"
    return objection


def _other_orders(held: Sequence[HeldBlock]) -> Iterator[Sequence[HeldBlock]]:
    """Yield orders in which a kubelet may replay blocks: among those that share a node, any may come last.

    If groups do not overlap, all orders lead to the same result, and one more is enough.
    """
    yield held[::-1]
    groups = {frozenset(each.block.numa_affinity) for each in held}
    if sum(map(len, groups)) == len(frozenset().union(*groups)):
        return
    for uid in sorted({each.uid for each in held})[:_MOST_ORDERS]:
        own, others = ([each for each in held if (each.uid == uid) == mine] for mine in (True, False))
        for rest in (others, others[::-1]):
            yield [*rest, *own]
            yield [*own, *rest]


def held_blocks(state: MemoryManagerState) -> Iterator[HeldBlock]:
    """Yield the blocks that count: the pod's own if it holds memory as a whole, else its containers'."""
    for uid, containers in sorted(state.blocks.items()):
        whole = state.pod_blocks.get(uid)
        for container, blocks in sorted(containers.items()) if whole is None else (("", whole),):
            yield from (HeldBlock(uid, container, block) for block in blocks)


def _objection(
    fresh: Mapping[int, MemoryNode],
    held: Iterable[HeldBlock],
    difference: Callable[[Tables], str | KubeletFault],
) -> str | KubeletFault:
    """Return the kubelet's objection on replaying all blocks in this order; empty if it has none."""
    expected = dict(fresh)
    for uid, container, block in held:
        if problem := replay(expected, block):
            return f"[memorymanager] (pod: {uid}, container: {container}) {problem}"
    return difference(expected)


def replay(tables: Tables, block: MemoryBlock) -> str:
    """Charge a block to the tables, or return what is wrong with it, as the end of the kubelet's text."""
    for node in block.numa_affinity:
        if node not in tables:
            return "the memory assignment uses the NUMA that does not exist"
        if block.type not in tables[node].memory_map:
            return "the memory assignment uses memory resource that does not exist"
    charge(tables, block.numa_affinity, block.type, block.size)
    return ""


def _difference(found: Tables, expected: Tables) -> str | KubeletFault:
    """Compare tables node by node."""
    if found.keys() != expected.keys():
        return _DIFFERENT
    for number, node in found.items():
        if not _equivalent(node, expected[number]):
            return _DIFFERENT
        for name in node.memory_map:
            without = [cell for cell in node.cells if name not in found[cell].memory_map]
            if without:
                return _crash(name, without[0])
            if _of_group(found, node.cells, name) != _of_group(expected, node.cells, name):
                return _DIFFERENT
    return ""


def _difference_of_nodes(found: Tables, expected: Tables) -> str:
    """Compare tables node by node and number by number, as kubelets up to 1.31 do."""
    same = found.keys() == expected.keys() and all(
        _equivalent(node, expected[number]) and node.memory_map == expected[number].memory_map
        for number, node in found.items()
    )
    return "" if same else _DIFFERENT


def _equivalent(node: MemoryNode, other: MemoryNode) -> bool:
    """Return whether two nodes agree in all but the free and reserved amounts."""
    return (
        node.number_of_assignments == other.number_of_assignments
        and sorted(node.cells) == sorted(other.cells)
        and _capacities(node) == _capacities(other)
    )


def _capacities(node: MemoryNode) -> dict[str, tuple[int, int, int]]:
    return {
        name: (table.total, table.system_reserved, table.allocatable)
        for name, table in node.memory_map.items()
    }


def _of_group(tables: Tables, cells: Iterable[int], resource: str) -> tuple[int, int]:
    """Add up the free and reserved amounts: how a group divides them among its nodes does not matter."""
    members = [tables[cell].memory_map[resource] for cell in cells]
    return wrapped(sum(each.free for each in members)), wrapped(sum(each.reserved for each in members))


def _crash(resource: str, node: int) -> KubeletFault:
    return KubeletFault(
        kind=FaultKind.CRASH,
        where=f"Memory Manager, adding up {resource} of a group of which NUMA node {node} has none",
        why="runtime error: invalid memory address or nil pointer dereference",
    )
