"""The static policy: reserved CPUs, allocation container by container, rejections."""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.manager import Allocation, AllocationResult, ReservingFailsError, StaticPolicy
from cpuctl.engine.cpu.picking import balance as repeated
from cpuctl.engine.cpu.state import CPUManagerState
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.outcome import FaultKind, KubeletFault, Rejected, Undetermined
from cpuctl.kubelet.policy_options import CPUPolicyOptions
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.kubelet.reservations import CPUReservation
from cpuctl.pods.model import Container, ContainerKind, Pod
from tests.support.changed import changed
from tests.support.pods import stored
from tests.support.topologies import CoreAt, mask, regular, topology

EIGHT = regular(cores=4, threads=2)  # siblings c and c+4
FOUR_NODES = regular(sockets=2, nodes=2, cores=4)  # node n has CPUs 4n to 4n+3
APP, INIT, SIDECAR = ContainerKind.APP, ContainerKind.INIT, ContainerKind.SIDECAR


def policy(
    topology: CPUTopology = EIGHT, reserved: str | int = "0", minor: int = 36, **options: bool
) -> StaticPolicy:
    listed = CPUSet.parse(reserved) if isinstance(reserved, str) else None
    count = reserved if isinstance(reserved, int) else len(CPUSet.parse(reserved))
    return StaticPolicy.construct(
        topology, CPUPolicyOptions(**options), CPUReservation(count, listed), behaviours(minor)
    )


def take(
    policy: StaticPolicy,
    state: CPUManagerState,
    name: str,
    count: int,
    kind: ContainerKind = APP,
    affinity: NodeMask | None = None,
) -> str:
    """Allocate for one container of pod ``pod`` and show its CPUs, or the rejection."""
    container = Container(name=name, kind=kind)
    pod = stored(Pod(name="pod", uid="pod", containers=(container,)))
    match policy.allocate(state, pod, container, count, affinity):
        case Allocation(cpus=cpus):
            return str(CPUSet(cpus))
        case Rejected(reason=reason, message=message):
            return f"{reason}: {message}"
        case other:
            return type(other).__name__


@pytest.mark.parametrize(
    ("count", "reserved", "physical"),
    [(1, "0", "0,4"), (2, "0,4", "0,4"), (3, "0-1,4", "0-1,4-5")],
)
def test_the_policy_picks_reserved_cpus_like_all_others(count: int, reserved: str, physical: str) -> None:
    chosen = policy(reserved=count)
    assert (str(CPUSet(chosen.reserved)), str(CPUSet(chosen.reserved_physical))) == (reserved, physical)


def test_reserving_more_cpus_than_exist() -> None:
    """The picker's error is swallowed, so the set is printed as empty."""
    with pytest.raises(ValueError, match=r"\(size of  did not equal 9\)"):
        policy(reserved=9)


def test_reserved_cpus_that_do_not_match_the_count() -> None:
    reservation = CPUReservation(3, CPUSet.parse("0-1"))
    with pytest.raises(ValueError, match=r"\(size of 0-1 did not equal 3\)"):
        StaticPolicy.construct(EIGHT, CPUPolicyOptions(), reservation, behaviours(36))


def test_reserving_cpus_may_loop_forever() -> None:
    """One CPU of every node is missing: distributing 81 of 92 CPUs in whole cores never ends."""
    machine = topology(
        CoreAt(tuple(range(4 * core, 4 * core + 4 - (core % 6 == 0))), core // 6, core // 12)
        for core in range(24)
    )
    with pytest.raises(ReservingFailsError) as caught:
        policy(machine, 81, full_pcpus_only=True, distribute_cpus_across_numa=True)
    assert isinstance(caught.value.why, KubeletFault)
    assert caught.value.why.kind is FaultKind.ENDLESS_LOOP


def test_an_undetermined_reservation_is_not_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated, "MOST_TRIED", 1)
    places = [(0, 1), (0, 0), (1, 0), (0, 2)]
    machine = topology(CoreAt((cpu,), node, socket) for cpu, (socket, node) in enumerate(places))
    with pytest.raises(ReservingFailsError) as caught:
        policy(machine, 3, distribute_cpus_across_numa=True)
    assert isinstance(caught.value.why, Undetermined)
    monkeypatch.undo()
    assert policy(machine, 3, distribute_cpus_across_numa=True).reserved == 0b0111


def test_a_reserved_cpu_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match=r"from the reserved set: unknown CPU ID: 9$"):
        policy(reserved="0,9-10")


@pytest.mark.parametrize(("strict", "pool"), [(False, "0-7"), (True, "1-7")])
def test_strict_reservation_keeps_reserved_cpus_out_of_the_pool(strict: bool, pool: str) -> None:
    state = policy(strict_cpu_reservation=strict).fresh_state()
    assert str(CPUSet(state.default)) == pool


def test_init_containers_lend_their_cpus_and_sidecars_keep_theirs() -> None:
    """The recorded flow of a pod with two init containers, a sidecar and two app containers."""
    static = policy()
    state = static.fresh_state()
    flow = [
        ("i1", 4, INIT, "1-2,5-6", "0,3-4,7", "1-2,5-6"),
        ("sc", 1, SIDECAR, "4", "0,3,7", "1-2,5-6"),
        ("i2", 2, INIT, "1,5", "0,3,7", "1-2,5-6"),
        ("a", 2, APP, "1,5", "0,3,7", "2,6"),
        ("b", 1, APP, "2", "0,3,7", "6"),
    ]
    for name, count, kind, cpus, pool, reusable in flow:
        assert take(static, state, name, count, kind) == cpus
        assert str(CPUSet(state.default)) == pool
        assert str(CPUSet(state.reusable_for("pod"))) == reusable


def test_an_init_container_that_has_its_cpus_lends_them_again() -> None:
    """Lent CPUs are only kept in memory: after a restart they have to be learned again."""
    static = policy()
    state = changed(CPUManagerState(mask("0,3-4,7")), assignments={"pod": {"init": mask("1-2,5-6")}})
    assert take(static, state, "init", 4, INIT) == "1-2,5-6"
    assert state.reusable_for("pod") == mask("1-2,5-6")
    assert take(static, state, "app", 2) == "1,5"


def test_another_pod_does_not_get_reusable_cpus() -> None:
    static = policy()
    state = static.fresh_state()
    take(static, state, "init", 4, INIT)
    assert state.reusable_for("pod") == mask("1-2,5-6")
    assert state.reusable_for("other") == 0


def test_a_container_that_has_cpus_keeps_them_whatever_it_requests() -> None:
    static = policy()
    state = static.fresh_state()
    assert take(static, state, "app", 2) == take(static, state, "app", 3) == "1,5"


def answered(static: StaticPolicy, count: int, affinity: NodeMask | None = None) -> AllocationResult:
    """Allocate for the only container of a pod on a fresh node."""
    container = Container(name="app")
    pod = stored(Pod(name="pod", uid="pod", containers=(container,)))
    return static.allocate(static.fresh_state(), pod, container, count, affinity)


def test_an_allocation_reports_its_steps() -> None:
    """The affinity is one node of four CPUs, and the last CPU comes from another node."""
    result = answered(policy(FOUR_NODES), 5, affinity=NodeMask(0b10))
    assert isinstance(result, Allocation)
    assert [(step.rule, str(CPUSet(step.cpus))) for step in result.steps] == [
        ("whole NUMA nodes", "4-7"),
        ("whole cores", "1"),
    ]


def test_a_rejection_reports_requested_and_free_cpus() -> None:
    result = answered(policy(), 8)
    assert isinstance(result, Rejected)
    assert (result.container, result.details) == ("app", {"requested": 8, "free": 7})


def test_a_shortage_is_an_unexpected_admission_error() -> None:
    static = policy()
    assert take(static, static.fresh_state(), "app", 8) == (
        "UnexpectedAdmissionError: Allocate failed due to not enough cpus available to satisfy request: "
        "requested=8, available=7, which is unexpected"
    )


@pytest.mark.parametrize(
    ("affinity", "count", "align_by_socket", "want"),
    [
        (None, 2, False, "1-2"),
        (0b10, 2, False, "4-5"),
        (0b10, 5, False, "1,4-7"),
        (0b1, 4, False, "1-4"),
        (0b1, 4, True, "4-7"),
        (0b100, 9, True, "1,8-15"),
        (0b10000, 2, False, "1-2"),
    ],
    ids=[
        "none",
        "one node",
        "more than it has",
        "more than it has free",
        "its socket has them",
        "more than its socket has",
        "a node without CPUs",
    ],
)
def test_cpus_of_the_affinity_come_first(
    affinity: NodeMask | None, count: int, align_by_socket: bool, want: str
) -> None:
    static = policy(FOUR_NODES, align_by_socket=align_by_socket)
    assert take(static, static.fresh_state(), "app", count, affinity=affinity) == want


def test_cpus_are_distributed_over_as_many_nodes_as_the_affinity_has_from_1_38() -> None:
    options = {"distribute_cpus_across_numa": True}
    for minor, want in ((37, "4-7"), (38, "1,4,8,12")):
        static = policy(FOUR_NODES, minor=minor, **options)
        assert take(static, static.fresh_state(), "app", 4, affinity=NodeMask(0b1111)) == want


def test_a_shortage_reports_what_is_picked_outside_the_affinity() -> None:
    static = policy(FOUR_NODES)
    state = static.fresh_state()
    state.default = mask("0,4-8")
    assert take(static, state, "app", 8, affinity=NodeMask(0b110)) == (
        "UnexpectedAdmissionError: Allocate failed due to not enough cpus available to satisfy request: "
        "requested=3, available=0, which is unexpected"
    )


def test_whole_cores_only_rejects_odd_counts() -> None:
    static = policy(full_pcpus_only=True)
    assert take(static, static.fresh_state(), "app", 3) == (
        "SMTAlignmentError: SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"
    )


def test_whole_cores_only_counts_cores_without_a_reserved_thread() -> None:
    static = policy(full_pcpus_only=True)
    assert take(static, static.fresh_state(), "app", 8) == (
        "SMTAlignmentError: SMT Alignment Error: not enough free physical CPUs: "
        "available physical CPUs = 6, requested CPUs = 8, CPUs per core = 2"
    )


def test_whole_cores_only_gives_the_last_whole_core() -> None:
    static = policy(full_pcpus_only=True)
    assert take(static, static.fresh_state(), "app", 6) == "1-3,5-7"


@pytest.mark.parametrize(("own", "count", "rejected"), [(0, 8, True), (2, 8, False), (2, 10, True)])
def test_whole_cores_only_counts_the_cpus_of_a_resized_container(
    own: int, count: int, rejected: bool
) -> None:
    static = policy(full_pcpus_only=True)
    found = static.smt_refusal(static.fresh_state(), None, count, own=own)
    assert isinstance(found, Rejected) is rejected


def test_whole_cores_only_is_checked_before_an_existing_assignment() -> None:
    """A running container is rejected after a restart if too few are free (kubernetes issue 129078)."""
    static = policy(full_pcpus_only=True)
    state = static.fresh_state()
    assert take(static, state, "app", 4) == "1-2,5-6"
    assert take(static, state, "app", 4).startswith("SMTAlignmentError: ")


@pytest.mark.parametrize("affinity", [None, 0b1111])
def test_the_endless_loop_is_a_fault_not_an_answer(affinity: NodeMask | None) -> None:
    """Four nodes of 16 CPUs, one thread of each reserved: distributing 54 CPUs in whole cores never ends."""
    machine = regular(sockets=2, nodes=2, cores=8, threads=2)
    static = policy(machine, "0,8,16,24", full_pcpus_only=True, distribute_cpus_across_numa=True)
    assert isinstance(answered(static, 54, affinity), KubeletFault)


def test_fewer_cpus_than_cores_crash_the_kubelet() -> None:
    """The total is not computed from the cores, so the kubelet divides by an average of 0."""
    machine = topology([CoreAt(cpus=(0,)), CoreAt(cpus=(1,))], unlisted_cpus=-1)
    assert answered(policy(machine, full_pcpus_only=True), 1) == KubeletFault(
        kind=FaultKind.CRASH,
        where="CPU Manager, checking full-pcpus-only by CPUs per core, which are 0 for 1 CPUs on 2 cores",
        why="runtime error: integer divide by zero",
    )


def test_a_rejection_leaves_the_state_unchanged() -> None:
    static = policy()
    state = static.fresh_state()
    before = state.copy()
    take(static, state, "app", 99)
    assert state == before


def test_a_copy_of_a_state_is_independent() -> None:
    static = policy()
    state = static.fresh_state()
    take(static, state, "app", 2)
    copy = state.copy()
    take(static, copy, "other", 2)
    assert state.assignments == {"pod": {"app": mask("1,5")}}
    assert copy.assigned("pod", "other") == mask("2,6")
