"""Histories: what the kubelet does and when, what a restart forgets, and what others see."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.golang.durations import HOUR, MILLISECOND, SECOND
from cpuctl.timeline.simulation import Simulation
from cpuctl.timeline.world.entries import EntryKind
from tests.timeline.replaying import config, container, play, reported, seen, small

UP = {"at": "500ms", "resize": {"pod": "dpdk", "cpu": 4}}
ADMIT = {"at": "0s", "admit": "dpdk"}
DOWN = {"at": "2001ms", "resize": {"pod": "dpdk", "cpu": 3}}


def kubelet(version: str = "1.37", **more: Any) -> dict[str, Any]:
    return {"version": version, "config": config(**more)}


def writes(simulation: Simulation, name: str = "app") -> list[tuple[int, Any]]:
    """Return when a container's CPU set was written, and its values."""
    entries = reported(simulation, EntryKind.CPUSET_WRITTEN)
    return [(entry.at, entry.details["cpus"]) for entry in entries if entry.container == name]


def test_a_resize_that_ends_where_it_began_is_complete_when_its_delay_has_passed() -> None:
    """Grown and shrunk between two passes: no pass has anything to write, but the resize must complete."""
    up, down = UP | {"at": "1100ms"}, {"at": "1200ms", "resize": {"pod": "dpdk", "cpu": 2}}
    simulation = play(
        ADMIT, up, down, kubelet=kubelet(cpuManagerReconcilePeriod="10s"), pods=[small()], until="30s"
    )
    assert writes(simulation) == []
    assert [entry.at for entry in reported(simulation, EntryKind.DELAY_PASSED)] == [10 * SECOND]
    assert [entry.at for entry in reported(simulation, EntryKind.RESIZE_COMPLETED)] == [10 * SECOND]


def test_passes_come_at_the_start_and_a_period_after_each_end() -> None:
    """With passes of 500 ms every second, they begin at 0 s, 1.5 s, 3 s, 4.5 s, 6 s, 7.5 s."""
    simulation = play(ADMIT, UP, DOWN, until="10s", timing={"reconcilePass": "500ms"})
    assert writes(simulation) == [(1500 * MILLISECOND, "1-2,11-12"), (7500 * MILLISECOND, "1-2,11")]


@pytest.mark.parametrize("uids", ["ab", "ba"])
def test_simultaneous_actions_are_done_for_the_oldest_pod_first(uids: str) -> None:
    """Regardless of the UIDs, which may have been derived."""
    names = ["first", "second"]
    pods = [small(name) for name in names]
    for pod, uid in zip(pods, uids, strict=True):
        pod["metadata"]["uid"] = uid
    admitted = [{"at": "0s", "admit": name} for name in names]
    resized = [{"at": "500ms", "resize": {"pod": name, "cpu": 3}} for name in names]
    ended = reported(play(*admitted, *resized, pods=pods, until="5s"), EntryKind.RESIZE_COMPLETED)
    assert [entry.pod for entry in ended] == [f"default/{name}" for name in names]
    assert len({entry.at for entry in ended}) == 1


def test_a_pass_at_the_very_end_of_the_delay_is_in_time() -> None:
    down = {"at": "2s", "resize": {"pod": "dpdk", "cpu": 3}}
    assert writes(play(ADMIT, UP, down, until="20s"))[-1] == (7 * SECOND, "1-2,11")


def test_idle_time_takes_no_steps() -> None:
    simulation = play(ADMIT, UP, DOWN, until="744h")
    assert simulation.world.now == 744 * HOUR
    assert simulation.steps < 20


@pytest.mark.parametrize("delay", ["0s", None])
def test_without_a_delay_the_next_pass_applies(delay: str | None) -> None:
    options = {"scale-delay-time": delay} if delay else {}
    simulation = play(ADMIT, UP, DOWN, kubelet=kubelet(cpuManagerPolicyOptions=options), until="10s")
    assert writes(simulation)[-1] == (3 * SECOND, "1-2,11")
    assert reported(simulation, EntryKind.DELAY_PASSED) == []


def test_a_resize_is_complete_when_its_pod_is_synced() -> None:
    """A pass requests that after it has written an exclusive CPU set (PLEG)."""
    simulation = play(ADMIT, UP, DOWN, timing={"podSync": "300ms"}, until="20s")
    assert [entry.at for entry in reported(simulation, EntryKind.RESIZE_COMPLETED)] == [
        1300 * MILLISECOND,
        8300 * MILLISECOND,
    ]


def test_the_volume_follows_the_sync_of_its_pod() -> None:
    simulation = play(ADMIT, UP, DOWN, timing={"podSync": "300ms", "volumeSync": "50ms"}, until="20s")
    entries = reported(simulation, EntryKind.VOLUME_WRITTEN)
    assert [(entry.at, entry.details["value"]) for entry in entries] == [
        (0, "1,11"),
        (850 * MILLISECOND, "1-2,11-12"),
        (2351 * MILLISECOND, "1-2,11"),
    ]


def test_a_slow_volume_is_updated_too_late() -> None:
    simulation = play(ADMIT, UP, DOWN, timing={"volumeSync": "9s"}, until="20s")
    assert seen(simulation, "slis")["lateNotifications"] == 1
    assert container(simulation)["downward"] == "1-2,11"


def test_weights_are_written_at_once() -> None:
    simulation = play(ADMIT, UP, DOWN, until="3s")
    assert [entry.at for entry in reported(simulation, EntryKind.WEIGHT_WRITTEN)] == [
        500 * MILLISECOND,
        2001 * MILLISECOND,
    ]
    assert container(simulation)["cgroup"] == "1-2,11-12"


def test_shared_containers_get_the_pool_with_the_next_pass() -> None:
    """In any case with the first one after their start: the kubelet remembers only exclusive CPUs."""
    simulation = play(
        {"at": "0s", "admit": "web"}, {"at": "1500ms", "admit": "dpdk"}, pods=[small(), "web=1/2"], until="5s"
    )
    assert writes(simulation, "web") == [(1 * SECOND, "0-19"), (2 * SECOND, "0,2-10,12-19")]


def test_released_cpus_are_shared_in_the_same_pass() -> None:
    """Release comes first in a pass, then containers are written."""
    simulation = play({"at": "0s", "admit": "web"}, ADMIT, UP, DOWN, pods=[small(), "web=1/2"], until="10s")
    assert writes(simulation, "web")[-1] == (8 * SECOND, "0,3-10,12-19")
    assert writes(simulation)[-1] == (8 * SECOND, "1-2,11")


def test_a_restarted_container_gets_the_cpus_it_still_has() -> None:
    """Until the delay has passed, these are its previous CPUs."""
    simulation = play(ADMIT, UP, DOWN, {"at": "3s", "exit": "dpdk/app"}, until="4500ms")
    assert container(simulation)["cgroup"] == "1-2,11-12"
    assert container(simulation)["downward"] == "1-2,11"


def test_a_container_that_does_not_run_is_skipped() -> None:
    twice = [{"at": at, "exit": "dpdk/app"} for at in ("3s", "15s")]
    simulation = play(ADMIT, UP, DOWN, *twice, until="20s")
    found = container(simulation)
    assert (found["state"], found["cpus"], found["cgroup"]) == ("waiting", "1-2,11", None)
    assert found["actual"] == "3"


def test_a_pod_that_waits_for_its_start_has_its_cpus() -> None:
    simulation = play({"at": "0s", "admit": {"pod": "dpdk", "start": False}}, until="2s")
    assert container(simulation)["cpus"] == "1,11"
    assert container(simulation)["state"] == "waiting"
    assert seen(simulation, "pods")["default/dpdk"]["phase"] == "Pending"


def test_cpus_return_with_the_pass_after_a_pod_is_gone() -> None:
    simulation = play(ADMIT, {"at": "1500ms", "remove": "dpdk"}, until="1999ms")
    assert seen(simulation, "sharedPool") == "0,2-10,12-19"
    simulation = play(ADMIT, {"at": "1500ms", "remove": "dpdk"}, until="2s")
    assert seen(simulation, "sharedPool") == "0-19"


def test_a_pod_removed_during_its_delay_leaves_nothing_behind() -> None:
    simulation = play(ADMIT, UP, DOWN, {"at": "3s", "remove": "dpdk"}, until="20s")
    assert seen(simulation, "sharedPool") == "0-19"
    assert [str(each.end) for each in simulation.world.scale_downs.all] == ["gone"]


class TestRestart:
    def test_the_first_pass_writes_all_that_runs(self) -> None:
        simulation = play(ADMIT, {"at": "0s", "admit": "other"}, {"at": "5500ms", "kubelet": "restart"})
        assert [entry.at for entry in reported(simulation, EntryKind.CPUSET_WRITTEN)] == [
            5500 * MILLISECOND
        ] * 2

    def test_without_a_kubelet_nothing_is_written(self) -> None:
        simulation = play(ADMIT, UP, {"at": "600ms", "kubelet": "stop"}, until="1m")
        assert container(simulation)["cgroup"] == "1,11"
        assert seen(simulation, "kubelet") == {"running": False, "version": "1.37", "error": ""}

    def test_the_delay_starts_over(self) -> None:
        simulation = play(ADMIT, UP, DOWN, {"at": "6s", "kubelet": "restart"}, until="1m")
        assert writes(simulation)[-1] == (11 * SECOND, "1-2,11")
        assert [str(each.end) for each in simulation.world.scale_downs.all] == ["interrupted", "applied"]

    def test_restarts_in_a_row_never_shorten_it(self) -> None:
        restarts = [{"at": f"{second}s", "kubelet": "restart"} for second in range(3, 15, 4)]
        assert writes(play(ADMIT, UP, DOWN, *restarts, until="1m"))[-1] == (16 * SECOND, "1-2,11")

    def test_meanwhile_requested_changes_are_decided_at_the_start(self) -> None:
        simulation = play(
            ADMIT,
            UP,
            {"at": "2s", "kubelet": "stop"},
            {"at": "3s", "resize": {"pod": "dpdk", "cpu": 3}},
            {"at": "4s", "admit": "other"},
            {"at": "10s", "kubelet": "start"},
            until="1m",
        )
        assert writes(simulation)[-1] == (15 * SECOND, "1-2,11")
        assert container(simulation, "other/other")["cgroup"] == "3,13"

    def test_pods_that_were_deleted_meanwhile_end_at_the_start(self) -> None:
        events: list[dict[str, Any]] = [
            ADMIT,
            {"at": "1s", "kubelet": "stop"},
            {"at": "2s", "remove": "dpdk"},
        ]
        assert container(play(*events, until="9s"))["state"] == "running"
        simulation = play(*events, {"at": "9s", "kubelet": "start"})
        assert seen(simulation, "containers") == {}
        assert seen(simulation, "sharedPool") == "0-19"

    def test_a_kubelet_that_is_away_for_a_while(self) -> None:
        away = {"at": "1s", "kubelet": {"action": "restart", "takes": "3s"}}
        assert not seen(play(ADMIT, away, until="3999ms"), "kubelet")["running"]
        assert seen(play(ADMIT, away, until="4s"), "kubelet")["running"]

    def test_a_reboot_starts_containers_again(self) -> None:
        simulation = play(
            ADMIT, UP, DOWN, {"at": "3s", "kubelet": {"action": "reboot", "takes": "10s"}}, until="12s"
        )
        assert container(simulation)["state"] == "waiting"
        simulation = play(
            ADMIT, UP, DOWN, {"at": "3s", "kubelet": {"action": "reboot", "takes": "10s"}}, until="1m"
        )
        assert writes(simulation)[-1] == (18 * SECOND, "1-2,11")
        assert container(simulation)["downward"] == "1-2,11"

    def test_a_pod_that_is_not_readmitted_fails(self) -> None:
        """Free cores are counted before the container's own CPUs are considered (kubernetes issue 129078)."""
        whole = {"full-pcpus-only": "true"}
        simulation = play(
            {"at": "0s", "admit": "big"},
            {"at": "1s", "kubelet": "restart"},
            kubelet=kubelet(cpuManagerPolicyOptions=whole),
            pods=["big=10,1Gi"],
            until="2s",
        )
        pod = seen(simulation, "pods")["default/big"]
        assert (pod["phase"], pod["reason"]) == ("Failed", "SMTAlignmentError")
        assert seen(simulation, "sharedPool") == "0-19"


class TestReleases:
    def test_before_the_proposal_a_resize_is_complete_at_once(self) -> None:
        """The status then shows the new resources although the CPU set is not applied yet."""
        configured = {
            "version": "1.36",
            "config": config(
                cpuManagerPolicyOptions={}, featureGates={"InPlacePodVerticalScalingExclusiveCPUs": True}
            ),
        }
        pods = ["plain=4,1Gi"]
        simulation = play(
            {"at": "0s", "admit": "plain"},
            {"at": "1500ms", "resize": {"pod": "plain", "cpu": 6}},
            kubelet=configured,
            apiServer={},
            pods=pods,
            until="1600ms",
        )
        assert container(simulation, "plain/plain") | {} == {
            **container(simulation, "plain/plain"),
            "cgroup": "1-2,11-12",
            "cpus": "1-3,11-13",
            "actual": "6",
        }

    def test_as_released_the_gate_alone_changes_no_cpu_set(self) -> None:
        configured = {"version": "1.37", "preview": False, "config": config(cpuManagerPolicyOptions={})}
        simulation = play(ADMIT, UP, kubelet=configured, until="9s")
        assert container(simulation)["cpus"] == "1,11"
        (entry,) = reported(simulation, EntryKind.RESIZE_ACCEPTED)
        assert entry.details["ruling"] == "NoEffect"

    def test_an_older_kubelet_cannot_set_up_the_volume(self) -> None:
        configured = {"version": "1.36", "config": config(cpuManagerPolicyOptions={}, featureGates={})}
        simulation = play(
            ADMIT,
            kubelet=configured,
            apiServer={"version": "1.37", "featureGates": {"DownwardAPIAssignedResources": True}},
        )
        assert container(simulation)["state"] == "waiting"
        (entry,) = reported(simulation, EntryKind.CONTAINER_WAITS)
        assert "unsupported container resource : assigned.cpuset" in entry.text


class TestDeferred:
    PODS = (small("dpdk"), "filler=14,1Gi", "web=1500m")

    def test_a_resize_that_does_not_fit_waits_for_free_cpus(self) -> None:
        """Requests are compared with the node's CPUs; they may be shared, so no request is infeasible."""
        events: list[dict[str, Any]] = [
            {"at": "0s", "admit": "web"},
            {"at": "0s", "admit": "filler"},
            {"at": "1s", "resize": {"pod": "web", "cpu": "5500m"}},
        ]
        simulation = play(*events, pods=list(self.PODS), until="10m")
        assert (
            seen(simulation, "pods")["default/web"]["conditions"]["PodResizePending"]["reason"] == "Deferred"
        )
        assert len(reported(simulation, EntryKind.RESIZE_DEFERRED)) == 1
        simulation = play(*events, {"at": "5m", "remove": "filler"}, pods=list(self.PODS), until="10m")
        assert seen(simulation, "pods")["default/web"]["conditions"]["PodResizePending"] is None
        (entry,) = reported(simulation, EntryKind.RESIZE_ACCEPTED)
        assert entry.at == 300 * SECOND

    def test_a_pod_is_bound_when_the_scheduler_sees_free_cpus(self) -> None:
        events: list[dict[str, Any]] = [
            {"at": "0s", "admit": "filler"},
            {"at": "1s", "schedule": "late"},
            {"at": "2s", "remove": "filler"},
        ]
        pods = ["filler=18,1Gi", "late=2,1Gi"]
        assert seen(play(*events[:2], pods=pods), "pods")["default/late"]["phase"] == "Unscheduled"
        assert seen(play(*events, pods=pods), "pods")["default/late"]["phase"] == "Running"


class TestApiServer:
    def test_a_pod_name_is_unique(self) -> None:
        simulation = play(ADMIT, {"at": "1s", "admit": "dpdk"})
        (entry,) = reported(simulation, EntryKind.FORBIDDEN)
        assert 'pods "dpdk" already exists' in entry.text

    def test_a_recreated_pod_is_a_new_pod(self) -> None:
        simulation = play(ADMIT, {"at": "1s", "remove": "dpdk"}, {"at": "1s", "admit": "dpdk"}, until="5s")
        assert len(simulation.world.names) == 2
        assert container(simulation)["state"] == "running"

    def test_the_qos_class_may_not_change(self) -> None:
        resize = {"at": "1s", "resize": {"pod": "dpdk", "requests": {"cpu": 1}}}
        simulation = play(ADMIT, resize)
        (entry,) = reported(simulation, EntryKind.FORBIDDEN)
        assert "Pod QOS Class may not change as a result of resizing" in entry.text
        assert container(simulation)["desired"] == "2"

    def test_a_resize_without_a_change_is_not_reported(self) -> None:
        simulation = play(ADMIT, UP, {"at": "1s", "resize": {"pod": "dpdk", "cpu": 4}})
        assert len(reported(simulation, EntryKind.RESIZE_ACCEPTED)) == 1

    def test_events_of_missing_pods_are_ignored(self) -> None:
        simulation = play(DOWN, {"at": "3s", "remove": "dpdk"}, {"at": "3s", "start": "dpdk/app"})
        assert len(reported(simulation, EntryKind.IGNORED)) == 3


class TestMachine:
    def test_version_1_of_cgroups_rejects_offline_cpus(self) -> None:
        """The kubelet tries again with every pass, until they run."""
        old = kubelet(failCgroupV1=False)
        events: list[dict[str, Any]] = [
            ADMIT,
            {"at": "1s", "cpus": {"offline": "2,12"}},
            {"at": "1500ms", "resize": {"pod": "dpdk", "cpu": 4}},
        ]
        simulation = play(*events, kubelet=old, cgroupVersion=1, until="10s")
        assert container(simulation)["cgroup"] == "1,11"
        assert len(reported(simulation, EntryKind.CPUSET_REFUSED)) == 1
        simulation = play(
            *events, {"at": "9500ms", "cpus": {"online": "2,12"}}, kubelet=old, cgroupVersion=1, until="10s"
        )
        assert container(simulation)["cgroup"] == "1-2,11-12"

    def test_a_new_kubelet_sees_the_machine_as_it_is(self) -> None:
        simulation = play(
            {"at": "1s", "cpus": {"offline": "19"}},
            {"at": "2s", "stateFile": {"delete": True}},
            {"at": "3s", "kubelet": "restart"},
        )
        assert seen(simulation, "sharedPool") == "0-18"

    def test_without_a_policy_no_cpu_set_is_written(self) -> None:
        configured = {"version": "1.37", "config": {"cpuManagerPolicy": "none"}}
        simulation = play(ADMIT, kubelet=configured, until="1m")
        assert container(simulation)["cgroup"] == ""
        assert seen(simulation, "sharedPool") == ""
        assert reported(simulation, EntryKind.CPUSET_WRITTEN) == []


class TestStateFile:
    def test_a_running_kubelet_does_not_read_it(self) -> None:
        simulation = play(ADMIT, {"at": "1s", "stateFile": {"delete": True}}, until="2s")
        assert seen(simulation, "stateFile") is None
        simulation = play(ADMIT, {"at": "1s", "stateFile": {"delete": True}}, {"at": "2s", "admit": "other"})
        assert seen(simulation, "stateFile")["entries"] == {
            "default/dpdk/app": "1,11",
            "default/other/other": "2,12",
        }

    def test_it_is_rewritten_in_another_format_with_the_first_change_only(self) -> None:
        events: list[dict[str, Any]] = [
            ADMIT,
            {"at": "1s", "kubelet": {"action": "upgrade", "version": "1.37"}},
        ]
        old = {"version": "1.36", "config": config(cpuManagerPolicyOptions={}, featureGates={})}
        members: dict[str, Any] = {"kubelet": old, "apiServer": {}, "pods": ["dpdk=2,1Gi", "other=2,1Gi"]}
        assert seen(play(*events, **members), "stateFile")["format"] == "v2"
        assert seen(play(*events, {"at": "2s", "admit": "other"}, **members), "stateFile")["format"] == "v4"

    def test_a_damaged_one_is_reported_with_the_kubelets_words(self) -> None:
        simulation = play(ADMIT, {"at": "1s", "stateFile": {"text": "{"}}, {"at": "2s", "kubelet": "restart"})
        assert "please drain this node" in seen(simulation, "kubelet")["error"]
        assert seen(simulation, "stateFile")["error"] == "unexpected end of JSON input"


GRACEFUL = small() | {"spec": small()["spec"] | {"scaleDownGracePeriodSeconds": 5}}
BY_POD = {"version": "1.38", "podScaleDownGrace": True, "config": config(cpuManagerPolicyOptions={})}


class TestGraceOfPods:
    """The announced redesign: the wait is on disk, with its end and the boot in which it began."""

    def play(self, *events: dict[str, Any], until: str = "1m") -> Simulation:
        away = {"at": "3s", "kubelet": "stop"}
        return play(ADMIT, UP, DOWN, away, *events, kubelet=BY_POD, pods=[GRACEFUL], until=until)

    def test_a_wait_continues_after_a_restart(self) -> None:
        assert writes(self.play({"at": "4s", "kubelet": "start"}))[-1] == (8 * SECOND, "1-2,11")

    def test_a_wait_that_has_ended_meanwhile_is_over_with_the_first_pass(self) -> None:
        simulation = self.play({"at": "20s", "kubelet": "start"})
        assert writes(simulation)[-1] == (20 * SECOND, "1-2,11")
        assert container(simulation)["actual"] == "3"

    def test_a_meanwhile_reverted_resize_ends_the_wait(self) -> None:
        back = {"at": "3500ms", "resize": {"pod": "dpdk", "cpu": 4}}
        simulation = self.play(back, {"at": "4s", "kubelet": "start"})
        assert container(simulation)["cgroup"] == "1-2,11-12"
        assert simulation.world.disk.waits == {}

    def test_another_size_requested_meanwhile_begins_a_new_wait(self) -> None:
        further = {"at": "3500ms", "resize": {"pod": "dpdk", "cpu": 2}}
        simulation = self.play(further, {"at": "4s", "kubelet": "start"})
        assert writes(simulation)[-1] == (9 * SECOND, "1,11")

    def test_a_reboot_begins_a_new_wait(self) -> None:
        assert writes(self.play({"at": "4s", "kubelet": "reboot"}))[-1] == (9 * SECOND, "1-2,11")

    def test_without_the_preview_the_pod_fails(self) -> None:
        off = {"action": "reconfigure", "config": {}, "podScaleDownGrace": False}
        simulation = self.play({"at": "4s", "kubelet": off})
        assert seen(simulation, "pods")["default/dpdk"]["phase"] == "Failed"
        assert seen(simulation, "sharedPool") == "0-19"


class TestOtherManagers:
    def test_memory_is_restored_from_its_own_file(self) -> None:
        configured = kubelet(
            memoryManagerPolicy="Static",
            kubeReserved={"memory": "1Gi"},
            evictionHard={"memory.available": "0%"},
            reservedMemory=[{"numaNode": 0, "limits": {"memory": "1Gi"}}],
        )
        events = [ADMIT, {"at": "0s", "admit": "other"}, {"at": "5500ms", "kubelet": "restart"}]
        simulation = play(*events, kubelet=configured, until="6s")
        assert seen(simulation, "kubelet")["running"]
        assert simulation.world.kubelet is not None
        assert len(simulation.world.kubelet.node.memory.state.blocks) == 2
        damaged = {"at": "5s", "stateFile": {"file": "memory_manager_state", "text": "{}"}}
        simulation = play(*events, damaged, kubelet=configured, until="6s")
        assert "memory_manager_state" in seen(simulation, "kubelet")["error"]

    def test_metrics_follow_assignments(self) -> None:
        name = "kubelet_cpu_manager_exclusive_cpu_allocation_count"
        counts = [seen(play(ADMIT, UP, DOWN, until=end), "metrics")[name] for end in ("2001ms", "7s", "8s")]
        assert counts == [4, 4, 3]

    def test_infeasible_and_deferred_resizes_are_counted(self) -> None:
        simulation = play(ADMIT, {"at": "1s", "resize": {"pod": "dpdk", "cpu": 1}})
        metrics = seen(simulation, "metrics")
        assert metrics['kubelet_pod_pending_resizes{reason="infeasible"}'] == 1
        assert metrics['kubelet_pod_pending_resizes{reason="deferred"}'] == 0
