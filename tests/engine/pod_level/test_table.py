"""The 16 combinations of KEP-2837 for a kubelet of 1.36, and related cases.

Both containers are equal; CR is 1 CPU and 1Gi, CL 2 and 2Gi, PR 5 and 5Gi, PL 6 and 6Gi; a node has 100Gi.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import pytest

from cpuctl.engine.pod_facts import NodeOfPods, PodFacts, pod_facts
from cpuctl.engine.pod_level import NEVER_DIVIDED, PodLevelRules, guaranteed_equivalent, pod_level_cpus
from cpuctl.engine.pod_rules import node_rules, server_rules
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.pods.cgroups.files import CgroupHost, WeightFormula, v2_files
from cpuctl.pods.cgroups.values import CgroupValues
from cpuctl.pods.model import Pod, QosClass
from cpuctl.pods.qos import Qos
from cpuctl.pods.rules import PodRules
from tests.support.pods import app, manifest, pod, resources

GI = 1 << 30
NODE = NodeOfPods(memory=100 * GI)
AMOUNTS = {
    "CR": "cpu=1 memory=1Gi",
    "CL": "cpu=2 memory=2Gi",
    "PR": "cpu=5 memory=5Gi",
    "PL": "cpu=6 memory=6Gi",
}


@dataclass(frozen=True)
class Row:
    """What is set, and the result: each figure is both CPUs and Gi, ``max`` is no limit."""

    given: str
    qos: str
    requests: str
    pod_weight: int
    pod_limit: str
    weights: tuple[int, int]
    limit: str
    oom: int
    pod_level: str = ""


ROWS = [
    Row("", "BestEffort", "", 1, "max", (1, 1), "max", 1000),
    Row("CL", "Guaranteed", "4", 157, "4", (79, 174), "2", -997),
    Row("CR", "Burstable", "2", 79, "max", (39, 100), "max", 990),
    Row("CR CL", "Burstable", "2", 79, "4", (39, 100), "2", 990),
    Row("PL", "Guaranteed", "6", 235, "6", (235, 421), "6", -997, "6/6"),
    Row("CL PL", "Burstable", "4", 157, "6", (79, 174), "2", 980, "4/6"),
    Row("CR PL", "Burstable", "2", 79, "6", (39, 100), "6", 990, "2/6"),
    Row("CR CL PL", "Burstable", "2", 79, "6", (39, 100), "2", 990, "2/6"),
    Row("PR", "Burstable", "5", 196, "max", (1, 1), "max", 975, "5/-"),
    Row("CL PR", "Burstable", "5", 196, "4", (79, 174), "2", 975, "5/-"),
    Row("CR PR", "Burstable", "5", 196, "max", (39, 100), "max", 975, "5/-"),
    Row("CR CL PR", "Burstable", "5", 196, "4", (39, 100), "2", 975, "5/-"),
    Row("PR PL", "Burstable", "5", 196, "6", (235, 421), "6", 975, "5/6"),
    Row("CL PR PL", "Burstable", "5", 196, "6", (79, 174), "2", 975, "5/6"),
    Row("CR PR PL", "Burstable", "5", 196, "6", (39, 100), "6", 975, "5/6"),
    Row("CR CL PR PL", "Burstable", "5", 196, "6", (39, 100), "2", 975, "5/6"),
]


def given_pod(given: str) -> Pod:
    texts = {name: AMOUNTS[name] if name in given.split() else "" for name in AMOUNTS}
    own = resources(texts["PR"], texts["PL"]) if texts["PR"] or texts["PL"] else None
    return manifest(
        app(texts["CR"], texts["CL"], name="a"), app(texts["CR"], texts["CL"], name="b"), pod_level=own
    )


def limits(values: CgroupValues) -> set[str]:
    """Read the CPU and memory limits back from the files, in CPUs and Gi."""
    files = v2_files(values, WeightFormula.LINEAR, CgroupHost())
    quota, _, period = files["cpu.max"].text.partition(" ")
    cpus = quota if quota == "max" else str(int(quota) // int(period))
    memory = files["memory.max"].text
    return {cpus, memory if memory == "max" else str(int(memory) // GI)}


def amount(facts: PodFacts, side: str) -> str:
    own = facts.stored.pod.resources
    amounts = {} if own is None else getattr(own, side)
    assert len({str(each).removesuffix("Gi") for each in amounts.values()}) <= 1
    return str(amounts["cpu"]) if amounts else "-"


def test_the_table_is_complete() -> None:
    every = {
        " ".join(name for name, there in zip(AMOUNTS, bits, strict=True) if there)
        for bits in product((0, 1), repeat=4)
    }
    assert {row.given for row in ROWS} == every


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.given or "nothing")
def test_row(row: Row) -> None:
    facts = pod_facts(given_pod(row.given), NODE)
    assert facts.qos.qos_class == row.qos
    assert facts.qos.reason
    assert {str(each.amount).removesuffix("Gi") for each in facts.requests.values()} == set(
        row.requests.split()
    )
    assert WeightFormula.LINEAR.weight(facts.cgroup.shares) == row.pod_weight
    assert limits(facts.cgroup) == {row.pod_limit}
    if row.pod_level:
        assert f"{amount(facts, 'requests')}/{amount(facts, 'limits')}" == row.pod_level
    for container in facts.containers:
        shares = container.cgroup.shares
        assert (WeightFormula.LINEAR.weight(shares), WeightFormula.CURVED.weight(shares)) == row.weights
        assert limits(container.cgroup) == {row.limit}
        assert container.oom.value == row.oom


@pytest.mark.parametrize("given", ["CL PR", "CR CL PR"])
def test_from_137_on_the_limits_of_all_containers_become_the_pods(given: str) -> None:
    gates = FeatureGates.for_minor(37)
    rules = PodRules(server=server_rules(gates), node=node_rules(gates))
    facts = pod_facts(given_pod(given), NodeOfPods(rules=rules))
    assert amount(facts, "limits") == "4"
    off = gates.with_overrides({"PodLevelResourcesFixDefaulting": False})
    kept = pod_facts(
        given_pod(given), NodeOfPods(rules=PodRules(server=server_rules(off), node=node_rules(gates)))
    )
    assert amount(kept, "limits") == "-"


def test_a_pod_that_requests_cpus_only_hides_its_containers_memory_from_eviction() -> None:
    from cpuctl.pods.out_of_memory import eviction_request

    facts = pod_facts(manifest(app("memory=1Gi"), pod_level=resources("cpu=1")), NODE)
    assert facts.qos.qos_class == "Burstable"
    assert str(facts.requests["memory"].amount) == "1Gi"
    assert eviction_request(facts.view) == 0
    assert facts.cgroup.memory is None


def test_a_limit_of_cpus_only_lets_container_requests_through() -> None:
    given = manifest(app("", "memory=1Gi", name="a"), app(name="b"), pod_level=resources("", "cpu=4"))
    facts = pod_facts(given, NODE)
    assert facts.stored.pod.resources is not None
    assert str(facts.stored.pod.resources.requests["memory"]) == "1Gi"
    assert facts.cgroup.memory is None


def test_overhead_is_on_top_of_pod_level_amounts() -> None:
    own = resources("cpu=4 memory=4Gi", "cpu=4 memory=4Gi")
    facts = pod_facts(manifest(app(), pod_level=own, overhead="cpu=250m memory=64Mi"), NODE)
    assert {name: str(each.amount) for name, each in facts.requests.items()} == {
        "cpu": "4250m",
        "memory": "4160Mi",
    }
    assert facts.cgroup.quota == 425_000
    assert facts.cgroup.memory == 4160 << 20
    assert facts.qos.qos_class == "Guaranteed"


def test_a_limit_of_zero_counts_as_none() -> None:
    facts = pod_facts(manifest(app("", "cpu=0 memory=0")), NODE)
    assert facts.qos.qos_class == "BestEffort"
    assert limits(facts.containers[0].cgroup) == {"max"}


@dataclass(frozen=True)
class Empty:
    """An empty ``spec.resources`` in a release."""

    minor: int
    qos: str
    pod_weight: int


EMPTY = [Empty(36, "BestEffort", 1), Empty(37, "Guaranteed", 79), Empty(33, "Guaranteed", 79)]


@pytest.mark.parametrize("case", EMPTY, ids=lambda case: f"1.{case.minor}")
def test_empty_pod_level_resources(case: Empty) -> None:
    gates = FeatureGates.for_minor(case.minor)
    rules = PodRules(server=server_rules(gates), node=node_rules(gates))
    facts = pod_facts(manifest(app("", AMOUNTS["CL"]), pod_level=resources()), NodeOfPods(rules=rules))
    assert facts.qos.qos_class == case.qos
    assert WeightFormula.LINEAR.weight(facts.cgroup.shares) == case.pod_weight
    assert facts.rejected is None


DIVIDING = {"PodLevelResources": True, "PodLevelResourceManagers": True}


@pytest.mark.parametrize(
    ("minor", "gates", "rules"),
    [
        (36, {}, (False, False, False)),
        (36, DIVIDING, (True, False, False)),
        (36, DIVIDING | {"PodLevelResources": False}, (False, False, False)),
        (36, DIVIDING | {"PodLevelResourceManagers": False}, (False, False, False)),
        (37, DIVIDING, (True, False, False)),
        (38, DIVIDING, (True, True, True)),
    ],
)
def test_rules_of_a_release(minor: int, gates: dict[str, bool], rules: tuple[bool, bool, bool]) -> None:
    found = PodLevelRules.of(FeatureGates(minor, gates))
    assert (found.managers, found.restores_cpus, found.restores_memory) == rules


def test_only_pods_with_pod_level_resources_are_divided() -> None:
    own, empty = pod(app(), pod_level=resources("cpu=1")), pod(app(), pod_level=resources())
    managing = PodLevelRules(managers=True)
    assert [managing.divides(each) for each in (own, empty, pod(app()))] == [True, False, False]
    assert not NEVER_DIVIDED.divides(own)
    assert (managing.restores_cpus, managing.restores_memory) == (False, False)


@pytest.mark.parametrize(
    ("requests", "limits", "guaranteed"),
    [
        ("cpu=1 memory=1Gi", "cpu=1 memory=1Gi", True),
        ("cpu=1 memory=1Gi", "cpu=1000m memory=1024Mi", True),
        ("cpu=1 memory=1Gi", "cpu=2 memory=1Gi", False),
        ("cpu=1 memory=1Gi", "cpu=1 memory=2Gi", False),
        ("cpu=1 memory=1Gi", "cpu=1", False),
        ("cpu=1", "cpu=1", False),
        ("cpu=0 memory=1Gi", "cpu=0 memory=1Gi", False),
        ("", "", False),
    ],
)
def test_a_container_like_a_guaranteed_pod(requests: str, limits: str, guaranteed: bool) -> None:
    assert guaranteed_equivalent(app(requests, limits)) == guaranteed


@pytest.mark.parametrize(
    ("own", "qos", "cpus"),
    [
        ("cpu=3 memory=1Gi", QosClass.GUARANTEED, 3),
        ("cpu=3 memory=1Gi", QosClass.BURSTABLE, 0),
        ("cpu=2500m memory=1Gi", QosClass.GUARANTEED, 0),
        ("memory=1Gi", QosClass.GUARANTEED, 0),
        (None, QosClass.GUARANTEED, 0),
    ],
)
def test_cpus_of_a_pod_as_a_whole(own: str | None, qos: QosClass, cpus: int) -> None:
    reported = pod(app(), pod_level=None if own is None else resources(own, own))
    assert pod_level_cpus(reported, Qos(qos, "")) == cpus
