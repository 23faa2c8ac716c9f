"""How reasons are written: the names of rules, sets of nodes, counts and amounts."""

from __future__ import annotations

import pytest

from cpuctl.engine.explain.decision import bytes_text, nodes_text
from cpuctl.engine.masks import NodeMask
from cpuctl.phrases import counted


@pytest.mark.parametrize(
    ("nodes", "text"), [(0b1, "NUMA node 0"), (0b100, "NUMA node 2"), (0b111, "NUMA nodes 0-2")]
)
def test_nodes(nodes: int, text: str) -> None:
    assert nodes_text(NodeMask(nodes)) == text


@pytest.mark.parametrize(("count", "text"), [(0, "0 CPUs"), (1, "1 CPU"), (2, "2 CPUs")])
def test_counts(count: int, text: str) -> None:
    assert counted(count, "CPU") == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [(9 << 30, "9Gi"), (512 << 20, "512Mi"), ((3 << 20) - 1, "2Mi"), ((1 << 20) - 1, "0")],
)
def test_amounts_of_memory_are_written_in_whole_mi(amount: int, text: str) -> None:
    assert bytes_text(amount) == text
