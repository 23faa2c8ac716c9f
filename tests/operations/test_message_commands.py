"""The commands of messages name the options that were given, and nothing in them is read twice."""

from __future__ import annotations

import shlex

import pytest

from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.messages.admission import EXPLAIN, EXPLAIN_AMONG
from cpuctl.messages.starting import CHECK
from cpuctl.operations.message_commands import message_command
from cpuctl.operations.plan_inputs import NodeOptions, PlanningInputs

RECORDED = PlanningInputs(machine="node.tar.xz", kubelet=KubeletInputs(config="k.yaml", version="1.33"))
WORDS = "-m node.tar.xz --kubelet-config k.yaml --kubelet-version 1.33"
TEMPLATE = PlanningInputs(templates=("a=1/1",))
NOTHING = PlanningInputs()
STATES = PlanningInputs(machine="node.tar.xz", state="s")
EMPTY = PlanningInputs(machine="node.tar.xz", state="none")
PIPED = PlanningInputs(
    machine="-",
    kubelet=KubeletInputs(config="-"),
    filenames=("-",),
    state="-",
    pods="-",
    node=NodeOptions(devices="-"),
)


@pytest.mark.parametrize("pod", ["x -f PODS", "$(touch pwn) -m NODE", "o'b --pods RUNNING"])
def test_words_within_names_are_not_replaced(pod: str) -> None:
    """Else the quotes around a file's name would end those around the pod's."""
    inputs = PlanningInputs(filenames=("it's $(touch pwn).yaml",), machine="a 'b'")
    words = shlex.split(message_command(EXPLAIN, pod, inputs))
    assert words == ["cpuctl", "explain", pod, "-f", "it's $(touch pwn).yaml", "-m", "a 'b'"]


@pytest.mark.parametrize(
    ("template", "inputs", "expected"),
    [
        (EXPLAIN, NOTHING, "cpuctl explain POD -f PODS -m NODE"),
        (
            EXPLAIN,
            PIPED,
            (
                "cpuctl explain POD -f PODS -m NODE --kubelet-config CONFIG --state STATE --pods RUNNING "
                "--devices FILE"
            ),
        ),
        (EXPLAIN_AMONG, NOTHING, "cpuctl explain POD -f PODS -m NODE --pods RUNNING"),
        (EXPLAIN_AMONG, STATES, "cpuctl explain POD -f PODS -m node.tar.xz --state s --pods RUNNING"),
        (EXPLAIN_AMONG, EMPTY, "cpuctl explain POD -f PODS -m node.tar.xz --state none"),
        ("sudo cpuctl checkpoint verify", NOTHING, "sudo cpuctl checkpoint verify"),
        ("sudo cpuctl checkpoint verify", RECORDED, f"cpuctl checkpoint verify {WORDS}"),
        ("sudo cpuctl checkpoint verify", STATES, "cpuctl checkpoint verify s -m node.tar.xz"),
        ("sudo cpuctl checkpoint verify", EMPTY, "sudo cpuctl checkpoint verify"),
        (
            "sudo cpuctl checkpoint repair",
            STATES,
            "cpuctl checkpoint repair s -m node.tar.xz --kubelet-version VERSION",
        ),
        (CHECK, EMPTY, "cpuctl config check -m node.tar.xz --state none"),
        ("sudo cpuctl cgroups show", RECORDED, "cpuctl cgroups show -m node.tar.xz"),
        ("sudo cpuctl cgroups apply", RECORDED, "sudo cpuctl cgroups apply"),
        ("cpuctl topology show", RECORDED, "cpuctl topology show -m node.tar.xz"),
        ("cpuctl topology show", NOTHING, "cpuctl topology show"),
        (
            "cpuctl config reserve -m NODE --kubelet-config CONFIG --cpu-count 2",
            PlanningInputs(machine="m.json", memory="64Gi"),
            "cpuctl config reserve -m m.json --memory 64Gi --cpu-count 2",
        ),
        ("cpuctl pods show -f PODS", TEMPLATE, "cpuctl pods show -T a=1/1"),
        ("cpuctl pods lint -f PODS", TEMPLATE, "cpuctl pods lint -f PODS"),
    ],
)
def test_given_options_are_repeated_where_a_command_has_them(
    template: str, inputs: PlanningInputs, expected: str
) -> None:
    assert message_command(template, "", inputs) == expected
