"""What control groups should say, by pods' resources and the kubelet's state, beside what they do say."""

from __future__ import annotations

import pytest

from cpuctl.audit.group_values import Rules, Value, group_values
from cpuctl.cgroups.names import Driver
from cpuctl.cpuset import CPUSet
from cpuctl.pods.cgroups.files import WeightFormula
from cpuctl.pods.cgroups.values import CgroupSettings
from cpuctl.pods.model import QosClass
from cpuctl.pods.rules import NodeRules
from tests.audit.node_tree import DATABASE, OWN, WEB, NodeTree, clean_node

RULES = Rules(node=NodeRules(), settings=CgroupSettings())


def values(node: NodeTree, group: str, rules: Rules = RULES) -> dict[str, Value]:
    picture = node.picture()
    return group_values(picture, picture.groups[group], rules)


def expected(node: NodeTree, group: str, rules: Rules = RULES) -> dict[str, str]:
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


def test_a_pods_own_group_has_its_sum_and_no_cpus() -> None:
    node = clean_node()
    pod = node.pod(DATABASE, QosClass.GUARANTEED)
    assert expected(node, pod) == {"cpu.weight": "79", "cpu.max": "max 100000"}
    node.state = node.state._replace(entries={})
    assert expected(node, pod)["cpu.max"] == "200000 100000"


def test_quality_classes_have_the_sum_of_their_pods() -> None:
    node = clean_node()
    burstable = node.pod(WEB, QosClass.BURSTABLE).rpartition("/")[0]
    assert expected(node, burstable) == {"cpu.weight": "39"}
    node.named = False
    assert expected(node, burstable) == {}
    node.cpuset("/kubepods.slice/kubepods-besteffort.slice")
    node.quota("/kubepods.slice/kubepods-besteffort.slice", None, shares=1024)
    found = values(node, "/kubepods.slice/kubepods-besteffort.slice")["cpu.weight"]
    assert (found, found.differs) == (Value("39", ("1",)), True)


def test_nobody_says_what_kubepods_itself_has() -> None:
    node = clean_node()
    assert expected(node, "/kubepods.slice") == {}


@pytest.mark.parametrize(("formula", "want"), [(WeightFormula.LINEAR, "79"), (WeightFormula.CURVED, "174")])
def test_a_known_runtime_has_one_weight(formula: WeightFormula, want: str) -> None:
    node = clean_node()
    assert expected(node, node.server, RULES._replace(formula=formula))["cpu.weight"] == want


def test_a_kubelet_that_keeps_quotas_is_expected_to() -> None:
    node = clean_node()
    rules = RULES._replace(settings=CgroupSettings(lifts_quota=False))
    assert values(node, node.server, rules)["cpu.max"] == Value("max 100000", ("200000 100000",))


def test_without_pods_only_the_states_sets_are_expected() -> None:
    node = clean_node()
    node.named = False
    assert all(name.startswith("cpuset.") for name in expected(node, node.server))
    node.cpuset(node.server, cpus="2", mems="0")
    assert values(node, node.server)["cpuset.cpus"] == Value("2", (OWN, "0,2-4,6-7"))


def test_a_cpu_that_does_not_run_is_not_missed() -> None:
    node = clean_node()
    picture = node.picture()
    machine = picture.machine
    without = tuple(cpu for cpu in machine.cpus if cpu.number != 5)
    nodes = tuple(each._replace(cpus=each.cpus - CPUSet.of([5])) for each in machine.numa_nodes)
    picture = picture._replace(machine=machine._replace(cpus=without, numa_nodes=nodes, caches=()))
    found = group_values(picture, picture.groups[node.server], RULES)
    assert found["cpuset.cpus"] == Value(OWN, (OWN,))
    assert found["cpuset.cpus.effective"].expected == ("1",)


def test_a_group_without_a_controllers_files_has_no_such_values() -> None:
    node = clean_node()
    del node.files[f"sys/fs/cgroup{node.server}/cpu.max"]
    found = values(node, node.server)
    assert found["cpu.max"] == Value(None, ("max 100000",))
    assert not found["cpu.max"].differs
    assert "memory.max" not in found
