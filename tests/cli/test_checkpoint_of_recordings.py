"""State files of recordings: changed only on their node, and named if they prevent a migration."""

from __future__ import annotations

import json
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
        "FILE, DIR: copies, on the node, of the file and the directory used here",
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


@pytest.fixture
def by_hand(tmp_path: Path) -> Path:
    """Return a machine's files and its kubelet's configuration, as people collect them."""
    with tarfile.open(ROOT / "fixtures/fleet/recordings/worker-1.tar.xz") as archive:
        archive.extractall(tmp_path / "node", filter="data")
    config = tmp_path / "node/var/lib/kubelet/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n")
    return tmp_path / "node"


@pytest.mark.parametrize("configured", [False, True])
def test_a_recording_without_files_that_a_kubelet_makes_does_not_show_whether_there_are_any(
    configured: bool, by_hand: Path, cpuctl: Cpuctl
) -> None:
    node = str(by_hand) if configured else "fixtures/fleet/recordings/worker-1.tar.xz"
    answer = cpuctl("checkpoint", "verify", "-m", node, "--kubelet-args", "--v=2", "-q")
    assert answer.code == 3
    assert "would start is unknown: the state files are not in the recording\n" in answer.out
    dumped = cpuctl("checkpoint", "dump", "-m", node, "-q")
    missing = f"error: {node}: the state files are not in the recording\n"
    assert (dumped.code, dumped.err) == (4, f"{missing}hint: on the node: sudo cpuctl checkpoint dump\n")
    report = json.loads(cpuctl("report", "-m", node, "-q", "-o", "json").out)
    unknown = {each["part"]: each["what"] for each in report["unknown"]}
    assert unknown["state"] == "the kubelet's state files are not in the recording"


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("made", ["device-plugins", "pki", "pods"])
def test_the_directory_of_a_kubelet_shows_that_there_are_no_state_files(
    made: str, packed: bool, by_hand: Path, cpuctl: Cpuctl
) -> None:
    (by_hand / "var/lib/kubelet" / made).mkdir()
    node = ("-m", str(by_hand))
    if packed:
        node = ("-m", str(by_hand.with_name("node.tar")))
        with tarfile.open(node[1], "w") as archive:
            archive.add(by_hand, ".")
    answer = cpuctl("checkpoint", "verify", *node, "--kubelet-args", "--v=2", "-q")
    assert answer.out.startswith("Nothing was checked: there are no state files.")
    dumped = cpuctl("checkpoint", "dump", *node, "-q")
    assert (dumped.code, dumped.out) == (4, "")
    assert "there are no state files\nhint: specify a state file" in dumped.err
    report = json.loads(cpuctl("report", *node, "-q", "-o", "json").out)
    unknown = {each["part"]: each["what"] for each in report["unknown"]}
    assert unknown["state"] == "no kubelet state files found"


def test_a_node_whose_state_files_were_not_collected_is_not_clean_in_a_fleet(
    by_hand: Path, cpuctl: Cpuctl
) -> None:
    answer = json.loads(cpuctl("fleet", "check", str(by_hand.parent), "-q", "-o", "json").out)
    (node,) = answer["nodes"]
    assert node["start"]["outcome"] == "Undetermined"


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


SMT_ON = "switch SMT on (echo on | sudo tee /sys/devices/system/cpu/smt/control)"


@pytest.mark.parametrize(
    ("smt", "how"),
    [
        ("on", "offline: bring it online (chcpu --enable 15)"),
        (
            "off",
            f"offline because SMT is off: {SMT_ON}",
        ),
        ("forceoff", "offline because SMT is forced off: boot without nosmt=force"),
    ],
)
def test_threads_that_the_kernel_keeps_offline_need_smt(
    smt: str, how: str, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    """While SMT is off, chcpu brings no second thread of a core online."""
    with tarfile.open(ROOT / "fixtures/nodes/v2-2-numa/node.tar.xz") as archive:
        archive.extractall(tmp_path / "node", filter="data")
    control = tmp_path / "node/sys/devices/system/cpu/smt/control"
    control.parent.mkdir(exist_ok=True)
    control.write_text(f"{smt}\n")
    answer = cpuctl("checkpoint", "verify", "-m", str(tmp_path / "node"), "-q", "--kubelet-version", "1.35")
    assert f"CPU 15 of the shared pool is {how}, or repair the file\n" in answer.out


def test_in_wide_actions_neither_cpu_lists_nor_words_for_actions_are_broken(cpuctl: Cpuctl) -> None:
    """Whole UIDs leave little room for the reasons: these go below."""
    node = "fixtures/nodes/hybrid-8-numa"
    words = ("repair", f"{node}/node.tar.xz", "--kubelet-version", "1.33", "--pods", f"{node}/pods.json")
    shown = cpuctl("checkpoint", *words, "-q", "-o", "wide", columns=80).out.splitlines()
    assert [line.split() for line in shown if line.startswith("shared pool ")] == [
        ["shared", "pool", "-", "-", "0-1,10-31", "0-1,8-30"],
        ["shared", "pool", "-", "-", "CPUs", "8-9", "are", "added;"],
    ]
