"""If the outcome for a pod is unknown, no command reports it as rejected, unchanged or zero."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from tests.capture.node_texts import written
from tests.cli.conftest import Cpuctl
from tests.cli.test_devices import asking
from tests.cli.test_differences import HEAD
from tests.machine.sysfs_writer import small_machine
from tests.support.schemas import follow_schema

MACHINE = ("-q", "-m", "synthetic:2s2n8c2t,mem=16Gi")
STATIC = f"{HEAD}cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
UNKNOWN = "requests nvidia.com/gpu, which is not described (use --devices)"


@pytest.fixture
def node(tmp_path: Path) -> tuple[str, ...]:
    """Return the options of a node; ``pod.json`` has a pod that requests devices."""
    (tmp_path / "k.yaml").write_text(STATIC)
    (tmp_path / "pod.json").write_bytes(asking("gpu", gpu=1))
    return (*MACHINE, "--kubelet-config", str(tmp_path / "k.yaml"), "-f", str(tmp_path / "pod.json"))


RELEASE = ("--kubelet-version", "1.36")
CHECK = "cpuctl config check -m node --kubelet-version 1.36"
NO_CONFIGURATION = (
    "no kubelet configuration was found: node: /var/lib/kubelet/config.yaml does not exist; with the default "
    "configuration, it would start"
)


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
    outcome = f"undetermined: {UNKNOWN}"
    assert f"default/gpu\n    1.35: {outcome}\n    1.36: {outcome}\n" in shown
    assert "The result for 1 pod is unknown:\n" in shown
    (tmp_path / "k.yaml").write_text(STATIC.replace("reservedSystemCPUs: '0'\n", ""))
    down = cpuctl(*words, *node).out
    assert "The pods were not compared: neither kubelet would start." in down
    assert "of these pods are the same" not in shown + down


def test_an_outcome_that_is_unknown_for_one_release_is_not_called_a_change(
    node: tuple[str, ...], cpuctl: Cpuctl, tmp_path: Path
) -> None:
    """The older kubelet does not know the option, and does not start."""
    option = 'cpuManagerPolicyOptions: {strict-cpu-reservation: "true"}\n'
    (tmp_path / "k.yaml").write_text(STATIC + option)
    words = ("config", "versions", "--from", "1.31", "--to", "1.36", *node)
    assert "The result for 1 pod is unknown:\n" in cpuctl(*words).out
    two = cpuctl(*words, "-T", "web=2/2,1Gi", "-T", "api=2/2,1Gi").out
    assert "2 pods would change; the result for 1 pod is unknown:\n" in two


@pytest.fixture
def on_cgroup_v1(tmp_path: Path) -> str:
    """Write a node with cgroup v1 whose flags are unknown: they decide whether kubelet 1.35 starts."""
    groups = {"sys/fs/cgroup/cpuset/cpuset.cpus": "0-7", "sys/fs/cgroup/memory/tasks": ""}
    return str(written(small_machine() | groups | {"var/lib/kubelet/config.yaml": STATIC}, tmp_path / "v1"))


def test_pods_of_a_kubelet_that_may_start_are_unknown(on_cgroup_v1: str, cpuctl: Cpuctl) -> None:
    words = ("config", "versions", "-m", on_cgroup_v1, "-T", "web=2/2,1Gi", "-T", "api=1/1,1Gi")
    shown = cpuctl(*words, "--from", "1.34", "--to", "1.35").out
    assert "Whether kubelet 1.35 would start is unknown: its flags are unknown" in shown
    unknown = "1.35: undetermined: whether the kubelet starts is unknown"
    assert "The result for 2 pods is unknown:\n" in shown
    assert shown.count(unknown) == 2
    assert "the kubelet does not start\n" not in shown
    between = (*words, "--from", "1.35", "--to", "1.36")
    assert "The pods were not compared: neither kubelet is known to start.\n" in cpuctl(*between).out
    document = json.loads(cpuctl(*between, "-o", "json").out)
    assert (len(document["pods"]), document["rejectedByBoth"]) == (2, [])


def test_checkpoint_new_and_resize_consider_devices(node: tuple[str, ...], cpuctl: Cpuctl) -> None:
    new = ("checkpoint", "new", *node, *RELEASE)
    refused = cpuctl(*new)
    assert f"not created: whether default/gpu is admitted is unknown: {UNKNOWN}" in refused.out
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


@pytest.fixture
def unconfigured(tmp_path: Path) -> Path:
    """Return a directory with the recording ``node``: a machine with state files, but no configuration."""
    with tarfile.open("fixtures/machines/2s-2numa-32cpu.tar.xz") as archive:
        archive.extractall(tmp_path / "node", filter="data")
    state = tmp_path / "node/var/lib/kubelet/cpu_manager_state"
    state.parent.mkdir(parents=True)
    state.write_text('{"policyName":"none","defaultCpuSet":"","checksum":1353318690}')
    return tmp_path


@pytest.mark.parametrize(
    ("words", "following"),
    [
        (("config", "check", "-m", "node"), f"  fix: {CHECK} --kubelet-config FILE"),
        (("checkpoint", "verify", "node"), f"Next, to see what is known: {CHECK}"),
        (("checkpoint", "repair", "node"), f"Next, to see what is known: {CHECK}"),
    ],
)
def test_without_a_configuration_the_start_on_state_files_is_unknown(
    words: tuple[str, ...], following: str, unconfigured: Path, cpuctl: Cpuctl
) -> None:
    """The defaults are an assumption: the node's kubelet runs with something else."""
    answer = json.loads(cpuctl(*words, *RELEASE, "-q", "-o", "json", cwd=unconfigured).out)
    answer = json.loads(cpuctl(*words, *RELEASE, "-q", "-o", "json", cwd=unconfigured).out)
    start = answer.get("proof", answer)["start"]
    assert (start["outcome"], start["why"]) == ("Undetermined", NO_CONFIGURATION)
    shown = cpuctl(*words, *RELEASE, "-q", cwd=unconfigured, columns=300)
    assert (shown.code, following in shown.out.splitlines()) == (3, True)
    for given in ("--kubelet-config", "k.yaml"), ("--kubelet-args", "--cpu-manager-policy=none"):
        (unconfigured / "k.yaml").write_text(HEAD)
        known = cpuctl(*words, *RELEASE, *given, "-q", cwd=unconfigured)
        assert (known.code, "would start" in known.out or "starts" in known.out) == (0, True)


def test_without_a_configuration_no_file_is_repaired(unconfigured: Path, cpuctl: Cpuctl) -> None:
    state = unconfigured / "node/var/lib/kubelet/cpu_manager_state"
    state.write_text(state.read_text().replace("1353318690", "5"))
    shown = cpuctl("checkpoint", "repair", "node", *RELEASE, "-q", cwd=unconfigured, columns=300)
    assert shown.code == 3
    assert f"not changed: whether the kubelet would start is unknown: {NO_CONFIGURATION}" in shown.out
    command = "cpuctl checkpoint repair node --kubelet-version 1.36 --kubelet-config FILE"
    assert f"\nNext, for cpu_manager_state: {command}\n" in shown.out


@pytest.mark.parametrize(
    "words", [("config", "check", "-m", "node"), ("checkpoint", "new", "-m", "node", *RELEASE)]
)
def test_without_state_files_the_defaults_are_assumed(
    words: tuple[str, ...], unconfigured: Path, cpuctl: Cpuctl
) -> None:
    (unconfigured / "node/var/lib/kubelet/cpu_manager_state").unlink()
    shown = cpuctl(*words, "-q", cwd=unconfigured)
    assert (shown.code, "Kubelet 1.36 would start." in shown.out) == (0, True)


def test_an_unknown_start_has_no_sample(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """A sample of 0 would raise the alert that the kubelet would not start."""
    node = ("-m", "synthetic:2s2n4c2t,mem=16Gi", "--kubelet-config", "fixtures/kubelet/distribute.yaml")
    gates = ("--kubelet-version", "1.36", "--feature-gates", "PodLevelResourceManagers=true")
    made = cpuctl("checkpoint", "new", *node, *gates, "-T", "a=2/2,1Gi", "--write-state", str(tmp_path))
    assert made.code == 0
    # Only the release tells whether the kubelet reads these formats.
    verified = cpuctl("checkpoint", "verify", str(tmp_path), *node, "-o", "prom")
    assert "Whether the kubelet would start is unknown" in verified.err
    assert "cpuctl_checkpoint_starts" not in verified.out
    assert "cpuctl_checkpoint_findings" in verified.out
