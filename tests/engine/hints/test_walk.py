"""Merging one combination after another, where any comparison can crash the kubelet."""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.hints import DONT_CARE, IMPOSSIBLE, Fit, Hint
from cpuctl.engine.hints.topology_manager import Answer, Merged, TopologyManager
from cpuctl.engine.hints.walk import walked
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.outcome import KubeletFault, Undetermined
from cpuctl.machine.machine_info import InfoNode, MachineInfo

SHORT = Fit(distances={0: [10, 20], 8: [20, 10]})
BOTH = 0b1_0000_0001


def hint(nodes: str, *, preferred: bool = True) -> Hint:
    return Hint(NodeMask(CPUSet.parse(nodes).mask), preferred)


ZERO, EIGHT, ALL = hint("0"), hint("8"), hint("0,8", preferred=False)
NO_ROW = "runtime error: index out of range [8] with length 2"


def closest(*nodes: InfoNode) -> TopologyManager:
    info = MachineInfo(nodes=nodes, num_cpus=1, num_sockets=1)
    return TopologyManager.of(info, "best-effort", "container", closest=True)


POWER = closest(InfoNode(0, (), distances=(10, 20)), InfoNode(8, (), distances=(20, 10)))


@pytest.mark.parametrize(
    ("lists", "wanted"),
    [
        ([[ZERO, ALL]], ZERO),
        ([[EIGHT, ALL]], EIGHT),
        ([[ZERO, EIGHT, ALL]], NO_ROW),
        ([[ALL]], ALL),
        ([[ZERO], [EIGHT]], Hint(NodeMask(BOTH), preferred=False)),
        ([[DONT_CARE]], Hint(NodeMask(BOTH), preferred=True)),
        ([[ZERO, EIGHT, ALL], [ALL]], NO_ROW),
        ([[ZERO, EIGHT], [ZERO]], ZERO),
        # Two sets lose to the third in the end, but are compared before it is reached.
        ([[IMPOSSIBLE, ZERO], [hint("0", preferred=False), hint("8", preferred=False), ZERO]], NO_ROW),
        ([[ZERO, IMPOSSIBLE], [ZERO, hint("8", preferred=False)]], ZERO),
    ],
)
def test_a_comparison_without_a_distance_crashes_at_any_position(
    lists: list[list[Hint]], wanted: Hint | str
) -> None:
    found = walked([[each] for each in lists], NodeMask(BOTH), SHORT)
    assert (found.why if isinstance(found, KubeletFault) else found) == wanted


def test_every_order_of_one_providers_resources_is_tried() -> None:
    """A kubelet keeps them in a map: one order compares two sets that the other order never compares."""
    one = [ZERO, hint("8", preferred=False)]
    other = [ALL, ZERO]
    result = walked([[one, other]], NodeMask(BOTH), SHORT)
    assert isinstance(result, Undetermined)
    assert set(result.variants) == {"it crashes in the Topology Manager", "NUMA nodes 0, preferred"}
    assert result.text.endswith(f": {result.variants[0]}, or {result.variants[1]}")
    assert walked([[one], [other]], NodeMask(BOTH), SHORT) == ZERO
    assert isinstance(walked([[other], [one]], NodeMask(BOTH), SHORT), KubeletFault)


def test_the_manager_walks_only_if_rows_are_short() -> None:
    lists: Answer = {"cpu": [ZERO, EIGHT, ALL]}
    assert isinstance(POWER.merge([lists]), KubeletFault)
    assert POWER.merge([None, {"cpu": [EIGHT, ALL]}]) == Merged(EIGHT, admit=True)
    enough = tuple(range(10, 19))
    whole = closest(InfoNode(0, (), distances=enough), InfoNode(8, (), distances=enough[::-1]))
    assert whole.merge([lists]) == Merged(ZERO, admit=True)


def test_a_machine_with_too_many_nodes_is_not_walked_unless_the_crash_is_certain() -> None:
    nodes = [InfoNode(2 * node, (), distances=(10,)) for node in range(13)]
    manager = closest(*nodes)
    assert isinstance(manager.merge([{"cpu": [hint("0"), hint("2")]}]), KubeletFault)
    result = manager.merge([{"cpu": [hint("0")]}])
    assert isinstance(result, Undetermined)
    assert result.text == result.why
    assert result.why.endswith("for 13 NUMA nodes")


def test_lists_that_would_take_too_long_are_not_walked() -> None:
    fit = Fit(distances={node: [10] for node in range(12)})
    everything = (1 << 12) - 1
    masks = [Hint(NodeMask(nodes), preferred=False) for nodes in range(1, 1 << 12)]
    result = walked([[masks], [masks]], NodeMask(everything), fit)
    assert isinstance(result, Undetermined)
    assert not result.variants
