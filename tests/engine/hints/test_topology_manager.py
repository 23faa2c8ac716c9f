"""Topology Manager policies: worked merges, and hints without a preference or a distance."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.engine.hints.hints import DONT_CARE, IMPOSSIBLE, Hint
from cpuctl.engine.hints.topology_manager import Merged, TopologyManager
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.outcome import FaultKind, KubeletFault
from cpuctl.machine.machine_info import InfoNode, MachineInfo

FAR = [[10, 11, 12, 12], [11, 10, 12, 12], [12, 12, 10, 11], [12, 12, 11, 10]]


def manager(policy: str, nodes: int, *, closest: bool = False) -> TopologyManager:
    info = MachineInfo(
        nodes=tuple(InfoNode(id=node, cores=(), distances=tuple(FAR[node])) for node in range(nodes)),
        num_cpus=nodes,
        num_sockets=1,
    )
    return TopologyManager.of(info, policy, "container", closest=closest)


def hint_list(text: str) -> list[Hint]:
    """Parse ``10T 11F``: masks in binary, preferred or not; ``*`` for don't care, ``-`` for impossible."""
    special = {"*": DONT_CARE, "-": IMPOSSIBLE}
    return [
        special.get(word) or Hint(NodeMask(int(word[:-1], 2)), word.endswith("T")) for word in text.split()
    ]


def answer(policy: str, nodes: int, lists: list[str], *, closest: bool = False) -> str:
    merged = manager(policy, nodes, closest=closest).merge(
        [{f"r{index}": hint_list(text)} for index, text in enumerate(lists)]
    )
    assert isinstance(merged, Merged)
    mask = "none" if merged.hint.nodes is None else f"{merged.hint.nodes:0{nodes}b}"
    return f"{mask} {'T' if merged.hint.preferred else 'F'} {'admitted' if merged.admit else 'rejected'}"


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    nodes: int
    lists: list[str]
    best_effort: str
    restricted: str = ""
    single: str = ""


CASES = [
    Case("M1", 2, ["10T 11F", "01T 10T 11F"], "10 T admitted", "10 T admitted", "10 T admitted"),
    Case("M2", 2, ["10T 11F", "01T 11F"], "01 F admitted", "01 F rejected", "none F rejected"),
    Case("M3", 2, ["10T 11F", "11T"], "11 F admitted", "11 F rejected", "none F rejected"),
    Case("M4", 2, ["*", "*", "*"], "11 T admitted", "11 T admitted", "none T admitted"),
    Case("M5", 2, ["-", "01T 10T 11F"], "01 F admitted", "01 F rejected", "none F rejected"),
    Case("M6", 2, ["-", "*"], "11 F admitted", "11 F rejected", "none F rejected"),
    Case("M7", 4, ["0101T 1100T"], "0101 T admitted"),
    Case("M9", 1, ["1T"], "1 T admitted", "1 T admitted", "none T admitted"),
    Case("M10", 4, ["0011T 0101T 1111F", "1001T 0110T"], "0110 F admitted"),
    Case("M11", 3, ["011T 111F", "110F 111F"], "011 F admitted"),
    Case("M12", 2, ["01F 11F", "11F"], "11 F admitted"),
    Case("M13", 4, ["0111T", "1110T"], "0110 F admitted"),
    Case("no lists", 2, [], "11 T admitted", "11 T admitted", "none T admitted"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_worked_merges(case: Case) -> None:
    assert answer("best-effort", case.nodes, case.lists) == case.best_effort
    if case.restricted:
        assert answer("restricted", case.nodes, case.lists) == case.restricted
    if case.single:
        assert answer("single-numa-node", case.nodes, case.lists) == case.single


def test_closest_prefers_the_nearer_pair() -> None:
    """M8: the sums of distances of the two pairs are 44 and 42."""
    assert answer("best-effort", 4, ["0101T 1100T"], closest=True) == "1100 T admitted"


def test_single_numa_node_ignores_distances() -> None:
    assert manager("single-numa-node", 4, closest=True).fit == manager("single-numa-node", 4).fit


def test_without_a_policy_nothing_is_merged() -> None:
    assert TopologyManager.none().merge([{"cpu": hint_list("01T")}]) == Merged(IMPOSSIBLE, admit=True)


@pytest.mark.parametrize("silent", [None, {}, {"cpu": None}], ids=["no map", "empty map", "no list"])
def test_a_provider_without_preference_changes_nothing(silent: dict[str, None] | None) -> None:
    alone = manager("restricted", 2).merge([{"x": hint_list("10T 11F")}])
    assert manager("restricted", 2).merge([silent, {"x": hint_list("10T 11F")}]) == alone
    assert alone == Merged(Hint(NodeMask(0b10), preferred=True), admit=True)


def test_an_empty_list_is_impossible() -> None:
    everywhere = Hint(NodeMask(0b11), preferred=False)
    assert manager("restricted", 2).merge([{"cpu": []}]) == Merged(everywhere, admit=False)


def sparse(policy: str, *ids: int) -> TopologyManager:
    """Describe NUMA nodes with gaps in their numbers, each with two distances."""
    nodes = tuple(InfoNode(id=node, cores=(), distances=(10, 40)) for node in ids)
    info = MachineInfo(nodes=nodes, num_cpus=len(ids), num_sockets=1)
    return TopologyManager.of(info, policy, "container", closest=True)


@pytest.mark.parametrize("preferred", [True, False])
def test_a_distance_that_no_row_has_crashes_the_kubelet(preferred: bool) -> None:
    """POWER numbers its NUMA nodes 0 and 8: rows of two distances are looked up at 8."""
    fault = sparse("best-effort", 0, 8).merge(
        [{"cpu": [Hint(NodeMask(1 << 0), preferred), Hint(NodeMask(1 << 8), preferred)]}]
    )
    assert fault == KubeletFault(
        kind=FaultKind.CRASH,
        where="Topology Manager, looking up the distance from NUMA node 8 to NUMA node 8",
        why="runtime error: index out of range [8] with length 2",
    )


def test_a_set_that_is_not_compared_needs_no_distance() -> None:
    both = Hint(NodeMask(1 << 0 | 1 << 8), preferred=True)
    assert sparse("restricted", 0, 8).merge([{"cpu": [both]}]) == Merged(both, admit=True)


@pytest.mark.parametrize("number", [-1, 64, 255])
@pytest.mark.parametrize("policy", ["best-effort", "restricted", "single-numa-node"])
def test_a_node_number_that_no_mask_holds_crashes_the_kubelet(policy: str, number: int) -> None:
    """Memory-only nodes of graphics cards are numbered 252 to 255 on some POWER machines.

    -1 is a package of unknown number on kernels that show no nodes: ``NewBitMask`` returns no mask for
    either, and ``And`` of ``topologymanager/bitmask`` uses it as one (1.27 to 1.36).
    """
    fault = sparse(policy, 0, number).merge([{"cpu": [Hint(NodeMask(1), preferred=True)]}])
    assert fault == KubeletFault(
        kind=FaultKind.CRASH,
        where="Topology Manager, making a mask of all NUMA nodes",
        why=f"a mask holds NUMA nodes 0 to 63, and this machine has {number}",
    )


def test_the_highest_node_number_of_a_mask_is_merged() -> None:
    hint = Hint(NodeMask(1 << 63), preferred=True)
    assert sparse("single-numa-node", 0, 63).merge([{"cpu": [hint]}]) == Merged(hint, admit=True)
