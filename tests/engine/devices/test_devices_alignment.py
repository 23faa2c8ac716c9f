"""Whether devices and exclusive CPUs lie at one NUMA node."""

from __future__ import annotations

import pytest

from cpuctl.engine.alignment import devices_aligned
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.placement import DeviceGrant
from tests.support.topologies import mask, regular

THREE_NODES = regular(sockets=3, cores=4)  # CPUs 0-3, 4-7 and 8-11


@pytest.mark.parametrize(
    ("places", "cpus", "aligned"),
    [
        (["0"], "", True),
        (["1"], "4-5", True),
        (["1"], "3-4", False),
        (["1"], "0-1", False),
        (["2"], "4-7", False),
        (["0", "1"], "", False),
        (["0-1", "1-2"], "", True),
        (["0-1", "1-2"], "6", True),
        (["0-1", "1-2"], "8", False),
        (["0-1", "2"], "", False),
        (["0-2"], "0-11", False),
        (["2", ""], "", True),
        ([""], "0-3", None),
        ([], "0-3", None),
    ],
)
def test_one_node_next_to_everything(places: list[str], cpus: str, aligned: bool | None) -> None:
    """``places`` are the nodes next to each group of devices; nothing is known of those without any."""
    grants = [DeviceGrant(resource="x.com/gpu", by_nodes={NodeMask(mask(nodes)): 1}) for nodes in places]
    together = DeviceGrant(resource="x.com/gpu", by_nodes={NodeMask(mask(nodes)): 1 for nodes in places})
    assert devices_aligned(THREE_NODES, grants, mask(cpus)) is aligned
    assert devices_aligned(THREE_NODES, [together], mask(cpus)) is aligned
