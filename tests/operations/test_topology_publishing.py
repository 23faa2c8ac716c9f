"""Objects that exporters publish for nodes: the exporter's example, and the errors of each publisher."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from cpuctl.answering.topology.topology_object import topologies_document
from cpuctl.checkpoints.cpu_state import write_cpu_state
from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cpuset import CPUSet
from cpuctl.engine.node import Node
from cpuctl.errors import InputError, UsageError
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.operations.plan import Planner
from cpuctl.operations.plan_inputs import NodeOptions, PlanningInputs, read_planning
from cpuctl.operations.topology_publishing import Published, Publisher, PublisherName, publish
from cpuctl.quantity import Quantity
from cpuctl.scheduler.node_topology import FingerprintMethod, NodeTopology, Zone, ZoneResource

STATIC = (
    "--cpu-manager-policy=static --reserved-cpus=0,4 --topology-manager-policy=single-numa-node "
    "--topology-manager-scope=pod"
)
MEMORY = (
    f"{STATIC} --memory-manager-policy=Static --kube-reserved=memory=1000Mi --reserved-memory=0:memory=1000Mi"
)
TWO = "synthetic:2s2n4c1t"
EXAMPLE = """
apiVersion: topology.node.k8s.io/v1alpha2
kind: NodeResourceTopology
metadata:
  name: n1
  annotations:
    topology.node.k8s.io/fingerprint: pfp0v0019131e707ccadb65c
    k8stopoawareschedwg/rte-update: periodic
attributes:
- {name: nodeTopologyPodsFingerprint, value: pfp0v0019131e707ccadb65c}
- {name: nodeTopologyPodsFingerprintMethod, value: with-exclusive-resources}
- {name: topologyManagerScope, value: pod}
- {name: topologyManagerPolicy, value: single-numa-node}
zones:
- name: node-0
  type: Node
  costs: [{name: node-0, value: 10}, {name: node-1, value: 21}]
  resources: [{name: cpu, capacity: "4", allocatable: "3", available: "2"}]
- name: node-1
  type: Node
  costs: [{name: node-0, value: 21}, {name: node-1, value: 10}]
  resources: [{name: cpu, capacity: "4", allocatable: "3", available: "3"}]
"""


def published(
    *templates: str, machine: str = TWO, arguments: str = STATIC, publisher: str = "rte", **words: Any
) -> Published:
    """Publish a node with planned pods, all of which are admitted."""
    words = {"kubelet": KubeletInputs(arguments=arguments, version="1.36"), "machine": machine, **words}
    planning = read_planning(PlanningInputs(templates=templates, **words), pods_needed=False)
    plan = Planner(planning).plan(planning.kubelet, planning.sources)
    assert isinstance(plan.node, Node)
    assert plan.refused is None
    machine_read = planning.source.machine
    return publish("n1", machine_read, planning.kubelet, plan.node, Publisher.parse(publisher))


def amounts(found: Published) -> dict[str, dict[str, tuple[int, int, int]]]:
    return {
        zone.name: {
            each.name: (each.capacity.value, each.allocatable.value, each.available.value)
            for each in zone.resources
        }
        for zone in found.topology.zones
    }


def test_the_exporters_example() -> None:
    found = published("pod-a=1/1,1Gi")
    assert topologies_document([found.topology]) == yaml.safe_load(EXAMPLE)
    assert any("no memory" in note for note in found.notes)


def test_several_objects_are_a_list() -> None:
    topology = published().topology
    document = topologies_document([topology, topology._replace(name="n2")])
    assert (document["kind"], [each["metadata"]["name"] for each in document["items"]]) == (
        "List",
        ["n1", "n2"],
    )


def test_quantities_are_whole_decimal_numbers() -> None:
    resource = ZoneResource("cpu", *map(Quantity.from_value, (2000, 1999, 17179869184)))
    document = topologies_document([NodeTopology("n1", (Zone("node-0", resources=(resource,)),))])
    assert document["zones"][0]["resources"] == [
        {"name": "cpu", "capacity": "2k", "allocatable": "1999", "available": "17179869184"}
    ]
    memory = published(arguments=MEMORY).topology.zones[1].resources[1]
    assert (memory.name, str(memory.capacity)) == ("memory", "68719476736")


def test_memory_and_huge_pages_of_a_static_memory_manager() -> None:
    gi, mi = 1 << 30, 1 << 20
    found = amounts(published("a=1/1,2Gi", machine=f"{TWO},hugepages-2Mi=512", arguments=MEMORY))
    assert found["node-0"] == {
        "cpu": (4, 3, 2),
        "hugepages-2Mi": (gi, gi, gi),
        "memory": (64 * gi, 63 * gi - 1000 * mi, 61 * gi - 1000 * mi),
    }
    assert found["node-1"]["memory"] == (64 * gi, 63 * gi, 63 * gi)


def test_memory_on_two_nodes_is_counted_twice_by_one_publisher_and_drained_by_the_other() -> None:
    arguments = MEMORY.replace("single-numa-node", "best-effort")
    gi, kept = 1 << 30, 1000 << 20
    twice = published("a=1/1,70Gi", arguments=arguments)
    once = published("a=1/1,70Gi", arguments=arguments, publisher="nfd")
    assert [zone["memory"][2] for zone in amounts(twice).values()] == [0, 0]
    assert [zone["memory"][2] for zone in amounts(once).values()] == [0, (128 - 70) * gi - kept]
    assert any("subtracted in full from each" in note for note in twice.notes)
    assert not any("subtracted in full" in note for note in once.notes)


def test_the_updater_of_node_feature_discovery() -> None:
    found = published("pod-a=1/1,1Gi", "b=1/2,1Gi", publisher="nfd").topology
    assert found.policies == ("SingleNUMANodePodLevel",)
    assert [name for name, _ in found.attributes] == [
        "nodeTopologyPodsFingerprint",
        "topologyManagerPolicy",
        "topologyManagerScope",
    ]
    assert found.annotations == ()
    both = published("pod-a=1/1,1Gi", "b=1/2,1Gi", publisher="rte,fingerprint=all").topology
    assert found.fingerprint == both.fingerprint
    assert published(arguments="--reserved-cpus=0", publisher="nfd").topology.policies == ("None",)


def test_a_fingerprint_covers_pods_with_exclusive_resources() -> None:
    exclusive, everyone = (
        published("pod-a=1/1,1Gi", "b=1/2,1Gi", publisher=each).topology
        for each in ("rte", "rte,fingerprint=all")
    )
    assert exclusive.fingerprint == "pfp0v0019131e707ccadb65c"
    assert everyone.fingerprint != exclusive.fingerprint
    assert everyone.fingerprint_method is FingerprintMethod.ALL
    assert published("pod-a=1/1,1Gi", publisher="rte,fingerprint=none").topology.fingerprint is None


def test_sparse_nodes_crash_the_exporter_and_are_lost_by_the_other() -> None:
    machine = "synthetic:2s2n4c1t,nodes=0-3/2:4-7"
    with pytest.raises(InputError, match="crashes on NUMA nodes 0,2"):
        published(machine=machine)
    found = published(machine=machine, publisher="nfd")
    assert amounts(found) == {"node-0": {"cpu": (4, 3, 3)}, "node-1": {"cpu": (0, 0, 0)}}
    assert found.topology.zones[1].costs == ()
    assert any("nodes 2 are missing" in note for note in found.notes)


def test_without_the_static_policy_no_zone_lists_cpus() -> None:
    found = published(arguments="--topology-manager-policy=single-numa-node")
    assert [zone["cpu"] for zone in amounts(found).values()] == [(4, 0, 0), (4, 0, 0)]
    assert any("policy is none" in note for note in found.notes)


DEVICES = """
apiVersion: cpuctl/v1alpha1
kind: Devices
resources:
  vendor.com/nic: {"0": 4, "0-1": 2, none: 3}
"""


def test_devices_count_at_each_of_their_nodes_or_at_the_last(tmp_path: Path) -> None:
    file = tmp_path / "devices.yaml"
    file.write_text(DEVICES)
    limits = "{cpu: 1, memory: 1Gi, vendor.com/nic: 6}"
    pod = tmp_path / "pod.yaml"
    pod.write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, "
        f"spec: {{containers: [{{name: c, resources: {{limits: {limits}}}}}]}}}}"
    )
    words: dict[str, Any] = {"node": NodeOptions(devices=str(file)), "filenames": [str(pod)]}
    arguments = STATIC.replace("single-numa-node", "best-effort")
    one = published(arguments=arguments, **words)
    other = published(arguments=arguments, publisher="nfd", **words)
    assert [zone["vendor.com/nic"] for zone in amounts(one).values()] == [(6, 6, 0), (2, 2, 0)]
    assert [zone["vendor.com/nic"] for zone in amounts(other).values()] == [(6, 6, 2), (2, 2, 0)]


def test_pods_that_only_a_state_file_knows_leave_no_fingerprint(tmp_path: Path) -> None:
    state = CPUStateFile("static", CPUSet.parse("0,2-7"), {"uid-1": {"c": CPUSet.parse("1")}})
    (tmp_path / "cpu_manager_state").write_text(write_cpu_state(state))
    found = published(state=str(tmp_path))
    assert found.topology.fingerprint is None
    assert amounts(found)["node-0"]["cpu"] == (4, 3, 2)


@pytest.mark.parametrize("text", ["", "rtx", "nfd,fingerprint=all", "rte,fingerprint=some", "rte,x"])
def test_an_unknown_publisher(text: str) -> None:
    with pytest.raises(UsageError, match="expected rte, nfd"):
        Publisher.parse(text)
    assert Publisher.parse("rte") == (PublisherName.RTE, FingerprintMethod.EXCLUSIVE)


def test_running_pods_with_unknown_cpus_are_named(tmp_path: Path) -> None:
    pod = tmp_path / "pods.yaml"
    pod.write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: a, uid: u}, status: {phase: Running}, "
        "spec: {containers: [{name: c, resources: {limits: {cpu: 2, memory: 1Gi}}}]}}"
    )
    state = CPUStateFile("static", CPUSet.parse("0-7"), {})
    (tmp_path / "cpu_manager_state").write_text(write_cpu_state(state))
    found = published(pods=str(pod), state=str(tmp_path))
    assert (
        "the CPUs of a are not in the state files: they are reported as available although they are not"
        in (found.notes)
    )
    # Without any state file the kubelet assigns them CPUs again.
    assert amounts(published(pods=str(pod)))["node-0"]["cpu"] == (4, 3, 1)
    assert not any("no state file" in note for note in published("b=2/2,1Gi", "c=1/2,1Gi").notes)


def test_cpus_of_a_pod_as_a_whole_are_published_as_available(tmp_path: Path) -> None:
    """The exporter reads containers only: it does not count CPUs that only the pod holds (KEP-5526)."""
    pod = tmp_path / "pod.yaml"
    pod.write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {"
        "resources: {requests: {cpu: 3, memory: 1Gi}, limits: {cpu: 3, memory: 1Gi}}, containers: ["
        "{name: own, resources: {requests: {cpu: 1, memory: 1Mi}, limits: {cpu: 1, memory: 1Mi}}}]}}"
    )
    gates = "PodLevelResourceManagers=true"
    kubelet = KubeletInputs(arguments=STATIC, version="1.36", gates=gates)
    found = published(filenames=[str(pod)], kubelet=kubelet)
    assert [zone["cpu"] for zone in amounts(found).values()] == [(4, 3, 2), (4, 3, 3)]
    assert (
        "CPUs that a holds as a pod, not in one of its containers, are reported as available "
        "although they are not"
    ) in found.notes
