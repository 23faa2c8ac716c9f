"""The examples of the driver's own documentation, written out, get the CPUs that follow from its rules.

kubernetes-sigs/dra-driver-cpu, ``hack/examples`` and ``docs/user``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cpuctl.dra.driver import DeviceMode, DriverSettings, GroupBy
from cpuctl.dra.prepare import Prepared
from tests.dra.claims import given, plan

EXAMPLES = Path(__file__).parents[2] / "fixtures" / "dra" / "examples"
GROUPED, INDIVIDUAL = DriverSettings(), DriverSettings(mode=DeviceMode.INDIVIDUAL)
TWO_NODES, TWO_SOCKETS = "2n16c2t", "2s4n32c2t"


CASES = [
    ("grouped", TWO_NODES, GROUPED, ["0-4,16-20"]),
    ("individual", TWO_NODES, INDIVIDUAL, ["0-1,16-17", "2-4,18-20"]),
    ("pod-level", TWO_NODES, GROUPED, ["0-4,16-20", "5-6,21-22"]),
    ("node-allocatable", TWO_NODES, GROUPED, ["0-4,16-20", "5-6,21-22"]),
    ("numa-spread", TWO_NODES, GROUPED, ["0-4,8-12,16-20,24-28"]),
    ("numa-spread", TWO_SOCKETS, GROUPED, ["0-4,16-20,64-68,80-84"]),
    ("numa-spread", "1n32c2t", GROUPED, []),
    ("same-socket", TWO_SOCKETS, GROUPED, ["0-3,64-67"]),
    ("numa-node", TWO_NODES, GROUPED, ["8-11,24-27"]),
    ("performance-cores", "4p2t+4e1t,near", INDIVIDUAL, ["0-3"]),
    ("named-cpus", TWO_NODES, DriverSettings(group_by=GroupBy.MACHINE), ["2-5"]),
]


@pytest.mark.parametrize(("name", "machine", "settings", "cpus"), CASES)
def test_examples_get_the_cpus_that_follow_from_the_drivers_rules(
    name: str, machine: str, settings: DriverSettings, cpus: list[str]
) -> None:
    found = plan((EXAMPLES / f"{name}.yaml").read_text(), machine, settings)
    assert given(found) == cpus
    assert all(isinstance(each.prepared, Prepared) for pod in found.pods for each in pod.claims)
    assert not any(pod.problem for pod in found.pods)


def test_every_example_is_tested() -> None:
    assert {each.stem for each in EXAMPLES.iterdir()} == {name for name, *_ in CASES}
