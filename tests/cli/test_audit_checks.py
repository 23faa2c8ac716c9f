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
