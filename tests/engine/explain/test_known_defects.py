"""Known oddities of a decision, and their sources."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from cpuctl.engine.explain.decision import Decision, Rule
from cpuctl.engine.explain.known_defects import (
    MOST_PODS,
    known_defects,
    noticed,
    release_notes,
    without_effect,
)
from cpuctl.engine.explain.offers import round_of
from cpuctl.engine.explain.scenario import Replay
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.machine.sources import read_machine
from cpuctl.pods.model import StoredPod
from cpuctl.records import replace
from tests.engine.explain.scenarios import (
    CORES,
    EIGHT,
    FOUR_NODES,
    RESTRICTED,
    SINGLE,
    TWO_NODES,
    decided,
    divided,
    memory_config,
    named,
    reported,
    scenario,
    whole,
    with_memory,
)
from tests.support.memory import HUGE
from tests.support.pods import app, init, pod, resources
from tests.support.topologies import CoreAt, machine_info

ENDLESS: dict[str, Any] = {
    "cpu_manager_policy_options": {"full-pcpus-only": "true", "distribute-cpus-across-numa": "true"},
    "reserved_system_cpus": "0,8,16,24",
}
DIVIDING: dict[str, Any] = {
    **RESTRICTED,
    "topology_manager_scope": "pod",
    "feature_gates": {"PodLevelResources": True, "PodLevelResourceManagers": True},
}
MEMORY = memory_config()
TEN = with_memory(TWO_NODES, 10)
UNEVEN = machine_info([CoreAt((0, 1)), CoreAt((2, 3)), CoreAt((4, 5)), CoreAt((6,)), CoreAt((7, 8, 9))])

Defects = list[tuple[str, str]]
WIDTH = ("the number of NUMA nodes in", "kubernetes/kubernetes#84597")
REUSE = ("CPUs of an init container are", "kubernetes/kubernetes#123816")
INEQUALITY = ("hints of several providers are preferred", "kubernetes/kubernetes#128669")
GROUPS = ("while containers use NUMA nodes as", "KEP-1769")
FIT = ("the resource managers run before this", "kubelet source, pkg/kubelet/kubelet.go")
HAS_THEM = ("the container already has its CPUs,", "kubernetes/kubernetes#129078")
ON_AVERAGE = (
    "CPUs per core is an average,",
    "kubelet source, pkg/kubelet/cm/cpumanager/topology/topology.go",
)
WHOLE_GROUPS = (
    "distribute-cpus-across-numa counts single CPUs but allocates",
    "kubernetes/kubernetes#140730",
)
NO_SAY = (
    "if the Memory Manager has no",
    "kubelet source, pkg/kubelet/cm/memorymanager/policy_static.go",
)
RESTARTS = "docs/keps.md#restarts-with-pod-level-allocations"
ANEW = (
    "a pod with pod-level resources is",
    f"kubernetes/kubernetes#140989, kubernetes/kubernetes#140906, {RESTARTS}",
)
NO_OWN = (
    "KEP-5526 allows Guaranteed pods with spec.resources",
    "KEP-5526, Container Scope; docs/keps.md#container-scope-with-static-memory",
)
WRAPPED = (
    "a container requests memory or huge",
    "kubelet source, pkg/kubelet/cm/memorymanager/policy_static.go",
)
STAYS = ("resources allocated to the pod's containers", "kubernetes/kubernetes#129819")


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    defects: Defects
    info: MachineInfo
    pods: tuple[StoredPod, ...]
    config: dict[str, Any] = field(default_factory=dict)
    fit: bool = False


CASES = [
    Case(
        "one node would be enough if it were empty",
        [WIDTH],
        TWO_NODES,
        (named("a", whole(4)), named("b", whole(4)), named("c", whole(6))),
        RESTRICTED,
    ),
    Case(
        "an init container ties its pod to a node",
        [REUSE, STAYS],
        TWO_NODES,
        (named("a", whole(4)), named("b", init("cpu=2 memory=1Gi", "cpu=2 memory=1Gi"), whole(6))),
        SINGLE,
    ),
    Case(
        "CPUs and memory need different nodes",
        [INEQUALITY],
        TEN,
        (named("a", whole(2, memory="12Gi")),),
        RESTRICTED | MEMORY,
    ),
    Case(
        "nodes in a group",
        [GROUPS],
        TEN,
        (named("a", whole(9, memory="12Gi")), named("b", whole(1))),
        RESTRICTED | MEMORY,
    ),
    Case(
        "the node is too small",
        [FIT, STAYS],
        EIGHT,
        (named("a", app("cpu=6")), named("b", whole(4))),
        fit=True,
    ),
    Case("one container has its CPUs", [STAYS], EIGHT, (named("a", whole(2), whole(9, "no")),)),
    Case(
        "memory has no hint",
        [GROUPS, NO_SAY, STAYS],
        TEN,
        (named("a", whole(1)), named("b", whole(1, memory="12Gi"))),
        RESTRICTED | MEMORY,
    ),
    Case(
        "a container without its own resources, scope container",
        [NO_OWN, STAYS],
        TEN,
        (divided("a", "cpu=4 memory=4Gi", whole(1, memory="1Gi"), app(name="log")),),
        DIVIDING | MEMORY | {"topology_manager_scope": "container"},
    ),
    Case(
        "memory has no hint, but that is not the reason",
        [],
        TEN,
        (named("a", whole(9, memory="20Gi")),),
        SINGLE | MEMORY,
    ),
    Case(
        "memory has hints, none of which is accepted",
        [],
        TEN,
        (named("a", whole(1, memory="12Gi")),),
        SINGLE | MEMORY,
    ),
    Case("memory without any round", [STAYS], TEN, (named("a", whole(1, memory="30Gi")),), MEMORY),
    Case("cores of different sizes", [ON_AVERAGE], UNEVEN, (named("a", whole(3)),), CORES),
    Case("too few cores", [], EIGHT, (named("a", whole(8)),), CORES),
    Case("cores are not whole", [], EIGHT, (named("a", whole(3)),), CORES),
    Case("different cores that do not matter", [], UNEVEN, (named("a", whole(12)),)),
    Case("the kubelet hangs", [WHOLE_GROUPS], FOUR_NODES, (named("a", whole(54)),), ENDLESS),
    Case(
        "the kubelet has hung before",
        [],
        FOUR_NODES,
        (named("a", whole(54)), named("b", whole(2))),
        ENDLESS,
    ),
    Case(
        "huge pages that the pod's total does not name",
        [WRAPPED],
        with_memory(TWO_NODES, 10, pages={2048: 64}),
        (divided("a", "cpu=4 memory=4Gi", whole(2, memory="1Gi", more=f"{HUGE}=4Mi"), app(name="b")),),
        DIVIDING | MEMORY,
    ),
    Case(
        "huge pages beyond the memory of their node",
        [("more is reserved than exists (memory", WRAPPED[1])],
        with_memory(TWO_NODES, 1, pages={2048: 1024}),
        (named("a", whole(2)),),
        RESTRICTED | MEMORY,
    ),
    Case("more than there is", [], EIGHT, (named("a", whole(9)),)),
    Case("admitted", [], EIGHT, (named("a", whole(2)),)),
]


def defects(replay: Replay, decision: Decision | None = None) -> Defects:
    """Return the first six words of each note, and its reference."""
    node, pod = replay.before, replay.scenario.pod
    rounds = [round_of(requested, pod, node) for requested in replay.admission.hint_rounds]
    found = list(known_defects(replay, decision or decided(replay), rounds))
    return [(" ".join(defect.text.split()[:6]), defect.reference) for defect in found]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_known_oddities(case: Case) -> None:
    assert defects(reported(scenario(case.info, *case.pods, fit=case.fit, **case.config))) == case.defects


def restarted(info: MachineInfo, *pods: StoredPod, **config: Any) -> Replay:
    """Restart a kubelet that has admitted pods, and let it admit the last one again."""
    first = reported(scenario(info, *pods, **config))

    def start(_kubelet: Any) -> Any:
        return first.after.copy()

    return reported(replace(first.scenario, start=start, restarted=True))


def test_cores_are_counted_before_the_cpus_a_container_has() -> None:
    replay = restarted(EIGHT, named("a", whole(2)), named("b", whole(4)), **CORES)
    assert defects(replay) == [HAS_THEM, STAYS]


def test_a_divided_pod_is_allocated_again_after_a_restart() -> None:
    pod = divided("a", "cpu=4 memory=4Gi", whole(2, memory="2Gi"), app("cpu=1 memory=1Gi", name="shared"))
    replay = restarted(TEN, pod, **DIVIDING, **MEMORY)
    assert defects(replay) == [ANEW, STAYS]
    assert any("fixed in 1.38" in known.text for known in known_defects(replay, decided(replay), []))


def test_a_crash_is_not_an_endless_loop() -> None:
    """Node ids above 63 do not fit into the kubelet's masks."""
    info = machine_info([CoreAt((0,)), CoreAt((1,), numa_node=64)])
    replay = reported(scenario(info, named("a", whole(1)), **RESTRICTED))
    assert decided(replay).rule is Rule.KUBELET_FAULT
    assert defects(replay) == []


MACHINE = read_machine("synthetic:1s1n16c2t,l3=4,near").info
FULL: dict[str, Any] = {
    "reserved_system_cpus": "0-1",
    "cpu_manager_policy_options": {"full-pcpus-only": "true"},
}
UNCORE: dict[str, Any] = {
    "reserved_system_cpus": "0-1",
    "cpu_manager_policy_options": {"prefer-align-cpus-by-uncorecache": "true"},
    "feature_gates": {"CPUManagerPolicyAlphaOptions": True, "CPUManagerPolicyBetaOptions": True},
}


def notes(version: str, cpus: int, before: int = 0) -> list[str]:
    amounts = f"cpu={cpus} memory=1Gi"
    pods = [pod(app("cpu=100m"))._replace(uid=f"b{number}") for number in range(before)]
    one = scenario(MACHINE, *pods, pod(app(amounts, amounts))._replace(uid="a"), **UNCORE)
    kubelet = replace(one.kubelet, version=KubeletVersion.parse(version))
    return [note.text for note in release_notes(reported(replace(one, kubelet=kubelet)))]


DEPENDS = "this answer depends on the release"
SPREADS = "prefer-align-cpus-by-uncorecache spreads an odd number of CPUs over several caches"
TAKES = "prefer-align-cpus-by-uncorecache takes an odd number of CPUs from one cache"


@pytest.mark.parametrize(
    ("version", "cpus", "want"),
    [
        ("1.33.4", 7, [f"{DEPENDS}: from 1.34, 1.33.7 on, {TAKES}"]),
        ("1.32", 7, [f"{DEPENDS}: from 1.34, 1.33.7 on, {TAKES}; no known patch release of 1.32 does"]),
        (
            "1.33.13",
            7,
            [f"{DEPENDS}: since 1.34, 1.33.7, {TAKES}; before: {SPREADS}"],
        ),
        ("1.33.4", 6, []),
    ],
)
def test_differences_that_decide_are_named(version: str, cpus: int, want: list[str]) -> None:
    assert notes(version, cpus) == want


def test_long_scenarios_are_not_replayed() -> None:
    assert notes("1.33.4", 7, before=MOST_PODS - 1)
    assert notes("1.33.4", 7, before=MOST_PODS) == []


def test_skipped_differences_would_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tried difference takes a start of the kubelet, and some cannot affect the given pods."""
    ones = [
        reported(scenario(MACHINE, pod(app(amounts, amounts)), **UNCORE))
        for amounts in ("cpu=2 memory=1Gi", "cpu=7 memory=1Gi", "cpu=40 memory=1Gi")
    ]
    # No core is free, which releases report in different words.
    ones.append(reported(scenario(MACHINE, named("a", whole(30)), named("b", whole(2)), **FULL)))
    tried = [list(release_notes(one)) for one in ones]
    skipped = [without_effect(one) for one in ones]
    assert {*skipped} == {skipped[0]}
    assert skipped[0] <= {name for one in ones for name in noticed(one.scenario.kubelet)}, (
        "each would be tried"
    )
    monkeypatch.setattr("cpuctl.engine.explain.known_defects.without_effect", lambda _: frozenset())
    assert [list(release_notes(one)) for one in ones] == tried


def test_differences_of_init_containers_and_pod_level_resources_are_tried_if_pods_have_them() -> None:
    level = resources("cpu=2 memory=1Gi", "cpu=2 memory=1Gi")
    assert "knows_sidecars" not in without_effect(reported(scenario(MACHINE, pod(app(), init("cpu=1")))))
    name = "skips_pod_level_pods"
    assert name not in without_effect(reported(scenario(MACHINE, pod(app(), pod_level=level))))


def test_a_pod_that_does_not_fit_was_allocated_nothing_if_it_shares_cpus() -> None:
    pods = named("a", app("cpu=6")), named("b", app("cpu=4"))
    assert defects(reported(scenario(EIGHT, *pods, fit=True))) == []
