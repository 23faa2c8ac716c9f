"""Whether a kubelet starts: every stage with the kubelet's error, and which stage comes first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.topology_manager import start_topology_manager
from cpuctl.engine.outcome import MEMORY_UNKNOWN, FaultKind, KubeletFault, StartRefused, Undetermined
from cpuctl.engine.start import Started, check_start, unless_flags_missing
from cpuctl.kubelet.config import KubeletConfiguration, ReservedMemory, SettingError
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.machine.sources import read_machine
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from tests.support.topologies import CoreAt, machine_info

GIB = 1024**3
EIGHT = replace(machine_info(CoreAt((core, core + 4)) for core in range(4)), memory_bytes=16 * GIB)
WITH_MEMORY = replace(EIGHT, nodes=tuple(replace(node, memory_bytes=16 * GIB) for node in EIGHT.nodes))
ONE_NODE_TWO_SOCKETS = machine_info(CoreAt((core,), socket=core // 2) for core in range(4))
Outcome = Started | StartRefused | KubeletFault | Undetermined


def numa(nodes: int, *, distances: bool = True) -> MachineInfo:
    """Build a machine with that many NUMA nodes of one core each."""
    info = machine_info(CoreAt((node,), numa_node=node) for node in range(nodes))
    if not distances:
        return info
    return replace(
        info,
        nodes=tuple(
            replace(each, distances=tuple(10 if each.id == other else 20 for other in range(nodes)))
            for each in info.nodes
        ),
    )


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A kubelet's settings, and its machine."""

    config: Mapping[str, Any] = field(default_factory=dict)
    machine: MachineInfo = EIGHT
    minor: int = 36
    flags: Mapping[str, bool] = field(default_factory=dict)

    def start(self) -> Outcome:
        config = KubeletConfiguration(**self.config)
        kubelet = Kubelet(version=KubeletVersion(self.minor), config=config, gate_flags=self.flags)
        return check_start(self.machine, kubelet)


def started(**config: Any) -> Started:
    outcome = Reported(config=config).start()
    assert isinstance(outcome, Started), outcome
    return outcome


@dataclass(frozen=True)
class Case:
    """A start that fails in a stage, the kubelet's error, and the settings to fix."""

    stage: str
    error: str
    reported: Reported
    settings: tuple[str, ...]


STATIC = {"cpu_manager_policy": "static", "reserved_system_cpus": "0"}
MIN_NODES, CLOSEST = "max-allowable-numa-nodes", "prefer-closest-numa-nodes"
OPTIONS = "topologyManagerPolicyOptions"
CASES = [
    Case(
        "configValidation",
        "[invalid configuration: maxPods (--max-pods) -1 must not be a negative number,"
        " invalid configuration: podsPerCore (--pods-per-core) -1 must not be a negative number]",
        Reported(config={"max_pods": -1, "pods_per_core": -1}),
        ("maxPods", "podsPerCore"),
    ),
    Case(
        "reservedSystemCPUs",
        "reserved-cpus: 7-8 is not a subset of online-cpus: 0-7",
        Reported(config={"reserved_system_cpus": "7-8"}),
        ("reservedSystemCPUs",),
    ),
    Case(
        "kubeReserved",
        '--kube-reserved value failed to parse: cannot reserve "hugepages-2Mi" resource',
        Reported(config={"kube_reserved": {"hugepages-2Mi": "2Mi"}}),
        ("kubeReserved.hugepages-2Mi",),
    ),
    Case(
        "systemReserved",
        '--system-reserved value failed to parse: resource quantity for "cpu" cannot be negative: -1',
        Reported(config={"system_reserved": {"cpu": "-1"}}),
        ("systemReserved.cpu",),
    ),
    Case(
        "evictionHard",
        "eviction percentage threshold memory.available must be <= 100%: 120%",
        Reported(config={"eviction_hard": {"memory.available": "120%"}}),
        ("evictionHard.memory.available",),
    ),
    Case(
        "qosReserved",
        '--qos-reserved value failed to parse: cannot reserve "cpu" resource',
        Reported(config={"qos_reserved": {"cpu": "50%"}}),
        ("qosReserved.cpu",),
    ),
    Case(
        "cpuManager",
        'CPU Manager policy options map[full-pcpus-only:true] require feature gates "CPUManager",'
        ' "CPUManagerPolicyOptions" enabled',
        Reported(
            config={"cpu_manager_policy_options": {"full-pcpus-only": "true"}},
            minor=32,
            flags={"CPUManagerPolicyOptions": False},
        ),
        ("cpuManagerPolicyOptions",),
    ),
    Case(
        "topologyManager",
        "unsupported on machines with more than 8 NUMA Nodes",
        Reported(config={"topology_manager_policy": "best-effort"}, machine=numa(9)),
        (f"{OPTIONS}.{MIN_NODES}",),
    ),
    Case(
        "topologyManager",
        f'the minimum value of "{MIN_NODES}" should not be less than 8',
        Reported(
            config={
                "topology_manager_policy": "best-effort",
                "topology_manager_policy_options": {MIN_NODES: "4"},
            }
        ),
        (f"{OPTIONS}.{MIN_NODES}",),
    ),
    Case(
        "topologyManager",
        "cannot discover NUMA topology: error getting NUMA distances from cadvisor",
        Reported(
            config={
                "topology_manager_policy": "restricted",
                "topology_manager_policy_options": {CLOSEST: "true"},
            },
            machine=numa(2, distances=False),
        ),
        (f"{OPTIONS}.{CLOSEST}",),
    ),
    Case(
        "cpuManager",
        'unknown policy: "Static"',
        Reported(config={"cpu_manager_policy": "Static"}),
        ("cpuManagerPolicy",),
    ),
    Case(
        "cpuManager",
        "[cpumanager] unable to determine reserved CPU resources for static policy",
        Reported(config={"cpu_manager_policy": "static", "system_reserved": {"cpu": "0"}}),
        ("reservedSystemCPUs",),
    ),
    Case(
        "cpuManager",
        "new none policy error: None policy: received unsupported options=map[full-pcpus-only:true]",
        Reported(config={"cpu_manager_policy_options": {"full-pcpus-only": "true"}}),
        ("cpuManagerPolicyOptions",),
    ),
    Case(
        "cpuManager",
        "new static policy error: Topolgy manager single-numa-node policy is incompatible with CPUManager"
        " align-by-socket policy option",
        Reported(
            config={
                **STATIC,
                "cpu_manager_policy_options": {"align-by-socket": "true"},
                "topology_manager_policy": "single-numa-node",
            },
            flags={"CPUManagerPolicyAlphaOptions": True},
        ),
        ("cpuManagerPolicyOptions.align-by-socket",),
    ),
    Case(
        "cpuManager",
        "new static policy error: Align by socket is not compatible with hardware where number of sockets are"
        " more than number of NUMA",
        Reported(
            config={**STATIC, "cpu_manager_policy_options": {"align-by-socket": "true"}},
            machine=ONE_NODE_TWO_SOCKETS,
            flags={"CPUManagerPolicyAlphaOptions": True},
        ),
        ("cpuManagerPolicyOptions.align-by-socket",),
    ),
    Case(
        "cpuManager",
        "new static policy error: [cpumanager] unable to reserve the required amount of CPUs"
        " (size of  did not equal 9)",
        Reported(config={"cpu_manager_policy": "static", "kube_reserved": {"cpu": "8001m"}}),
        ("kubeReserved.cpu",),
    ),
    Case(
        "memoryManager",
        'policy "BestEffort" is not available for platform "linux"',
        Reported(config={"memory_manager_policy": "BestEffort"}),
        ("memoryManagerPolicy",),
    ),
    Case(
        "memoryManager",
        'unknown policy: "static"',
        Reported(config={"memory_manager_policy": "static"}),
        ("memoryManagerPolicy",),
    ),
    Case(
        "memoryManager",
        "[memorymanager] you should specify the system reserved memory",
        Reported(config={"memory_manager_policy": "Static"}),
        ("reservedMemory",),
    ),
    Case(
        "nodeAllocatable",
        'invalid Node Allocatable configuration. Resource "memory" has a reservation of {{17179869185 0}'
        " {<nil>}  DecimalSI} but capacity of {{17179869184 0} {<nil>}  BinarySI}. Expected"
        " capacity >= reservation.",
        Reported(config={"kube_reserved": {"memory": f"{16 * GIB + 1}"}}),
        ("kubeReserved.memory",),
    ),
    Case(
        "featureGates",
        "unrecognized feature gate: Bogus",
        Reported(flags={"Bogus": True}),
        ("featureGates",),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.stage}: {case.error[:70]}")
def test_starts_fail_with_the_kubelets_error(case: Case) -> None:
    outcome = case.reported.start()
    assert isinstance(outcome, StartRefused)
    assert (outcome.stage, outcome.error) == (case.stage, case.error)
    assert tuple(".".join(path) for path in outcome.settings) == case.settings


STAGES: Mapping[str, dict[str, Any]] = {
    "configValidation": {"max_pods": -1},
    "reservedSystemCPUs": {"reserved_system_cpus": "0-8"},
    "kubeReserved": {"kube_reserved": {"cpu": "x"}},
    "systemReserved": {"system_reserved": {"cpu": "x"}},
    "evictionHard": {"eviction_hard": {"memory.available": "x"}},
    "topologyManager": {
        "topology_manager_policy": "restricted",
        "topology_manager_policy_options": {"bogus": "1"},
    },
    "cpuManager": {"cpu_manager_policy": "bogus"},
    "memoryManager": {"memory_manager_policy": "bogus"},
    "nodeAllocatable": {"kube_reserved": {"memory": "17Gi"}},
}
"""A mistake for every stage that depends only on the configuration, in the kubelet's order."""


@pytest.mark.parametrize(("first", "second"), list(pairwise(STAGES)))
def test_the_first_stage_that_fails_decides(first: str, second: str) -> None:
    alone, both = Reported(config=STAGES[second]), Reported(config={**STAGES[first], **STAGES[second]})
    refused, refused_first = alone.start(), both.start()
    assert isinstance(refused, StartRefused)
    assert isinstance(refused_first, StartRefused)
    assert (refused.stage, refused_first.stage) == (second, first)


def test_gates_come_before_validation() -> None:
    outcome = Reported(config={"max_pods": -1, "feature_gates": {"Bogus": True}}).start()
    assert isinstance(outcome, KubeletFault)
    assert outcome.kind is FaultKind.CRASH
    assert outcome.why == (
        "failed to merge global and in-flight KubeletConfiguration while setting defaults, error:"
        " unrecognized feature gate: Bogus"
    )


def test_reservations_are_compared_with_the_machine_last() -> None:
    config = {"kube_reserved": {"memory": "17Gi"}, "cpu_manager_policy": "bogus"}
    outcome = Reported(config=config).start()
    assert isinstance(outcome, StartRefused)
    assert outcome.stage == "cpuManager"


MEMORY = {"memory_manager_policy": "Static", "kube_reserved": {"memory": "1Gi"}}


def reserved_memory(amount: str, node: int = 0) -> dict[str, Any]:
    limits = {"memory": Quantity.parse(amount)}
    return MEMORY | {"reserved_memory": (ReservedMemory(numa_node=node, limits=limits),)}


def test_a_static_memory_manager_sets_the_reserved_memory_aside() -> None:
    policy = Reported(config=reserved_memory("1Gi"), machine=WITH_MEMORY).start()
    assert isinstance(policy, Started)
    assert policy.memory_policy is not None
    table = policy.memory_policy.tables[0].memory_map["memory"]
    assert (table.total, table.allocatable) == (16 * GIB, 15 * GIB)


def test_unknown_memory_makes_the_answer_undetermined() -> None:
    outcome = Reported(config=reserved_memory("1Gi"), machine=replace(EIGHT, memory_bytes=0)).start()
    assert outcome == Undetermined(MEMORY_UNKNOWN)


def test_a_reservation_beyond_its_node_is_computed_with_wrapped_numbers() -> None:
    halves = tuple(replace(node, memory_bytes=GIB // 2) for node in WITH_MEMORY.nodes)
    outcome = Reported(config=reserved_memory("1Gi"), machine=replace(WITH_MEMORY, nodes=halves)).start()
    assert isinstance(outcome, Started)
    assert outcome.memory_policy is not None
    table = outcome.memory_policy.tables[0].memory_map["memory"]
    assert (table.total, table.allocatable) == (GIB // 2, (1 << 64) - GIB // 2)


def test_a_disabled_memory_manager_is_not_started() -> None:
    config = {"memory_manager_policy": "bogus"}
    assert (
        Reported(config=config, minor=31, flags={"MemoryManager": False}).start()
        != Reported(config=config, minor=31).start()
    )


def test_topology_options_only_matter_with_a_policy() -> None:
    options = {"topology_manager_policy_options": {"bogus": "1"}}
    assert isinstance(Reported(config=options, machine=numa(9)).start(), Started)


def test_a_topology_manager_checks_its_policy() -> None:
    reported = KubeletConfiguration(topology_manager_policy="bogus")
    with pytest.raises(SettingError) as caught:
        start_topology_manager(EIGHT, reported, FeatureGates(36))
    assert (str(caught.value), caught.value.path) == ('unknown policy: "bogus"', ("topologyManagerPolicy",))


def test_more_numa_nodes_can_be_allowed() -> None:
    config = {
        "topology_manager_policy": "best-effort",
        "topology_manager_policy_options": {MIN_NODES: "9", CLOSEST: "true"},
    }
    outcome = Reported(config=config, machine=numa(9)).start()
    assert isinstance(outcome, Started)


def test_listed_cpus_replace_amounts() -> None:
    found = started(
        **{**STATIC, "reserved_system_cpus": "0,4-5"},
        kube_reserved={"cpu": "2", "memory": "1Gi"},
        system_reserved={"cpu": "500m"},
        eviction_hard={"memory.available": "10%"},
    )
    assert found.policy is not None
    assert str(CPUSet(found.policy.reserved)) == "0,4-5"
    assert {name: str(amount) for name, amount in found.reserved.items()} == {
        "cpu": "3",
        "memory": "2791728768",
    }


def test_amounts_are_rounded_up_to_cpus() -> None:
    found = started(
        cpu_manager_policy="static", kube_reserved={"cpu": "600m"}, system_reserved={"cpu": "500m"}
    )
    assert found.policy is not None
    assert str(CPUSet(found.policy.reserved)) == "0,4"
    assert str(found.reserved["cpu"]) == "1100m"


def test_a_machine_without_cpus() -> None:
    nothing = MachineInfo(nodes=(), num_cpus=0, num_sockets=0)
    listed = Reported(config={"reserved_system_cpus": "0"}, machine=nothing).start()
    assert listed == StartRefused(
        stage="reservedSystemCPUs",
        error="unable to discover CPU topology info: could not detect number of cpus",
    )
    assert Reported(machine=nothing).start() == StartRefused(
        stage="cpuManager", error="could not detect number of cpus"
    )


def test_eviction_thresholds_can_be_excluded_from_reservations() -> None:
    found = started(eviction_hard={"memory.available": "1Gi"}, ignores_eviction_thresholds=True)
    assert found.reserved == {}


def test_nothing_is_assigned_without_a_policy() -> None:
    found = started()
    assert (found.policy, found.topology_manager.policy) == (None, "none")
    assert found.topology.num_cpus == 8


@pytest.mark.parametrize(
    "check",
    [
        "cpuctl.engine.start.node_reservations",
        "cpuctl.engine.start.refuse_gated_options",
        "cpuctl.engine.start.start_topology_manager",
        "cpuctl.engine.start.CPUTopology.discover",
        "cpuctl.engine.start.start_cpu_manager",
        "cpuctl.engine.start.start_memory_manager",
        "cpuctl.engine.cpu.manager.StaticPolicy.construct",
        "cpuctl.engine.cpu.manager.parse_cpu_policy_options",
        "cpuctl.engine.hints.topology_manager.parse_topology_options",
        "cpuctl.kubelet.reservations.parse_float32",
        "cpuctl.kubelet.reservations.CPUSet.parse",
    ],
)
def test_messages_of_other_exceptions_are_not_reported_as_the_kubelets(
    check: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug in cpuctl must stop the command, and never lead to "would not start: negative shift count"."""

    def mistaken(*_: object, **__: object) -> None:
        raise ValueError("negative shift count")

    monkeypatch.setattr(check, mistaken)
    reported = Reported(
        config={
            "cpu_manager_policy": "static",
            "reserved_system_cpus": "0",
            "topology_manager_policy": "restricted",
            "eviction_hard": {"memory.available": "5%"},
        }
    )
    with pytest.raises(ValueError, match="negative shift count"):
        reported.start()


@pytest.mark.parametrize("policy", ["none", "best-effort", "restricted", "single-numa-node"])
def test_a_package_of_unknown_number_used_as_a_node_does_not_prevent_a_start(policy: str) -> None:
    """Without NUMA nodes cAdvisor uses packages as nodes; a mask of them is only made at admission."""
    machine = machine_info(CoreAt((cpu,), numa_node=-1, socket=-1) for cpu in range(4))
    config = {"cpu_manager_policy": "static", "reserved_system_cpus": "0", "topology_manager_policy": policy}
    assert isinstance(Reported(config=config, machine=machine).start(), Started)


def test_a_failed_start_is_undetermined_if_a_missing_flag_could_prevent_it() -> None:
    info = read_machine("synthetic:1s1n4c1t").info
    config = KubeletConfiguration(cpu_manager_policy="static")
    kubelet = Kubelet(version=KubeletVersion(36), config=config, flags_gap="no unit was found")
    outcome = check_start(info, kubelet)
    assert isinstance(outcome, Undetermined)
    assert outcome.why.startswith(
        "its flags are unknown (no unit was found; set them with --kubelet-args); without flags, it would "
        "not start: "
    )
    assert isinstance(check_start(info, replace(kubelet, flags_gap="")), StartRefused)
    assert outcome.without_flags == check_start(info, replace(kubelet, flags_gap=""))
    # No flag sets this field, so flags could not fix it.
    refused = StartRefused("configValidation", "x", (("userNamespaces", "idsPerPod"),))
    assert unless_flags_missing(refused, kubelet) is refused


@pytest.mark.parametrize(
    ("gate", "certain"),
    [("Foo", True), ("CPUManagerPolicyOptions", False)],
    ids=["no such gate", "a locked gate, which another flag may set to the right value"],
)
def test_no_flag_takes_an_unknown_gate_out_of_those_of_flags(gate: str, *, certain: bool) -> None:
    info = read_machine("synthetic:1s1n4c1t").info
    kubelet = Kubelet(version=KubeletVersion(36), config=KubeletConfiguration(), gate_flags={gate: False})
    assert isinstance(check_start(info, kubelet), StartRefused)
    outcome = check_start(info, replace(kubelet, flags_gap="no unit was found"))
    assert isinstance(outcome, StartRefused if certain else Undetermined)
