"""The node façade: failed starts, admission pod by pod, and what is left of the shared pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, KubeletFault, Rejected, StartRefused, Undetermined
from cpuctl.engine.placement import ExclusiveClaim
from cpuctl.engine.start import StartResult, start_node
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.pods.model import Container, StoredPod
from tests.support.pods import app, init, manifest, pod, sidecar, stored
from tests.support.topologies import CoreAt, machine_info

EIGHT = machine_info(CoreAt(cpus=(core, core + 4)) for core in range(4))  # siblings c and c+4
FOUR_NODES = machine_info(
    CoreAt(cpus=(core, core + 32), numa_node=core // 8, socket=core // 16) for core in range(32)
)


def start(minor: int = 36, gate_flags: Mapping[str, bool] | None = None, **config: Any) -> StartResult:
    reported = KubeletConfiguration(**{"cpu_manager_policy": "static", "reserved_system_cpus": "0", **config})
    return start_node(
        EIGHT, Kubelet(version=KubeletVersion(minor), config=reported, gate_flags=gate_flags or {})
    )


def started(**config: Any) -> Node:
    node = start(**config)
    assert isinstance(node, Node), node
    return node


def whole(count: int, name: str = "main") -> Container:
    amounts = f"cpu={count} memory=1Gi"
    return app(amounts, amounts, name)


def named(name: str, *containers: Container) -> StoredPod:
    return pod(*containers, name=name)._replace(uid=name)


@dataclass(frozen=True, slots=True)
class Refusal:
    name: str
    stage: str
    error: str
    config: Mapping[str, Any] = field(default_factory=dict)


REFUSALS = [
    Refusal("unknown policy", "cpuManager", 'unknown policy: "Static"', {"cpu_manager_policy": "Static"}),
    Refusal(
        "nothing reserved",
        "cpuManager",
        "[cpumanager] unable to determine reserved CPU resources for static policy",
        {"reserved_system_cpus": ""},
    ),
    Refusal(
        "options without a policy",
        "cpuManager",
        "new none policy error: None policy: received unsupported options=map[full-pcpus-only:true]",
        {"cpu_manager_policy": "none", "cpu_manager_policy_options": {"full-pcpus-only": "true"}},
    ),
    Refusal(
        "unknown option",
        "cpuManager",
        'new static policy error: unknown CPU Manager Policy option: "bogus"',
        {"cpu_manager_policy_options": {"bogus": "true"}},
    ),
    Refusal(
        "alpha option without its gate",
        "cpuManager",
        "new static policy error: CPU Manager Policy Alpha-level Options not enabled, but option "
        '"align-by-socket" provided',
        {"cpu_manager_policy_options": {"align-by-socket": "true"}},
    ),
    Refusal(
        "reserved CPUs that do not exist",
        "reservedSystemCPUs",
        "reserved-cpus: 0-8 is not a subset of online-cpus: 0-7",
        {"reserved_system_cpus": "0-8"},
    ),
    Refusal(
        "more reserved than available",
        "cpuManager",
        "new static policy error: [cpumanager] unable to reserve the required amount of CPUs "
        "(size of  did not equal 9)",
        {"reserved_system_cpus": "", "kube_reserved": {"cpu": "8500m"}},
    ),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.name)
def test_a_start_is_refused_with_the_kubelets_error(case: Refusal) -> None:
    refused = start(**case.config)
    assert isinstance(refused, StartRefused)
    assert (refused.stage, refused.error) == (case.stage, case.error)


def test_only_a_stored_pod_can_be_admitted() -> None:
    """In a manifest, a limit is not yet a request; mypy rejects it, or it would report an unused ignore."""
    written, node = manifest(app("", "cpu=2 memory=1Gi")), started()
    assert not node.admit(written).placements[0].exclusive  # type: ignore[arg-type]
    assert node.admit(stored(written)).placements[0].exclusive


def test_a_gate_that_does_not_exist_crashes_a_kubelet_when_its_file_names_it() -> None:
    fault = start(feature_gates={"NoSuchGate": True})
    assert isinstance(fault, KubeletFault)
    assert fault.kind == "crash"
    assert fault.why.endswith("while setting defaults, error: unrecognized feature gate: NoSuchGate")


def test_a_gate_that_does_not_exist_is_an_error_when_a_flag_names_it() -> None:
    refused = start(gate_flags={"NoSuchGate": True})
    assert refused == StartRefused(
        stage="featureGates",
        error="unrecognized feature gate: NoSuchGate",
        settings=(("featureGates",),),
    )


def test_an_option_is_unknown_to_a_release_before_it() -> None:
    refused = start(minor=31, cpu_manager_policy_options={"strict-cpu-reservation": "true"})
    assert isinstance(refused, StartRefused)
    assert refused.error.endswith('unknown CPU Manager Policy option: "strict-cpu-reservation"')


def test_unknown_memory_is_not_planned_with() -> None:
    assert isinstance(start(memory_manager_policy="Static"), Undetermined)


def test_containers_are_placed_in_order_init_first() -> None:
    node = started()
    quarter = "cpu=250m memory=1Gi"
    both = "cpu=4 memory=1Gi"
    admission = node.admit(named("p", whole(2, "a"), init(both, both, "i"), sidecar(quarter, quarter, "s")))
    assert isinstance(admission.verdict, Admitted)
    assert [
        (placement.container.name, placement.exclusive, str(CPUSet(placement.cpus)))
        for placement in admission.placements
    ] == [("i", True, "1-2,5-6"), ("s", False, "0,3-4,7"), ("a", True, "1,5")]


def test_shared_containers_run_in_what_the_whole_pod_leaves() -> None:
    node = started()
    admission = node.admit(named("p", app("cpu=500m memory=1Gi", "cpu=500m memory=1Gi", "s"), whole(2, "x")))
    assert str(CPUSet(admission.placements[0].cpus)) == "0,2-4,6-7"


def test_without_a_policy_everything_is_shared() -> None:
    node = started(cpu_manager_policy="none")
    admission = node.admit(named("p", whole(2)))
    assert not admission.placements[0].exclusive
    assert admission.placements[0].claim == ExclusiveClaim(0, "the CPU Manager policy is none")
    assert str(CPUSet(node.state.default)) == "0-7"


def test_without_a_policy_a_request_that_would_be_shared_anyway_is_the_reason() -> None:
    node = started(cpu_manager_policy="none")
    shared = "cpu=500m memory=1Gi"
    whys = [
        [each.claim.why_not for each in node.admit(pod).placements]
        for pod in (
            named("guaranteed", app(shared, shared, "half"), whole(2, "whole")),
            named("burstable", app("cpu=1 memory=1Gi", "cpu=2 memory=1Gi")),
        )
    ]
    none = "the CPU Manager policy is none"
    assert whys == [["its cpu request 500m is not a whole number of CPUs", none], [none]]


def test_cpus_assigned_before_a_rejection_stay_taken() -> None:
    node = started()
    admission = node.admit(named("p", whole(2, "fits"), whole(9, "does-not")))
    assert isinstance(admission.verdict, Rejected)
    assert admission.verdict.container == "does-not"
    assert [placement.container.name for placement in admission.placements] == ["fits"]
    assert str(CPUSet(node.state.default)) == "0,2-4,6-7"


def test_a_pod_that_takes_the_last_free_cpus_causes_a_warning() -> None:
    assert started().admit(named("p", whole(7))).pool_warning == "only reserved CPUs"


def test_a_pod_that_empties_the_pool_causes_a_warning() -> None:
    strict = {"cpu_manager_policy_options": {"strict-cpu-reservation": "true"}}
    node = started(**strict)
    assert node.admit(named("p", whole(6))).pool_warning is None
    assert node.admit(named("q", whole(1))).pool_warning == "empty"
    assert node.admit(named("r", app())).pool_warning is None


def test_what_a_rejected_pod_holds_until_the_next_arrives_causes_no_warning() -> None:
    """The first container takes the last free CPUs, the second one is rejected."""
    node = started()
    refused = node.admit(named("p", whole(7, "a"), whole(1, "b")))
    assert isinstance(refused.verdict, Rejected)
    assert CPUSet(node.state.default) == CPUSet.parse("0")
    assert (refused.pool_warning, refused.taken_from_others) == (None, 0)


def test_reserved_cpus_that_the_kubelet_still_assigns_are_reported() -> None:
    """With CPU 7 offline there is one CPU per core on average, so a core with one free CPU counts as free."""
    cores = [CoreAt(cpus=(core, core + 4) if core < 3 else (core,)) for core in range(4)]
    reported = KubeletConfiguration(cpu_manager_policy="static", reserved_system_cpus="0")
    node = start_node(machine_info(cores), Kubelet(version=KubeletVersion(36), config=reported))
    assert isinstance(node, Node)
    first, second = node.admit(named("p", whole(2))), node.admit(named("q", whole(1)))
    assert first.taken_from_others == 0b1
    assert CPUSet(node.state.held_by("p")) == CPUSet.parse("0,4")
    assert second.taken_from_others == 0


def test_a_kubelet_that_hangs_no_longer_answers() -> None:
    options = {"full-pcpus-only": "true", "distribute-cpus-across-numa": "true"}
    config = KubeletConfiguration(
        cpu_manager_policy="static", cpu_manager_policy_options=options, reserved_system_cpus="0,8,16,24"
    )
    node = start_node(FOUR_NODES, Kubelet(version=KubeletVersion(36), config=config))
    assert isinstance(node, Node)
    assert isinstance(node.admit(named("p", whole(54))).verdict, KubeletFault)
    later = node.admit(named("q", whole(2)))
    assert isinstance(later.verdict, KubeletFault)
    assert later.placements == ()


def test_a_kubelet_may_hang_while_choosing_its_reserved_cpus() -> None:
    """One CPU of every node is offline: distributing 81 of 92 CPUs in whole cores never ends."""
    cores = [
        CoreAt(
            cpus=tuple(range(4 * core, 4 * core + 4 - (core % 6 == 0))),
            numa_node=core // 6,
            socket=core // 12,
        )
        for core in range(24)
    ]
    config = KubeletConfiguration(
        cpu_manager_policy="static",
        cpu_manager_policy_options={"full-pcpus-only": "true", "distribute-cpus-across-numa": "true"},
        kube_reserved={"cpu": "81"},
    )
    fault = start_node(machine_info(cores), Kubelet(version=KubeletVersion(36), config=config))
    assert isinstance(fault, KubeletFault), fault
    assert fault.kind == "endless loop"


def test_using_a_copy_does_not_change_the_node() -> None:
    node = started()
    node.copy().admit(named("p", whole(4)))
    assert str(CPUSet(node.state.default)) == "0-7"
    assert node.topology_metrics.requests == 0
