"""How to build each benchmarked operation; a new one is a function here and a line at the end.

A function gets a line of the recorded benchmark input, ``{"bench": ..., "variant": ..., "case": ...}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from cpuctl.cpuset import CPUSet
from cpuctl.engine.distributed_picker import Dealing, take_distributed
from cpuctl.engine.packed_picker import take_packed
from cpuctl.engine.topology import CPUTopology
from tests.benchmarks.timing import Run
from tests.conformance.corpus import Json
from tests.conformance.machines import machine_info


def take_by_topology(bench: Json) -> Run:
    """Pick CPUs on a machine discovered anew."""
    case = bench["case"]
    topology = CPUTopology.discover(machine_info(case["machine"]))
    offered, count = CPUSet.parse(case["available"]).mask, case["numCPUs"]
    if case["mode"] == "packed":
        return partial(take_packed, topology, offered, count, prefer_uncore=case.get("preferUncore", False))
    return partial(take_distributed, topology, offered, count, Dealing(group_size=case["groupSize"]))


OPERATIONS: Mapping[str, Callable[[Json], Run]] = {"takeByTopology": take_by_topology}
