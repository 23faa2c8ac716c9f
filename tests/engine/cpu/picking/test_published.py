"""Packed picking compared with published results of earlier kubelets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.picking.packed import take_packed
from cpuctl.engine.outcome import Picked
from tests.support.topologies import CoreAt, mask, regular, topology


def recorded_allocations() -> list[Any]:
    """Read results of earlier kubelets that authors of tools and bug reports published."""
    path = Path(__file__).parents[4] / "fixtures" / "conformance" / "recorded_allocations.json"
    examples: list[Any] = json.loads(path.read_text(encoding="utf-8"))["examples"]
    return examples


# Up to 1.22 the order of single CPUs was inconsistent: it took the odd CPU from the other socket here.
REORDERED_SINCE = {"5,7,12,17,19": "5,7,13,17,19"}


@pytest.mark.parametrize(
    "example",
    [example for example in recorded_allocations() if "requests" in example],
    ids=lambda example: f"{example['source']} {example['requests']}",
)
def test_published_allocations(example: Any) -> None:
    """Each request, made in the published state that the previous one left, gets the published CPUs.

    The machine's NUMA node 0 is its socket 1. Kubelets of that time sorted by sockets only; today's check
    NUMA nodes first, so here the nodes take the sockets' numbers.
    """
    machine = topology(CoreAt((cpu, cpu + 12), 1 - cpu % 2, 1 - cpu % 2) for cpu in range(12))
    shared = machine.cpus
    for count, want, shared_after in zip(
        example["requests"], example["results"], example["default_after"], strict=True
    ):
        result = take_packed(machine, shared & ~mask(example["reserved"]), count)
        assert isinstance(result, Picked)
        assert result.cpus == mask(REORDERED_SINCE.get(want, want))
        shared &= ~mask(want)
        assert shared == mask(shared_after)


def test_published_allocation_of_an_init_container_and_its_pod() -> None:
    """CPUs 1 and 3 never leave the shared pool, so they were reserved; the pod gets its init CPU back."""
    example = next(e for e in recorded_allocations() if e["source"] == "kubernetes#123816")
    machine = regular(sockets=2, cores=16, threads=2)
    free = machine.numa_nodes[0] & ~mask("1,3")
    results = [text for pod in example["pods"] for text in pod["result"].values()]
    taken = [take_packed(machine, free, count) for count in (1, 26)]
    assert [str(CPUSet(result.cpus)) for result in taken if isinstance(result, Picked)] == results[:2]
