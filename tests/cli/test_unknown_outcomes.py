"""If the outcome for a pod is unknown, no command reports it as rejected, unchanged or zero."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from tests.cli.conftest import Cpuctl
from tests.cli.test_devices import asking
from tests.cli.test_differences import HEAD
from tests.support.schemas import follow_schema

MACHINE = ("-q", "-m", "synthetic:2s2n8c2t,mem=16Gi")
STATIC = f"{HEAD}cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
UNKNOWN = "it requests nvidia.com/gpu, which is not described (use --devices)"


@pytest.fixture
def node(tmp_path: Path) -> tuple[str, ...]:
    """Return the options of a node; ``pod.json`` has a pod that requests devices."""
    (tmp_path / "k.yaml").write_text(STATIC)
    (tmp_path / "pod.json").write_bytes(asking("gpu", gpu=1))
    return (*MACHINE, "--kubelet-config", str(tmp_path / "k.yaml"), "-f", str(tmp_path / "pod.json"))


RELEASE = ("--kubelet-version", "1.36")


def test_two_plans_with_unknown_outcomes_are_not_called_the_same(
    node: tuple[str, ...], cpuctl: Cpuctl
) -> None:
    words = ("plan", *node, *RELEASE, "--compare", ".", "1.37")
    shown = cpuctl(*words)
    assert shown.out.endswith("The result for 1 pod is unknown\n")
    assert ["pods", "not", "admitted", "0", "0"] in map(str.split, shown.out.splitlines())
    assert "Nothing" not in shown.out
    mixed = cpuctl(*words, "-T", "web=2/2,1Gi")
    assert mixed.out.endswith("The result for 1 pod is unknown; no other differences: 1 pod\n")
    document = json.loads(cpuctl(*words, "-o", "json").out)
    follow_schema(document, "plancomparison")
    assert document["summary"]["undetermined"] == 1


def test_an_unknown_number_of_copies_is_not_zero(node: tuple[str, ...], cpuctl: Cpuctl) -> None:
    words = ("plan", *node, *RELEASE, "--capacity", "--repeat", "max")
    document = json.loads(cpuctl(*words, "-o", "json").out)
    follow_schema(document, "plan")
    assert (document["repeat"]["fitted"], document["capacity"]["copies"][0]["fits"]) == (None, None)
    shown = cpuctl(*words).out
    assert f"Copies: unknown how many of all pods fit: default/gpu: undetermined: {UNKNOWN}" in shown
    metrics = cpuctl(*words, "-o", "prom").out
    assert "plan_start" in metrics
    assert "copies" not in metrics


def test_unknown_outcomes_of_two_releases_are_not_called_the_same(
    node: tuple[str, ...], cpuctl: Cpuctl, tmp_path: Path
) -> None:
    words = ("config", "versions", "--from", "1.35", "--to", "1.36")
    shown = cpuctl(*words, *node).out
    assert f"default/gpu\n  1.35: undetermined: {UNKNOWN}\n  1.36: undetermined: {UNKNOWN}\n" in shown
    (tmp_path / "k.yaml").write_text(STATIC.replace("reservedSystemCPUs: '0'\n", ""))
    down = cpuctl(*words, *node).out
    assert "The pods were not compared: neither kubelet would start." in down
    assert "The result for these pods is the same" not in shown + down


def test_checkpoint_new_and_resize_consider_devices(node: tuple[str, ...], cpuctl: Cpuctl) -> None:
    new = ("checkpoint", "new", *node, *RELEASE)
    refused = cpuctl(*new)
    assert f"not changed: whether default/gpu is admitted is unknown: {UNKNOWN}" in refused.out
    assert "is not admitted" not in refused.out
    assert cpuctl(*new, "--assume-devices").code == 0
    resize = ("resize", *node, *RELEASE, "--set", "gpu/main:cpu=1")
    unknown = cpuctl(*resize)
    assert unknown.err.startswith(f"error: whether default/gpu is admitted is unknown ({UNKNOWN}), so it")
    assert cpuctl(*resize, "--assume-devices").out


def test_a_directory_without_state_files_is_reported_as_a_fresh_node(cpuctl: Cpuctl, tmp_path: Path) -> None:
    words = ("plan", *MACHINE[1:], *RELEASE, "-T", "a=1/1,1Gi", "--state", str(tmp_path))
    warning = (
        f"warning: no cpu_manager_state in {tmp_path}: no exclusive CPUs are assigned yet, as on a fresh node"
    )
    assert warning in cpuctl(*words).err


def test_granted_resizes_are_read_from_an_archive_too(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """The kubelet's own file of granted resizes is used from a directory and from a recording."""
    at = tmp_path / "node/var/lib/kubelet"
    at.mkdir(parents=True)
    (tmp_path / "node/sys/devices/system/cpu/cpu0").mkdir(parents=True)
    (tmp_path / "node/sys/devices/system/cpu/online").write_text("0\n")
    for name in ("cpu_manager_state", "allocated_pods_state"):
        (at / name).write_text('{"data":"{}","checksum":1}')
    with tarfile.open(tmp_path / "node.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "node", arcname=".")
    words = ("resize", *MACHINE, *RELEASE, "-T", "a=2/2,1Gi", "--set", "a/a:cpu=3")
    for state in (at, tmp_path / "node.tar.gz"):
        error = cpuctl(*words, "--state", str(state)).err
        assert f"error: {state}: allocated_pods_state: the kubelet panics on this file" in error
