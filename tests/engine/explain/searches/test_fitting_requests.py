"""Less of what a node is short of: what it has left, or whole CPUs from that, for one container or all."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.records import replace
from tests.engine.explain.scenarios import (
    CORES,
    EIGHT,
    cards,
    divided,
    named,
    reported,
    scenario,
    whole,
    with_memory,
)
from tests.engine.explain.searches.nearest import Case, Found, nearest
from tests.support.pods import app, init

HALF: Found = [{"main": "500m"}]
FITTING = [
    Case("whole CPUs", EIGHT, (named("a", app("cpu=2")), named("b", whole(6))), [{"main": "5"}], 1),
    Case("the last CPU", EIGHT, (named("a", app("cpu=6")), named("b", whole(2))), [{"main": "1"}], 1),
    Case(
        "a part more is admitted, and odd counts are rejected",
        EIGHT,
        (named("a", app("cpu=1500m")), named("b", whole(6))),
        [{"main": "4"}],
        2,
        CORES,
    ),
    Case(
        "parts of CPUs",
        EIGHT,
        (named("a", app("cpu=2")), named("b", app("cpu=7500m", "cpu=7500m"))),
        [{"main": "5"}],
        1,
    ),
    Case("no CPU is left", EIGHT, (named("a", app("cpu=7")), named("b", app("cpu=500m memory=1Gi"))), [], 15),
    Case(
        "CPUs and memory, although only CPUs are missing first",
        with_memory(EIGHT, 8),
        (named("a", app("cpu=3 memory=6Gi")), named("b", app("cpu=6 memory=3Gi"))),
        [{"main": "4", "main memory": "2Gi"}],
        23,
    ),
    Case("more CPUs are requested than exist", EIGHT, (named("a", app("cpu=9500m")),), [{"main": "7"}], 1),
    Case(
        "memory is rounded down",
        with_memory(EIGHT, 8),
        (named("a", app("memory=3146240Ki")), named("b", app("memory=6Gi"))),
        [{"main memory": "5119Mi"}],
        1,
    ),
    Case("less than one CPU", EIGHT, (named("a", app("cpu=6500m")), named("b", app("cpu=2"))), HALF, 1),
    Case(
        "parts of CPUs where no CPU is exclusive",
        EIGHT,
        (named("a", app("cpu=6500m")), named("b", whole(4))),
        HALF,
        1,
        {"cpu_manager_policy": "none"},
    ),
    Case(
        "a part of a CPU if a whole one would have to be a core",
        EIGHT,
        (named("a", app("cpu=6")), named("b", app("cpu=2500m memory=1Gi", "cpu=2500m memory=1Gi"))),
        [{"main": "900m"}],
        2,
        CORES,
    ),
    Case("too many pods", EIGHT, (named("a", app("cpu=1")), named("b", whole(1))), [], 0, {"max_pods": 1}),
]

TAKEN = named("a", app("cpu=5500m"))  # 1500m are left
TWO = app("cpu=2500m", name="one"), app("cpu=2500m", name="two")
OF_SEVERAL = [
    Case("two containers", EIGHT, (TAKEN, named("b", *TWO)), [{"one": "750m", "two": "750m"}], 10),
    Case(
        "a small container keeps its request",
        EIGHT,
        (TAKEN, named("b", *TWO, app("cpu=100m", name="small"))),
        [{"one": "700m", "two": "700m"}],
        10,
    ),
    Case(
        "an init container and the one after it",
        EIGHT,
        (TAKEN, named("b", init("cpu=2500m"), app("cpu=2"))),
        [{"init": "1500m", "main": "1500m"}],
        13,
    ),
    Case(
        "exclusive CPUs are whole",
        EIGHT,
        (named("a", app("cpu=4")), named("b", whole(3, "one"), whole(3, "two"))),
        [{"one": "1", "two": "1"}],
        12,
    ),
    Case(
        "a pod's own resources",
        EIGHT,
        (TAKEN, divided("b", "cpu=2500m memory=1Gi", app())),
        [{"": "1500m"}],
        1,
    ),
    Case(
        "a pod's own resources and those of its containers",
        EIGHT,
        (TAKEN, divided("b", "cpu=6 memory=1Gi", *TWO)),
        [{"": "1500m", "one": "750m", "two": "750m"}],
        10,
    ),
    Case(
        "a pod's own memory",
        with_memory(EIGHT, 8),
        (named("a", app("memory=3Gi")), divided("b", "cpu=1 memory=6Gi", app())),
        [{" memory": "5Gi"}],
        1,
    ),
]


@pytest.mark.parametrize("case", [*FITTING, *OF_SEVERAL], ids=lambda case: case.name)
def test_what_a_node_has_left(case: Case) -> None:
    replay = reported(scenario(case.info, *case.pods, fit=True, **case.config))
    assert nearest(replay) == (case.found, case.runs)


def test_devices_that_other_pods_have_requested() -> None:
    """Which devices a running pod holds is not known, so some are left to allocate."""
    one = scenario(EIGHT, named("b", whole(1, more="example.com/card=3")), fit=True, devices=cards(node0=4))

    def start(kubelet: Any) -> Any:
        node = one.start(kubelet)
        node.resume([named("a", whole(1, more="example.com/card=2"))])  # type: ignore[union-attr]
        return node

    assert nearest(reported(replace(one, start=start))) == ([{"main card": "2"}], 1)
