"""A log of a runtime's requests is replayed: pods from their containers' resources, CPU sets compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cpuctl.documents.document import Value
from cpuctl.errors import InputError
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.sources import Sources
from cpuctl.operations.replay import TimelineInputs, load_timeline
from cpuctl.pods.model import ResourceRequirements
from cpuctl.pods.qos import pod_qos
from cpuctl.records import replace
from cpuctl.timeline.model import Resize, Timeline
from cpuctl.timeline.report.views import containers_view
from cpuctl.timeline.runtime_log import is_runtime_log, member, number_of, read_requests
from cpuctl.timeline.world.entries import EntryKind
from tests.timeline.replaying import replay
from tests.timeline.runtime_logged import Log, container, sandbox

GI = 1 << 30
STATIC = "--cpu-manager-policy=static --reserved-cpus=0,4"
RECORDED = Path(__file__).parents[2] / "fixtures/logs/runtime-requests.log"
WEB, DB, JOB = sandbox("web", "burstable"), sandbox("db"), sandbox("job")
APP = container(WEB, "app", 500, 1000, cpus="0-7", memory=GI)
MAIN = container(DB, "main", 2000, 2000, cpus="1,5", memory=GI)


def load(tmp_path: Path, text: str, sources: Sources | None = None, **more: Any) -> Timeline:
    """Read a log on a machine of four cores."""
    (tmp_path / "nri.log").write_text(text)
    words = TimelineInputs(
        str(tmp_path / "nri.log"),
        more.pop("machine", "synthetic:1s1n4c2t"),
        kubelet=KubeletInputs(arguments=more.pop("arguments", STATIC), version="1.36"),
        **more,
    )
    return load_timeline(words, sources or Sources())


def amounts(resources: ResourceRequirements) -> tuple[dict[str, str], dict[str, str]]:
    return tuple({name: str(each) for name, each in side.items()} for _, side in resources.sides)  # type: ignore[return-value]


def test_the_kubelets_requests_match_the_engines_decisions(tmp_path: Path) -> None:
    sources = Sources()
    log = Log().run(WEB, APP).run(DB, MAIN).add("StopPodSandbox", after=60, pod=DB)
    timeline = load(tmp_path, log.written(), sources)
    simulation = replay(timeline)
    assert (simulation.failures, simulation.checked) == ([], 2)
    assert timeline.log.endswith("nri.log")
    web, db = timeline.pods["default/web"].pod, timeline.pods["default/db"].pod
    assert (pod_qos(web).qos_class, pod_qos(db).qos_class, db.uid) == ("Burstable", "Guaranteed", "uid-db")
    assert amounts(web.containers[0].resources) == (
        {"cpu": "500m", "memory": "0"},
        {"cpu": "1", "memory": str(GI)},
    )
    assert amounts(db.containers[0].resources) == ({"cpu": "2", "memory": str(GI)},) * 2
    assert list(containers_view(simulation.world)) == ["default/web/app"], "db is gone"
    reported = "\n".join(sources.warnings)
    assert (
        "pods derived from the containers' settings, without devices and pod-level resources: default/db, "
        in reported
    )
    assert "unknown memory requests, assumed to be none: default/web" in reported
    assert "hunter2" not in repr(timeline)


def test_the_requests_to_a_real_runtime(tmp_path: Path) -> None:
    """Recorded by nri-logger 0.6.1 with containerd 1.7.24, while a plugin assigned CPUs from a plan.

    Requests that a replay does not use are left out (PostCreateContainer and others).
    """
    simulation = replay(
        load(
            tmp_path,
            RECORDED.read_text(),
            machine="synthetic:2s2n4c2t,near",
            arguments=STATIC.replace("4", "8"),
        )
    )
    assert (simulation.failures, simulation.checked) == ([], 3)
    reported = {entry.kind: entry.text for entry in simulation.world.entries if entry.pod == "default/b"}
    assert reported[EntryKind.RESIZE_ACCEPTED] == "resize is accepted: b 1 to 1500m CPUs"
    assert {name: each["cgroup"] for name, each in containers_view(simulation.world).items()} == {
        "default/early/main": "0-1,8-15",  # until the next pass of the CPU Manager
        "default/a/a": "2-5",
        "default/b/b": "0-1,8-15",
    }


def test_cpus_other_than_the_engines_are_a_difference(tmp_path: Path) -> None:
    other = container(DB, "main", 2000, 2000, cpus="2,6", memory=GI)
    log = Log().run(WEB, APP).run(DB, other)
    (failure,) = replay(load(tmp_path, log.written())).failures
    assert (failure.what, failure.expected, failure.found) == (
        'containers["default/db/main"].cgroup',
        "2,6",
        "1,5",
    )
    line = line_of(log.written(), '"CreateContainer: pod', 2)
    assert failure.place.endswith(f"nri.log line {line}")


def line_of(text: str, what: str, count: int) -> int:
    return [number for number, line in enumerate(text.split("\n"), 1) if what in line][count - 1]


def test_terminal_output_and_a_kubectl_log_are_read_the_same(tmp_path: Path) -> None:
    log = Log().run(WEB, APP).run(DB, MAIN)
    written = load(tmp_path, log.written())
    stamped = "".join(f"2026-03-02T10:00:00.1Z {line}\n" for line in log.written().splitlines())
    for text in (log.shown(), stamped):
        assert is_runtime_log(text)
        again = load(tmp_path, text)
        assert [replace(each, where=None) for each in again.moments] == [
            replace(each, where=None) for each in written.moments
        ]


def test_a_container_that_runs_already_keeps_its_cpus(tmp_path: Path) -> None:
    """A fresh engine would pick 1,5 for it, and 2,6 for the new one."""
    sources = Sources()
    main = container(DB, "main", 2000, 2000, cpus="3,7", memory=GI) | {"created_at": 5}
    app = APP | {"created_at": 7, "linux": APP["linux"]}
    late = container(JOB, "main", 2000, 2000, cpus="1,5", memory=GI)
    log = Log().add("Synchronize", pods=[WEB, DB], containers=[app, main]).run(JOB, late)
    simulation = replay(load(tmp_path, log.written(), sources))
    assert simulation.failures == []
    seen = containers_view(simulation.world)
    assert {name: each["cgroup"] for name, each in seen.items()} == {
        "default/db/main": "3,7",
        "default/web/app": "0-2,4-6",  # until the next pass of the CPU Manager
        "default/job/main": "1,5",
    }
    assert any("2 pods already running when the log begins" in each for each in sources.warnings)


def test_a_container_that_ends_before_another_comes_is_an_init_container(tmp_path: Path) -> None:
    first = container(DB, "first", 4000, 4000, cpus="1-2,5-6", memory=GI)
    log = Log().add("RunPodSandbox", pod=DB).add("CreateContainer", pod=DB, container=first)
    log.add("StopContainer", pod=DB, container=first).add("CreateContainer", pod=DB, container=MAIN)
    sources = Sources()
    timeline = load(tmp_path, log.written(), sources)
    pod = timeline.pods["default/db"].pod
    assert ([each.name for each in pod.init_containers], [each.name for each in pod.containers]) == (
        ["first"],
        ["main"],
    )
    assert replay(timeline).failures == []
    assert any("assumed to be init containers: default/db" in each for each in sources.warnings)


def test_restarts_and_new_sandboxes_do_not_move_a_pod(tmp_path: Path) -> None:
    log = Log().run(DB, MAIN)
    log.add("StopContainer", after=30, pod=DB, container=MAIN).add("CreateContainer", pod=DB, container=MAIN)
    log.add("StopPodSandbox", pod=DB).run(DB | {"id": "another"}, MAIN)
    simulation = replay(load(tmp_path, log.written()))
    assert simulation.failures == []
    kinds = [entry.kind for entry in simulation.world.entries]
    assert (kinds.count(EntryKind.ADMITTED), kinds.count(EntryKind.REMOVED)) == (1, 0)


@pytest.mark.parametrize("synchronized", [False, True])
def test_a_forcibly_replaced_pod_is_gone_when_the_new_one_starts(tmp_path: Path, synchronized: bool) -> None:
    """It is already deleted in the API and its CPUs are reassigned while its containers still end."""
    other = DB | {"uid": "uid-2", "id": "box2"}
    again = MAIN | {"pod_sandbox_id": "box2", "id": "again"}
    log = Log()
    if synchronized:
        first, second = MAIN | {"created_at": 5}, again | {"created_at": 7}
        log.add("Synchronize", pods=[DB, other], containers=[first, second])
    else:
        log.run(DB, MAIN).run(other, again)
    for name in ("StopContainer", "RemoveContainer"):
        log.add(name, pod=DB, container=MAIN)
    log.add("StopPodSandbox", pod=DB).add("RemovePodSandbox", pod=DB)
    sources = Sources()
    simulation = replay(load(tmp_path, log.written(), sources))
    assert simulation.failures == []
    kinds = [entry.kind for entry in simulation.world.entries if entry.pod]
    comes = [EntryKind.ADMITTED, EntryKind.CONTAINER_STARTED]
    if synchronized:
        assert kinds[-2:] == comes
        assert EntryKind.REMOVED not in kinds, "only one was ever there"
    else:
        assert kinds == [*comes, EntryKind.REMOVED, *comes]
    assert containers_view(simulation.world)["default/db/main"]["cgroup"] == "1,5"
    made = (
        "pods derived from the containers' settings, without devices and pod-level resources: default/db; "
        "use -f"
    )
    assert made in "\n".join(sources.warnings)


def test_a_manifest_takes_precedence(tmp_path: Path) -> None:
    sources = Sources()
    (tmp_path / "pods.yaml").write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: db}, spec: {containers: [{name: main, resources: "
        "{limits: {cpu: 2, memory: 1Gi}}}]}}"
    )
    log = Log().run(DB, MAIN)
    timeline = load(tmp_path, log.written(), sources, filenames=(str(tmp_path / "pods.yaml"),))
    assert replay(timeline).failures == []
    assert timeline.pods["default/db"].pod.uid == "uid-db"
    assert not any("made from" in each for each in sources.warnings)


def test_a_change_of_limits_is_a_resize_but_a_written_cpu_set_is_not(tmp_path: Path) -> None:
    set_only = {"cpu": {"shares": {}, "quota": {}, "period": {}, "cpus": "0,2-4,6-7"}}
    more = {"cpu": {"shares": {"value": 1024}, "quota": {"value": 200_000}, "period": {"value": 100_000}}}
    log = Log().run(WEB, APP)
    log.add("UpdateContainer", pod=WEB, container=APP, resources=set_only)
    log.add("UpdateContainer", pod=WEB, container=APP, resources=more)
    timeline = load(tmp_path, log.written())
    (resize,) = (each.event for each in timeline.moments if isinstance(each.event, Resize))
    assert amounts(resize.resources["app"]) == ({"cpu": "1"}, {"cpu": "2"})
    accepted = [each for each in replay(timeline).world.entries if each.kind is EntryKind.RESIZE_ACCEPTED]
    assert [each.text for each in accepted] == ["resize is accepted: app 500m to 1 CPUs"]


def test_the_pool_is_compared_only_while_nothing_moves(tmp_path: Path) -> None:
    """The kubelet has admitted db before the sandbox of web, so web's containers already share fewer CPUs."""
    early = container(WEB, "app", 500, 1000, cpus="0,2-4,6-7", memory=GI)
    busy = Log().run(WEB, early).run(DB, MAIN, after=2)
    assert replay(load(tmp_path, busy.written())).failures == []
    calm = Log().run(WEB, early).run(DB, MAIN, after=60)
    assert [each.expected for each in replay(load(tmp_path, calm.written())).failures] == ["0,2-4,6-7"]


def test_a_node_without_the_policy_requests_no_cpus(tmp_path: Path) -> None:
    log = Log().run(DB, container(DB, "main", 2000, 2000, memory=GI))
    assert replay(load(tmp_path, log.written(), arguments="--cpu-manager-policy=none")).failures == []
    (failure,) = replay(load(tmp_path, log.written())).failures
    assert (failure.expected, failure.found) == ("", "1,5")


def test_numbers_are_read_in_every_form() -> None:
    forms: list[Value] = [{"value": 7}, {}, "7", {"value": "-1"}, 7, None, "x", True]
    assert [number_of(each) for each in forms] == [7, 0, 7, -1, 7, None, None, None]
    assert member({"podSandboxId": "a"}, "pod_sandbox_id") == "a"
    assert member({"pod_sandbox_id": "a"}, "pod_sandbox_id", "more") is None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (Log().add("Synchronize", pods=None, containers=None).written(), "does not mention any pod"),
        (Log().add("RunPodSandbox", pod="[").written().replace("'['", "["), "RunPodSandbox: pod: "),
        (Log().run(DB, container(DB, "main", 2000, 2000, cpus="5-1", memory=GI)).written(), "cpus: "),
    ],
)
def test_unusable_requests_are_reported_with_their_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint) as raised:
        load(tmp_path, text)
    assert "nri.log" in raised.value.where


def test_a_log_that_begins_or_ends_within_a_request_is_read_as_far_as_possible() -> None:
    lines = Log().run(DB, MAIN).run(WEB, APP).written().split("\n")
    whole = [(each.name, each.objects.keys()) for each in read_requests("\n".join(lines), "log")]
    begun = [(each.name, each.objects.keys()) for each in read_requests("\n".join(lines[4:]), "log")]
    assert begun == whole[1:]
