"""Timelines as text: what is read, and how every mistake is reported with file, line and path."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml

from cpuctl.engine.outcome import KubeletFault, StartRefused
from cpuctl.errors import InputError
from cpuctl.golang.durations import MILLISECOND, SECOND
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.timeline.model import (
    Admit,
    ContainerEvent,
    HotplugEvent,
    KubeletAction,
    KubeletEvent,
    ServerEvent,
    StateFileEdit,
    StateFilePatch,
    Timeline,
    Timing,
    Update,
)
from cpuctl.timeline.reading.document import TimelineLoaders, read_timeline
from tests.timeline.replaying import OUTSIDE, config, document, read, small


def test_omitted_members_have_defaults() -> None:
    timeline = read({**document(), "kubelet": {}, "apiServer": {}})
    assert (timeline.setup.version, timeline.running, timeline.setup.preview) == ("1.36", True, True)
    assert timeline.server.gates.minor == 36
    assert timeline.timing == Timing(volume_sync=100 * MILLISECOND, pod_sync=0, reconcile_pass=0)
    assert (timeline.cgroup_version, timeline.defers_actual, timeline.until) == (2, True, 0)


def test_a_kubelet_without_a_release_gets_one_that_has_its_gates() -> None:
    def begun(gates: dict[str, bool], *events: dict[str, Any], **reported: str) -> Timeline:
        kubelet = {**reported, "config": config(featureGates=gates)}
        return read(document(*events, kubelet=kubelet, apiServer={}))

    timeline = begun(
        {"CPUManager": True, "AllBeta": False, "Nobody": True}, {"at": "1s", "kubelet": "restart"}
    )
    assert (timeline.setup.version, timeline.server.gates.minor) == ("1.32", 32)
    assert timeline.assumed == (
        "timeline.yaml:7: kubelet: kubelet 1.36 has no feature gate CPUManager: 1.32 is assumed, the newest "
        "with all of these gates (set version to choose another one)"
    )
    (moment,) = timeline.moments
    assert isinstance(moment.event, KubeletEvent)
    assert moment.event.setup.version == "1.32"
    for whole in (begun({"MemoryQoS": True}), begun({"CPUManager": True}, version="1.36")):
        assert (whole.setup.version, whole.assumed) == ("1.36", "")


def test_events_are_in_order_of_time_and_of_equal_times_as_listed() -> None:
    events: list[dict[str, Any]] = [
        {"at": "2s", "remove": "dpdk"},
        {"at": "1s", "admit": "other"},
        {"at": "1s", "admit": "dpdk"},
        {"at": 0},
    ]
    timeline = read(document(*events))
    assert [moment.at // SECOND for moment in timeline.moments] == [0, 1, 1, 2]
    assert isinstance(timeline.moments[1].event, Admit)
    assert timeline.moments[1].event.pod.pod.name == "other"
    assert timeline.until == 2 * SECOND


def test_the_field_of_the_downward_api_is_found_in_projected_volumes_too() -> None:
    pod = small()
    (own,) = pod["spec"]["volumes"]
    pod["spec"]["volumes"] = [
        {"name": "others", "emptyDir": {}},
        {"name": "podinfo", "projected": {"sources": [{"secret": {}}, {"downwardAPI": own["downwardAPI"]}]}},
    ]
    assert read(document(pods=[pod])).pods["default/dpdk"].exposed == {"app"}


def test_every_kind_of_event_is_read() -> None:
    events: list[dict[str, Any]] = [
        {"admit": {"pod": "dpdk", "start": False}},
        {"schedule": "other"},
        {"start": "dpdk/app"},
        {"exit": "default/dpdk/app"},
        {"update": {"pod": "dpdk", "assignedCPUSet": []}},
        {"kubelet": "reboot"},
        {"kubelet": {"action": "restart", "takes": "2s"}},
        {"cpus": {"offline": 3, "online": "core:1"}},
        {"stateFile": {"delete": True}},
        {"stateFile": {"file": "memory_manager_state", "text": "x"}},
        {"stateFile": {"defaultCpuSet": "0-2", "entries": {"dpdk/app": "3", "other/other": None}}},
    ]
    timeline = read(document(*({"at": "1s", **event} for event in events)))
    setup, pods = timeline.setup, timeline.pods
    assert [moment.event for moment in timeline.moments] == [
        Admit(pods["default/dpdk"], start=False),
        Admit(pods["default/other"], scheduled=True),
        ContainerEvent("default/dpdk", "app", starts=True),
        ContainerEvent("default/dpdk", "app", starts=False),
        Update("default/dpdk", frozenset()),
        KubeletEvent(KubeletAction.REBOOT, setup),
        KubeletEvent(KubeletAction.RESTART, setup, 2 * SECOND),
        HotplugEvent(1 << 3, 1 << 1 | 1 << 11),
        StateFileEdit("cpu_manager_state"),
        StateFileEdit("memory_manager_state", "x"),
        StateFilePatch(0b111, {("default/dpdk", "app"): 1 << 3, ("default/other", "other"): None}),
    ]


def test_masks_are_accepted_like_lists_and_need_no_quotes() -> None:
    texts = ("0x6", "'0x6'", "'00000000,00000006'", "1-2", "'1-2'")
    for text in texts:
        events = [{"at": "1s", "cpus": {"offline": "MASK"}}]
        written = yaml.safe_dump(document(*events)).replace("MASK", text)
        timeline = read_timeline(written, "timeline.yaml", OUTSIDE)
        assert timeline.moments[0].event == HotplugEvent(0b110, 0), text


def kubelets(*changes: dict[str, Any], **members: Any) -> list[Kubelet]:
    """Read the successive kubelets of one timeline."""
    events = [{"at": f"{at}s", "kubelet": change} for at, change in enumerate(changes)]
    setups = []
    for moment in read(document(*events, **members)).moments:
        assert isinstance(moment.event, KubeletEvent)
        assert isinstance(moment.event.setup.kubelet, Kubelet)
        setups.append(moment.event.setup.kubelet)
    return setups


def test_every_kubelet_gets_its_changes_and_keeps_the_rest() -> None:
    first, second, third = kubelets(
        {"action": "reconfigure", "config": {"cpuManagerPolicyOptions": {"scale-delay-time": "1s"}}},
        {"action": "reconfigure", "config": {"cpuManagerPolicyOptions": None, "maxPods": 5}},
        {"action": "upgrade", "version": "1.38"},
    )
    assert first.config.cpu_manager_policy_options == {"scale-delay-time": "1s"}
    assert first.config.reserved_system_cpus == "0,10"
    assert (second.config.cpu_manager_policy_options, second.config.max_pods) == ({}, 5)
    assert (third.version.minor, third.config.max_pods) == (38, 5)


def test_a_configuration_may_be_a_file_and_be_changed_later() -> None:
    text = b"kind: KubeletConfiguration\nmaxPods: 7\ncpuManagerPolicy: none\n"
    written = document(
        {"at": "1s", "kubelet": {"action": "reconfigure", "config": {"maxPods": 8}}},
        kubelet={"config": "beside/kubelet.yaml"},
        apiServer={},
    )
    files: list[str] = []

    def file(name: str) -> bytes:
        files.append(name)
        return text

    timeline = read_timeline(yaml.safe_dump(written), "t.yaml", TimelineLoaders(OUTSIDE.machine, file))
    (moment,) = timeline.moments
    assert files == ["beside/kubelet.yaml"]
    assert isinstance(timeline.setup.kubelet, Kubelet)
    assert timeline.setup.kubelet.config.max_pods == 7
    assert isinstance(moment.event, KubeletEvent)
    assert isinstance(moment.event.setup.kubelet, Kubelet)
    assert moment.event.setup.kubelet.config.max_pods == 8


@pytest.mark.parametrize(
    ("reported", "refusal"),
    [
        ({"cpuManagerPolicy": 5}, StartRefused),
        ({"maxPods": "many"}, StartRefused),
        ({"featureGates": {"NoSuchGate": True}}, KubeletFault),
    ],
)
def test_a_configuration_that_a_kubelet_rejects_is_not_an_error_of_the_timeline(
    reported: dict[str, Any], refusal: type
) -> None:
    setup = read(document(kubelet={"config": reported}, apiServer={})).setup
    if refusal is KubeletFault:
        assert isinstance(setup.kubelet, Kubelet)  # its start reports that
    else:
        assert isinstance(setup.kubelet, refusal)


@dataclass(frozen=True)
class Mistake:
    """A timeline with problems, the place, and the message."""

    name: str
    where: str
    message: str
    event: dict[str, Any] | None = None
    members: dict[str, Any] = field(default_factory=dict)
    hint: str = ""


def at(event: dict[str, Any]) -> dict[str, Any]:
    return {"at": "1s", **event}


MISTAKES = [
    Mistake("kind", "kind", 'expected Timeline, found the string "Plan"', members={"kind": "Plan"}),
    Mistake(
        "version",
        "apiVersion",
        'expected cpuctl/v1alpha1, found the string "v1"',
        members={"apiVersion": "v1"},
    ),
    Mistake(
        "misspelt",
        "evnets",
        "unknown key evnets",
        members={"evnets": []},
        hint="did you mean events?",
    ),
    Mistake("machine", "machine: synthetic:1q", "", members={"machine": "synthetic:1q"}),
    Mistake("no machine", "", "machine is missing", members={"machine": None}),
    Mistake("no time", "events[0]", "at is missing", {"admit": "dpdk", "at": None}),
    Mistake("bad time", "events[0].at", 'found the string "soon"', {"at": "soon"}),
    Mistake("negative time", "events[0].at", 'found the string "-1s"', {"at": "-1s"}),
    Mistake("time without a unit", "events[0].at", "found the number 5", {"at": 5}),
    Mistake("far future", "events[0].at", "a duration from 0s to 744h", {"at": "745h"}),
    Mistake(
        "two actions",
        "events[0]",
        "expected one action, found admit and remove",
        {"admit": "dpdk", "remove": "dpdk"},
    ),
    Mistake("unknown action", "events[0].kill", "unknown key kill", {"kill": "dpdk"}),
    Mistake(
        "unknown pod",
        "events[0].admit",
        'there is no pod "web"',
        {"admit": "web"},
        hint="pods lists default/dpdk, default/other",
    ),
    Mistake(
        "unknown container",
        "events[0].exit",
        'pod default/dpdk has no container "main"',
        {"exit": "dpdk/main"},
        hint="its containers are app",
    ),
    Mistake("no container", "events[0].start", "expected POD/CONTAINER", {"start": "dpdk"}),
    Mistake("empty resize", "events[0].resize", "expected new amounts", {"resize": {"pod": "dpdk"}}),
    Mistake(
        "bad amount", "events[0].resize.cpu", "expected a quantity", {"resize": {"pod": "dpdk", "cpu": "2x"}}
    ),
    Mistake(
        "resize of what",
        "events[0].resize.containers.main",
        "has no container",
        {"resize": {"pod": "dpdk", "containers": {"main": {"cpu": 2}}}},
    ),
    Mistake(
        "bad word", "events[0].kubelet", "expected one of stop, start, restart, reboot", {"kubelet": "kill"}
    ),
    Mistake(
        "upgrade to the same",
        "events[0].kubelet.version",
        "expected a version newer than 1.37",
        {"kubelet": {"action": "upgrade", "version": "1.37"}},
    ),
    Mistake(
        "upgrade to nothing", "events[0].kubelet", "version is missing", {"kubelet": {"action": "upgrade"}}
    ),
    Mistake(
        "downgrade to a newer one",
        "events[0].kubelet.version",
        "expected a version older than 1.37",
        {"kubelet": {"action": "downgrade", "version": "1.38"}},
    ),
    Mistake(
        "nothing to reconfigure",
        "events[0].kubelet",
        "config is missing: it lists what changes",
        {"kubelet": {"action": "reconfigure"}},
    ),
    Mistake(
        "other release",
        "events[0].kubelet.version",
        "kubelet 1.99 is not supported: expected 1.27 to 1.38",
        {"kubelet": {"action": "upgrade", "version": "1.99"}},
    ),
    Mistake(
        "CPUs that are not there",
        "events[0].cpus.offline",
        "CPUs 99 are not described by the machine",
        {"cpus": {"offline": "99"}},
    ),
    Mistake("no CPUs", "events[0].cpus", "expected offline or online, with a CPU list", {"cpus": {}}),
    Mistake("nothing edited", "events[0].stateFile", "expected delete: true, text", {"stateFile": {}}),
    Mistake(
        "gates of no release",
        "events[0].apiServer",
        "API server 1.37 would not start with these gates: unrecognized feature gate: Nope",
        {"apiServer": {"featureGates": {"Nope": True}}},
    ),
    Mistake("expects what", "events[0].expect.cgroups", "unknown key cgroups", {"expect": {"cgroups": {}}}),
    Mistake(
        "expects bad CPUs",
        'events[0].expect.containers["dpdk/app"].cgroup',
        "expected a CPU list",
        {"expect": {"containers": {"dpdk/app": {"cgroup": "1-"}}}},
    ),
    Mistake(
        "expects another condition",
        "events[0].expect.pods.dpdk.conditions.Ready",
        "unknown key Ready",
        {"expect": {"pods": {"dpdk": {"conditions": {"Ready": ""}}}}},
    ),
    Mistake(
        "ends too early",
        "until",
        "expected a time not before the last event",
        {"admit": "dpdk"},
        {"until": "500ms"},
    ),
    Mistake("pod twice", "pods[1]", "pod default/dpdk is listed twice", members={"pods": [small(), small()]}),
    Mistake("no pod", "pods[0]", "not a pod template", members={"pods": ["web 4"]}),
    Mistake(
        "another kind",
        "pods[0].kind",
        "expected one of Pod",
        members={"pods": [small() | {"kind": "Deployment"}]},
    ),
    Mistake(
        "long grace",
        "pods[0].spec.scaleDownGracePeriodSeconds",
        "expected a whole number from 0 to 10",
        members={
            "pods": [
                {"metadata": {"name": "a"}, "spec": small()["spec"] | {"scaleDownGracePeriodSeconds": 11}}
            ]
        },
    ),
    Mistake(
        "config of a wrong kind", "kubelet.config", "expected a mapping", members={"kubelet": {"config": [1]}}
    ),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_reported_with_its_place(mistake: Mistake) -> None:
    events = [at(mistake.event)] if mistake.event is not None else []
    written = {**document(*events), **mistake.members}
    with pytest.raises(InputError) as raised:
        read(written)
    assert raised.value.where.startswith("timeline.yaml:")
    assert mistake.where in raised.value.where
    assert mistake.message in raised.value.message
    assert mistake.hint in raised.value.hint


def test_the_line_is_reported() -> None:
    text = "apiVersion: cpuctl/v1alpha1\nkind: Timeline\nmachine: synthetic:1s1n1c1t\nevents:\n- at: never\n"
    with pytest.raises(InputError) as raised:
        read_timeline(text, "t.yaml", OUTSIDE)
    assert str(raised.value).startswith("t.yaml:5: events[0].at: expected a duration")


def test_a_second_document_is_rejected() -> None:
    text = "apiVersion: cpuctl/v1alpha1\nkind: Timeline\nmachine: synthetic:1s1n1c1t\nevents: []\n---\n{}\n"
    with pytest.raises(InputError, match="found a second document"):
        read_timeline(text, "t.yaml", OUTSIDE)


def test_expectations_are_converted_to_the_format_of_answers() -> None:
    expect = {
        "containers": {"dpdk/app": {"cpus": "2-3,1", "pending": None, "actual": "2000m", "weight": 79}},
        "pods": {"dpdk": {"conditions": {"PodResizePending": "Deferred", "PodResizeInProgress": None}}},
        "scheduler": {"cpu": 2},
        "sharedPool": "core:0",
        "slis": {"notification": {"longest": "0.1s"}},
        "stateFile": None,
    }
    (moment,) = read(document({"at": "0s", "expect": expect})).moments
    assert moment.expect == {
        "containers": {"default/dpdk/app": {"cpus": "1-3", "pending": None, "actual": "2", "weight": 79}},
        "pods": {
            "default/dpdk": {
                "conditions": {"PodResizePending": {"reason": "Deferred"}, "PodResizeInProgress": None}
            }
        },
        "scheduler": {"cpu": "2"},
        "sharedPool": "0,10",
        "slis": {"notification": {"longest": "100ms"}},
        "stateFile": None,
    }


def test_the_api_server_keeps_gates_that_its_release_has() -> None:
    events: list[dict[str, Any]] = [
        {"at": "1s", "apiServer": {"version": "1.36"}},
        {"at": "2s", "apiServer": {"version": "1.37"}},
    ]
    timeline = read(document(*events, kubelet={"version": "1.37", "config": config()}))
    servers = [each.event.server for each in timeline.moments if isinstance(each.event, ServerEvent)]
    assert [server.knows_assigned_cpuset for server in servers] == [False, True]
    assert [server.takes_assigned_cpuset for server in servers] == [False, False]
