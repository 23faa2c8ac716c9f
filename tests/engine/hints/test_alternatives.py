"""Sets of NUMA nodes that are as good as the chosen one: those of its size that every manager prefers."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from cpuctl.engine.hints.alternatives import equally_good, preferred_by_cpus
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.hints.topology_manager import HintRound, Merged, TopologyManager
from cpuctl.engine.masks import NodeMask
from cpuctl.machine.machine_info import InfoNode, MachineInfo

NODES = 4
ALL = range(1, 1 << NODES)


def manager(
    policy: str, distances: tuple[tuple[int, ...], ...] = (), nodes: Sequence[int] = range(NODES)
) -> TopologyManager:
    rows = distances or tuple((10,) * len(nodes) for _ in nodes)
    info = MachineInfo(
        nodes=tuple(InfoNode(node, (), distances=row) for node, row in zip(nodes, rows, strict=True)),
        num_cpus=1,
        num_sockets=1,
    )
    return TopologyManager.of(info, policy, "container", closest=bool(distances))


def drawn(chance: Random) -> list[Hint]:
    """Draw hints of a manager; the preferred ones have the same size."""
    width = chance.randint(1, 3)
    masks = [mask for mask in ALL if chance.random() < 0.6 and mask.bit_count() >= width]
    return [Hint(NodeMask(mask), preferred=mask.bit_count() == width) for mask in masks]


def requested(given: TopologyManager, cpu: list[Hint], memory: list[Hint]) -> HintRound:
    answers = [{"cpu": cpu}, {"memory": memory}]
    return HintRound(None, {"cpu": answers[0], "memory": answers[1]}, given.merge(answers))


@pytest.mark.parametrize("policy", ["best-effort", "restricted"])
def test_alternatives_are_those_found_by_trying_all_sets(policy: str) -> None:
    chance, given, found = Random(3), manager(policy), 0  # noqa: S311  # the same hints every time
    for _ in range(300):
        round_ = requested(given, drawn(chance), drawn(chance))
        assert isinstance(round_.merged, Merged)
        chosen = round_.merged.hint
        if chosen.nodes is None or not chosen.preferred:
            continue
        lists = [list(hints or ()) for answer in round_.answers.values() for hints in (answer or {}).values()]
        both = [mask for mask in ALL if all(Hint(NodeMask(mask), preferred=True) in each for each in lists)]
        wanted = tuple(mask for mask in both if mask.bit_count() == chosen.nodes.bit_count())
        assert equally_good(round_, given) == wanted
        assert wanted[0] == chosen.nodes
        found += len(wanted) > 1
    assert found > 20


def test_closer_nodes_are_better() -> None:
    rows = ((10, 11, 20, 20), (11, 10, 20, 20), (20, 20, 10, 11), (20, 20, 11, 10))
    pairs = [Hint(NodeMask(mask), preferred=True) for mask in ALL if mask.bit_count() == 2]
    given = manager("best-effort", rows)
    assert equally_good(requested(given, pairs, pairs), given) == (0b0011, 0b1100)


def test_if_managers_do_not_agree_the_cpu_managers_preferred_sets_are_listed() -> None:
    given = manager("best-effort")
    cpu = [Hint(NodeMask(mask), preferred=mask != 0b1111) for mask in (0b0010, 0b0100, 0b1111)]
    memory = [Hint(NodeMask(mask), preferred=mask != 0b1111) for mask in (0b0001, 0b1111)]
    round_ = requested(given, cpu, memory)
    assert equally_good(round_, given) == (0b0001,)
    assert preferred_by_cpus(round_, given) == (0b0010, 0b0100)
    other = requested(given, cpu, [Hint(NodeMask(0b1111), preferred=True)])
    assert preferred_by_cpus(other, given) == (0b0010, 0b0100)
    agreed = requested(given, cpu, cpu)
    assert preferred_by_cpus(agreed, given) == ()


def test_with_too_many_sets_the_lowest_consists_of_existing_nodes() -> None:
    """There are 38,760 sets of six of twenty nodes."""
    nodes = range(0, 40, 2)
    given = manager("best-effort", nodes=nodes)
    lowest = NodeMask(sum(1 << node for node in nodes[:6]))
    everything = NodeMask(sum(1 << node for node in nodes))
    cpu = [Hint(lowest, preferred=True), Hint(everything, preferred=False)]
    round_ = requested(given, cpu, [Hint(everything, preferred=True)])
    assert preferred_by_cpus(round_, given) == (lowest,)
