"""The pickers compared with naive twins that follow the kubelet step by step, and laws of the pickers."""

from __future__ import annotations

from functools import reduce
from itertools import combinations, islice
from math import comb
from operator import or_

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.picking.balance import Search, distinct, effective_combination
from cpuctl.engine.cpu.picking.distributed import Dealing, take_distributed
from cpuctl.engine.cpu.picking.packed import PickerRules, Spread, picker_rules, take_packed
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.masks import CPUMask
from cpuctl.engine.outcome import AllocationError, KubeletFault, Picked, Undetermined
from cpuctl.kubelet.releases.behaviours import behaviours
from tests.support.drawn_machines import nested_machines, offers, regular_machines, tangled_machines
from tests.support.lockstep import plain
from tests.support.naive_distributed import (
    Distribution,
    EndlessLoopError,
    Request,
    combinations_of,
    pick_distributed,
)
from tests.support.naive_packed import Cpus, Machine, pick_packed
from tests.support.topologies import topology

SPREADS = st.sampled_from(Spread)
RULES = st.builds(
    lambda minor, aligned: picker_rules(behaviours(minor), align_by_socket=aligned),
    st.sampled_from([36, 37, 38]),
    st.booleans(),
)
COUNTS = st.lists(st.integers(1, 9) | st.integers(4000, 4009), min_size=1, max_size=8) | st.lists(
    st.sampled_from([2, 4]), min_size=1, max_size=8
)


def discovered(machine: Machine) -> CPUTopology:
    return topology(machine.cores, unlisted_cpus=machine.unlisted_cpus)


def mask_of(cpus: Cpus) -> CPUMask:
    return CPUMask(CPUSet.of(cpus).mask)


@given(st.data(), nested_machines() | tangled_machines(), SPREADS)
def test_packed_equals_its_naive_twin(data: st.DataObject, machine: Machine, spread: Spread) -> None:
    offered = data.draw(offers(machine))
    need, prefer_uncore = data.draw(st.integers(0, len(offered) + 1)), data.draw(st.booleans())
    result = take_packed(
        discovered(machine), mask_of(offered), need, spread=spread, prefer_uncore=prefer_uncore
    )
    assert plain(result) == pick_packed(machine, offered, need, spread, prefer_uncore=prefer_uncore)


@given(st.data(), nested_machines() | nested_machines(nodes=(5, 8)) | tangled_machines(), SPREADS, RULES)
def test_distributed_equals_its_naive_twin(
    data: st.DataObject, machine: Machine, spread: Spread, rules: PickerRules
) -> None:
    offered = data.draw(offers(machine))
    group = data.draw(st.sampled_from([1, 2, machine.average("core")]))
    need = data.draw(st.integers(0, len(offered) // max(group, 1) + 1)) * max(group, 1)
    hint_width = data.draw(st.integers(0, 4))
    dealing = Dealing(group_size=group, spread=spread, rules=rules, hint_width=hint_width)
    result = take_distributed(discovered(machine), mask_of(offered), need, dealing)
    assert plain(result) == pick_distributed(
        machine, offered, Request(need, group, spread, rules, hint_width)
    )


@given(st.data(), RULES, st.sampled_from([1, 2, 3, 4]), COUNTS)
def test_the_search_equals_its_naive_twin(
    data: st.DataObject, rules: PickerRules, group: int, free: list[int]
) -> None:
    """Also with counts far beyond real NUMA nodes, where rounding makes different balances equal."""
    need = data.draw(st.integers(1, 5) | st.integers(1, max(sum(free) // group, 1))) * group
    fewest = data.draw(st.integers(1, len(free)))
    split = Search(
        free=tuple(free),
        sockets=tuple(frozenset({position // 3}) for position in range(len(free))),
        need=need,
        group=group,
        rules=rules,
    ).run(fewest, min(need // group, len(free)))
    twin = Distribution(
        Request(need, group, rules=rules),
        range(len(free)),
        free=dict(enumerate(free)),
        sockets={position: {position // 3} for position in range(len(free))},
    )
    try:
        choice = twin.first(range(fewest, min(need // group, len(free)) + 1))
    except EndlessLoopError:
        assert isinstance(split, KubeletFault)
        return
    assert not isinstance(split, KubeletFault)
    assert (split is None) is (choice is None)
    if split is not None and choice is not None:
        assert split.positions == tuple(choice.nodes.items())
        assert split.extra == tuple(choice.remainder.items())


@given(st.lists(st.integers(0, 3), max_size=7), st.integers(0, 8))
def test_of_equal_combinations_the_first_is_kept(kinds: list[int], size: int) -> None:
    first: dict[tuple[int, ...], tuple[int, ...]] = {}
    for positions in combinations(range(len(kinds)), size):
        first.setdefault(tuple(kinds[position] for position in positions), positions)
    assert list(distinct(list(enumerate(kinds)), size)) == list(first.values())


@given(st.integers(1, 7), st.data())
def test_the_formula_for_stored_combinations_equals_shared_slices(size: int, data: st.DataObject) -> None:
    total = data.draw(st.integers(size, 9))
    enumerated = combinations_of(range(total), size)
    stored = next(islice(enumerated, data.draw(st.integers(0, comb(total, size) - 1)), None))
    positions = tuple(stored.items())
    next(enumerated, None)
    assert effective_combination(positions, total, stopped=True) == tuple(stored.items())
    for _ in enumerated:
        pass
    assert effective_combination(positions, total) == tuple(stored.items())


@given(st.data(), regular_machines(), SPREADS)
def test_packed_picks_the_requested_number_from_the_offer(
    data: st.DataObject, machine: Machine, spread: Spread
) -> None:
    """Machines whose averages are wrong break this law in the kubelet as well."""
    offered = data.draw(offers(machine))
    need, prefer_uncore = data.draw(st.integers(0, len(offered) + 2)), data.draw(st.booleans())
    result = take_packed(
        discovered(machine), mask_of(offered), need, spread=spread, prefer_uncore=prefer_uncore
    )
    assert isinstance(result, Picked) is (need <= len(offered))
    if isinstance(result, Picked):
        assert CPUSet(result.cpus) <= CPUSet.of(offered)
        assert len(CPUSet(result.cpus)) == need


@given(st.data(), nested_machines(), RULES)
def test_nested_machines_give_the_requested_size(
    data: st.DataObject, machine: Machine, rules: PickerRules
) -> None:
    offered = data.draw(offers(machine))
    need = data.draw(st.integers(0, len(offered)))
    topology, offer = discovered(machine), mask_of(offered)
    packed = take_packed(topology, offer, need)
    dealt = take_distributed(topology, offer, need, Dealing(rules=rules))
    assert isinstance(packed, Picked)
    assert not isinstance(dealt, Undetermined)
    for result in (packed, dealt):
        assert not isinstance(result, Picked) or result.cpus.bit_count() == need


@given(st.data(), regular_machines(), RULES)
def test_distributed_fails_for_lack_of_cpus_only_if_there_are_too_few(
    data: st.DataObject, machine: Machine, rules: PickerRules
) -> None:
    offered = data.draw(offers(machine))
    need = data.draw(st.integers(0, len(offered) + 2))
    result = take_distributed(discovered(machine), mask_of(offered), need, Dealing(rules=rules))
    refused = isinstance(result, AllocationError) and result.message.startswith("not enough cpus available")
    assert refused is (need > len(offered))
    assert not isinstance(result, Picked) or CPUSet(result.cpus) <= CPUSet.of(offered)


@given(st.data(), regular_machines(), st.lists(st.integers(1, 6), max_size=6))
def test_cpus_are_never_picked_twice(data: st.DataObject, machine: Machine, needs: list[int]) -> None:
    topology, rest = discovered(machine), mask_of(data.draw(offers(machine)))
    for need in needs:
        packed = take_packed(topology, rest, need)
        dealt = take_distributed(topology, rest, need, Dealing())
        result = data.draw(st.sampled_from([packed, dealt]))
        if isinstance(result, Picked):
            assert result.cpus & ~rest == 0
            rest &= ~result.cpus


@given(st.data(), nested_machines(), RULES)
def test_the_same_request_has_the_same_answer(
    data: st.DataObject, machine: Machine, rules: PickerRules
) -> None:
    """On the same topology, and on one discovered again from cores in another order."""
    offer = mask_of(data.draw(offers(machine)))
    need = data.draw(st.integers(0, 10))
    shuffled = Machine(data.draw(st.permutations(machine.cores)), machine.unlisted_cpus)
    once, again = discovered(machine), discovered(shuffled)
    for spread in Spread:
        dealing = Dealing(spread=spread, rules=rules)
        first = take_distributed(once, offer, need, dealing)
        assert (
            first
            == take_distributed(once, offer, need, dealing)
            == take_distributed(again, offer, need, dealing)
        )


@given(st.data(), regular_machines())
def test_the_steps_split_the_result(data: st.DataObject, machine: Machine) -> None:
    offered = data.draw(offers(machine))
    need = data.draw(st.integers(0, len(offered)))
    offer, topology = mask_of(offered), discovered(machine)
    packed = take_packed(topology, offer, need, prefer_uncore=data.draw(st.booleans()))
    for result in (packed, take_distributed(topology, offer, need, Dealing())):
        if isinstance(result, Picked):
            parts = [step.cpus for step in result.steps]
            assert all(parts)
            assert sum(part.bit_count() for part in parts) == need
            assert reduce(or_, parts, 0) == result.cpus
