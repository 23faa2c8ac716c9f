"""The Memory Manager's interface for the node: hints, allocation, and metrics."""

from __future__ import annotations

import pytest

from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.memory.hints import MemoryHints
from cpuctl.engine.memory.manager import StaticMemoryPolicy
from cpuctl.engine.memory.provider import MemoryMetrics, MemoryProvider
from cpuctl.engine.memory.tables import fresh_tables
from cpuctl.engine.outcome import Rejected
from cpuctl.engine.placement import Placement
from cpuctl.engine.pod_level import NEVER_DIVIDED, PodLevelRules
from cpuctl.engine.provider import Candidate
from cpuctl.pods.model import Container, Pod, StoredPod
from cpuctl.pods.qos import pod_qos
from tests.support.changed import changed
from tests.support.memory import memory_machine
from tests.support.pod_level import containers, divided, made_of, size
from tests.support.pods import app, resources, stored

GI = 1 << 30
ONE = Hint(NodeMask(0b01), preferred=True)
OTHER = Hint(NodeMask(0b10), preferred=True)
KEEPS = PodLevelRules(managers=True, restores_memory=True, hints_at_held_memory=True)
FORGETS = PodLevelRules(managers=True)
FRACTION = app("cpu=1 memory=1.5", "cpu=1 memory=1.5")


def provider(rules: PodLevelRules = NEVER_DIVIDED, *, nodes: int = 2, pages: int = 0) -> MemoryProvider:
    """Set up a manager on nodes of 10 GiB and *pages* huge pages each."""
    tables = fresh_tables(memory_machine([10 * GI] * nodes, [pages] * nodes), {})
    return MemoryProvider(StaticMemoryPolicy(tables=tables), rules)


def candidate(pod: StoredPod) -> Candidate:
    return Candidate(pod, pod_qos(pod), divided=pod.resources is not None)


def given(manager: MemoryProvider, pod: StoredPod, hint: Hint = ONE) -> list[object]:
    return [manager.allocate(candidate(pod), hint, Placement(container=each)) for each in pod.all_containers]


def given_whole(manager: MemoryProvider, pod: StoredPod, hint: Hint = ONE) -> object:
    placed = manager.allocate_pod(candidate(pod), hint, [Placement(container=c) for c in pod.all_containers])
    return [size(each.memory) for each in placed] if isinstance(placed, list) else placed


def undivided(words: str) -> StoredPod:
    return made_of(*containers(words))


@pytest.mark.parametrize(
    ("pod", "container", "wanted"),
    [
        (made_of(FRACTION), FRACTION, None),
        (made_of(FRACTION), None, None),
        (made_of(app("cpu=1 memory=1Gi")), None, None),
        (divided(3, "2 -"), divided(3, "2 -").containers[1], {}),
        (divided(2, "2 -"), None, {"memory": ()}),
        (undivided("30"), None, {}),
    ],
    ids=["a fraction", "a pod's fraction", "Burstable", "shares", "an empty pool", "too much"],
)
def test_answers_without_a_hint(pod: StoredPod, container: Container | None, wanted: object) -> None:
    assert provider(KEEPS).hints(candidate(pod), container) == wanted


def test_a_divided_pod_with_a_fraction_is_admitted_without_memory() -> None:
    """The kubelet only logs that it cannot represent the amount; for a container it rejects it."""
    fraction = "cpu=1 memory=1.5"
    manager, pod = provider(FORGETS), made_of(FRACTION)._replace(resources=resources(fraction, fraction))
    placed = [Placement(container=FRACTION)]
    assert manager.allocate_pod(candidate(pod), ONE, placed) == placed
    assert not manager.state.blocks


@pytest.mark.parametrize(
    ("rules", "wanted"), [(KEEPS, {"memory": [OTHER]}), (FORGETS, None)], ids=["keeps", "forgets"]
)
def test_a_release_keeps_or_forgets_what_a_divided_pod_has(rules: PodLevelRules, wanted: object) -> None:
    manager, pod = provider(rules), divided(3, "2 -")
    given_whole(manager, pod, OTHER)
    assert manager.hints(candidate(pod), None) == wanted


@pytest.mark.parametrize(("rules", "taken"), [(KEEPS, 3), (FORGETS, 6)], ids=["keeps", "forgets"])
def test_a_divided_pod_is_admitted_again(rules: PodLevelRules, taken: int) -> None:
    manager, pod = provider(rules), divided(3, "2 -")
    assert given_whole(manager, pod) == given_whole(manager, pod) == ["2Gi@0", "1Gi@0"]
    assert manager.state.tables[0].memory_map["memory"].reserved == taken * GI


def test_hints_lead_a_container_back_to_its_memory() -> None:
    manager, pod = provider(), undivided("3")
    given(manager, pod, OTHER)
    for container in (pod.containers[0], None):
        assert manager.hints(candidate(pod), container) == {"memory": [OTHER]}


def test_a_divided_pod_without_container_entries_gets_no_memory_for_them() -> None:
    """A state file may have an entry only for the pod as a whole."""
    manager, pod = provider(KEEPS), divided(3, "2 -")
    given_whole(manager, pod)
    manager.state.blocks.clear()
    assert given_whole(manager, pod) == ["-", "-"]


def test_a_container_that_requests_more_than_it_has_has_no_preference() -> None:
    manager, pod = provider(pages=4), made_of(with_pages("2Mi"))
    given(manager, pod, OTHER)
    assert manager.hints(candidate(made_of(with_pages("4Mi"))), with_pages("4Mi")) is None


def with_pages(pages: str) -> Container:
    requested = f"cpu=1 memory=1Gi hugepages-2Mi={pages}"
    return app(requested, requested)


def test_hints_count_what_an_init_container_lends() -> None:
    manager, pod = provider(nodes=1), undivided("i8 8")
    manager.allocate(candidate(pod), ONE, Placement(container=pod.init_containers[0]))
    answer = manager.hints(candidate(pod), pod.containers[0])
    assert isinstance(answer, dict)
    assert isinstance(answer["memory"], MemoryHints)
    assert list(answer["memory"]) == [ONE]


def test_metrics_of_containers() -> None:
    manager, pod = provider(), undivided("3")
    for requests in (1, 2):
        given(manager, pod)
        once = {"node": 1}, {"node_exclusive": 1}
        assert manager.metrics == counted(requests, *once)
    (rejection,) = given(manager, made_of(*containers("30"), name="large"))
    assert isinstance(rejection, Rejected)
    assert (manager.metrics.pinning_errors, manager.metrics.errors) == (1, {"node": 1})
    assert manager.metrics.pinning_requests == 3


def test_metrics_of_pods() -> None:
    manager = provider(KEEPS)
    given_whole(manager, divided(3, "2 -"))
    once = {"pod_exclusive": 1, "pod_shared": 1}
    assert manager.metrics == counted(requests=1, allocations={"pod": 2}, assignments=once)
    assert isinstance(given_whole(manager, divided(30, "2 -", name="large")), Rejected)
    assert (manager.metrics.pinning_errors, manager.metrics.errors) == (1, {"pod": 1})


def counted(requests: int, allocations: dict[str, int], assignments: dict[str, int]) -> MemoryMetrics:
    metrics = changed(MemoryMetrics(), pinning_requests=requests)
    metrics.allocations.update(allocations)
    metrics.assignments.update(assignments)
    return metrics


def test_a_copy_has_separate_metrics() -> None:
    manager = provider()
    given(manager.copy(), undivided("3"))
    assert manager.metrics == MemoryMetrics()


NOT_GUARANTEED = made_of(app("cpu=1 memory=1Gi"))
NOT_ALIGNED = made_of(*containers("1"), total="cpu=1 memory=1Gi")


def test_the_reason_for_no_memory_is_reported() -> None:
    burstable, whole = candidate(NOT_GUARANTEED), Candidate(NOT_ALIGNED, pod_qos(NOT_ALIGNED))
    reasons = (
        f"the pod is Burstable, not Guaranteed: {burstable.qos.reason}",
        "the pod sets spec.resources, which the Memory Manager does not align",
    )
    for asking, why in zip((burstable, whole), reasons, strict=True):
        placed = Placement(container=asking.pod.containers[0])
        answer = provider().allocate(asking, ONE, placed)
        assert isinstance(answer, Placement)
        assert (answer.why_no_memory, answer.memory) == (why, ())


def test_the_reason_for_a_divided_pod_that_is_not_guaranteed_is_reported() -> None:
    pod = stored(Pod(name="p", uid="p", containers=containers("1"), resources=resources("cpu=2 memory=2Gi")))
    asking = candidate(pod)
    placed = provider(KEEPS).allocate_pod(asking, ONE, [Placement(container=pod.containers[0])])
    assert isinstance(placed, list)
    assert [each.why_no_memory for each in placed] == [
        f"the pod is Burstable, not Guaranteed: {asking.qos.reason}"
    ]


def test_the_policy_none_passes_placements_on() -> None:
    manager, pod = MemoryProvider(None), divided(3, "2 -")
    placed = [Placement(container=each) for each in pod.containers]
    assert manager.allocate(candidate(pod), ONE, placed[0]) is placed[0]
    assert manager.allocate_pod(candidate(pod), ONE, placed) is placed
    assert (manager.hints(candidate(pod), None), manager.restore(None)) == (None, None)
    assert (manager.name, manager.metrics) == ("memory", MemoryMetrics())
