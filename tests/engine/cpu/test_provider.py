"""The CPU Manager's hints and placements for a container, and for a pod as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.cpu.metrics import CPUMetrics
from cpuctl.engine.cpu.provider import CPUAnswer, CPUProvider, container_hints, pod_count, pod_hints
from cpuctl.engine.cpu.state import CPUManagerState
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.outcome import KubeletFault, PickStep, Rejected
from cpuctl.engine.placement import ExclusiveClaim, Placement, PoolWarning
from cpuctl.engine.pod_level import NEVER_DIVIDED, PodLevelRules
from cpuctl.engine.provider import Candidate
from cpuctl.kubelet.policy_options import CPUPolicyOptions
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.kubelet.reservations import CPUReservation
from cpuctl.pods.model import Container, ContainerKind, Pod
from cpuctl.pods.qos import pod_qos
from tests.support.changed import changed
from tests.support.pods import app, pod, resources, stored
from tests.support.topologies import mask, regular

APP, INIT, SIDECAR = ContainerKind.APP, ContainerKind.INIT, ContainerKind.SIDECAR
TWO_NODES = StaticPolicy.construct(
    regular(sockets=2, cores=4),
    CPUPolicyOptions(),
    CPUReservation(1, CPUSet.parse("0")),
    behaviours(36),
)
POD = stored(
    Pod(
        name="pod",
        uid="pod",
        init_containers=(Container(name="first", kind=INIT),),
        containers=(Container(name="main"), Container(name="other")),
    )
)


def state(default: str, **held: str) -> CPUManagerState:
    assigned = {name: mask(cpus) for name, cpus in held.items()}
    return changed(CPUManagerState(mask(default)), assignments={"pod": assigned} if assigned else {})


def shown(answer: CPUAnswer | KubeletFault) -> str:
    """Show the nodes of every hint, ``T`` for preferred; ``any`` for no preference."""
    if answer is None:
        return "any"
    assert isinstance(answer, dict)
    hints = answer["cpu"]
    return " ".join(f"{CPUSet(hint.nodes or 0)}{'T' if hint.preferred else ''}" for hint in hints)


@dataclass(frozen=True, slots=True)
class ForContainer:
    name: str
    default: str
    count: int
    hints: str
    held: dict[str, str] = field(default_factory=dict)
    reusable: str = ""


CONTAINERS = [
    ForContainer("no exclusive CPUs", "0-7", 0, "any"),
    ForContainer("reserved CPUs do not count", "0-7", 4, "1T 0-1"),
    ForContainer("taken CPUs do not count", "0-1,4-5", 2, "1T 0-1", {"other": "2-3,6-7"}),
    ForContainer("too few CPUs are left", "0-1", 2, ""),
    ForContainer("its own CPUs, and nothing else", "0-3,6-7", 2, "1T 0-1", {"main": "4-5"}),
    ForContainer("its own CPUs are fewer than it requests", "0-3,5-7", 2, "", {"main": "4"}),
    ForContainer("CPUs of init containers have to be used", "0,4-7", 2, "0T 0-1", {"first": "1-3"}, "1-3"),
]


@pytest.mark.parametrize("case", CONTAINERS, ids=lambda case: case.name)
def test_container(case: ForContainer) -> None:
    known = state(case.default, **case.held)
    known.remember_reuse("pod", INIT, mask(case.reusable))
    assert shown(container_hints(TWO_NODES, known, POD, POD.containers[0], case.count)) == case.hints


@dataclass(frozen=True, slots=True)
class ForPod:
    name: str
    default: str
    hints: str
    held: dict[str, str] = field(default_factory=dict)
    claims: dict[str, int] = field(default_factory=lambda: {"main": 2, "other": 1})
    reusable: str = ""


PODS = [
    ForPod("nothing exclusive", "0-7", "any", claims={}),
    ForPod("the sum of its containers", "0-2,4-7", "1T 0-1"),
    ForPod("all of its CPUs, and nothing else", "0-3,7", "1T 0-1", {"main": "4-5", "other": "6"}),
    ForPod("some of its CPUs and free ones", "0-3,6", "1T 0-1", {"main": "4-5"}),
    ForPod("a container has fewer than it requests", "0-3,5-7", "", {"main": "4"}),
    ForPod("CPUs of init containers have to be used", "0,4-7", "0T 0-1", reusable="1-3"),
    ForPod("a container that requests no CPUs has some", "0-3,5-7", "", {"first": "4"}),
]


@pytest.mark.parametrize("case", PODS, ids=lambda case: case.name)
def test_pod(case: ForPod) -> None:
    known = state(case.default, **case.held)
    known.remember_reuse("pod", INIT, mask(case.reusable))

    def claims(container: Container) -> int:
        return case.claims.get(container.name, 0)

    answer = pod_hints(TWO_NODES, known, POD, claims, pod_count(POD.all_containers, claims))
    assert shown(answer) == case.hints


@pytest.mark.parametrize(
    ("containers", "count"),
    [
        ([], 0),
        ([(APP, 2), (APP, 3)], 5),
        ([(INIT, 4), (INIT, 6), (APP, 5)], 6),
        ([(SIDECAR, 1), (INIT, 4), (APP, 2)], 5),
        ([(INIT, 4), (SIDECAR, 1), (APP, 2)], 4),
        ([(INIT, 2), (SIDECAR, 2), (SIDECAR, 1), (APP, 2)], 5),
    ],
)
def test_a_pod_needs_its_peak(containers: list[tuple[ContainerKind, int]], count: int) -> None:
    """Sidecars keep running, alongside the init containers after them and the app containers."""
    made = [Container(name=f"{index}:{cpus}", kind=kind) for index, (kind, cpus) in enumerate(containers)]
    assert pod_count(made, lambda container: int(container.name.partition(":")[2])) == count


def test_alignment_by_socket_depends_on_the_policy() -> None:
    options = CPUPolicyOptions(align_by_socket=True)
    reserved = CPUReservation(1, CPUSet.parse("0"))
    static = StaticPolicy.construct(regular(sockets=2, nodes=2, cores=4), options, reserved, behaviours(36))
    answer = container_hints(static, static.fresh_state(), POD, POD.containers[0], 2)
    assert isinstance(answer, dict)
    assert isinstance(answer["cpu"], CPUHints)
    assert answer["cpu"].prefers(NodeMask(0b11))


CORES_OF_TWO_NODES = regular(sockets=2, cores=4)
ANYWHERE = Hint(None, preferred=True)
DIVIDES = PodLevelRules(managers=True)
RESTORES = PodLevelRules(managers=True, restores_cpus=True)


def provider(rules: PodLevelRules = NEVER_DIVIDED) -> CPUProvider:
    """Set up a manager with CPU 0 reserved."""
    reserved = CPUReservation(1, CPUSet.parse("0"))
    static = StaticPolicy.construct(CORES_OF_TWO_NODES, CPUPolicyOptions(), reserved, behaviours(36))
    return CPUProvider(static, CORES_OF_TWO_NODES, rules)


def whole(cpus: int, name: str = "main") -> Container:
    amounts = f"cpu={cpus} memory=1Gi"
    return app(amounts, amounts, name=name)


def candidate(*containers: Container, uid: str = "pod", total: int = 0) -> Candidate:
    """Return a candidate pod, with pod-level resources of *total* CPUs."""
    amounts = f"cpu={total} memory=4Gi"
    given = pod(*containers, pod_level=resources(amounts, amounts) if total else None)._replace(uid=uid)
    return Candidate(given, pod_qos(given), divided=total > 0)


def allocated(manager: CPUProvider, requested: Candidate) -> Placement:
    placed = manager.allocate(requested, ANYWHERE, Placement(container=requested.pod.containers[0]))
    assert isinstance(placed, Placement), placed
    return placed


def divided(manager: CPUProvider, requested: Candidate) -> list[Placement]:
    placed = manager.allocate_pod(
        requested, ANYWHERE, [Placement(container=each) for each in requested.pod.containers]
    )
    assert isinstance(placed, list), placed
    return placed


def test_a_placement_reports_what_a_container_claims_and_gets() -> None:
    requested = candidate(whole(2))
    assert allocated(provider(), requested) == Placement(
        container=requested.pod.containers[0],
        claim=ExclusiveClaim(2),
        cpus=mask("1-2"),
        exclusive=True,
        steps=(PickStep("whole cores", mask("1-2")),),
    )


def test_a_placement_reports_why_a_container_shares() -> None:
    requested = candidate(app())
    why = "the pod is BestEffort, not Guaranteed: no container requests or limits cpu or memory"
    assert allocated(provider(), requested) == Placement(
        container=requested.pod.containers[0], claim=ExclusiveClaim(0, why)
    )


def test_placements_in_a_divided_pod() -> None:
    requested = candidate(whole(2, name="own"), app(name="shared"), total=3)
    why = "its own requests of cpu and memory do not equal its limits"
    assert divided(provider(DIVIDES), requested) == [
        Placement(
            container=requested.pod.containers[0],
            claim=ExclusiveClaim(2),
            cpus=mask("1-2"),
            exclusive=True,
            steps=(PickStep("whole cores", mask("1-2")),),
        ),
        Placement(
            container=requested.pod.containers[1],
            claim=ExclusiveClaim(0, why),
            cpus=mask("3"),
            in_pod_pool=True,
        ),
    ]


def test_a_divided_pod_that_is_due_no_cpus_keeps_those_it_holds() -> None:
    """A kubelet without pod-level managers allocated them; with a fraction, AllocatePod does nothing."""
    manager, own = provider(DIVIDES), whole(2)
    manager.state.assignments["pod"] = {"main": mask("1-2")}
    amounts = "cpu=2500m memory=4Gi"
    fractional = pod(own, app(name="other"), pod_level=resources(amounts, amounts))._replace(uid="pod")
    main, other = divided(manager, Candidate(fractional, pod_qos(fractional), divided=True))
    assert (main.exclusive, main.cpus) == (True, mask("1-2"))
    assert (other.exclusive, other.cpus) == (False, mask(""))


def test_metrics_count_requests_errors_and_cpus() -> None:
    manager = provider(DIVIDES)
    before = manager.copy()
    allocated(manager, candidate(whole(2), uid="one"))
    divided(manager, candidate(whole(1, name="own"), app(name="shared"), uid="two", total=2))
    too_large = candidate(whole(4), uid="three", total=9)
    assert isinstance(manager.allocate_pod(too_large, ANYWHERE, [Placement(container=whole(4))]), Rejected)
    counted = manager.metrics
    assert (counted.pinning_requests, counted.pinning_errors) == (2, 1)
    assert (counted.exclusive, counted.shared_millicores) == (4, 3000)
    assert before.metrics == provider(DIVIDES).metrics


def test_metrics_count_returned_cpus() -> None:
    manager = provider()
    allocated(manager, candidate(whole(2), uid="one"))
    allocated(manager, candidate(whole(1), uid="two"))
    manager.remove_container("one", "main")
    assert (manager.metrics.exclusive, manager.metrics.shared_millicores) == (1, 6000)
    manager.keep_only({})
    assert (manager.metrics.exclusive, manager.metrics.shared_millicores) == (0, 7000)
    assert manager.state.default == CORES_OF_TWO_NODES.cpus


def test_metrics_count_cpus_given_up_after_a_delay() -> None:
    manager = provider()
    allocated(manager, candidate(whole(3)))
    manager.state.postpone("pod", "main", mask("1"))
    assert manager.settle("pod", "main") == mask("2-3")
    assert (manager.metrics.exclusive, manager.metrics.shared_millicores) == (1, 6000)
    assert manager.settle("pod", "main") == 0


def test_the_state_file_has_baselines_and_pods_only_if_the_kubelet_keeps_them() -> None:
    for manager in (provider(), provider(DIVIDES)):
        allocated(manager, candidate(whole(2)))
        manager.state.pod_entries = {"other": mask("3")}
        saved = manager.state_file()
        assert saved.entries == {"pod": {"main": CPUSet.parse("1-2")}}
        assert (bool(saved.pod_entries), bool(saved.baselines)) == (manager.rules.managers, False)
        manager.keeps_baselines = True
        assert manager.state_file().baselines == saved.entries


# The hints that it gives the Topology Manager for a divided pod

DIVIDED = candidate(whole(2, name="own"), app(name="shared"), total=3)
OTHER_TOTAL = candidate(whole(2, name="own"), app(name="shared"), total=4)
NO_POOL = candidate(whole(3, name="own"), app(name="shared"), total=3)


def shown_placement(manager: CPUProvider, requested: Candidate) -> str:
    """Show the nodes of every hint for a pod, ``T`` for preferred."""
    answer = manager.hints(requested, None)
    assert isinstance(answer, dict)
    return " ".join(f"{CPUSet(hint.nodes or 0)}{'T' if hint.preferred else ''}" for hint in answer["cpu"])


@pytest.mark.parametrize(
    ("requested", "want"), [(DIVIDED, "0T 1T 0-1"), (OTHER_TOTAL, "1T 0-1"), (NO_POOL, "")]
)
def test_hints_are_for_the_pod_level_request(requested: Candidate, want: str) -> None:
    """Node 0 has three CPUs that are not reserved; a pod without a CPU for its pool fits nowhere."""
    assert shown_placement(provider(DIVIDES), requested) == want


@pytest.mark.parametrize(("rules", "want"), [(DIVIDES, ""), (RESTORES, "0T 0-1")])
def test_a_pod_that_holds_cpus_has_hints_if_the_release_restores_them(
    rules: PodLevelRules, want: str
) -> None:
    """In earlier releases its shared containers do not have what they request (kubernetes issue 140989)."""
    manager = provider(rules)
    divided(manager, DIVIDED)
    assert shown_placement(manager, DIVIDED) == want


def test_a_pod_that_holds_another_number_of_cpus_fits_nowhere() -> None:
    manager = provider(RESTORES)
    divided(manager, DIVIDED)
    assert shown_placement(manager, OTHER_TOTAL) == ""


def test_inconsistent_cpus_of_a_pod_are_free_for_it() -> None:
    """CPU 1 is also in the shared pool, so the pod has to be allocated again."""
    manager = provider(RESTORES)
    divided(manager, DIVIDED)
    manager.state.default = mask("0-1,4-5")
    assert shown_placement(manager, DIVIDED) == "0T 0-1"


# The policy ``none``


def test_without_a_policy_all_cpus_are_shared() -> None:
    manager = CPUProvider(None, CORES_OF_TWO_NODES)
    requested = candidate(whole(2))
    placed = Placement(container=requested.pod.containers[0])
    assert manager.state.default == CORES_OF_TWO_NODES.cpus
    assert manager.hints(requested, None) is None
    assert manager.allocate(requested, ANYWHERE, placed) == placed
    assert manager.allocate_pod(requested, ANYWHERE, [placed]) == [placed]
    assert manager.metrics == CPUMetrics()
    assert manager.pool_warning(0) is None


# The shared pool, and owners of CPUs


@pytest.mark.parametrize(
    ("before", "after", "want"),
    [
        ("0-7", "0-3", None),
        ("0-3", "0", PoolWarning.ONLY_RESERVED),
        ("0", "0", None),
        ("0-3", "", PoolWarning.EMPTY),
    ],
)
def test_a_pool_that_gets_too_small_causes_a_warning(
    before: str, after: str, want: PoolWarning | None
) -> None:
    manager = provider()
    manager.state.default = mask(after)
    assert manager.pool_warning(mask(before)) is want


def test_pods_that_share_exclusive_cpus_or_have_reserved_ones() -> None:
    manager = provider()
    manager.state.assignments = {
        "one": {"init": mask("2-3"), "main": mask("2-4")},
        "two": {"main": mask("4-5")},
        "three": {"main": mask("0,7")},
    }
    manager.state.pod_entries = {"four": mask("5-6")}
    overlapping = {uid: str(CPUSet(cpus)) for uid, cpus in manager.overlapping_pods().items()}
    assert overlapping == {"one": "4", "two": "4-5", "three": "0", "four": "5"}
    assert CPUProvider(None, CORES_OF_TWO_NODES).overlapping_pods() == {}


def test_cpus_that_a_pod_has_taken_from_others() -> None:
    """CPU 0 is reserved, CPUs 2 and 6 belong to other pods, CPU 3 to none, CPU 4 was in the shared pool."""
    manager = provider()
    manager.state.assignments = {"one": {"main": mask("0,2-4,6")}, "two": {"main": mask("2")}}
    manager.state.pod_entries = {"three": mask("6-7")}
    assert CPUSet(manager.taken_from_others("one")) == CPUSet.parse("0,2,6")
    assert CPUSet(manager.taken_from_others("two")) == CPUSet.parse("2")
    assert CPUSet(manager.taken_from_others("three")) == CPUSet.parse("6")
    assert CPUProvider(None, CORES_OF_TWO_NODES).taken_from_others("one") == 0
