"""The engine compared with simple twins that follow the kubelet step by step, on machines of every shape.

The inputs are drawn from bytes, so that a fuzzer can control them; any bytes are valid.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, permutations, product
from typing import TypeVar

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.picking.distributed import Dealing, take_distributed
from cpuctl.engine.cpu.picking.packed import Spread, picker_rules, take_packed
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.hints.topology_manager import Answer, Merged, TopologyManager
from cpuctl.engine.masks import CPUMask, NodeMask
from cpuctl.engine.outcome import AllocationError, FaultKind, KubeletFault, Picked, PickResult, Undetermined
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.machine.machine_info import InfoNode, MachineInfo
from tests.support.naive_distributed import ENDLESS, Request, pick_distributed
from tests.support.naive_merge import naive_merge
from tests.support.naive_packed import DIVIDED_BY_ZERO, Cpus, Machine, pick_packed
from tests.support.topologies import CoreAt, topology

T = TypeVar("T")

Lists = list[list[Hint]]


class Choices:
    """Decisions drawn from bytes, one byte each; after the last byte the first choice is taken."""

    def __init__(self, data: bytes) -> None:
        self.left = iter(data)

    def number(self, low: int, high: int) -> int:
        """Choose from a range, including its ends; it must not have more than 256 numbers."""
        return low + next(self.left, 0) % (high - low + 1)

    def of(self, items: Sequence[T]) -> T:
        return items[self.number(0, len(items) - 1)]

    def some(self, items: Sequence[T]) -> list[T]:
        """Choose about half of the items, or all but a few."""
        rare = self.number(0, 3)
        return [item for item in items if self.number(0, 7) >= (4, 1, 7, 0)[rare]]


def plain(result: PickResult) -> Cpus | str:
    """Write a result in the form of the naive twins."""
    match result:
        case Picked(cpus=cpus):
            return frozenset(CPUSet(cpus))
        case AllocationError(message=message):
            return message
        case KubeletFault(kind=FaultKind.CRASH):
            return DIVIDED_BY_ZERO
        case KubeletFault():
            return ENDLESS
        case Undetermined(why=why):
            return why


def run_pickers(choices: Choices) -> None:
    """Pick CPUs, packed and distributed, and compare."""
    machine = drawn_machine(choices)
    offered = frozenset(choices.some(sorted(machine.cpus)))
    minor, spread = choices.number(36, 38), choices.of(list(Spread))
    rules = picker_rules(behaviours(minor), align_by_socket=choices.number(0, 1) == 1)
    group = choices.of([1, 2, machine.average("core")])
    need = choices.number(0, len(offered) // max(group, 1) + 1) * max(group, 1)
    uncore, width = choices.number(0, 1) == 1, choices.number(0, 4)
    found = topology(machine.cores, unlisted_cpus=machine.unlisted_cpus)
    mask = CPUMask(CPUSet.of(offered).mask)
    packed = take_packed(found, mask, need, spread=spread, prefer_uncore=uncore)
    assert plain(packed) == pick_packed(machine, offered, need, spread, prefer_uncore=uncore)
    dealt = take_distributed(found, mask, need, Dealing(group, spread, rules, width))
    assert plain(dealt) == pick_distributed(machine, offered, Request(need, group, spread, rules, width))


def drawn_machine(choices: Choices) -> Machine:
    """Draw cores: nested, with each NUMA node in one socket, or overlapping."""
    nested, nodes, sockets = choices.number(0, 1), choices.number(1, 6), choices.number(1, 3)
    threads, uneven, far = choices.number(1, 3), choices.number(0, 3), choices.number(0, 1)
    sizes = [choices.number(1, 4) if not uneven else threads for _ in range(choices.number(1, 9))]
    places = [choices.number(0, nodes - 1) for _ in sizes]
    number = count()
    slots = [(thread, core) if far else (core, thread) for core, n in enumerate(sizes) for thread in range(n)]
    numbered = {slot: next(number) for slot in sorted(slots)}
    caches = choices.number(0, 3)
    cores = [
        CoreAt(
            tuple(numbered[(thread, core) if far else (core, thread)] for thread in range(size)),
            node,
            node % sockets if nested else choices.number(0, sockets - 1),
            choices.number(0, caches) if caches else None,
        )
        for core, (size, node) in enumerate(zip(sizes, places, strict=True))
    ]
    total = sum(sizes)
    return Machine(cores, max(choices.of([0, 0, 0, 0, 1, 4, -1, -4, -total]), 1 - total))


def run_merges(choices: Choices) -> None:
    """Merge hint lists, and compare with trying all combinations."""
    ids = sorted(set(choices.some(range(9)))) or [0]
    ids = ids[:4]
    rows = {node: _row(choices, ids) for node in ids}
    policy = choices.of(["best-effort", "restricted", "single-numa-node"])
    measured = choices.number(0, 1) == 1
    info = MachineInfo(
        nodes=tuple(InfoNode(node, (), distances=tuple(rows[node])) for node in ids),
        num_cpus=1,
        num_sockets=1,
    )
    manager = TopologyManager.of(info, policy, "container", closest=measured)
    providers = [_lists(choices, ids) for _ in range(choices.number(1, 3))]
    answers: list[Answer] = [{str(index): each for index, each in enumerate(lists)} for lists in providers]
    merged = manager.merge(answers)
    wanted = set(_walked(providers, policy, manager.everything, rows if measured else {}))
    if isinstance(merged, Undetermined):
        assert len(merged.variants) == len(wanted) > 1
        return
    assert wanted == {_outcome(merged)}


def _row(choices: Choices, ids: list[int]) -> list[int]:
    """Draw distances: to every id, or as many as there are nodes, as a kernel lists them."""
    length = max(ids) + 1 if choices.number(0, 1) else len(ids)
    return [choices.number(10, 14) for _ in range(length)]


def _lists(choices: Choices, ids: list[int]) -> Lists:
    return [[_hint(choices, ids) for _ in range(choices.number(1, 4))] for _ in range(choices.number(1, 2))]


def _hint(choices: Choices, ids: list[int]) -> Hint:
    mask = sum(1 << node for node in ids if choices.number(0, 1))
    return Hint(NodeMask(mask) if mask else None, choices.number(0, 1) == 1)


def _outcome(merged: Merged | KubeletFault) -> tuple[object, ...]:
    if isinstance(merged, KubeletFault):
        return (str(merged.kind),)
    return merged.hint.nodes, merged.hint.preferred, merged.admit


def _walked(
    providers: Sequence[Lists], policy: str, everything: int, rows: dict[int, list[int]]
) -> Iterator[tuple[object, ...]]:
    """Try all combinations, in every order that a provider's resources may have."""
    single = policy == "single-numa-node"
    for ordered in product(*(permutations(lists) for lists in providers)):
        lists = [list(filter(_on_one, each)) if single else each for provider in ordered for each in provider]
        try:
            hint = naive_merge(
                lists, everything, lambda one, other: _fits(one, other, {} if single else rows)
            )
        except IndexError:
            yield ("crash",)
            continue
        nodes = None if single and hint.nodes == everything else hint.nodes
        yield nodes, hint.preferred, hint.preferred or policy == "best-effort"


def _on_one(hint: Hint) -> bool:
    return hint.preferred and (hint.nodes is None or hint.nodes.bit_count() == 1)


def _fits(one: int, other: int, rows: dict[int, list[int]]) -> bool:
    """Return whether the first set fits better than the second, looking distances up by node id."""
    if one == other or one.bit_count() != other.bit_count():
        return one.bit_count() < other.bit_count()
    return (_apart(one, rows), one) < (_apart(other, rows), other)


def _apart(nodes: int, rows: dict[int, list[int]]) -> int:
    members = list(CPUSet(nodes)) if rows else []
    return sum(rows[a][b] for a in members for b in members)
