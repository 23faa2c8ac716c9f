"""Proposing reserved CPUs and memory: the kubelet starts with every proposal."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.outcome import MEMORY_UNKNOWN, StartRefused, Undetermined
from cpuctl.engine.reserve import (
    CPUReserve,
    MemoryProposal,
    MemoryReserve,
    NoProposal,
    Proposal,
    ReserveRequest,
    Spread,
    memory_available,
    propose,
)
from cpuctl.engine.start import Started, check_start
from cpuctl.kubelet.config import KubeletConfiguration, ReservedMemory
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.machine_info import InfoNode, MachineInfo
from cpuctl.machine.sources import read_machine
from cpuctl.quantity import Quantity
from cpuctl.records import replace

EIGHT = "synthetic:2s2n4c2t,mem=4Gi"
"""Two NUMA nodes of 4 GiB and eight CPUs: 0-3,8-11 and 4-7,12-15, siblings c and c+8."""


def kubelet(minor: int = 36, **config: Any) -> Kubelet:
    return Kubelet(version=KubeletVersion(minor), config=KubeletConfiguration(**config))


def info(machine: str = EIGHT) -> MachineInfo:
    return read_machine(machine).info


def memory_of(
    spread: Spread = Spread.EVEN, node: int | None = None, *, machine: str = EIGHT, **config: Any
) -> dict[int, str] | str:
    """Return the proposed amount for each NUMA node, or why nothing is proposed."""
    request = ReserveRequest(memory=MemoryReserve(spread, node))
    match propose(info(machine), kubelet(**config), request):
        case Proposal(config=changed):
            return {item.numa_node: str(item.limits["memory"]) for item in changed.reserved_memory}
        case NoProposal(why=why):
            return why


KUBE: dict[str, Any] = {"kube_reserved": {"memory": "1Gi"}}
SOFT = {
    "eviction_soft": {"memory.available": "1Gi"},
    "eviction_soft_grace_period": {"memory.available": "1m"},
}


@pytest.mark.parametrize(
    ("config", "parts"),
    [
        (KUBE, {0: "512Mi", 1: "512Mi"}),
        (KUBE | {"system_reserved": {"memory": "512Mi"}}, {0: "768Mi", 1: "768Mi"}),
        (KUBE | {"eviction_hard": {"memory.available": "100Mi"}}, {0: "562Mi", 1: "562Mi"}),
        (
            KUBE | {"eviction_hard": {"memory.available": "100Mi"}, "ignores_eviction_thresholds": True},
            {0: "512Mi", 1: "512Mi"},
        ),
        (KUBE | SOFT, {0: "512Mi", 1: "512Mi"}),
        ({"kube_reserved": {"memory": "0.5Gi"}}, {0: "256Mi", 1: "256Mi"}),
        ({"kube_reserved": {"memory": "5"}}, {0: "5"}),
        ({"kube_reserved": {"memory": "2001m"}, "system_reserved": {"memory": "999m"}}, {0: "3"}),
    ],
)
def test_sums_match_node_allocatable(config: dict[str, Any], parts: dict[int, str]) -> None:
    assert memory_of(**config) == parts


def test_a_percentage_is_computed_with_32_bits() -> None:
    """10% of 8 GiB is 858993459.2 bytes, but 858993472 with the kubelet's 32-bit fraction."""
    parts = memory_of(eviction_hard={"memory.available": "10%"})
    assert isinstance(parts, dict)
    amounts = {node: Quantity.parse(amount).exact_int64 or 0 for node, amount in parts.items()}
    assert sum(amounts.values()) == 858993472
    assert max(amounts.values()) - min(amounts.values()) < 2 << 20


@pytest.mark.parametrize(
    ("spread", "node", "parts"),
    [
        (Spread.EVEN, None, {0: "512Mi", 1: "512Mi"}),
        (Spread.PROPORTIONAL, None, {0: "256Mi", 1: "768Mi"}),
        (Spread.ONE_NODE, None, {0: "1Gi"}),
        (Spread.ONE_NODE, 1, {1: "1Gi"}),
    ],
)
def test_spreads(spread: Spread, node: int | None, parts: dict[int, str]) -> None:
    assert memory_of(spread, node, machine="synthetic:2s2n4c2t,mem=2Gi/6Gi", **KUBE) == parts


def test_the_lowest_node_is_used_if_none_is_named() -> None:
    found = propose(info(), kubelet(**KUBE), ReserveRequest(memory=MemoryReserve(Spread.ONE_NODE)))
    assert isinstance(found, Proposal)
    assert found.memory == MemoryProposal(total=1 << 30, parts={0: 1 << 30})
    assert (found.cpus, found.config.memory_manager_policy) == (None, "Static")


def test_huge_pages_cannot_be_reserved_as_memory() -> None:
    pages = "synthetic:2s2n4c2t,mem=2Gi,hugepages-2Mi=768/0"
    assert memory_of(machine=pages, kube_reserved={"memory": "2Gi"}) == {0: "512Mi", 1: "1536Mi"}


SETTINGS = "kubeReserved.memory, systemReserved.memory, or memory.available of evictionHard"
NOTHING_KEPT = f"no memory is reserved, but the Memory Manager's Static policy requires some: set {SETTINGS}"
NOT_WHOLE = (
    "1500m of memory are reserved, which is not a whole number of bytes, and no reservedMemory "
    f"can equal it: fix {SETTINGS}"
)
NO_ROOM = "there is too little memory besides huge pages"
BYTES = 1 << 30


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({}, NOTHING_KEPT),
        ({"kube_reserved": {"memory": "0"}}, NOTHING_KEPT),
        ({"kube_reserved": {"memory": "1500m"}}, NOT_WHOLE),
        (
            KUBE | {"feature_gates": {"MemoryManager": False}, "minor": 31},
            "the feature gate MemoryManager is off: reservedMemory is ignored",
        ),
        (
            KUBE | {"spread": Spread.ONE_NODE, "machine": "synthetic:2s2n4c2t,mem=1023Mi"},
            f"{NO_ROOM}: no single NUMA node has {BYTES} bytes to reserve; the largest has {1023 << 20}",
        ),
        (
            KUBE | {"machine": "synthetic:2s2n4c2t,mem=600Mi,hugepages-2Mi=100"},
            f"{NO_ROOM}: {BYTES} bytes should be reserved, but all NUMA nodes together have {800 << 20}",
        ),
    ],
)
def test_why_nothing_is_proposed(config: dict[str, Any], why: str) -> None:
    assert memory_of(**config) == why


def test_a_machine_of_unknown_memory() -> None:
    unknown = replace(info(), memory_bytes=0)
    found = propose(unknown, kubelet(**KUBE), ReserveRequest(memory=MemoryReserve()))
    assert found == NoProposal(MEMORY_UNKNOWN, None)
    found = propose(unknown, kubelet(**KUBE), ReserveRequest(cpus=CPUReserve(count=1)))
    wanted = Undetermined(MEMORY_UNKNOWN)
    assert found == NoProposal("whether the kubelet would start is unknown", wanted)


@pytest.mark.parametrize(
    ("config", "stage"),
    [
        ({"max_pods": -1}, "configValidation"),
        ({"cpu_manager_policy": "Static"}, "cpuManager"),
        ({"kube_reserved": {"memory": "100Gi"}}, "nodeAllocatable"),
        ({"kube_reserved": {"memory": "much"}}, "kubeReserved"),
    ],
)
def test_another_reason_is_reported(config: dict[str, Any], stage: str) -> None:
    found = propose(info(), kubelet(**(KUBE | config)), ReserveRequest(memory=MemoryReserve()))
    assert isinstance(found, NoProposal)
    assert found.why == "the kubelet would not start with these settings"
    assert isinstance(found.outcome, StartRefused)
    assert found.outcome.stage == stage


def test_an_existing_reservation_is_replaced() -> None:
    """This holds even if the kubelet would reject it: the node does not exist, and it is listed twice."""
    wrong = ReservedMemory(numa_node=7, limits={"memory": Quantity.parse("1Gi")})
    for policy in ("None", "Static"):
        parts = memory_of(**KUBE, memory_manager_policy=policy, reserved_memory=(wrong, wrong))
        assert parts == {0: "512Mi", 1: "512Mi"}


def test_cpus_replace_amounts_and_leave_memory_alone() -> None:
    reported = kubelet(
        cpu_manager_policy="static",
        kube_reserved={"cpu": "3", "memory": "1Gi"},
        system_reserved={"cpu": "500m"},
    )
    request = ReserveRequest(cpus=CPUReserve(count=3, whole_cores=True), memory=MemoryReserve())
    found = propose(info(), reported, request)
    assert isinstance(found, Proposal)
    assert found.cpus is not None
    assert str(CPUSet(found.cpus.cpus)) == found.config.reserved_system_cpus == "0-1,8-9"
    assert {name: str(amount) for name, amount in found.started.reserved.items()} == {
        "cpu": "4",
        "memory": "1Gi",
    }


def test_the_chosen_cpus_may_be_what_was_missing() -> None:
    """The static CPU policy does not start without reserved CPUs."""
    reported = kubelet(cpu_manager_policy="static", **KUBE)
    assert isinstance(propose(info(), reported, ReserveRequest(memory=MemoryReserve())), NoProposal)
    request = ReserveRequest(cpus=CPUReserve(count=1), memory=MemoryReserve())
    assert isinstance(propose(info(), reported, request), Proposal)


def test_a_node_full_of_huge_pages_has_no_available_memory() -> None:
    nodes = (
        InfoNode(id=0, cores=(), memory_bytes=5 << 20, hugepages={2048: 2}),
        InfoNode(id=1, cores=(), memory_bytes=5 << 20, hugepages={2048: 3}),
    )
    assert memory_available(MachineInfo(nodes=nodes, num_cpus=1, num_sockets=1)) == {0: 1 << 20, 1: 0}


def test_reserved_memory_is_unchanged_if_not_requested() -> None:
    kept = ReservedMemory(numa_node=0, limits={"memory": Quantity.parse("1Gi")})
    found = propose(
        info(),
        kubelet(reserved_memory=(kept,)),
        ReserveRequest(cpus=CPUReserve(count=2, per_numa=True)),
    )
    assert isinstance(found, Proposal)
    assert (found.memory, found.config.reserved_memory) == (None, (kept,))
    assert (found.config.reserved_system_cpus, found.config.memory_manager_policy) == ("0,4", "None")


def test_a_list_of_cpus_together_with_a_reserved_cgroup_is_not_proposed() -> None:
    reported = kubelet(kube_reserved_cgroup="/kube", **KUBE)
    found = propose(info(), reported, ReserveRequest(cpus=CPUReserve(count=2)))
    assert isinstance(found, NoProposal)
    assert isinstance(found.outcome, StartRefused)
    assert "can't use reservedSystemCPUs" in found.outcome.error


def test_a_machine_that_the_kubelet_does_not_support() -> None:
    nothing = replace(info(), num_cpus=0)
    found = propose(nothing, kubelet(**KUBE), ReserveRequest(cpus=CPUReserve(count=1)))
    assert found == NoProposal("the kubelet does not support this machine: could not detect number of cpus")


def test_reserving_more_cpus_than_exist_is_an_error() -> None:
    with pytest.raises(ValueError, match="the machine has 16"):
        propose(info(), kubelet(), ReserveRequest(cpus=CPUReserve(count=17)))


def test_very_large_amounts_can_be_reserved() -> None:
    huge = info("synthetic:1s1n4c2t,mem=2048Ti")
    reported = kubelet(kube_reserved={"memory": "1000Ti"})
    found = propose(huge, reported, ReserveRequest(memory=MemoryReserve()))
    assert isinstance(found, Proposal)
    assert isinstance(check_start(huge, replace(reported, config=found.config)), Started)
