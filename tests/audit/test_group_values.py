"""Expected values of cgroups, from pods' resources and the kubelet's state, next to the actual ones."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.audit.group_values import FileValue, PodsLimit, ValueRules, group_values
from cpuctl.cgroups.names import Driver
from cpuctl.cpuset import CPUSet
from cpuctl.pods.cgroups.files import WeightFormula
from cpuctl.pods.cgroups.values import CgroupSettings
from cpuctl.pods.model import CountedClaim, QosClass
from cpuctl.pods.rules import NodeRules
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from tests.audit.node_tree import DATABASE, OWN, WEB, NodeTree, clean_node

RULES = ValueRules(node=NodeRules(), settings=CgroupSettings())


def values(node: NodeTree, group: str, rules: ValueRules = RULES) -> dict[str, FileValue]:
    snapshot = node.snapshot()
    return group_values(snapshot, snapshot.groups[group], rules)


def expected(node: NodeTree, group: str, rules: ValueRules = RULES) -> dict[str, str]:
    return {
        name: " or ".join(each.expected) for name, each in values(node, group, rules).items() if each.expected
    }


def test_a_container_with_exclusive_cpus_on_version_2() -> None:
    node = clean_node()
    node.put("memory", node.server, "memory.max", str(1 << 30))
    node.put("hugetlb", node.server, "hugetlb.2MB.max", "0")
    settings = RULES._replace(settings=CgroupSettings(page_sizes=(2 << 20,)))
    assert expected(node, node.server, settings) == {
        "cpuset.cpus": OWN,
        "cpuset.cpus.effective": OWN,
        "cpuset.mems": "0",
        "cpuset.mems.effective": "0",
        "cpuset.cpus.partition": "member",
        "cpuset.cpus.exclusive": "",
        "cpu.weight": "79 or 174",
        "cpu.max": "max 100000",
        "memory.max": str(1 << 30),
        "hugetlb.2MB.max": "0",
    }
    assert not any(each.differs for each in values(node, node.server, settings).values())


def test_a_container_of_the_shared_pool_on_version_1() -> None:
    node = clean_node(1, Driver.CGROUPFS)
    assert expected(node, node.front) == {
        "cpuset.cpus": "0,2-4,6-7",
        "cpuset.effective_cpus": "0,2-4,6-7",
        "cpu.shares": "1024",
        "cpu.cfs_quota_us": "-1",
        "cpu.cfs_period_us": "100000",
    }


def test_a_pods_own_group_has_the_sum_of_its_containers_and_no_cpus() -> None:
    node = clean_node()
    pod = node.pod(DATABASE, QosClass.GUARANTEED)
    assert expected(node, pod) == {"cpu.weight": "79", "cpu.max": "max 100000"}
    node.state = replace(node.state, entries={})
    assert expected(node, pod)["cpu.max"] == "200000 100000"


def test_qos_classes_have_the_sum_of_their_pods() -> None:
    node = clean_node()
    burstable = node.pod(WEB, QosClass.BURSTABLE).rpartition("/")[0]
    assert expected(node, burstable) == {"cpu.weight": "39", "cpu.max": "max 100000"}
    node.named = False
    assert expected(node, burstable) == {"cpu.max": "max 100000"}
    node.cpuset("/kubepods.slice/kubepods-besteffort.slice")
    node.quota("/kubepods.slice/kubepods-besteffort.slice", None, shares=1024)
    found = values(node, "/kubepods.slice/kubepods-besteffort.slice")["cpu.weight"]
    assert (found, found.differs) == (FileValue("39", ("1",)), True)


def test_claims_that_count_are_in_the_groups_of_pods_if_kubelets_write_them() -> None:
    """From 1.37 on; it is unknown whether the sum of a class includes them."""
    node = clean_node()
    group, pods = node.pod(WEB, QosClass.BURSTABLE), node.pods()
    claim = CountedClaim((pods[WEB].containers[0].name,), {"cpu": Quantity.parse("3")})
    snapshot = node.snapshot(pods | {WEB: pods[WEB]._replace(counted_claims=(claim,))})
    above = group.rpartition("/")[0]
    for rules, weight, sum_of_class in (
        (NodeRules(), "39", ("39",)),
        (NodeRules(writes_claims=True), "157", ()),
    ):
        found = group_values(snapshot, snapshot.groups[group], RULES._replace(node=rules))
        assert found["cpu.weight"].expected == (weight,)
        found = group_values(snapshot, snapshot.groups[above], RULES._replace(node=rules))
        assert found["cpu.weight"].expected == sum_of_class


def test_without_a_configuration_nothing_is_expected_of_kubepods_itself() -> None:
    node = clean_node()
    assert expected(node, "/kubepods.slice") == {}


KUBEPODS = "/kubepods.slice"
BURSTABLE = f"{KUBEPODS}/kubepods-burstable.slice"
ROOM = PodsLimit(milli_cpu=6000, memory=(3 << 30) + 100)


def with_memory(version: int = 2) -> NodeTree:
    """Make a node whose upper cgroups have all files of memory and huge pages."""
    node = clean_node(version)
    files = {"memory.max": "max", "memory.min": "0", "memory.low": "0", "hugetlb.2MB.max": "max"}
    if version == 1:
        files = {"memory.limit_in_bytes": str((1 << 63) - 4096), "hugetlb.2MB.limit_in_bytes": str(1 << 62)}
    for group in (KUBEPODS, BURSTABLE):
        for name, text in files.items():
            node.put(name.partition(".")[0], group, name, text)
    return node


def upper(version: int, group: str, **settings: Any) -> dict[str, FileValue]:
    """Return the values of an upper cgroup with every gate given as a setting."""
    rules = RULES._replace(
        pods_limit=ROOM, settings=replace(CgroupSettings(page_sizes=(2 << 20,)), **settings)
    )
    node = with_memory(version)
    pods = node.pods()
    web = pods[WEB].containers[0]
    requested = {**web.resources.requests, "memory": Quantity.parse("256Mi")}
    web = replace(web, resources=replace(web.resources, requests=requested))
    snapshot = node.snapshot(pods | {WEB: pods[WEB]._replace(containers=(web,))})
    return group_values(snapshot, snapshot.groups[group], rules)


def test_kubepods_has_what_the_reservation_leaves() -> None:
    found = upper(2, KUBEPODS)
    assert found["cpu.weight"] == FileValue("235", ("235",))
    assert found["memory.max"] == FileValue("max", (str(3 << 30),))  # the kernel cuts it to pages
    assert found["hugetlb.2MB.max"] == FileValue("max", (str(1 << 62), "max"))
    assert not found["memory.min"].expected
    found = upper(1, KUBEPODS)
    assert found["cpu.shares"] == FileValue("6144", ("6144",))
    assert found["memory.limit_in_bytes"] == FileValue("-1", (str(3 << 30),))
    assert found["hugetlb.2MB.limit_in_bytes"] == FileValue("-1", ("-1",))


def test_unknown_memory_is_not_expected() -> None:
    rules = RULES._replace(pods_limit=ROOM._replace(memory=None))
    assert not values(with_memory(), KUBEPODS, rules)["memory.max"].expected


@pytest.mark.parametrize("reserved", [False, True])
def test_memory_of_a_class_is_bounded_by_the_gate_qosreserved_only(reserved: bool) -> None:
    found = values(with_memory(), BURSTABLE, RULES._replace(qos_reserved=reserved))
    assert found["memory.max"] == FileValue("max", () if reserved else ("max",))


MEMORY_QOS = [
    # minor, tiered, group, memory.min, memory.low
    (30, False, KUBEPODS, (str((1 << 30) + (1 << 28)),), ()),
    (35, False, BURSTABLE, (str(1 << 28),), ()),
    (36, False, KUBEPODS, ("0",), ()),
    (36, False, BURSTABLE, (), ("0",)),
    (36, True, KUBEPODS, (str((1 << 30) + (1 << 28)),), ()),
    (36, True, BURSTABLE, (), (str(1 << 28),)),
]


@pytest.mark.parametrize(("minor", "tiered", "group", "minimum", "low"), MEMORY_QOS)
def test_memory_is_protected_by_class_as_each_release_does(
    minor: int, tiered: bool, group: str, minimum: tuple[str, ...], low: tuple[str, ...]
) -> None:
    found = upper(2, group, minor=minor, tiered=tiered, memory_qos=True)
    assert (found["memory.min"].expected, found["memory.low"].expected) == (minimum, low)


@pytest.mark.parametrize(("formula", "want"), [(WeightFormula.LINEAR, "79"), (WeightFormula.CURVED, "174")])
def test_a_known_runtime_has_one_weight(formula: WeightFormula, want: str) -> None:
    node = clean_node()
    assert expected(node, node.server, RULES._replace(formula=formula))["cpu.weight"] == want


def test_a_kubelet_that_keeps_quotas_is_expected_to() -> None:
    node = clean_node()
    rules = RULES._replace(settings=CgroupSettings(lifts_quota=False))
    assert values(node, node.server, rules)["cpu.max"] == FileValue("max 100000", ("200000 100000",))


def test_without_pods_only_the_states_sets_are_expected() -> None:
    node = clean_node()
    node.named = False
    assert all(name.startswith("cpuset.") for name in expected(node, node.server) if name != "cpu.max")
    node.cpuset(node.server, cpus="2", mems="0")
    assert values(node, node.server)["cpuset.cpus"] == FileValue("2", (OWN, "0,2-4,6-7"))


def test_an_offline_cpu_is_not_missing() -> None:
    node = clean_node()
    snapshot = node.snapshot()
    machine = snapshot.machine
    without = tuple(cpu for cpu in machine.cpus if cpu.number != 5)
    nodes = tuple(replace(each, cpus=each.cpus - CPUSet.of([5])) for each in machine.numa_nodes)
    snapshot = snapshot._replace(machine=replace(machine, cpus=without, numa_nodes=nodes, caches=()))
    found = group_values(snapshot, snapshot.groups[node.server], RULES)
    assert found["cpuset.cpus"] == FileValue(OWN, (OWN,))
    assert found["cpuset.cpus.effective"].expected == ("1",)


def test_a_group_without_a_controllers_files_has_no_such_values() -> None:
    node = clean_node()
    del node.files[f"sys/fs/cgroup{node.server}/cpu.max"]
    found = values(node, node.server)
    assert found["cpu.max"] == FileValue(None, ("max 100000",))
    assert not found["cpu.max"].differs
    assert "memory.max" not in found


@pytest.mark.parametrize("version", [1, 2])
def test_without_pods_exclusive_cpus_still_lift_the_quota(version: int) -> None:
    """The state names the container; the audit reports the same quota."""
    node = clean_node(version)
    node.named = False
    node.quota(node.server, 150_000, shares=2048)
    pod = node.pod(DATABASE, QosClass.GUARANTEED)
    files = {
        1: {"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"},
        2: {"cpu.max": "max 100000"},
    }[version]
    quota = next(iter(files))
    assert expected(node, node.server).items() >= files.items()
    assert values(node, node.server)[quota].differs
    assert expected(node, pod) == files
    assert quota not in expected(node, node.front)
    for settings in (CgroupSettings(lifts_quota=False), CgroupSettings(cfs_quota=False)):
        assert quota not in expected(node, node.server, RULES._replace(settings=settings))
    node.state = replace(node.state, pod_entries={DATABASE: CPUSet.parse(OWN)})
    assert quota not in expected(node, node.server)
