"""State files of resizes up to 1.32, of devices and of claims: how ``cpuctl checkpoint`` handles them."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cpuctl, Result
from tests.support.schemas import follow_schema

RECORDED = {
    each["name"]: each["text"]
    for each in json.loads((Path(__file__).parents[2] / "fixtures/state_files/recorded.json").read_text())
}
STATUS, DEVICES, CLAIMS = "pod_status_manager_state", "kubelet_internal_checkpoint", "dra_manager_state"
GATES = "InPlacePodVerticalScaling=true,DynamicResourceAllocation=true"
NODE = ("-m", "synthetic:1s1n8c2t", "--kubelet-args", f"--feature-gates={GATES}")
BROKEN = '{"data":"{\\"allocations\\":{}}","checksum":1}"x'
Checkpoint = Callable[..., Result]


@pytest.fixture
def checkpoint(tmp_path: Path, cpuctl: Cpuctl) -> Checkpoint:
    """Return a function that runs ``cpuctl checkpoint`` next to directories with one state file each."""
    for name, file, text in (
        ("status", STATUS, RECORDED["status-1.32"]),
        ("broken-status", STATUS, BROKEN),
        ("promises", "allocated_pods_state", '{"data":"{}","checksum":1}'),
        ("devices", f"device-plugins/{DEVICES}", RECORDED["two-gpus-of-a-node"]),
        ("copied-devices", DEVICES, RECORDED["device-of-one-gpu"]),
        ("broken-devices", f"device-plugins/{DEVICES}", '{"Data":'),
        ("changed-devices", DEVICES, RECORDED["two-gpus-of-a-node"].replace('"app"', '"web"')),
        ("claims", CLAIMS, RECORDED["claim-1.31"]),
        ("old-claims", CLAIMS, RECORDED["claim-1.30"]),
        ("wrong-claims", CLAIMS, RECORDED["claim-1.31"].replace("1656016162", "1")),
    ):
        path = tmp_path / name / file
        path.parent.mkdir(parents=True)
        path.write_text(text)

    def call(*words: str, columns: int = 120) -> Result:
        return cpuctl("checkpoint", *words, columns=columns, cwd=tmp_path)

    return call


def answer(result: Result) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(result.out)
    follow_schema(document)
    return document


VERDICTS = [
    # A file is rejected only by the releases that read it, with the error of the manager that owns it.
    ("broken-status", "1.32", "KubeletFault", "KubeletFault", 1),
    ("broken-status", "1.27", "KubeletFault", "KubeletFault", 1),
    ("broken-status", "1.33", "Started", "NotRead", 0),
    ("status", "1.32", "Started", "Accepted", 0),
    ("status", "1.31", "KubeletFault", "KubeletFault", 1),
    ("promises", "1.32", "Started", "NotRead", 0),
    ("promises", "1.33", "KubeletFault", "KubeletFault", 1),
    ("devices", "1.36", "Started", "Accepted", 0),
    ("copied-devices", "1.27", "Started", "Accepted", 0),
    ("broken-devices", "1.36", "Started", "Skipped", 0),
    ("claims", "1.36", "Started", "Accepted", 0),
    ("claims", "1.30", "Rejected", "Rejected", 1),
    ("old-claims", "1.30", "Started", "Accepted", 0),
    ("old-claims", "1.31", "Rejected", "Rejected", 1),
    ("wrong-claims", "1.35", "Rejected", "Rejected", 1),
]


@pytest.mark.parametrize(("name", "version", "start", "verdict", "errors"), VERDICTS)
def test_verdict_count_and_exit_code_agree(
    name: str, version: str, start: str, verdict: str, errors: int, checkpoint: Checkpoint
) -> None:
    result = checkpoint("verify", name, *NODE, "--kubelet-version", version, "-o", "json")
    document = answer(result)
    assert (document["start"]["outcome"], document["files"][0]["verdict"]["outcome"]) == (start, verdict)
    assert document["summary"]["error"] == errors
    assert result.code == (0 if start == "Started" else 3)


def test_a_crash_is_reported_in_the_kubelets_words(checkpoint: Checkpoint) -> None:
    """Kubernetes issue 117589; the directory contains only this file."""
    result = checkpoint("verify", "broken-status", *NODE, "--kubelet-version", "1.32", "-q")
    assert result.out.splitlines()[0] == (
        "Kubelet 1.32 would fail (crash while reading pod_status_manager_state): "
        "could not restore state from "
        "checkpoint: invalid character '\"' after top-level value, please drain this node and delete pod "
        'allocation checkpoint file "/var/lib/kubelet/pod_status_manager_state" before restarting Kubelet'
    )
    assert "1 error, 0 warnings" in result.out


def test_a_file_that_is_not_read_is_a_note(checkpoint: Checkpoint) -> None:
    off = ("-m", "synthetic:1s1n8c2t", "--kubelet-version", "1.31")
    result = checkpoint("verify", "broken-status", *off, "-q")
    assert result.code == 0
    assert "not read by this kubelet" in result.out
    assert "note: pod_status_manager_state: kubelet 1.31 does not read it" in result.out


def test_a_file_from_before_the_upgrade_is_named(checkpoint: Checkpoint) -> None:
    result = checkpoint("verify", "old-claims", *NODE, "--kubelet-version", "1.31", "-q")
    assert "format V3 is read by 1.30, and no release converts it" in result.out
    assert "fix: drain the node and delete the file" in result.out


def test_lost_devices_are_a_warning(checkpoint: Checkpoint) -> None:
    result = checkpoint("verify", "broken-devices", *NODE, "--kubelet-version", "1.36", "-q")
    assert result.code == 0
    assert "unreadable (unexpected end of JSON input), skipped" in result.out
    assert (
        "warning: kubelet_internal_checkpoint: cannot be loaded: unexpected end of JSON input" in result.out
    )
    strict = checkpoint("verify", "broken-devices", *NODE, "--kubelet-version", "1.36", "--strict")
    assert strict.code == 3


def test_who_holds_devices_and_claims(checkpoint: Checkpoint) -> None:
    devices = answer(checkpoint("dump", "devices", "-o", "json"))["devices"]
    (holder,) = devices["holders"]
    assert (holder["container"], holder["resource"], holder["numaNodes"]) == ("app", "nvidia.com/gpu", "1")
    assert devices["registered"] == [{"resource": "nvidia.com/gpu", "devices": 3}]
    (claim,) = answer(checkpoint("dump", "claims", "-o", "json"))["claims"]
    assert (claim["claim"], claim["devices"]) == ("example", ["test-driver.cdi.k8s.io/worker-1/dev-1"])
    table = checkpoint("dump", "devices", "-q", columns=200).out
    assert "Registered: 3 devices of nvidia.com/gpu" in table
    assert "nvidia.com/gpu 2 1 GPU-9b341c59" in " ".join(table.split())
    assert "default/example" in checkpoint("dump", "claims", "-q").out
    (pod,) = answer(checkpoint("dump", "status", "-o", "json"))["pods"]
    assert [each["resource"] for each in pod["resources"]] == ["cpu", "memory"]


def test_devices_that_changed_hands(checkpoint: Checkpoint) -> None:
    result = checkpoint("diff", "devices", "changed-devices", "-o", "json", "--exit-code")
    assert result.code == 3
    changes = answer(result)["files"][0]["devices"]
    assert [(each["container"], each["before"] is None) for each in changes] == [
        ("app", False),
        ("web", True),
    ]
    for words, columns in itertools.product(((), ("-o", "wide")), (80, 120)):
        assert (
            "nvidia.com/gpu"
            in checkpoint("diff", "devices", "changed-devices", "-q", *words, columns=columns).out
        )
    claims = answer(checkpoint("diff", "claims", "old-claims", "-o", "json"))["files"][0]["claims"]
    assert [each["claim"] for each in claims] == ["example"]
    assert "default/example" in checkpoint("diff", "claims", "old-claims", "-q").out
    assert answer(checkpoint("diff", "devices", "devices", "-o", "json"))["files"][0]["equal"]


def test_a_broken_file_hides_no_other(checkpoint: Checkpoint, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / CLAIMS).write_text(RECORDED["claim-1.31"])
        (tmp_path / name / STATUS).write_text(BROKEN)
    dumped = checkpoint("dump", "a", "-q")
    assert dumped.code == 0
    assert "pod_status_manager_state: format unknown, unreadable (invalid character" in dumped.out
    assert "default/example" in dumped.out
    compared = checkpoint("diff", "a", "b")
    assert compared.code == 0
    assert f"warning: a/{STATUS}: skipped: invalid character" in compared.err
    assert checkpoint("dump", f"a/{STATUS}").code == checkpoint("diff", f"a/{STATUS}", "b").code == 4


@pytest.mark.parametrize(
    ("name", "version", "outcome"),
    [
        ("changed-devices", "1.36", "Changed"),
        ("devices", "1.36", "Unchanged"),
        ("broken-devices", "1.36", "Unchanged"),
        ("wrong-claims", "1.35", "Changed"),
        ("old-claims", "1.31", "Rejected"),
        ("broken-status", "1.32", "Rejected"),
        ("broken-status", "1.33", "Unchanged"),
        ("promises", "1.32", "Unchanged"),
    ],
)
def test_a_repair_fixes_only_checksums(name: str, version: str, outcome: str, checkpoint: Checkpoint) -> None:
    words = ("repair", name, *NODE, "--kubelet-version", version)
    result = checkpoint(*words, "-o", "json")
    assert answer(result)["outcome"] == outcome
    assert result.code == (3 if outcome == "Rejected" else 0)
    if outcome == "Changed":
        assert checkpoint(*words, "--yes").code == 0
        again = checkpoint("verify", name, *NODE, "--kubelet-version", version, "--strict")
        assert again.code == 0, again.out


def test_a_migration_leaves_them_alone(checkpoint: Checkpoint) -> None:
    for name in ("devices", "old-claims", "broken-status"):
        result = checkpoint("migrate", name, "--to", "1.36", "-o", "json")
        assert answer(result)["outcome"] == "Unchanged"


def test_metrics_of_devices_and_claims(checkpoint: Checkpoint) -> None:
    devices = checkpoint("dump", "devices", "-o", "prom").out
    assert 'cpuctl_checkpoint_registered_devices{resource="nvidia.com/gpu"} 3' in devices
    (held,) = (
        line for line in devices.splitlines() if line.startswith("cpuctl_checkpoint_container_devices")
    )
    assert 'container="app",resource="nvidia.com/gpu"} 2' in held
    claims = checkpoint("dump", "claims", "-o", "prom").out
    assert 'cpuctl_checkpoint_claim_devices{namespace="default",claim="example"} 1' in claims


@pytest.mark.parametrize(("name", "version", "verdict"), [(each[0], each[1], each[3]) for each in VERDICTS])
def test_versions_and_verdicts_agree(name: str, version: str, verdict: str, checkpoint: Checkpoint) -> None:
    document = answer(checkpoint("verify", name, *NODE, "--kubelet-version", version, "-o", "json"))
    (file,) = document["files"]
    rows = [
        each
        for each in answer(checkpoint("versions", "-o", "json"))["unconverted"]
        if each["file"] == file["file"].rpartition("/")[2] and each["format"] in ("", file["format"])
    ]
    for row in rows:
        assert (verdict == "Accepted") <= _covers(row["readBy"], int(version[2:]))
        broken = {"Rejected": "does not start", "KubeletFault": "panics", "Skipped": "starts, and takes"}
        assert broken.get(verdict, "") in row["onLoadError"]


def _covers(releases: str, minor: int) -> bool:
    numbers = [int(number) for number in re.findall(r"1\.(\d+)", releases)]
    low = 0 if releases.startswith("up to") else numbers[0]
    return low <= minor <= (99 if "later" in releases else numbers[-1])
