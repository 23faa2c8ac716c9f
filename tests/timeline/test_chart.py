"""Histories of CPUs: their owner at any time, and what is still in a cgroup by then."""

from __future__ import annotations

from cpuctl.timeline.report.chart import (
    NO_OWNERS,
    AssignedCPUs,
    ChartRow,
    CPUStatus,
    CPUUse,
    Owners,
    Sample,
    Span,
    chart,
)
from tests.timeline.replaying import config, play, small

A, B = "default/a/app", "default/b/app"


def drawn(*samples: tuple[int, Owners], until: int = 10) -> list[ChartRow]:
    return chart([Sample(at, owners) for at, owners in samples], 0b1111, until)


def row(mask: int, *spans: tuple[int, int, CPUUse, str]) -> ChartRow:
    return ChartRow(mask, tuple(Span(start, end, CPUStatus(use, name)) for start, end, use, name in spans))


def test_cpus_with_the_same_history_are_one_row() -> None:
    assert drawn((0, Owners({A: AssignedCPUs(0b0110)}, 0b1001)), (4, Owners({}, 0b1111))) == [
        row(0b1001, (0, 10, CPUUse.SHARED, "")),
        row(0b0110, (0, 4, CPUUse.OWNED, A), (4, 10, CPUUse.SHARED, "")),
    ]


def test_cpus_to_be_released_are_leaving_until_another_container_owns_them() -> None:
    assert drawn(
        (0, Owners({A: AssignedCPUs(0b0001, 0b0010)}, 0b1100)),
        (3, Owners({A: AssignedCPUs(0b0001, 0b0010), B: AssignedCPUs(0b0010)}, 0b1100)),
        (5, Owners({A: AssignedCPUs(0b0001), B: AssignedCPUs(0b0010)}, 0b1100)),
    ) == [
        row(0b0001, (0, 10, CPUUse.OWNED, A)),
        row(0b0010, (0, 3, CPUUse.LEAVING, A), (3, 5, CPUUse.CONTESTED, B), (5, 10, CPUUse.OWNED, B)),
        row(0b1100, (0, 10, CPUUse.SHARED, "")),
    ]


def test_containers_of_a_pod_that_follow_each_other_do_not_contest() -> None:
    init, app = "default/a/init", "default/a/app"
    (first, _) = drawn((0, Owners({init: AssignedCPUs(0b0001), app: AssignedCPUs(0b0001)}, 0b1110)))
    assert first == row(0b0001, (0, 10, CPUUse.OWNED, app))


def test_pools_of_two_pods_contest_but_a_pool_and_its_pods_container_do_not() -> None:
    pool, other = "default/a", "default/b"
    (first, _) = drawn((0, Owners({pool: AssignedCPUs(0, 0b0001), other: AssignedCPUs(0b0001)}, 0b1110)))
    assert first == row(0b0001, (0, 10, CPUUse.CONTESTED, other))
    (first, _) = drawn((0, Owners({pool: AssignedCPUs(0b0001), A: AssignedCPUs(0, 0b0001)}, 0b1110)))
    assert first == row(0b0001, (0, 10, CPUUse.OWNED, pool))


def test_cpus_have_no_owner_before_the_first_kubelet() -> None:
    assert drawn((0, NO_OWNERS), (5, Owners({}, 0b1111))) == [
        row(0b1111, (0, 5, CPUUse.NONE, ""), (5, 10, CPUUse.SHARED, ""))
    ]


def test_without_a_delay_a_cpu_is_reassigned_before_it_leaves_a_cgroup() -> None:
    """Until the next pass both run on it: the delay and its wait for release prevent that."""
    reported = {
        "version": "1.37",
        "config": config(cpuManagerPolicyOptions={}, cpuManagerReconcilePeriod="10s"),
    }
    simulation = play(
        {"at": "0s", "admit": "dpdk"},
        {"at": "1s", "resize": {"pod": "dpdk", "cpu": 4}},
        {"at": "11s", "resize": {"pod": "dpdk", "cpu": 2}},
        {"at": "12s", "admit": "other"},
        kubelet=reported,
        pods=[small(), "other=16,1Gi"],
        until="21s",
    )
    uses = {
        span.status.use
        for each in chart(simulation.samples, simulation.world.online, simulation.world.now)
        for span in each.spans
    }
    assert uses == {CPUUse.SHARED, CPUUse.OWNED, CPUUse.LEAVING, CPUUse.CONTESTED}


def test_the_pool_of_a_pod_belongs_to_the_pod_and_not_to_one_container() -> None:
    """CPUs that containers share among themselves are under the pod's name, whichever container came last."""
    all_of_it = {"cpu": 4, "memory": "2Gi"}
    own = {"cpu": 2, "memory": "1Gi"}
    spec = {
        "resources": {"requests": all_of_it, "limits": all_of_it},
        "containers": [{"name": "app", "resources": {"limits": own}}, {"name": "log"}, {"name": "proxy"}],
    }
    kubelet = {
        "version": "1.36",
        "config": config(
            cpuManagerPolicyOptions={},
            topologyManagerScope="pod",
            topologyManagerPolicy="single-numa-node",
            featureGates={"PodLevelResourceManagers": True},
        ),
    }
    pods = [{"metadata": {"name": "pool"}, "spec": spec}]
    simulation = play({"at": "0s", "admit": "pool"}, kubelet=kubelet, pods=pods, apiServer={}, until="3s")
    rows = chart(simulation.samples, simulation.world.online, simulation.world.now)
    held = {span.status.container: each.cpus.bit_count() for each in rows for span in each.spans}
    assert {name: count for name, count in held.items() if name} == {"default/pool/app": 2, "default/pool": 2}
