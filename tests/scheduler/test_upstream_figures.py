"""Figures from the scheduler's own test tables, decided as the scheduler does.

Sources: ``fit_test.go`` (007f7ae7), ``least_allocated_test.go`` (008b3652) and
``balanced_allocation_test.go`` (00fdb4ff) in ``pkg/scheduler/framework/plugins/noderesources`` of
kubernetes/kubernetes.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cpuctl.pods.model import Container, ContainerKind, Pod, ResourceRequirements
from cpuctl.quantity import Quantity
from cpuctl.scheduler.decisions import (
    Candidate,
    PodNeeds,
    balanced_allocation,
    bound_load,
    filter_reasons,
    least_allocated,
)
from cpuctl.scheduler.model import Amounts, Load, NodeObject

A, B, PAGES = "example.com/aaa", "example.com/bbb", "hugepages-2Mi"
NODE = NodeObject("n", {"cpu": 10, "memory": 20, "pods": 32, A: 5, PAGES: 5})
Asked = tuple[int, int, dict[str, int]]


def container(name: str, milli: int, memory: int, more: Amounts, kind: ContainerKind) -> Container:
    requests = {
        **{name: Quantity.from_value(amount) for name, amount in more.items()},
        "cpu": Quantity.from_milli(milli),
        "memory": Quantity.from_value(memory),
    }
    return Container(name, kind, ResourceRequirements(requests=requests))


def pod(apps: Sequence[Asked], inits: Sequence[Asked] = (), overhead: Amounts | None = None) -> Pod:
    return Pod(
        "p",
        tuple(container(f"a{n}", *each, kind=ContainerKind.APP) for n, each in enumerate(apps)),
        tuple(container(f"i{n}", *each, kind=ContainerKind.INIT) for n, each in enumerate(inits)),
        overhead={
            name: Quantity.from_milli(amount) if name == "cpu" else Quantity.from_value(amount)
            for name, amount in (overhead or {}).items()
        },
    )


def cpu(milli: int, memory: int) -> Asked:
    return milli, memory, {}


def device(amount: int, name: str = A) -> Asked:
    return 1, 1, {name: amount}


NOTHING: Asked = (0, 0, {})
CPU, MEMORY = "Insufficient cpu", "Insufficient memory"
SHORT_OF_A, SHORT_OF_B, SHORT_OF_PAGES = (f"Insufficient {name}" for name in (A, B, PAGES))
FITS: dict[str, tuple[list[Asked], list[Asked], Asked, tuple[str, ...]]] = {
    "no resources requested always fits": ([NOTHING], [], cpu(10, 20), ()),
    "too many resources fails": ([cpu(1, 1)], [], cpu(10, 20), (CPU, MEMORY)),
    "due to init container cpu": ([cpu(1, 1)], [cpu(3, 1)], cpu(8, 19), (CPU,)),
    "due to highest init container cpu": ([cpu(1, 1)], [cpu(3, 1), cpu(2, 1)], cpu(8, 19), (CPU,)),
    "due to init container memory": ([cpu(1, 1)], [cpu(1, 3)], cpu(9, 19), (MEMORY,)),
    "due to highest init container memory": ([cpu(1, 1)], [cpu(1, 3), cpu(1, 2)], cpu(9, 19), (MEMORY,)),
    "it's the max, not sum, of containers and init containers": ([cpu(1, 1)], [cpu(1, 1)], cpu(9, 19), ()),
    "multiple init containers fit": ([cpu(1, 1)], [cpu(1, 1), cpu(1, 1)], cpu(9, 19), ()),
    "both resources fit": ([cpu(1, 1)], [], cpu(5, 5), ()),
    "one resource memory fits": ([cpu(2, 1)], [], cpu(9, 5), (CPU,)),
    "one resource cpu fits": ([cpu(1, 2)], [], cpu(5, 19), (MEMORY,)),
    "equal edge case": ([cpu(5, 1)], [], cpu(5, 19), ()),
    "equal edge case for init container": ([cpu(4, 1)], [cpu(5, 1)], cpu(5, 19), ()),
    "extended resource fits": ([device(1)], [], NOTHING, ()),
    "extended resource capacity enforced": ([device(10)], [], NOTHING, (SHORT_OF_A,)),
    "capacity enforced for init container": ([NOTHING], [device(10)], NOTHING, (SHORT_OF_A,)),
    "extended resource allocatable enforced": ([device(1)], [], (0, 0, {A: 5}), (SHORT_OF_A,)),
    "enforced for multiple containers": ([device(3), device(3)], [], (0, 0, {A: 2}), (SHORT_OF_A,)),
    "admits multiple init containers": ([NOTHING], [device(3), device(3)], (0, 0, {A: 2}), ()),
    "multiple init containers": ([NOTHING], [device(6), device(3)], (0, 0, {A: 2}), (SHORT_OF_A,)),
    "unknown resource": ([device(1, B)], [], NOTHING, (SHORT_OF_B,)),
    "hugepages capacity enforced": ([device(10, PAGES)], [], NOTHING, (SHORT_OF_PAGES,)),
    "hugepages allocatable enforced for multiple containers": (
        [device(3, PAGES), device(3, PAGES)],
        [],
        (0, 0, {PAGES: 2}),
        (SHORT_OF_PAGES,),
    ),
}


@pytest.mark.parametrize(("apps", "inits", "bound", "reasons"), FITS.values(), ids=FITS.keys())
def test_fit(apps: list[Asked], inits: list[Asked], bound: Asked, reasons: tuple[str, ...]) -> None:
    assert filter_reasons(PodNeeds.of(pod(apps, inits)), NODE, bound_load(pod([bound]))) == reasons


@pytest.mark.parametrize(("memory", "reasons"), [(13, ()), (15, (MEMORY,))])
def test_overhead_comes_on_top(memory: int, reasons: tuple[str, ...]) -> None:
    wanted = PodNeeds.of(pod([cpu(1, 1)], overhead={"cpu": 1, "memory": memory}))
    assert filter_reasons(wanted, NODE, bound_load(pod([cpu(5, 5)]))) == reasons


CPU_ONLY = [cpu(1000, 0), cpu(2000, 0)]
BOTH = [cpu(1000, 2000), cpu(2000, 3000)]
LEAST: dict[str, tuple[list[Asked], list[list[Asked]], tuple[int, int], int]] = {
    "resources requested, small node": (BOTH, [], (4000, 10000), 37),
    "resources requested, large node": (BOTH, [], (6000, 10000), 50),
    "pods scheduled without memory": (BOTH, [[cpu(3000, 0)]], (10000, 20000), 57),
    "pods scheduled with memory": (BOTH, [[cpu(3000, 5000)]], (10000, 20000), 45),
    "differently sized": (BOTH, [[cpu(3000, 5000)]], (10000, 50000), 60),
    "exceeds capacity": ([cpu(3000, 0)], [[cpu(3000, 0)]], (4000, 10000), 50),
    "exceeds capacity, with memory": ([cpu(3000, 0)], [[cpu(3000, 5000)]], (4000, 10000), 25),
    "zero node resources": ([cpu(1, 1)], [[cpu(3000, 0)]], (0, 0), 0),
}


def bound(pods: list[list[Asked]]) -> Load:
    load = Load()
    for each in pods:
        load = load.plus(bound_load(pod(each)))
    return load


@pytest.mark.parametrize(("requested", "there", "space", "score"), LEAST.values(), ids=LEAST.keys())
def test_least_allocated(
    requested: list[Asked], there: list[list[Asked]], space: tuple[int, int], score: int
) -> None:
    node = NodeObject("n", dict(zip(("cpu", "memory"), space, strict=True)))
    assert least_allocated(PodNeeds.of(pod(requested)).load, Candidate(node, bound(there))) == score


# With and without the pod: the table's score of the node alone, in the rule that compares the two.
BALANCED: dict[str, tuple[list[Asked], list[list[Asked]], tuple[int, int], int, int]] = {
    "small node": (BOTH, [], (4000, 10000), 87, 100),
    "large node": (BOTH, [], (6000, 10000), 100, 100),
    "after one without memory": (BOTH, [CPU_ONLY], (10000, 20000), 82, 85),
    "after one with memory": (BOTH, [BOTH], (10000, 20000), 95, 97),
    "differently sized": (BOTH, [BOTH], (10000, 50000), 80, 90),
    "at capacity": (CPU_ONLY, [CPU_ONLY], (6000, 10000), 50, 75),
    "at capacity, with memory": (CPU_ONLY, [BOTH], (6000, 10000), 75, 100),
}


@pytest.mark.parametrize(
    ("requested", "there", "space", "after", "before"), BALANCED.values(), ids=BALANCED.keys()
)
def test_balanced_allocation(
    requested: list[Asked], there: list[list[Asked]], space: tuple[int, int], after: int, before: int
) -> None:
    node = NodeObject("n", dict(zip(("cpu", "memory"), space, strict=True)))
    score = balanced_allocation(PodNeeds.of(pod(requested)).load, Candidate(node, bound(there)))
    assert score == 50 + (50 + after - before) // 2
