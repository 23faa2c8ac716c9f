"""KEP-5526: policies, policy options and gates, all of which apply to the pod as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.admission import Admission
from cpuctl.engine.outcome import Admitted, KubeletFault, Rejected
from cpuctl.engine.start import start_node
from cpuctl.machine.sources import read_machine
from cpuctl.pods.model import StoredPod
from tests.support.pod_level import (
    GATES,
    SIBLINGS,
    TWO_NODES,
    containers,
    cpus,
    divided,
    kubelet,
    made_of,
    memory,
    pool,
    started,
    undivided,
)

SOCKETS = "synthetic:2s4n8c1t,mem=16Gi"
"""Two NUMA nodes of four cores on each socket."""

CACHES = "synthetic:1s1n16c1t,l3=4,mem=64Gi"


def with_options(*options: str) -> dict[str, Any]:
    return {"cpu_manager_policy_options": dict.fromkeys(options, "true")}


def admitted(pod: StoredPod, machine: str = TWO_NODES, **config: Any) -> Admission:
    admission = started(machine, **config).admit(pod)
    assert admission.verdict == Admitted(), admission.verdict
    return admission


def rejection(pod: StoredPod, machine: str = TWO_NODES, **config: Any) -> Rejected:
    verdict = started(machine, **config).admit(pod).verdict
    assert isinstance(verdict, Rejected), verdict
    return verdict


@dataclass(frozen=True)
class Case:
    """An option, and the CPUs of a pod as a whole with and without it; ``taken`` are in use before."""

    option: str
    machine: str
    total: int
    want: str
    without: str
    taken: str = ""


CASES = [
    Case("full-pcpus-only", SIBLINGS, 14, "1-7,17-23", "1-7,17-23"),
    Case("distribute-cpus-across-numa", TWO_NODES, 12, "1-6,8-13", "1-4,8-15"),
    Case("distribute-cpus-across-cores", SIBLINGS, 6, "1-6", "1-3,17-19"),
    Case("align-by-socket", SOCKETS, 8, "8-15", "4-11", taken="3"),
    Case("strict-cpu-reservation", TWO_NODES, 4, "1-4", "1-4"),
    Case("prefer-align-cpus-by-uncorecache", CACHES, 4, "4-7", "1-4"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.option)
def test_every_option_applies_to_the_pods_total(case: Case) -> None:
    """It applies as to a single container of that size; the slices are cut from the result."""
    for options, want in ((with_options(case.option), case.want), ({}, case.without)):
        node = started(case.machine, memory=False, topology_manager_policy="best-effort", **options)
        if case.taken:
            node.admit(undivided(case.taken, "before"))
        alone, whole = node.copy().admit(undivided(str(case.total))), node.admit(divided(case.total, "2 -"))
        assert str(CPUSet(whole.pod_cpus)) == want
        assert cpus(alone) == want
        assert whole.placements[0].cpus & ~whole.pod_cpus == 0


def test_full_pcpus_only_admits_a_multiple_of_whole_cores() -> None:
    """GA policy options, first half: only whole cores."""
    admission = admitted(divided(4, "- -"), SIBLINGS, **with_options("full-pcpus-only"))
    assert cpus(admission) == "1-2,17-18 1-2,17-18"


def test_full_pcpus_only_rejects_totals_that_are_not_a_multiple() -> None:
    """GA policy options, second half: an SMT alignment error, regardless of the containers' requests."""
    verdict = rejection(divided(3, "2 -"), SIBLINGS, **with_options("full-pcpus-only"))
    assert (verdict.reason, verdict.container) == ("SMTAlignmentError", "")
    assert "requested 3 cpus not multiple cpus per core = 2" in verdict.message


def test_full_pcpus_only_lets_slices_split_cores() -> None:
    """Not in the text: only the pod's total is checked, and two containers share a core."""
    admission = admitted(divided(4, "1 1 -"), SIBLINGS, **with_options("full-pcpus-only"))
    assert cpus(admission) == "1 17 2,18"


def test_strict_cpu_reservation_keeps_reserved_cpus_out_of_every_pool() -> None:
    node = started(memory=False, **with_options("strict-cpu-reservation"))
    assert (cpus(node.admit(divided(4, "2 -"))), pool(node)) == ("1-2 3-4", "5-15")


FOUR_NODES = "synthetic:2s4n4c1t,mem=8Gi,distances=10+40+20+40/40+10+40+40/20+40+10+40/40+40+40+10"
"""NUMA nodes of two CPUs: 0-1, 2-3, 4-5, 6-7; the nearest to node 0 is node 2."""


def test_the_whole_pod_is_on_the_closest_numa_nodes() -> None:
    config = {"memory": False, "topology_manager_policy": "best-effort", "reserved_system_cpus": "7"}
    closest = {"topology_manager_policy_options": {"prefer-closest-numa-nodes": "true"}}
    assert cpus(admitted(divided(4, "- -"), FOUR_NODES, **config)) == "0-3 0-3"
    assert cpus(admitted(divided(4, "- -"), FOUR_NODES, **config, **closest)) == "0-1,4-5 0-1,4-5"


def test_a_pod_is_placed_on_more_than_eight_numa_nodes() -> None:
    nine = "synthetic:9s9n2c1t,mem=8Gi"
    allowed = {"topology_manager_policy_options": {"max-allowable-numa-nodes": "9"}}
    admission = admitted(divided(2, "1 -"), nine, memory=False, **allowed)
    assert cpus(admission) == "2 3"


@pytest.mark.parametrize("scope", ["pod", "container"])
def test_without_the_gate_containers_get_nothing(scope: str) -> None:
    """A caveat of the text: such a pod is admitted, and has neither exclusive CPUs nor its own memory."""
    off: dict[str, Any] = {
        "feature_gates": {"PodLevelResourceManagers": False},
        "topology_manager_scope": scope,
    }
    node = started(**off)
    admission = node.admit(divided(5, "3 -"))
    assert admission.verdict == Admitted()
    assert (cpus(admission), memory(admission), pool(node)) == ("host host", "- -", "0-15")


def test_the_policies_none_are_not_affected() -> None:
    admission = admitted(divided(5, "3 -"), cpu_manager_policy="none", memory=False)
    assert (cpus(admission), memory(admission), admission.pod_cpus) == ("host host", "- -", 0)


@pytest.mark.parametrize("total", ["cpu=5", "memory=5Gi"])
def test_only_guaranteed_pods_get_resources(total: str) -> None:
    """A pod with only one of the two pod-level resources is Burstable."""
    admission = admitted(made_of(*containers("2 -"), total=total))
    assert admission.qos.qos_class == "Burstable"
    assert (cpus(admission), memory(admission)) == ("host host", "- -")


def test_the_gate_requires_the_one_for_pod_level_resources() -> None:
    gates = {**GATES, "PodLevelResources": False}
    fault = start_node(read_machine(TWO_NODES).info, kubelet(feature_gates=gates))
    assert isinstance(fault, KubeletFault)
    assert "PodLevelResourceManagers" in fault.why
