"""A plugin against a runtime that implements the other side of the real protocol."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from cpuctl.errors import InputError
from cpuctl.nri import plugin
from cpuctl.nri.model import Answer, RuntimeContainer
from cpuctl.nri.planned import PlannedPlaces
from cpuctl.nri.protocol import PLUGIN_SERVICE, Caller, ConnectionNumber, messages, pack_piece
from cpuctl.nri.reconciler import Reconciler
from tests.nri.conftest import PLAN, Play, cpus
from tests.nri.runtime import FakeRuntime, Running, pod

EVENTS = {2, 3, 4, 5, 7, 8, 10, 11}


def test_it_registers_and_subscribes_to_the_events_it_needs(play: Play) -> None:
    scene = play(PlannedPlaces(PLAN))
    registered = scene.runtime.registered
    assert (registered.plugin_name, registered.plugin_idx) == ("cpuctl", "10")
    assert {number for number in range(1, 32) if scene.runtime.events >> number - 1 & 1} == EVENTS
    assert scene.log.says(
        "registered as 10-cpuctl with fake 1.0, whose timeout is 20 s: answering within 2 s"
    )


@pytest.mark.parametrize("per_event", [False, True])
def test_containers_run_as_planned_and_others_on_the_remaining_cpus(play: Play, per_event: bool) -> None:
    runtime = play(PlannedPlaces(PLAN)).runtime
    runtime.per_event = per_event
    other = runtime.create(pod("other"), "main")
    assert other.cpus == "0-15"
    web = pod("web", "shop")
    app, log = runtime.create(web, "app"), runtime.create(web, "log")
    assert runtime.sets() == {
        "default/other/main": ("0-1,6-15", ""),
        "shop/web/app": ("2-5", "0"),
        "shop/web/log": ("0-1,6-15", ""),
    }
    db = pod("db", "shop")
    init = runtime.create(db, "init")
    assert (init.cpus, init.mems, log.cpus) == ("6-9", "1", "0-1,10-15")
    runtime.stop_container(init)
    assert log.cpus == "0-1,8-15"  # two of them are kept for the next container
    assert runtime.create(db, "app").cpus == "6-7"
    runtime.stop_container(app)
    assert (log.cpus, other.cpus) == ("0-5,8-15",) * 2
    app = runtime.create(web, "app", number=1)
    assert (app.cpus, log.cpus) == ("2-5", "0-1,8-15")
    runtime.stop_pod(web)
    runtime.stop_pod(db)
    runtime.serve()
    assert runtime.sets() == {"default/other/main": ("0-15", "")}


def test_cpus_left_by_an_init_container_are_kept_for_its_pod(play: Play) -> None:
    """Neither the removal of another pod nor of the pod's own older sandbox releases it."""
    runtime = play(PlannedPlaces(PLAN)).runtime
    other = runtime.create(pod("other"), "main")
    older = runtime.create(pod("db", "shop"), "app")
    db = pod("db", "shop", number=1)
    init = runtime.create(db, "init")
    runtime.create(pod("web", "shop"), "app")
    runtime.stop_container(init)
    runtime.stop_container(older)
    runtime.stop_pod(older.pod)
    runtime.stop_pod(pod("web", "shop"))
    runtime.serve()
    assert other.cpus == "0-5,8-15", "6-7 are the next container's"
    runtime.stop_pod(db)
    runtime.serve()
    assert other.cpus == "0-15"


def test_running_containers_are_corrected_at_once(play: Play, tmp_path: Path) -> None:
    runtime = running(tmp_path)
    scene = play(PlannedPlaces(PLAN), runtime)
    assert runtime.sets() == {
        "shop/web/app": ("2-5", "0"),
        "shop/web/log": ("0-1,6-15", ""),
        "default/kept/main": ("0-1,6-15", ""),
    }
    (event,) = scene.log.reported(1)
    assert event[0] == "SYNCHRONIZE"
    # Shrinking containers come first: no container gets CPUs that others still run on.
    assert [update.container.name for update in event[1].updates] == ["log", "main", "app"]


def running(folder: Path, limit: int = 1000) -> FakeRuntime:
    runtime = FakeRuntime(folder / "nri.sock", limit=limit)
    web, kept = runtime.run_pod(pod("web", "shop")), runtime.run_pod(pod("kept"))
    for sandbox, name, given in ((web, "app", "0-15"), (web, "log", ""), (kept, "main", "0-15")):
        runtime.containers[name] = Running(name, name, sandbox, given)
    runtime.containers["old"] = Running("old", "app", web, "0-15", state=4)
    return runtime


def test_many_containers_arrive_in_several_messages(play: Play, tmp_path: Path) -> None:
    runtime = running(tmp_path, limit=1)
    play(PlannedPlaces(PLAN), runtime)
    assert runtime.sets()["shop/web/app"] == ("2-5", "0")


def test_it_connects_again_when_the_runtime_restarts(play: Play) -> None:
    scene = play(PlannedPlaces(PLAN))
    runtime = scene.runtime
    app = runtime.create(pod("web", "shop"), "app")
    runtime.close()
    app.cpus = "0-15"  # another process has written it meanwhile
    runtime.accept()
    assert app.cpus == "2-5"
    assert scene.log.says("the runtime closed the connection: reconnecting")


def test_cpus_set_by_other_components_are_overridden_and_reported(play: Play) -> None:
    scene = play(PlannedPlaces(PLAN))
    app = scene.runtime.create(pod("web", "shop"), "app", cpus="0-15")
    assert app.cpus == "2-5"
    scene.runtime.update(app, "0-7")
    assert app.cpus == "2-5"
    scene.runtime.update(app, "")
    assert scene.log.says("shop/web/app is created with CPUs 0-15 set by another component")
    assert scene.log.says("shop/web/app: update to CPUs 0-7 requested, but it stays on 2-5")


def test_values_that_a_container_has_already_are_not_set_again(play: Play) -> None:
    """A second plugin with the same plan, started by mistake, does not block the creation of containers."""
    scene = play(PlannedPlaces(PLAN))
    adjusts = []
    for given in (("2-5", "0"), ("2-5", ""), ("0-7", "0")):
        new = Running("new", "app", pod("web", "shop"), *given)
        request = messages()["ContainerEvent"](pod=new.pod, container=new.message())
        answer = scene.runtime.call("CreateContainer", request, "CreateContainerResponse")
        cpu = answer.adjust.linux.resources.cpu
        adjusts.append((answer.HasField("adjust"), cpu.cpus, cpu.mems))
    assert adjusts == [(False, "", ""), (True, "", "0"), (True, "2-5", "")]


def test_a_dry_run_reports_the_same_and_changes_nothing(play: Play, tmp_path: Path) -> None:
    runtime = running(tmp_path)
    scene = play(PlannedPlaces(PLAN), runtime, dry_run=True)
    before = dict(runtime.sets())
    db = runtime.create(pod("db", "shop"), "app")
    assert (db.cpus, runtime.sets()) == ("", {**before, "shop/db/app": ("", "")})
    (_, synchronized, first), (_, created, second) = scene.log.reported(2)
    assert (first, second) == ("DryRun", "DryRun")
    assert [str(each.setting.cpus) for each in synchronized.updates] == ["0-1,6-15", "0-1,6-15", "2-5"]
    assert created.adjust == ("6-7", "1")
    assert {each.setting.cpus for each in created.updates} == {"0-1,10-15"}


class Slow(PlannedPlaces):
    """Delays its decision on one container."""

    seconds = 0.0

    def arrive(self, container: RuntimeContainer) -> Iterable[str]:
        if container.name == "app":
            time.sleep(self.seconds)
        return super().arrive(container)


def test_a_slow_decision_passes_the_container_through_and_corrects_it_later(
    play: Play, tmp_path: Path
) -> None:
    placer = Slow(PLAN)
    scene = play(placer, FakeRuntime(tmp_path / "nri.sock", timeout_ms=2000))
    log = scene.runtime.create(pod("web", "shop"), "log")
    placer.seconds = 0.5
    begun = time.monotonic()
    app = scene.runtime.create(pod("web", "shop"), "app")
    assert time.monotonic() - begun < 0.45, "the runtime waits no longer than its plugin may take"
    assert app.cpus == ""
    scene.runtime.serve(1.0)
    assert (app.cpus, log.cpus) == ("2-5", "0-1,6-15")
    scene.runtime.create(pod("zoo"), "app")
    assert scene.log.says("default/zoo/app is not in the plan, and runs in the shared pool")
    assert scene.log.says(
        "CREATE_CONTAINER: no answer within 0.2 s: passed through unchanged, to be corrected later"
    )


def test_earlier_updates_do_not_undo_the_answer_for_a_new_container(play: Play) -> None:
    """A runtime sends updates only after it has created the current container."""
    runtime = play(PlannedPlaces(PLAN)).runtime
    other = runtime.create(pod("other"), "main")
    web = pod("web", "shop")
    runtime.create(web, "app")
    runtime.stop_pod(web)
    runtime.requested()  # so that the pool grows
    app = runtime.create(pod("web", "shop", number=1), "app")
    runtime.serve()
    assert {"0-15", "0-1,6-15"} == {cpus for each in runtime.unsolicited for cpus in each.values()}
    assert (app.cpus, other.cpus) == ("2-5", "0-1,6-15")


def test_updates_included_in_a_later_answer_are_not_sent(play: Play) -> None:
    runtime = play(PlannedPlaces(PLAN)).runtime
    other = runtime.create(pod("other"), "main")
    web = pod("web", "shop")
    app = runtime.create(web, "app")
    again = messages()["ContainerEvent"](pod=pod("web", "shop", number=1), container=app.message())
    again.container.id = "again"
    again.container.linux.Clear()
    gone = messages()["StateChangeEvent"](event=2, pod=web)
    del runtime.containers[app.id]
    both = runtime.packed("StateChange", gone.SerializeToString())
    runtime.send(both + runtime.packed("CreateContainer", again.SerializeToString()))
    answer = messages()["CreateContainerResponse"].FromString(runtime.reply().payload)
    assert (answer.adjust.linux.resources.cpu.cpus, list(answer.update)) == ("2-5", [])
    runtime.serve()
    assert (runtime.unsolicited, other.cpus) == ([], "0-1,6-15")


class Broken(PlannedPlaces):
    """Fails, as a policy may."""

    def arrive(self, container: RuntimeContainer) -> Iterable[str]:
        if container.name == "app":
            raise InputError("no idea")
        if container.name == "worse":
            raise ZeroDivisionError("oh")
        return super().arrive(container)


def test_a_failure_passes_the_container_through(play: Play) -> None:
    scene = play(Broken(PLAN))
    runtime = scene.runtime
    failed = runtime.create(pod("a"), "app"), runtime.create(pod("b"), "worse")
    assert [each for each in scene.log.reported(2) if each[2] != "Answered"] == [
        ("CREATE_CONTAINER", Answer(), "Failed")
    ] * 2
    runtime.serve()
    assert {each.cpus for each in failed} == {"0-15"}, "it is put right as soon as it can be"
    assert runtime.create(pod("web", "shop"), "log").cpus == "0-1,6-15"
    assert scene.log.says("CREATE_CONTAINER: no idea: passed through unchanged")
    assert scene.log.says("internal error: ZeroDivisionError: oh: passed through unchanged")


def test_failed_updates_are_sent_again(play: Play) -> None:
    scene = play(PlannedPlaces(PLAN))
    runtime = scene.runtime
    log = runtime.create(pod("other"), "main")
    web = pod("web", "shop")
    runtime.create(web, "app")
    runtime.fails = {log.id}
    runtime.stop_pod(web)
    runtime.serve()
    assert log.cpus == "0-1,6-15"
    runtime.fails = set()
    runtime.create(pod("third"), "main")
    runtime.serve()
    assert log.cpus == "0-15"


def test_an_invalid_message_fails_no_container_and_the_next_call_is_answered(play: Play) -> None:
    scene = play(PlannedPlaces(PLAN))
    runtime = scene.runtime
    for method in ("CreateContainer", "StateChange"):
        passed = runtime.exchange(method, b"\xff\xff\xff")
        assert (passed.status.code, passed.payload) == (0, b"")
        assert scene.log.says(f"{method}: 3 bytes do not form a valid ")
    assert runtime.exchange("Synchronize", b"\xff\xff\xff").status.code == 3
    assert runtime.exchange("Juggle", b"").status.code == 12
    assert runtime.exchange("Configure", b"", service="ttrpc.health").status.code == 12
    for number in (99, 4, 8, 10):
        reported = runtime.exchange(
            "StateChange", messages()["StateChangeEvent"](event=number).SerializeToString()
        )
        assert (reported.status.code, reported.payload) == (0, b""), (
            "events with a separate call are not sent this way"
        )
    assert [name for name, *_ in scene.log.events] == ["SYNCHRONIZE"]
    runtime.send(pack_piece(7, b"for nobody"))
    runtime.call("Shutdown", messages()["Empty"](), "Empty", PLUGIN_SERVICE)
    assert runtime.create(pod("web", "shop"), "app").cpus == "2-5"


def test_internal_errors_are_reported_and_do_not_end_the_plugin(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This covers errors while calls are served as well as errors after the answer."""
    scene = play(PlannedPlaces(PLAN))
    runtime = scene.runtime
    patience = messages()["ConfigureRequest"](request_timeout=2**63 - 1)
    runtime.call("Configure", patience, "ConfigureResponse")
    app = runtime.create(pod("web", "shop"), "app")
    assert app.cpus == "2-5"

    def fails(*_: object) -> None:
        raise ZeroDivisionError("oh")

    with monkeypatch.context() as broken:
        broken.setattr(plugin, "container_of", fails)
        assert runtime.create(pod("other"), "main").cpus == ""
        assert scene.log.says(
            "CreateContainer: internal error: ZeroDivisionError: oh: passed through unchanged"
        )
        with pytest.raises(RuntimeError, match="internal error"):
            runtime.call("Synchronize", runtime.everything(), "SynchronizeResponse")
    runtime.create(pod("third"), "main")
    for method in ("created", "delivered", "confirmed", "pod_gone"):
        with monkeypatch.context() as broken:
            broken.setattr(Reconciler, method, fails)
            runtime.stop_pod(runtime.create(pod("db", "shop"), "app").pod)
            runtime.serve()
            assert scene.log.says("internal error: ZeroDivisionError: oh")
            scene.log.lines.clear()
    with monkeypatch.context() as broken:
        broken.setattr(Caller, "received", fails)
        runtime.send(b"\0")
        assert scene.log.says("internal error: ZeroDivisionError: oh: reconnecting")
    runtime.accept()
    assert runtime.create(pod("db", "shop"), "app").cpus == "6-7"


def test_an_invalid_frame_ends_the_connection_and_a_new_one_begins(play: Play) -> None:
    scene = play(PlannedPlaces(PLAN))
    scene.runtime.send(pack_piece(ConnectionNumber.PLUGIN, b"\xff" * 20))
    scene.runtime.accept()
    assert scene.runtime.create(pod("web", "shop"), "app").cpus == "2-5"
    assert scene.log.says("connection lost (a message has 4294967295 bytes")


def test_an_empty_pool_is_reported(play: Play) -> None:
    whole = PLAN._replace(pool=cpus(""), pods={**PLAN.pods})
    scene = play(PlannedPlaces(whole))
    scene.runtime.create(pod("web", "shop"), "app")
    scene.runtime.create(pod("db", "shop"), "init")
    assert scene.runtime.create(pod("other"), "main").cpus == ""
    assert scene.log.says("the shared pool is empty: default/other/main keeps its current CPUs")


def test_earlier_containers_keep_cpus_that_the_plan_does_not_assign(play: Play) -> None:
    smaller = PLAN._replace(pool=cpus("0-1,10-13"))
    scene = play(PlannedPlaces(smaller))
    assert scene.runtime.create(pod("older"), "main", cpus="14-15").cpus == "14-15"
    assert scene.log.says("default/older/main stays on CPUs 14-15, which the plan does not assign")


def test_a_plan_without_cpus_sets_only_memory_nodes(play: Play) -> None:
    runtime = play(PlannedPlaces(PLAN._replace(pool=None))).runtime
    assert runtime.create(pod("web", "shop"), "app").mems == "0"
    assert set(runtime.sets().values()) == {("", "0")}
    assert runtime.create(pod("other"), "main").cpus == ""


def test_it_stops_at_once_when_told_to(play: Play) -> None:
    scene = play(PlannedPlaces(PLAN))
    assert scene.runtime.create(pod("a"), "main").cpus == "0-15"
    begun = time.monotonic()
    scene.plugin.stop()
    with pytest.raises(EOFError):
        scene.runtime.serve(5)
    assert time.monotonic() - begun < 2
    assert threading.active_count() < 20
    assert scene.log.says("stopping: containers keep their CPUs")
