"""How scattered the free CPUs are."""

from __future__ import annotations

import pytest

from cpuctl.engine.capacity.capacity import Fragmentation, Scatter, fragmentation_of
from cpuctl.engine.capacity.probe import settled
from cpuctl.engine.node import Node
from cpuctl.engine.start import start_node
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from tests.support.capacity_nodes import MACHINE, exclusive, held, kubelet, node_with


def after(taken: str, *, threaded: bool = False) -> Fragmentation:
    """Take CPUs by filling the node and then freeing all but these."""
    node = node_with(reported=kubelet(max_pods=100), threaded=threaded)
    assert node.policy is not None
    for number in range(node.policy.allocatable.bit_count()):
        node.admit(exclusive(f"p{number}", 1))
    keep = {int(cpu) for cpu in taken.split()}
    for uid, cpus in held(node).items():
        if cpus.bit_length() - 1 not in keep:
            node.remove(uid)
    found = fragmentation_of(settled(node))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("taken", "node", "cache"),
    [
        ("", Scatter(4, 4), Scatter(2, 2)),
        ("1 2 3 4 5 6 7", Scatter(4, 4), Scatter(2, 2)),
        ("4 5 8 9 12 13 1", Scatter(2, 4), Scatter(2, 2)),
        ("1 2 4 6 8 10 12 14", Scatter(2, 4), Scatter(1, 2)),
        ("2 3 4 5 6 8 9 10 12 13 14", Scatter(1, 4), Scatter(1, 2)),
        ("1 2 3 4 5 6 7 8 9 10 11 12 13 14", Scatter(1, 1), Scatter(1, 1)),
        ("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15", Scatter(0, 0), Scatter(0, 0)),
    ],
    ids=["empty", "packed", "even", "every other", "one per node", "one left", "full"],
)
def test_free_cpus_are_compared_with_the_best_possible_placement(
    taken: str, node: Scatter, cache: Scatter
) -> None:
    found = after(taken)
    assert (found.numa_node, found.uncore_cache) == (node, cache)


@pytest.mark.parametrize(
    ("taken", "core"),
    [
        ("", Scatter(30, 30)),
        ("16", Scatter(30, 30)),
        ("1 17", Scatter(28, 28)),
        ("1", Scatter(28, 28)),
        ("1 2", Scatter(26, 28)),
        (" ".join(str(cpu) for cpu in range(1, 16)), Scatter(0, 14)),
        (" ".join(str(cpu) for cpu in range(1, 32) if cpu != 16), Scatter(0, 0)),
    ],
    ids=[
        "empty",
        "sibling of a reserved CPU",
        "core",
        "half a core",
        "two halves",
        "all halves",
        "sibling left",
    ],
)
def test_cores_with_reserved_cpus_are_never_entirely_free(taken: str, core: Scatter) -> None:
    """CPU 0 is reserved, so its sibling 16 does not count, whether it is free or not."""
    assert after(taken, threaded=True).core == core


@pytest.mark.parametrize(
    ("scatter", "percent"),
    [
        (Scatter(0, 0), 0),
        (Scatter(8, 8), 0),
        (Scatter(999, 1000), 1),
        (Scatter(2, 3), 33),
        (Scatter(1, 1000), 99),
        (Scatter(0, 5), 100),
    ],
)
def test_0_and_100_percent_are_exact(scatter: Scatter, percent: int) -> None:
    assert scatter.percent == percent


def test_without_exclusive_cpus_there_is_nothing_to_scatter() -> None:
    node = start_node(MACHINE, Kubelet(version=KubeletVersion(36), config=KubeletConfiguration()))
    assert isinstance(node, Node)
    assert fragmentation_of(node) is None
