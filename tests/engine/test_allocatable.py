"""What a node has for pods, and for how long their requests are remembered."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cpuctl.engine import node_fit
from cpuctl.engine.node_fit import Allocatable, RequestTable, allocatable_of, check_fit
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.pods.model import StoredPod
from cpuctl.records import replace
from tests.support.pods import amounts, app, pod
from tests.support.topologies import CoreAt, machine_info

MIB, GIB = 1 << 20, 1 << 30
TWO_NODES = replace(
    machine_info(CoreAt(cpus=(cpu,), numa_node=cpu // 4) for cpu in range(8)), memory_bytes=16 * GIB
)


def offered(info: MachineInfo = TWO_NODES, reserved: str = "") -> Mapping[str, int]:
    return allocatable_of(info, KubeletConfiguration(), amounts(reserved)).amounts


def test_pods_have_what_is_not_reserved() -> None:
    assert offered() == {"cpu": 8000, "memory": 16 * GIB}
    assert offered(reserved="cpu=500m memory=1Gi") == {"cpu": 7500, "memory": 15 * GIB}
    assert offered(reserved="memory=17Gi")["memory"] == 0


def test_huge_pages_of_all_nodes_are_subtracted_from_memory() -> None:
    nodes = tuple(replace(node, hugepages={2048: 3 + node.id, 1048576: 1}) for node in TWO_NODES.nodes)
    assert offered(replace(TWO_NODES, nodes=nodes), "memory=1Gi") == {
        "cpu": 8000,
        "memory": 13 * GIB - 14 * MIB,
        "hugepages-2Mi": 14 * MIB,
        "hugepages-1Gi": 2 * GIB,
    }


@pytest.mark.parametrize(("size", "reserved", "want"), [(10, "", 10), (10, "3Gi", 7), (2, "3Gi", 0)])
def test_allocatable_storage_is_the_file_system_minus_reservations(
    size: int, reserved: str, want: int
) -> None:
    assert "ephemeral-storage" not in offered(reserved="ephemeral-storage=3Gi")
    info = replace(TWO_NODES, ephemeral_storage=size * GIB)
    kept = f"ephemeral-storage={reserved}" if reserved else ""
    assert offered(info, kept)["ephemeral-storage"] == want * GIB


@pytest.mark.parametrize(("per_core", "want"), [(0, 20), (1, 8), (2, 16), (3, 20)])
def test_pods_per_core_is_a_second_limit(per_core: int, want: int) -> None:
    config = KubeletConfiguration(max_pods=20, pods_per_core=per_core)
    assert allocatable_of(TWO_NODES, config, {}).pods == want


def named(number: int) -> StoredPod:
    return pod(app())._replace(uid=f"pod-{number}")


def test_a_table_is_cleared_if_it_holds_more_pods_than_can_run() -> None:
    table = RequestTable()
    for number in range(4096):
        table.of(named(number), pod_level=True)
    table.make_room(0)
    assert len(table.entries) == 4096, "this many are always kept"
    table.of(named(4096), pod_level=True)
    table.make_room(2048)
    assert len(table.entries) == 4097, "half of them may still run"
    table.make_room(2047)
    assert not table.entries


def test_checking_whether_pods_fit_clears_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_fit, "_FEW_ENTRIES", 4)
    space = Allocatable(amounts={"cpu": 4000}, pods=9)
    kept = []
    for number in range(7):
        check_fit(named(number), [], space, pod_level=True)
        kept.append(len(space.requests.entries))
    assert kept == [1, 2, 3, 4, 5, 1, 2]
