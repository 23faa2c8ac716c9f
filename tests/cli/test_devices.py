"""Plans with devices: what the answer shows, its sources, and what stays undetermined.

The snapshots are in ``__snapshots__``; ``pytest --snapshot-update`` takes new ones, to be reviewed before
they are committed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import ROOT, Cpuctl, Result
from tests.support.schemas import follow_schema

NODE = (
    *("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz", "--kubelet-config", "fixtures/kubelet/static.yaml"),
    *("--kubelet-args", "--topology-manager-policy=restricted", "--kubelet-version", "1.36"),
)
DEVICES = ROOT / "fixtures" / "devices"
PODS = ("-f", "fixtures/devices/pods.yaml")
COUNTED = ("--devices", "fixtures/devices/two-nodes.yaml")
ANSWERED = ("--devices", "fixtures/devices/pod-resources.json")


def plan(cpuctl: Cpuctl, *words: str, stdin: bytes = b"") -> Result:
    return cpuctl("plan", *NODE, *words, "-o", "json", stdin=stdin)


def pods(result: Result) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(result.out)["pods"]
    return found


def asking(name: str, **counts: int) -> bytes:
    """Write a pod that requests devices such as ``gpu``."""
    limits = {f"nvidia.com/{resource}": count for resource, count in counts.items()}
    containers = [{"name": "main", "resources": {"limits": limits}}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers}}
    return json.dumps(pod).encode()


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("form", ["table", "wide"])
def test_tables(form: str, width: int, cpuctl: Cpuctl, snapshot: SnapshotAssertion) -> None:
    assert str(cpuctl("plan", *NODE, *PODS, *COUNTED, "-o", form, columns=width)) == snapshot


@pytest.mark.parametrize("source", [COUNTED, ANSWERED], ids=["counted", "answered"])
def test_json(source: tuple[str, str], cpuctl: Cpuctl, snapshot: SnapshotAssertion) -> None:
    result = plan(cpuctl, *PODS, *source)
    document = json.loads(result.out)
    follow_schema(document, "plan")
    assert document["after"]["devices"] == snapshot(name="after")
    assert document["warnings"] == snapshot(name="warnings")
    for pod in document["pods"]:
        offers = {each["container"]: each["offers"] for each in pod["hints"]}
        given = {each["name"]: each.get("devices") for each in pod["containers"]}
        near = {each["name"]: each.get("devicesAligned") for each in pod["containers"]}
        assert {"offers": offers, "given": given, "near": near} == snapshot(name=pod["name"])


def test_examples_follow_the_schema_of_the_input() -> None:
    text = (DEVICES / "two-nodes.yaml").read_text(encoding="utf-8")
    follow_schema(yaml.safe_load(text), "devices")


def test_without_devices_the_outcome_is_undetermined(cpuctl: Cpuctl) -> None:
    result = plan(cpuctl, *PODS)
    assert [pod["outcome"] for pod in pods(result)] == ["Undetermined"] * 3
    assert "example.com/nic" in pods(result)[0]["why"]
    assert "devices" not in json.loads(result.out)["after"]


def test_resources_missing_from_the_file_stay_undetermined(cpuctl: Cpuctl) -> None:
    (pod,) = pods(plan(cpuctl, "-f", "-", *COUNTED, stdin=asking("p", gpu=1, fpga=1)))
    assert pod["why"] == "requests nvidia.com/fpga, which is not described (use --devices)"


def test_the_file_may_come_from_standard_input(cpuctl: Cpuctl) -> None:
    reported = (DEVICES / "two-nodes.yaml").read_bytes()
    result = plan(cpuctl, *PODS, "--devices", "-", stdin=reported)
    assert json.loads(result.out)["sources"]["devices"] == {"value": "<stdin>", "from": "given"}
    assert pods(result) == pods(plan(cpuctl, *PODS, *COUNTED))
    twice = plan(cpuctl, "-f", "-", "--devices", "-", stdin=reported)
    assert (twice.code, "used twice" in twice.err) == (2, True)


def test_a_running_pod_gets_the_devices_that_the_kubelet_reports(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """``default/running`` holds one of the two devices at node 0."""
    (tmp_path / "pod.json").write_bytes(asking("p", gpu=2))
    aligned = ("-f", str(tmp_path / "pod.json"), *ANSWERED)
    assert [grant["numaNodes"] for grant in pods(plan(cpuctl, *aligned))[0]["containers"][0]["devices"]] == [
        {"1": 2}
    ]
    (again,) = pods(plan(cpuctl, "-f", "-", *ANSWERED, stdin=asking("running", gpu=1)))
    assert again["containers"][0]["devices"][0]["numaNodes"] == {"0": 1}


def test_gaps_in_the_device_file_are_reported(cpuctl: Cpuctl, tmp_path: Path) -> None:
    (tmp_path / "devices.json").write_text(
        json.dumps(
            {
                "devices": [
                    {"resourceName": "x.com/nic", "deviceIds": ["a"], "topology": {"nodes": [{"ID": "7"}]}}
                ]
            }
        )
    )
    result = cpuctl("plan", *NODE, *PODS, "--devices", str(tmp_path / "devices.json"))
    assert "does not include what pods hold (List): all its devices are assumed to be free" in result.err
    assert "names NUMA nodes that the machine does not have: 7" in result.err


def test_a_rejection_uses_the_kubelets_message(cpuctl: Cpuctl) -> None:
    (pod,) = pods(
        plan(
            cpuctl,
            *("-f", "-", *COUNTED, "--kubelet-args", "--topology-manager-policy=none"),
            stdin=asking("p", gpu=4),
        )
    )
    assert (pod["reason"], pod["container"]) == ("UnexpectedAdmissionError", "main")
    assert pod["message"] == (
        "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. "
        "Requested: 4, Available: 3, which is unexpected"
    )


def test_explain_takes_devices_into_account(cpuctl: Cpuctl) -> None:
    result = cpuctl("explain", "late", *NODE, *PODS, *COUNTED, "-o", "json")
    document = json.loads(result.out)
    (devices,) = [offer for offer in document["rounds"][0]["offers"] if offer["provider"] == "devices"]
    assert (devices["resource"], devices["status"]) == ("nvidia.com/gpu", "impossible")
    assert document["pod"]["outcome"] == "Rejected"


def test_undescribed_devices_are_named_with_a_file_to_fill_in(cpuctl: Cpuctl, tmp_path: Path) -> None:
    result = plan(cpuctl, "-f", "-", stdin=asking("p", gpu=2))
    (pod,) = pods(result)
    assert pod["outcome"] == "Undetermined"
    text = result.err[result.err.index("fill in {") + 8 :]
    draft = json.loads(text[: text.index(" with devices per NUMA node")])
    assert draft["resources"] == {"nvidia.com/gpu": {"0": 0, "1": 0}}
    draft["resources"]["nvidia.com/gpu"]["1"] = 2
    (tmp_path / "filled.json").write_text(json.dumps(draft))
    filled = plan(cpuctl, "-f", "-", "--devices", str(tmp_path / "filled.json"), stdin=asking("p", gpu=2))
    assert pods(filled)[0]["containers"][0]["devices"][0]["numaNodes"] == {"1": 2}
    assert "fill in" not in filled.err


def test_devices_can_be_assumed_to_suffice(cpuctl: Cpuctl) -> None:
    result = plan(cpuctl, "-f", "-", "--assume-devices", stdin=asking("p", gpu=500))
    assert pods(result)[0]["outcome"] == "Admitted"
    assert (
        "warning: nvidia.com/gpu: assumed to be available in sufficient number on every NUMA node"
        in result.err
    )
    reported = plan(cpuctl, "-f", "-", "--assume-devices", *COUNTED, stdin=asking("p", gpu=500))
    assert pods(reported)[0]["outcome"] == "Rejected"
    assert "assumed" not in reported.err
