"""Whether a Memory Manager's numbers mean anything."""

from __future__ import annotations

import pytest

from cpuctl.engine.memory.manager import StaticMemoryPolicy
from cpuctl.engine.memory.manager_start import overdrawn, wrapped_amounts
from cpuctl.engine.memory.tables import fresh_tables
from cpuctl.engine.outcome import Undetermined
from tests.support.memory import memory_machine


def with_kept(amount: int) -> StaticMemoryPolicy:
    """Keep memory of node 1, which has 9 bytes, from pods."""
    return StaticMemoryPolicy(tables=fresh_tables(memory_machine([9, 9]), {1: {"memory": amount}}))


@pytest.mark.parametrize("policy", [None, with_kept(0), with_kept(9)], ids=["none", "nothing", "all"])
def test_what_is_there_may_be_kept(policy: StaticMemoryPolicy | None) -> None:
    assert overdrawn(policy) is None


def test_more_than_there_is_is_counted_on_but_on_many_nodes() -> None:
    assert overdrawn(with_kept(10)) is None
    assert list(wrapped_amounts(with_kept(10).tables)) == ["memory of NUMA node 1"]
    many = StaticMemoryPolicy(tables=fresh_tables(memory_machine([9] * 15), {1: {"memory": 10}}))
    assert overdrawn(many) == Undetermined(
        "reservedMemory and huge pages take more memory of NUMA node 1 than it has, and the kubelet "
        "continues with numbers that have wrapped around: these are not computed for more than 14 NUMA "
        "nodes"
    )
