"""Few CPUs are looked up one by one, many by going through all cores: the result and order are the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.masks import CPUMask
from tests.support.topologies import four_way_288, uneven

TOPOLOGIES = {"288 CPUs": four_way_288(), "uneven": uneven((40, 2), (3, 7))}


_FEW = st.lists(st.integers(0, 300), max_size=12).map(lambda many: sum({1 << each for each in many}))


@pytest.mark.parametrize("topology", TOPOLOGIES.values(), ids=TOPOLOGIES)
@given(cpus=st.integers(0, (1 << 300) - 1) | _FEW)
def test_both_ways_find_the_same_cores(topology: CPUTopology, cpus: int) -> None:
    expected = [(core, mask) for core, mask in topology.cores.items() if mask & cpus]
    assert list(topology.cores_of(CPUMask(cpus)).items()) == expected
