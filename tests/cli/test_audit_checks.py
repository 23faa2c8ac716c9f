"""The answer of an audit that runs only some checks."""

from __future__ import annotations

from tests.cli.conftest import Cpuctl


def test_a_sum_names_the_selected_checks(cpuctl: Cpuctl) -> None:
    """The table shows the verdicts of all of them."""
    words = ("audit", "-q", "-m", "fixtures/nodes/v2-2-numa/node.tar.xz")
    one, two = (cpuctl(*words, "--check", each, columns=160).out for each in ("state", "state,reserved"))
    assert one.endswith(": no findings of check state\n")
    warned = cpuctl(*words, "--check", "interrupts", columns=160).out
    assert warned.endswith(": 1 warning of check interrupts\n")
    assert two.endswith(": no findings of checks state, reserved\n")


def test_no_option_is_proposed_that_is_already_set(cpuctl: Cpuctl) -> None:
    words = ("audit", "-m", "fixtures/nodes/v2-2-numa/node.tar.xz", "--kubelet-version=1.35")
    proposed = "including the reserved CPUs 0-1; to keep them off the reserved CPUs, drain the node"
    assert proposed in cpuctl(*words).out
    option = "--cpu-manager-policy-options=strict-cpu-reservation=true"
    strict = cpuctl(*words, "--kubelet-args", option).out
    assert "including the reserved CPUs 0-1\n" in strict
    assert "set strict-cpu-reservation" not in strict
    assert "reserved-in-use: shared pool" in strict
    assert proposed not in cpuctl(*words, "--kubelet-args", option, "--check=interrupts").out
