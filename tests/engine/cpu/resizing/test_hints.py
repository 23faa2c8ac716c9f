"""The hints that the reference implementation gives the Topology Manager for a resized container."""

from __future__ import annotations

import pytest

from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.cpu.resizing.reference import resize_hints
from tests.support.resizing import Setting, guaranteed, pod_of
from tests.support.topologies import mask

UP_OR_FRESH = {
    ("c", 5): ("0-1,8,10", "2-4,6-7"),
    ("fresh", 2): ("0-1,8,10", "4"),
}
"""The free CPUs, then those that are lent to the pod or that the container has."""
DOWN_OR_SAME = {
    ("c", 4): ("2-3,6-7", ""),
    ("c", 3): ("2-3,6-7", "6-7"),
    ("unknown", 1): ("5,9", ""),
}
"""What the container has; if it shrinks, what it was promised appears in both."""
NO_CPUS = {("c", 0): None, ("fresh", 0): None}


@pytest.mark.parametrize("align", ["false", "true"])
@pytest.mark.parametrize("requested", [*UP_OR_FRESH, *DOWN_OR_SAME, *NO_CPUS])
def test_hints_of_a_container(requested: tuple[str, int], align: str) -> None:
    name, count = requested
    gates = {"CPUManagerPolicyAlphaOptions": True}
    config = {"cpu_manager_policy_options": {"align-by-socket": align}}
    node = Setting(gates=gates, config=config).node()
    assert node.policy is not None
    node.state.default = mask("0-1,8,10-11")
    node.state.assignments = {"p": {"c": mask("2-3,6-7"), "unknown": mask("5,9")}}
    node.state.baselines = {"p": {"c": mask("6-7")}}
    node.state.reusable_by, node.state.reusable = "p", mask("4")
    container = guaranteed("1", name)
    hints = resize_hints(node.policy, node.state, pod_of(container), container, count)
    want = {**UP_OR_FRESH, **DOWN_OR_SAME, **NO_CPUS}[requested]
    assert hints == (
        want
        and {
            "cpu": CPUHints.generate(
                node.topology, mask(want[0]), mask(want[1]), count, align_by_socket=align == "true"
            )
        }
    )
