"""In which order elements are looked at when a container is resized; others are in ``test_packed.py``."""

from __future__ import annotations

from cpuctl.engine.cpu.picking.packed import Orders
from tests.support.topologies import mask, regular

FOUR_NODES = regular(sockets=2, nodes=2, cores=2, threads=2)


def test_what_the_container_is_on_comes_before_what_is_fuller() -> None:
    """It has CPU 13, of core 5 on node 2; core 4 there and nodes 0 and 1 have as much free, or less."""
    orders = Orders(FOUR_NODES, FOUR_NODES.cpus & ~mask("2,4,13"), mask("13"))
    assert orders.sockets == [1, 0]
    assert orders.numa_nodes == [2, 3, 1, 0]
    assert orders.cores_within(FOUR_NODES.numa_nodes[2]) == [5, 4]
    assert orders.cores == [5, 4, 6, 7, 2, 3, 0, 1]
