"""Laws of repaired state files: running pods keep what they may, nothing is lost, the kubelet starts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import combinations

from hypothesis import assume, given
from hypothesis import strategies as st

from cpuctl.checkpoints.model import CPUStateFile, MemoryBlock, MemoryStateFile
from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.cpu.state import CPUManagerState, validate
from cpuctl.engine.memory.restart import restored
from cpuctl.engine.memory.state import MemoryManagerState
from cpuctl.engine.memory.tables import fresh_tables
from cpuctl.engine.state_checks.memory_findings import MOST_DRIFT, DriftKind, memory_drift
from cpuctl.engine.state_checks.memory_misfits import pods_to_remove, replayed
from cpuctl.engine.state_checks.owners import UNKNOWN_OWNERS, Owners
from cpuctl.engine.state_moves import NotRepaired
from cpuctl.engine.state_repair import (
    ActionKind,
    CPURules,
    MemoryRules,
    Repaired,
    repair_cpu_state,
    repair_memory_state,
)
from cpuctl.kubelet.policy_options import CPUPolicyOptions
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.kubelet.reservations import CPUReservation
from cpuctl.pods.model import Container, Pod, StoredPod
from cpuctl.records import replace
from tests.support.memory import memory_machine
from tests.support.pods import stored
from tests.support.topologies import regular

OPTIONS = st.fixed_dictionaries(
    {
        "full_pcpus_only": st.booleans(),
        "strict_cpu_reservation": st.booleans(),
        "distribute_cpus_across_numa": st.booleans(),
    }
)


@dataclass(frozen=True)
class World:
    """A machine with its policy, an arbitrary state, and the owners that run, which may be unknown."""

    policy: StaticPolicy
    state: CPUStateFile
    keeps_pods: bool
    running: Owners

    @property
    def rules(self) -> CPURules:
        return CPURules(policy=self.policy, keeps_pods=self.keeps_pods, keeps_baselines=True)

    def repaired(self) -> Repaired[CPUStateFile] | NotRepaired:
        return repair_cpu_state(self.state, self.rules, self.running)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    topology = regular(
        sockets=draw(st.integers(1, 2)),
        nodes=draw(st.integers(1, 2)),
        cores=draw(st.integers(2, 4)),
        threads=draw(st.integers(1, 2)),
    )
    machine = sorted(CPUSet(topology.cpus))
    reserved = CPUSet.of(draw(st.sets(st.sampled_from(machine), min_size=1, max_size=3)))
    policy = StaticPolicy.construct(
        topology,
        CPUPolicyOptions(**draw(OPTIONS)),
        CPUReservation(len(reserved), reserved),
        behaviours(36),
    )
    known = st.sampled_from([*machine, machine[-1] + 1, machine[-1] + 2])
    some = st.sets(known, min_size=1, max_size=4).map(CPUSet.of)
    names = st.sampled_from(["a", "b", "c"])
    entries = draw(
        st.dictionaries(st.sampled_from("pqrs"), st.dictionaries(names, some, min_size=1), max_size=4)
    )
    pods = draw(st.dictionaries(st.sampled_from("pqrst"), some, max_size=2))
    state = CPUStateFile(
        policy_name="static",
        default_cpu_set=CPUSet.of(draw(st.sets(known))),
        entries=entries,
        pod_entries=pods,
        baselines=draw(st.dictionaries(st.sampled_from("pqt"), st.dictionaries(names, some), max_size=2)),
    )
    running = draw(st.none() | st.dictionaries(st.sampled_from("pqrs"), st.sets(names, min_size=1)))
    owners = UNKNOWN_OWNERS if running is None else Owners.of(_pod(uid, who) for uid, who in running.items())
    return World(policy, state, draw(st.booleans()), owners)


def _pod(uid: str, containers: set[str]) -> StoredPod:
    return stored(
        Pod(name=uid, uid=uid, containers=tuple(Container(name=name) for name in sorted(containers)))
    )


def stays(world: World, uid: str, name: str) -> bool:
    pods = world.running.pods
    return pods is None or (uid in pods and name in {each.name for each in pods[uid].containers})


def kept_entries(world: World) -> dict[str, dict[str, CPUSet]]:
    left = {
        uid: {name: cpus for name, cpus in containers.items() if stays(world, uid, name)}
        for uid, containers in world.state.entries.items()
    }
    return {uid: containers for uid, containers in left.items() if containers}


def by_pod(entries: Mapping[str, Mapping[str, CPUSet]], pods: Mapping[str, CPUSet]) -> dict[str, CPUSet]:
    """Return what every pod holds in total, if any of its containers holds CPUs."""
    held: dict[str, CPUSet] = {}
    for uid, containers in entries.items():
        held[uid] = pods.get(uid, CPUSet())
        for cpus in containers.values():
            held[uid] |= cpus
    return held


@given(worlds())
def test_a_kubelet_starts_on_a_repaired_state(world: World) -> None:
    result = world.repaired()
    assume(isinstance(result, Repaired))
    assert isinstance(result, Repaired)
    state = CPUManagerState.of_file(
        result.state if world.keeps_pods else replace(result.state, pod_entries={})
    )
    strict = world.policy.options.strict_cpu_reservation
    machine, reserved = world.policy.topology.cpus, world.policy.reserved
    assert validate(state, machine=machine, reserved=reserved, strict=strict) == ""


def names(entries: Mapping[str, Mapping[str, CPUSet]]) -> dict[str, set[str]]:
    return {uid: {*containers} for uid, containers in entries.items()}


@given(worlds())
def test_running_containers_keep_their_number_of_cpus_and_all_that_they_may_keep(world: World) -> None:
    result = world.repaired()
    assume(isinstance(result, Repaired))
    assert isinstance(result, Repaired)
    before = kept_entries(world)
    allowed, taken = CPUSet(world.policy.allocatable), CPUSet()
    assert {uid: {*each} for uid, each in result.state.entries.items()} == {
        uid: {*each} for uid, each in before.items()
    }
    pods = world.state.pod_entries if world.keeps_pods else {}
    for uid, held in sorted(by_pod(before, pods).items()):
        may_keep = (held & allowed) - taken
        taken |= may_keep
        for name, cpus in before[uid].items():
            after = result.state.entries[uid][name]
            assert len(after) == len(cpus)
            assert cpus & may_keep <= after


@given(worlds(), st.dictionaries(st.sampled_from("abc"), st.integers(1, 4)))
def test_only_containers_that_hold_more_than_they_request_give_cpus_up(
    world: World, requests: dict[str, int]
) -> None:
    """And they give up only CPUs that they cannot keep anyway."""
    rules = world.rules._replace(due=lambda _, container: requests.get(container.name, 0))
    result = repair_cpu_state(world.state, rules, world.running)
    assume(isinstance(result, Repaired))
    assert isinstance(result, Repaired)
    before, allowed = kept_entries(world), CPUSet(world.policy.allocatable)
    for uid, containers in before.items():
        others = [held for other, held in by_pod(before, world.state.pod_entries).items() if other != uid]
        for name, cpus in containers.items():
            after = result.state.entries.get(uid, {}).get(name, CPUSet())
            if len(after) < len(cpus):
                contested = [cpu for cpu in cpus if cpu not in allowed or any(cpu in held for held in others)]
                assert world.running.pods is not None
                assert len(cpus) - len(after) <= len(contested)
                assert len(after) >= requests.get(name, 0)
            else:
                assert len(after) == len(cpus)
    assert repair_cpu_state(result.state, rules, world.running) == Repaired(result.state)


@given(worlds())
def test_no_cpu_has_two_owners_and_none_is_lost(world: World) -> None:
    result = world.repaired()
    assume(isinstance(result, Repaired))
    assert isinstance(result, Repaired)
    pods = result.state.pod_entries if world.keeps_pods else {}
    parts = [*by_pod(result.state.entries, pods).values(), result.state.default_cpu_set]
    strict = world.policy.options.strict_cpu_reservation
    everything = CPUSet(world.policy.allocatable if strict else world.policy.topology.cpus)
    assert sum(map(len, parts)) == len(everything)
    for part in parts:
        assert part <= everything


@given(worlds())
def test_shared_cpus_stay_shared_and_baselines_are_kept(world: World) -> None:
    result = world.repaired()
    assume(isinstance(result, Repaired))
    assert isinstance(result, Repaired)
    before = kept_entries(world)
    for uid, containers in before.items():
        for one, cpus in containers.items():
            for other, others in containers.items():
                after = result.state.entries[uid]
                assert len(cpus & others) == len(after[one] & after[other])
    for uid, guaranteed in result.state.baselines.items():
        for name, baseline in guaranteed.items():
            assert baseline <= result.state.entries[uid][name]
    for uid, whole in result.state.pod_entries.items() if world.keeps_pods else ():
        for cpus in result.state.entries[uid].values():
            assert cpus <= whole


@given(worlds())
def test_a_repair_fails_only_if_there_are_too_few_cpus(world: World) -> None:
    result = world.repaired()
    before = kept_entries(world)
    pods = world.state.pod_entries if world.keeps_pods else {}
    needed = sum(map(len, by_pod(before, pods).values()))
    free = len(CPUSet(world.policy.allocatable)) - needed
    strict = world.policy.options.strict_cpu_reservation
    assert isinstance(result, NotRepaired) == (free < 0 or (strict and free == 0))


@given(worlds())
def test_a_second_repair_does_nothing(world: World) -> None:
    result = world.repaired()
    assume(isinstance(result, Repaired))
    assert isinstance(result, Repaired)
    again = repair_cpu_state(result.state, world.rules, world.running)
    assert again == Repaired(result.state)


@given(worlds())
def test_every_change_is_reported(world: World) -> None:
    """Every container whose CPUs change or are removed is named in an action."""
    result = world.repaired()
    assume(isinstance(result, Repaired))
    assert isinstance(result, Repaired)
    reported = {(action.pod_uid, action.container) for action in result.actions}
    for uid, containers in world.state.entries.items():
        for name, cpus in containers.items():
            if result.state.entries.get(uid, {}).get(name) != cpus:
                assert (uid, name) in reported
    if result.state.default_cpu_set != world.state.default_cpu_set:
        assert ActionKind.POOL in {action.did for action in result.actions}


GIB = 1 << 30
HELD = st.dictionaries(
    st.sampled_from("pqr"),
    st.dictionaries(
        st.sampled_from("ab"),
        st.builds(
            lambda node, size: (MemoryBlock(numa_affinity=(node,), type="memory", size=size),),
            st.integers(0, 1),
            st.integers(0, 3 * GIB),
        ),
        min_size=1,
    ),
)
MACHINE = memory_machine([8 * GIB, 8 * GIB])


def memory_state(held: Mapping[str, Mapping[str, tuple[MemoryBlock, ...]]]) -> MemoryStateFile:
    fresh = fresh_tables(MACHINE, {0: {"memory": GIB}})
    empty = MemoryStateFile(policy_name="Static", machine_state=fresh, entries=held)
    again = replayed(empty, fresh)
    assume(not again.misfits)
    return replace(empty, machine_state=again.tables)


def without(state: MemoryStateFile, uids: Collection[str]) -> MemoryStateFile:
    return replace(state, entries={uid: held for uid, held in state.entries.items() if uid not in uids})


CROWDS = st.dictionaries(
    st.sampled_from("pqrstu"),
    st.dictionaries(
        st.sampled_from("ab"),
        st.builds(
            lambda nodes, size: (MemoryBlock(numa_affinity=nodes, type="memory", size=size),),
            st.sampled_from([(0,), (1,), (1,), (2, 3), (4,)]),
            st.integers(1, 9).map(lambda size: size * GIB),
        ),
        min_size=1,
    ),
    min_size=1,
)


@given(CROWDS)
def test_the_pods_to_remove_are_enough_and_none_of_them_is_too_many(
    held: Mapping[str, Mapping[str, tuple[MemoryBlock, ...]]],
) -> None:
    """Every set of pods is tried that is smaller than the proposed one."""
    fresh = fresh_tables(memory_machine([8 * GIB] * 4), {0: {"memory": GIB}})
    rules = MemoryRules(fresh=fresh)
    state = MemoryStateFile(policy_name="Static", machine_state=fresh, entries=held)

    def repairs(uids: Collection[str]) -> bool:
        return isinstance(repair_memory_state(without(state, uids), rules, UNKNOWN_OWNERS), Repaired)

    removed = pods_to_remove(state, fresh, compares_groups=True)
    assert bool(removed) == (not repairs(()))
    assert repairs(removed)
    assert not any(repairs(some) for count in range(len(removed)) for some in combinations(held, count))


DRIFTS = st.tuples(*[st.one_of(st.just(0), st.integers(-MOST_DRIFT, MOST_DRIFT), st.integers(-GIB, GIB))] * 2)


@given(HELD, DRIFTS)
def test_current_memory_is_adopted_and_entries_stay(
    held: Mapping[str, Mapping[str, tuple[MemoryBlock, ...]]], drifts: tuple[int, int]
) -> None:
    state = memory_state(held)
    now = fresh_tables(memory_machine([8 * GIB + drift for drift in drifts]), {0: {"memory": GIB}})
    result = repair_memory_state(state, MemoryRules(fresh=now), UNKNOWN_OWNERS)
    misfits = replayed(state, now).misfits
    assert isinstance(result, NotRepaired) == bool(misfits)
    if isinstance(result, Repaired):
        assert isinstance(restored(result.state, now), MemoryManagerState)
        assert result.state.entries == state.entries
        assert bool(result.actions) == any(drifts)
        assert repair_memory_state(result.state, MemoryRules(fresh=now), UNKNOWN_OWNERS) == Repaired(
            result.state
        )


@given(HELD, DRIFTS)
def test_a_reboot_is_distinguished_from_a_change(
    held: Mapping[str, Mapping[str, tuple[MemoryBlock, ...]]], drifts: tuple[int, int]
) -> None:
    state = memory_state(held)
    now = fresh_tables(memory_machine([8 * GIB + drift for drift in drifts]), {0: {"memory": GIB}})
    drift = memory_drift(state, now)
    assert (drift is None) == (not any(drifts))
    if drift is not None:
        small = all(abs(each) <= MOST_DRIFT for each in drifts)
        benign = small and not replayed(state, now).misfits
        assert (drift.kind is DriftKind.BENIGN) == benign
