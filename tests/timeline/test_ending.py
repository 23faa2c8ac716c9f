"""Containers that end: they restart after a back-off, or their pod has ended and frees its CPUs."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.golang.durations import SECOND
from cpuctl.timeline.simulation import Simulation
from tests.timeline.replaying import config, play, seen, small

ADMIT = {"at": "0s", "admit": "dpdk"}
SECOND_POD = {"at": "5s", "schedule": "other"}


def job(policy: str = "Never", cpus: int = 2, name: str = "dpdk", **more: Any) -> dict[str, Any]:
    """Make a pod that ends."""
    pod = small(name, cpus)
    pod["spec"] |= {"restartPolicy": policy, **more}
    return pod


def ending(*events: dict[str, Any], pods: list[Any], until: str = "60s", **kubelet: Any) -> Simulation:
    return play(*events, pods=pods, until=until, kubelet={"version": "1.37", "config": config(**kubelet)})


def exits(at: str, code: int = 0, container: str = "dpdk/app") -> dict[str, Any]:
    return {"at": at, "exit": {"container": container, "code": code}}


def phase(simulation: Simulation, name: str = "dpdk") -> str:
    return str(seen(simulation, "pods")[f"default/{name}"]["phase"])


def times(simulation: Simulation, what: str) -> list[int]:
    return [entry.at // SECOND for entry in simulation.world.entries if str(entry.kind) == what]


@pytest.mark.parametrize(
    ("policy", "code", "wanted"),
    [
        ("Never", 0, "Succeeded"),
        ("Never", 1, "Failed"),
        ("OnFailure", 0, "Succeeded"),
        ("OnFailure", 1, "Running"),
        ("Always", 0, "Running"),
        ("Always", 1, "Running"),
    ],
)
def test_the_restart_policy_decides_whether_a_pod_ends(policy: str, code: int, wanted: str) -> None:
    assert phase(ending(ADMIT, exits("1s", code), pods=[job(policy)])) == wanted


def test_a_pod_that_has_ended_frees_its_cpus_for_the_next_admission() -> None:
    """A kubelet's managers drop inactive pods before they look for CPUs."""
    large = {"at": "2s", "admit": "next"}
    pods = [job(cpus=16), job(cpus=16, name="next")]
    simulation = ending(ADMIT, exits("1s"), large, pods=pods, until="2s")
    assert (phase(simulation), phase(simulation, "next")) == ("Succeeded", "Running")
    assert phase(ending(ADMIT, large, pods=pods, until="2s"), "next") == "Failed"


def test_the_scheduler_no_longer_counts_it() -> None:
    waiting = {"at": "1s", "schedule": "next"}
    simulation = ending(
        ADMIT, waiting, exits("5s"), pods=[job(cpus=16), job(cpus=16, name="next")], until="9s"
    )
    assert times(simulation, "Scheduled") == [5]
    assert phase(simulation, "next") == "Running"


def test_a_starting_kubelet_does_not_admit_it_again() -> None:
    again = {"at": "3s", "kubelet": "restart"}
    simulation = ending(ADMIT, exits("1s"), again, pods=[job()])
    assert times(simulation, "Admitted") == [0]
    assert seen(simulation, "stateFile")["entries"] == {}
    assert times(ending(ADMIT, again, pods=[job()]), "Admitted") == [0, 3]


def test_a_kubelet_that_was_away_finds_out_when_it_starts() -> None:
    stop, start = {"at": "1s", "kubelet": "stop"}, {"at": "3s", "kubelet": "start"}
    simulation = ending(ADMIT, stop, exits("2s"), start, pods=[job()])
    assert times(simulation, "Admitted") == [0, 3]
    assert times(simulation, "PodEnded") == [3]


def test_restarts_come_after_twice_the_wait_each_time_and_keep_the_cpus() -> None:
    """At once, after 10s, after 20s, after 40s; the wait counts from the end."""
    down = [exits(f"{at}s") for at in (1, 2, 20, 50)]
    simulation = ending(ADMIT, *down, pods=[small()], until="200s")
    assert times(simulation, "ContainerStarted") == [0, 1, 12, 40, 90]
    assert times(simulation, "ContainerWaits") == [2, 20, 50]
    assert seen(simulation, "containers")["default/dpdk/app"]["cpus"] == "1,11"


def test_a_container_that_ran_long_starts_with_the_shortest_wait_again() -> None:
    down = [exits(f"{at}s") for at in (1, 2, 700, 701)]
    simulation = ending(ADMIT, *down, pods=[small()], until="900s")
    assert times(simulation, "ContainerStarted") == [0, 1, 12, 700, 711]


@pytest.mark.parametrize(
    ("kubelet", "starts"),
    [
        ({"crashLoopBackOff": {"maxContainerRestartPeriod": "3s"}}, [0, 1, 5, 13]),
        ({}, [0, 1, 12]),
    ],
)
def test_the_longest_wait_can_be_configured(kubelet: dict[str, Any], starts: list[int]) -> None:
    gates = {**config()["featureGates"], "KubeletCrashLoopBackOffMax": True}
    down = [exits(f"{at}s") for at in (1, 2, 10)]
    simulation = ending(ADMIT, *down, pods=[small()], until="60s", featureGates=gates, **kubelet)
    assert times(simulation, "ContainerStarted") == starts


def test_a_new_kubelet_has_forgotten_the_waits() -> None:
    again = {"at": "3s", "kubelet": "restart"}
    simulation = ending(ADMIT, exits("1s"), exits("2s"), again, pods=[small()], until="9s")
    assert times(simulation, "ContainerStarted") == [0, 1, 3]


def test_sidecars_end_with_their_pod_and_restart_until_then() -> None:
    pod = job(initContainers=[{"name": "proxy", "restartPolicy": "Always"}])
    events = [ADMIT, exits("1s", 1, "dpdk/proxy"), exits("5s")]
    simulation = ending(*events, pods=[pod])
    assert times(simulation, "ContainerStarted") == [0, 0, 1]
    assert phase(simulation) == "Succeeded"
    assert seen(simulation, "containers")["default/dpdk/proxy"]["state"] == "terminated"


def test_an_init_container_that_fails_ends_a_pod_that_never_restarts() -> None:
    pod = job(initContainers=[{"name": "setup"}])
    admitted = {"at": "0s", "admit": {"pod": "dpdk", "start": False}}
    events: list[dict[str, Any]] = [admitted, {"at": "1s", "start": "dpdk/setup"}]
    assert phase(ending(*events, exits("2s", 1, "dpdk/setup"), pods=[pod])) == "Failed"
    assert phase(ending(*events, exits("2s", 0, "dpdk/setup"), pods=[pod])) == "Pending"


def test_after_a_reboot_a_container_that_never_restarts_has_failed() -> None:
    simulation = ending(ADMIT, {"at": "2s", "kubelet": "reboot"}, pods=[job()])
    assert phase(simulation) == "Failed"
    assert phase(ending(ADMIT, {"at": "2s", "kubelet": "reboot"}, pods=[job("OnFailure")])) == "Running"


def test_an_ended_pod_is_not_resized() -> None:
    resize = {"at": "3s", "resize": {"pod": "dpdk", "cpu": 3}}
    simulation = ending(ADMIT, exits("1s"), resize, pods=[job()])
    assert times(simulation, "Ignored") == [3]
