"""``cpuctl explain --events``: the pod that a kubelet rejected last, and what the kubelet reported."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cpuctl, Result

NODE = ("-m", "synthetic:2s2n4c2t,mem=16Gi", "--kubelet-version", "1.36", "--kubelet-args")
FLAGS = (
    "--cpu-manager-policy=static --reserved-cpus=0 --topology-manager-policy=single-numa-node "
    "--cpu-manager-policy-options=full-pcpus-only=true"
)


def pod(name: str, cpus: int, **status: str) -> dict[str, Any]:
    amounts = {"cpu": str(cpus), "memory": "1Gi"}
    container = {"name": "app", "image": "x", "resources": {"requests": amounts, "limits": amounts}}
    metadata = {"name": name, "namespace": "shop", "uid": f"uid-{name}"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container]},
        "status": status,
    }


def event(name: str, reason: str, last: str, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": name, "uid": f"uid-{name}"},
        "reason": reason,
        "message": f"words of {reason}",
        "source": {"component": "kubelet", "host": "node7"},
        "lastTimestamp": last,
        **more,
    }


def newer_event(name: str, reason: str, last: str) -> dict[str, Any]:
    """Write the same event as ``events.k8s.io/v1``."""
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "regarding": {"kind": "Pod", "namespace": "shop", "name": name, "uid": f"uid-{name}"},
        "reason": reason,
        "note": f"words of {reason}",
        "deprecatedSource": {},
        "reportingInstance": "node7",
        "deprecatedLastTimestamp": None,
        "eventTime": last,
        "series": {"count": 5, "lastObservedTime": last},
    }


def requested(tmp_path: Path, cpuctl: Cpuctl, events: list[dict[str, Any]], *words: str) -> Result:
    """Explain a list of pods, one of which has ended for good and three of which were rejected."""
    pods = [
        pod("done", 2, phase="Succeeded"),
        pod("new", 2),
        pod("odd", 3, phase="Failed", reason="SMTAlignmentError"),
        pod("wide", 10, phase="Failed", reason="TopologyAffinityError"),
        pod("small", 2, phase="Failed", reason="UnexpectedAdmissionError"),
    ]
    (tmp_path / "pods.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
    (tmp_path / "events.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "EventList", "items": events})
    )
    files = ("-f", str(tmp_path / "pods.json"), "--events", str(tmp_path / "events.json"))
    return cpuctl("explain", *words, *NODE, FLAGS, *files)


ODD = event("odd", "SMTAlignmentError", "2026-11-24T08:00:00Z", count=3)
WIDE = event("wide", "TopologyAffinityError", "2026-11-24T09:00:00Z")
SMALL = newer_event("small", "UnexpectedAdmissionError", "2026-11-24T07:00:00.000000Z")
OTHERS = [event("gone", "Killing", "2026-11-24T10:00:00Z"), event("gone", "OutOfcpu", "2026-11-24T10:00:00Z")]


def document(result: Result) -> dict[str, Any]:
    assert result.code in (0, 3), result
    loaded: dict[str, Any] = json.loads(result.out)
    return loaded


def test_the_pod_that_was_rejected_last_is_explained(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """The event of a pod without a manifest is skipped; the other pods that have ended stay excluded."""
    answer = document(requested(tmp_path, cpuctl, [ODD, WIDE, SMALL, *OTHERS], "-o", "json"))
    assert (answer["pod"]["name"], answer["pod"]["reason"]) == ("wide", "TopologyAffinityError")
    assert answer["reported"] == {
        "reason": "TopologyAffinityError",
        "message": "words of TopologyAffinityError",
        "count": 1,
        "lastTimestamp": "2026-11-24T09:00:00Z",
        "node": "node7",
        "agrees": True,
    }
    assert answer["sources"]["events"] == {"value": str(tmp_path / "events.json"), "from": "given"}


@pytest.mark.parametrize(
    ("name", "times", "agrees"), [("odd", 3, True), ("small", 5, False)], ids=["same", "differs"]
)
def test_a_named_pod_is_compared_with_its_own_event(
    name: str, times: int, agrees: bool, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    answer = document(requested(tmp_path, cpuctl, [ODD, WIDE, SMALL], name, "-o", "json"))
    assert (answer["pod"]["name"], answer["reported"]["count"]) == (name, times)
    assert (answer["reported"]["node"], answer["reported"]["agrees"]) == ("node7", agrees)


def test_a_proposed_command_includes_the_events(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """Without the events, the command would skip the pod because it has ended."""
    answer = document(requested(tmp_path, cpuctl, [ODD], "-o", "json"))
    commands = [each["command"] for each in answer["suggestions"] if each["command"]]
    assert commands
    assert all(f"--events {tmp_path / 'events.json'}" in command for command in commands)


def test_events_on_standard_input_become_a_placeholder(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """A pipe can be read only once, and the typed command has read it."""
    requested(tmp_path, cpuctl, [ODD])
    words = ("explain", *NODE, FLAGS, "-f", str(tmp_path / "pods.json"), "--events", "-")
    answer = document(cpuctl(*words, "-o", "json", stdin=(tmp_path / "events.json").read_bytes()))
    commands = [each["command"] for each in answer["suggestions"] if each["command"]]
    assert commands
    assert all("--events FILE" in command for command in commands)
    table = cpuctl(*words, stdin=b"LAST SEEN   TYPE\n")
    assert "cpuctl explain --message - < FILE explains" in table.err


def test_events_and_messages_cannot_be_combined(cpuctl: Cpuctl) -> None:
    result = cpuctl("explain", "--events", "events.json", "--message", "no")
    assert (result.code, "--events: cannot be used with --message" in result.err) == (2, True)


def test_a_difference_from_what_the_kubelet_reported_is_noted(tmp_path: Path, cpuctl: Cpuctl) -> None:
    shown = " ".join(requested(tmp_path, cpuctl, [SMALL]).out.split())
    assert (
        "SAID by the kubelet on node7 5 times, last at 2026-11-24T07:00:00.000000Z: UnexpectedAdmi" in shown
    )
    assert "(the answer differs: other pods, state files or settings were in effect then)" in shown
    assert "the answer differs" not in " ".join(requested(tmp_path, cpuctl, [ODD]).out.split())


@pytest.mark.parametrize(
    ("events", "code", "problem"),
    [
        (OTHERS, 2, "the rejected pods are not among the given pods: shop/gone"),
        (OTHERS[:1], 2, "contains no pod that the kubelet rejected for lack of resources"),
        ([], 4, "no events: expected an Event, or a list of events"),
        ([{**ODD, "reason": 7}], 4, "items[0].reason: expected a string, found the number 7"),
    ],
)
def test_unusable_events_are_an_error(
    events: list[dict[str, Any]], code: int, problem: str, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    result = requested(tmp_path, cpuctl, events)
    assert (result.code, result.out) == (code, "")
    assert problem in result.err


def on_the_node(tmp_path: Path, cpuctl: Cpuctl, *words: str) -> Result:
    """Explain with the pods of the node, of which two were rejected, as the only pods."""
    pods = [
        {**pod("web", 2, phase="Running"), "spec": {**pod("web", 2)["spec"], "nodeName": "node7"}},
        pod("done", 2, phase="Succeeded"),
        pod("odd", 3, phase="Failed", reason="SMTAlignmentError"),
        pod("wide", 10, phase="Failed", reason="TopologyAffinityError"),
    ]
    (tmp_path / "all.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
    (tmp_path / "events.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "EventList", "items": [ODD, WIDE]})
    )
    return cpuctl("explain", *words, *NODE, FLAGS, "--pods", "all.json", cwd=tmp_path)


@pytest.mark.parametrize(
    ("words", "name", "how"),
    [
        (("shop/odd",), "odd", "Failed: SMTAlignmentError"),
        (("uid-done",), "done", "Succeeded"),
        (("--events", "events.json"), "wide", "Failed: TopologyAffinityError"),
        (("odd", "--events", "events.json"), "odd", "Failed: SMTAlignmentError"),
    ],
)
def test_a_pod_of_the_node_that_has_ended_is_explained_as_a_new_pod(
    words: tuple[str, ...], name: str, how: str, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    """The commands for changes name the same files, so they find the pod again."""
    result = on_the_node(tmp_path, cpuctl, *words, "-o", "json")
    answer = document(result)
    assert (answer["pod"]["name"], answer["query"]["restarted"]) == (name, False)
    assert f"note: shop/{name} has ended ({how}) and is explained as a new pod\n" in result.err
    for command in filter(None, (each["command"] for each in answer["suggestions"])):
        again = cpuctl(*shlex.split(command)[1:], "-o", "json", cwd=tmp_path)
        assert document(again)["pod"]["name"] == name


def test_a_running_pod_is_not_taken_for_one_that_has_ended(tmp_path: Path, cpuctl: Cpuctl) -> None:
    result = on_the_node(tmp_path, cpuctl, "web", "-o", "json")
    assert document(result)["query"]["restarted"]
    assert "has ended" not in result.err


def test_rejected_pods_of_the_node_are_named_if_no_pod_is(tmp_path: Path, cpuctl: Cpuctl) -> None:
    result = on_the_node(tmp_path, cpuctl)
    assert (result.code, result.out) == (2, "")
    assert "(cpuctl explain shop/odd ...; the kubelet rejected shop/odd, shop/wide)" in result.err
