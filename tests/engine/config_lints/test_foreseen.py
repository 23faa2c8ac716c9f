"""What the first pod or the next restart would run into."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.engine.config_lints.lint import Ceiling, Lint
from cpuctl.engine.config_lints.lints import lint_configuration
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted
from cpuctl.engine.start import start_node
from cpuctl.kubelet.config import KubeletConfiguration, ReservedMemory
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.sources import read_machine
from cpuctl.quantity import Quantity
from tests.support.config_lints import NUMA, Reported, static
from tests.support.pods import app, pod

UNEVEN = "synthetic:1s1n4c2t,offline=3"


def notes(code: str, config: dict[str, Any], machine: str = "synthetic:2s4n16c2t") -> list[Lint]:
    lints = lint_configuration(Reported(config=config, machine=machine).subject())
    return [lint for lint in lints if lint.code == code]


def test_reserved_cpus_handed_out_on_uneven_cores_and_the_fix() -> None:
    config = static(reserved_system_cpus="0")
    (lint,) = notes("reserved-handed-out", config, UNEVEN)
    assert lint.detected == "0"
    assert lint.fix == f"reserve whole cores: set reservedSystemCPUs: {lint.expected}"
    assert not notes("reserved-handed-out", static(reserved_system_cpus=lint.expected), UNEVEN)


def test_the_predicted_container_gets_the_reserved_cpu() -> None:
    config = static(reserved_system_cpus="0")
    (lint,) = notes("reserved-handed-out", config, UNEVEN)
    count = int(lint.message.split(" requests ")[1].split()[0])
    kubelet = Kubelet(version=KubeletVersion(36), config=KubeletConfiguration(**config))
    node = start_node(read_machine(UNEVEN).info, kubelet)
    assert isinstance(node, Node)
    admission = node.admit(pod(app(f"cpu={count} memory=1Gi", f"cpu={count} memory=1Gi")))
    assert isinstance(admission.verdict, Admitted)
    assert node.cpu.state.held_by(admission.pod.uid) & 1


def test_even_cores_keep_what_is_reserved() -> None:
    assert not notes("reserved-handed-out", static(reserved_system_cpus="0"))


@pytest.mark.parametrize(("policy", "reported"), [("static", True), ("none", False)])
def test_isolated_cpus_in_the_shared_pool(policy: str, reported: bool) -> None:
    config = static(reserved_system_cpus="0,8") if policy == "static" else {}
    (lint,) = notes("isolated-in-shared-pool", config, "synthetic:1s1n8c2t,isolated=2-7")
    assert lint.detected == "2-7"
    assert ("all its threads on one" in lint.message) is reported
    assert not notes("isolated-in-shared-pool", config, "synthetic:1s1n8c2t")


def test_isolated_partitions_count_only_within_the_cpus_of_pods() -> None:
    """A partition outside takes CPUs away; the pods' own groups may be inside one."""
    subject = Reported(config=static()).subject()._replace(partitioned=CPUSet.parse("2-5"))
    for reach, reported in (("0-63", ["2-5"]), ("0-1,6-63", [])):
        ceilings = (Ceiling("/kubepods", CPUSet.parse(reach)),)
        lints = lint_configuration(subject._replace(ceilings=ceilings))
        found = [lint for lint in lints if lint.code == "isolated-in-shared-pool"]
        assert [lint.detected for lint in found] == reported
        assert all("an isolated partition" in lint.message for lint in found)
        short = [lint for lint in lints if lint.code == "parent-without-cpus"]
        assert ["(2-5 belong to an isolated partition)" in lint.message for lint in short] == [True] * (
            not reported
        )


def test_cpus_without_a_tick_in_the_shared_pool() -> None:
    config = static(reserved_system_cpus="0,8")
    (lint,) = notes("nohz-in-shared-pool", config, "synthetic:1s1n8c2t,nohz_full=2-7")
    assert (lint.severity, lint.detected) == (Severity.NOTE, "2-7")
    isolated = "synthetic:1s1n8c2t,isolated=2-7,nohz_full=2-7"
    assert not notes("nohz-in-shared-pool", config, isolated)


@pytest.mark.parametrize(
    ("version", "comes"), [(1, "fail with 'permission denied'"), (2, "or on all of 0-5 if none remain")]
)
def test_a_parent_group_with_fewer_cpus_than_the_machine(version: int, comes: str) -> None:
    subject = Reported(config=static()).subject()._replace(cgroup_version=version)
    for reach, beyond in (("0-5", "6-63"), ("0-63", "")):
        ceilings = (Ceiling("/kubepods", CPUSet.parse(reach)),)
        lints = lint_configuration(subject._replace(ceilings=ceilings))
        found = [lint for lint in lints if lint.code == "parent-without-cpus"]
        assert [beyond in lint.message and comes in lint.message for lint in found] == [True] * bool(beyond)


def test_a_group_of_one_qos_class_with_fewer_cpus() -> None:
    """Another agent writes to it; without a policy the kubelet assigns no CPUs that the group lacks."""
    whole, own = Ceiling("/kubepods", CPUSet.parse("0-63")), CPUSet.parse("0-1")
    of_class = Ceiling("/kubepods/burstable", own, "Burstable")
    for config, reported in ((static(), ["2-63"]), ({}, [])):
        subject = Reported(config=config).subject()._replace(ceilings=(whole, of_class))
        found = [lint for lint in lint_configuration(subject) if lint.code == "parent-without-cpus"]
        assert [
            f"also counts {cpus}" in lint.message for lint, cpus in zip(found, reported, strict=True)
        ] == [True] * len(reported)
        assert all("above Burstable pods" in lint.message for lint in found)


@pytest.mark.parametrize(
    ("config", "stated"),
    [
        ({"kube_reserved": {"memory": "500m"}}, "500m is a fraction of a byte and counts as 1 byte"),
        ({"system_reserved": {"memory": "1500m"}}, "1500m is a fraction of a byte and counts as 2 bytes"),
        ({"eviction_hard": {"memory.available": "100m"}}, "counts as 1 byte"),
        ({"eviction_soft": {"memory.available": "1500m"}}, "counts as 2 bytes"),
        ({"eviction_minimum_reclaim": {"nodefs.available": "500m"}}, "counts as 1 byte"),
        ({"kube_reserved": {"cpu": "500m", "memory": "1Gi"}}, ""),
        ({"eviction_hard": {"memory.available": "5%", "nodefs.inodesFree": "5%"}}, ""),
    ],
)
def test_fractions_of_bytes(config: dict[str, Any], stated: str) -> None:
    found = notes("fraction-of-a-byte", config)
    assert [stated in lint.message for lint in found] == ([True] if stated else [])


def test_align_by_socket_is_ignored_without_a_topology_policy() -> None:
    config = static({"align-by-socket": "true"})
    found = notes("option-ignored", config, "synthetic:2s4n16c2t")
    assert [lint.place for lint in found] == [("cpuManagerPolicyOptions", "align-by-socket")]
    assert not notes("option-ignored", config | {"topology_manager_policy": "restricted"})


def test_align_by_socket_affects_distribution_from_1_37_on() -> None:
    options = {"align-by-socket": "true", "distribute-cpus-across-numa": "true"}
    for minor, stated in ((36, True), (37, False)):
        reported = Reported(config=static(options), machine="synthetic:2s4n16c2t", minor=minor)
        lints = [lint.code for lint in lint_configuration(reported.subject())]
        assert ("option-ignored" in lints) is stated


WALKING = {"topology_manager_policy": "restricted", NUMA: {"max-allowable-numa-nodes": "34"}}
KEEPING = {
    "memory_manager_policy": "Static",
    "system_reserved": {"memory": "1Gi"},
    "reserved_memory": (ReservedMemory(numa_node=0, limits={"memory": Quantity.parse("1Gi")}),),
}


@pytest.mark.parametrize(
    ("config", "minor", "who"),
    [
        (WALKING, 34, ["topologyManagerPolicy Device Manager"]),
        (WALKING, 36, []),
        (KEEPING, 36, ["memoryManagerPolicy Memory Manager"]),
        (static() | WALKING, 36, ["topologyManagerPolicy CPU Manager"]),
        (static(), 36, []),
    ],
)
def test_too_many_sets_of_numa_nodes_by_release_and_by_manager(
    config: dict[str, Any], minor: int, who: list[str]
) -> None:
    """Kubernetes issue 135541: since 1.35.5 the Device Manager tries only nodes that have devices."""
    reported = Reported(config=config, machine="synthetic:2s34n68c1t,mem=68Gi", minor=minor)
    lints = [lint for lint in lint_configuration(reported.subject()) if lint.code == "numa-sets"]
    found = [f"{lint.place[0]} {lint.message.split(' would')[0]}" for lint in lints]
    assert found == [each.replace(" ", " the kubelet's ", 1) for each in who]
    assert all("2^34 sets of NUMA nodes" in lint.message and lint.fix for lint in lints)
