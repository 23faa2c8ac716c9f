"""A node's files on disk: links are followed where the kubelet follows them, and never out of the tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpuctl.capture.collected import FileState, Unreadable
from cpuctl.capture.node.node import record, recorded_node
from tests.capture.node_texts import CONFIG, CPU_STATE, node_texts, recorded, written

HOME = "var/lib/kubelet"


def test_a_directory_is_recorded_like_its_texts(tmp_path: Path) -> None:
    root = written(node_texts(), tmp_path)
    assert record(recorded_node(root)) == recorded()


@pytest.mark.parametrize("target", ["../../../opt/real.yaml", "../../../opt/more/../real.yaml"])
def test_a_linked_configuration_is_followed(target: str, tmp_path: Path) -> None:
    root = written({"opt/real.yaml": CONFIG, "opt/more/x": "", f"{HOME}/x": ""}, tmp_path / "root")
    (root / HOME / "config.yaml").symlink_to(target)
    assert record(recorded_node(root)).kubelet.config_state is FileState.RECORDED


def test_a_linked_home_of_the_kubelet_is_followed(tmp_path: Path) -> None:
    root = written({"data/config.yaml": CONFIG, "data/cpu_manager_state": CPU_STATE}, tmp_path / "root")
    (root / "var/lib").mkdir(parents=True)
    (root / HOME).symlink_to("../../data")
    assert set(record(recorded_node(root)).members) == {f"{HOME}/config.yaml", f"{HOME}/cpu_manager_state"}


def test_a_link_out_of_the_tree_is_rejected(tmp_path: Path) -> None:
    """An image's absolute links would lead to files of the host."""
    outside = written({"config.yaml": CONFIG}, tmp_path / "outside")
    root = written({f"{HOME}/x": ""}, tmp_path / "root")
    (root / HOME / "config.yaml").symlink_to(outside / "config.yaml")
    collected = record(recorded_node(root))
    assert collected.members == {}
    assert collected.unreadable == (Unreadable(f"{HOME}/config.yaml", "is a link out of the recorded tree"),)


@pytest.mark.parametrize(("text", "kept"), [(CPU_STATE, True), ("root:x:0:0\n", False), ('{"a": 1}', False)])
def test_a_linked_state_file_is_recorded_only_if_it_is_one(text: str, kept: bool, tmp_path: Path) -> None:
    """It is kept as it is: no other file of the node may get into a recording."""
    root = written({"data/state": text, f"{HOME}/x": ""}, tmp_path / "root")
    (root / HOME / "cpu_manager_state").symlink_to("/data/state")
    collected = record(recorded_node(root))
    assert bool(collected.members) == kept
    refused = Unreadable(f"{HOME}/cpu_manager_state", "is a link to something other than a state file")
    assert (refused in collected.unreadable) != kept


def test_paths_out_of_the_tree_are_noted(tmp_path: Path) -> None:
    root = written({f"{HOME}/x": ""}, tmp_path / "root")
    for name in ("config.yaml", "cpu_manager_state"):
        (root / HOME / name).symlink_to("../../../../outside")
    collected = record(recorded_node(root))
    assert collected.members == {}
    assert {each.path for each in collected.unreadable} == {
        f"{HOME}/config.yaml",
        f"{HOME}/cpu_manager_state",
    }


def test_no_program_of_a_recorded_node_is_run(tmp_path: Path) -> None:
    root = written({"usr/bin/kubelet": "#!/bin/sh\necho Kubernetes v1.36.2\n"}, tmp_path)
    (root / "usr/bin/kubelet").chmod(0o755)
    assert recorded_node(root).kubelet_version == ("", "")
