"""The commands that findings about state files propose name the same node, and its state."""

from __future__ import annotations

import pytest

from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.state_files import CheckpointInputs
from cpuctl.operations.command_lines import checkpoint_commands

GIVEN = KubeletInputs(config="k.yaml")


@pytest.mark.parametrize(
    ("inputs", "command"),
    [
        (CheckpointInputs(), "sudo cpuctl explain shop/db --pods FILE"),
        (
            CheckpointInputs(kubelet=GIVEN),
            "sudo cpuctl explain shop/db --kubelet-config k.yaml --state /var/lib/kubelet --pods FILE",
        ),
        (CheckpointInputs(state="s"), "cpuctl explain shop/db --state s --pods FILE"),
        (CheckpointInputs(machine="n.tar"), "cpuctl explain shop/db -m n.tar --pods FILE"),
        (
            CheckpointInputs(machine="n.tar", kubelet=GIVEN),
            "cpuctl explain shop/db -m n.tar --kubelet-config k.yaml --state n.tar --pods FILE",
        ),
        (
            CheckpointInputs(machine="n.tar", kubelet=GIVEN, state="s"),
            "cpuctl explain shop/db -m n.tar --kubelet-config k.yaml --state s --pods FILE",
        ),
    ],
)
def test_a_rejected_pod_is_explained_with_the_state_that_was_checked(
    inputs: CheckpointInputs, command: str
) -> None:
    assert checkpoint_commands(inputs)("cpuctl explain shop/db --pods FILE") == command


def test_a_rejected_pod_is_explained_with_the_state_of_another_root_directory() -> None:
    spelt_out = checkpoint_commands(CheckpointInputs(kubelet=GIVEN), root_dir="/srv/kubelet")
    assert " --state /srv/kubelet " in spelt_out("cpuctl explain shop/db --pods FILE")
