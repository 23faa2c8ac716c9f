"""State files of recordings: changed only on their node, and named if they prevent a migration."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Cpuctl


def test_a_recording_is_not_written_in_place(tmp_path: Path, cpuctl: Cpuctl) -> None:
    recording = "fixtures/nodes/v2-2-numa/node.tar.xz"
    words = ("checkpoint", "repair", recording, "--kubelet-version", "1.36", "-q")
    shown = cpuctl(*words).out.splitlines()
    assert shown[-2:] == [
        "Nothing was written; use --write-state DIR to write new files.",
        "Next, on the node: sudo cpuctl checkpoint repair --kubelet-version 1.36 --yes",
    ]
    assert cpuctl(*words, "--yes").code == 2
    assert cpuctl(*words, "--write-state", str(tmp_path / "repaired")).code == 0


def test_a_migration_of_a_recording_is_for_its_node_and_not_verified(cpuctl: Cpuctl) -> None:
    words = ("checkpoint", "migrate", "fixtures/kubeadm/node7.tar.xz", "--to", "1.37", "-q")
    assert cpuctl(*words).out.splitlines()[-3:] == [
        "Not verified on a machine (use -m MACHINE).",
        "Nothing was written; use --write-state DIR to write new files.",
        "Next, on the node: sudo cpuctl checkpoint migrate --to 1.37 -m live --yes",
    ]
    assert cpuctl(*words, "--yes").code == 2


def test_a_migration_names_the_file_that_prevents_it(cpuctl: Cpuctl) -> None:
    answer = cpuctl(
        "checkpoint", "migrate", "-m", "fixtures/nodes/v2-2-numa/node.tar.xz", "--to", "1.37", "-q"
    )
    assert answer.code == 3
    assert "memory_manager_state: not changed: cpu_manager_state must be repaired first\n" in answer.out
    assert answer.out.count("  fix: ") == 1


@pytest.mark.parametrize("verb", [("migrate", "--to", "1.35"), ("repair", "--kubelet-version", "1.35")])
def test_a_root_has_to_be_a_directory(verb: tuple[str, ...], cpuctl: Cpuctl, tmp_path: Path) -> None:
    missing, recording = str(tmp_path / "none"), "fixtures/kubeadm/node7.tar.xz"
    refused = cpuctl("checkpoint", *verb, "--root", missing)
    assert (refused.code, refused.err) == (
        4,
        f"error: {missing}: cannot be read: no such file or directory\n",
    )
    refused = cpuctl("checkpoint", *verb, "--root", recording)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith(f"error: {recording}: expected a directory, found a file\n")


def test_a_recorded_node_is_repaired_with_the_same_options(tmp_path: Path, cpuctl: Cpuctl) -> None:
    node, gates = "fixtures/nodes/v2-2-numa", "PodLevelResources=true"
    pods = ("--pods", f"{node}/pods.json", "--kubelet-version", "1.36", "--feature-gates", gates)
    words = (f"{node}/node.tar.xz", *pods, "--config-dir", str(tmp_path), "-q")
    on_node = f"--config-dir DIR --kubelet-version 1.36 --feature-gates {gates} --pods FILE --yes"
    assert cpuctl("checkpoint", "repair", *words).out.splitlines()[-2:] == [
        f"Next, on the node: sudo cpuctl checkpoint repair {on_node}",
        "FILE, DIR: the file and the directory given here, copied to the node",
    ]


def test_a_migration_reports_what_is_wrong_with_each_file(tmp_path: Path, cpuctl: Cpuctl) -> None:
    repaired = str(tmp_path / "repaired")
    node = "fixtures/nodes/v2-2-numa/node.tar.xz"
    made = cpuctl("checkpoint", "repair", node, "--kubelet-version", "1.36", "--write-state", repaired, "-q")
    assert made.code == 0
    words = ("checkpoint", "migrate", repaired, "-m", "fixtures/kubeadm/node7.tar.xz", "--to", "1.37", "-q")
    lines = cpuctl(*words).out.splitlines()
    refused = next(line for line in lines if "memory_manager_state: not changed: " in line)
    assert '[memorymanager] configured policy "None" differs from state checkpoint policy "Static"' in refused
    assert "CPU manager" not in refused


def test_a_captured_node_without_state_files_has_none(tmp_path: Path, cpuctl: Cpuctl) -> None:
    fixture, capture = "fixtures/kubeadm/node7.tar.xz", tmp_path / "node"
    with tarfile.open(ROOT / fixture) as archive:
        archive.extractall(capture, filter="data")
    for path in capture.rglob("*_manager_state"):
        path.unlink()
    answer = cpuctl("checkpoint", "verify", str(capture), "-q")
    assert answer.code == 0
    assert answer.out.startswith("Nothing was checked: there are no state files.")


def test_a_recording_of_nothing_but_the_machine_does_not_show_whether_there_are_files(cpuctl: Cpuctl) -> None:
    answer = cpuctl("checkpoint", "verify", "-m", "fixtures/fleet/recordings/worker-1.tar.xz", "-q")
    assert answer.code == 3
    assert answer.out.startswith("Whether the kubelet would start is unknown: the state files are not in")


@pytest.mark.parametrize("words", [("repair",), ("migrate", "--to", "1.37")], ids=["repair", "migrate"])
def test_state_files_that_were_not_collected_are_changed_on_the_node(
    words: tuple[str, ...], cpuctl: Cpuctl
) -> None:
    gates = ("--feature-gates", "PodLevelResources=true")
    answer = cpuctl("checkpoint", *words, "-m", "fixtures/openshift/must-gather.tar.xz", *gates, "-q")
    assert answer.code == 4
    assert "the state files are not in the recording\n" in answer.err
    on_node = "sudo cpuctl checkpoint " + " ".join(words) + " -m live" * (words[0] == "migrate")
    assert f"hint: on the node: {on_node} {' '.join(gates)}\n" in answer.err
