"""How policy options and the kubelet's minor release choose the picker."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.picking.packed import PickerRules, picker_rules
from cpuctl.engine.cpu.picking.picker import Picker
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.outcome import Picked
from cpuctl.kubelet.policy_options import CPUPolicyOptions
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.records import replace
from tests.support.topologies import mask, regular

TWO_NODES = regular(sockets=2, cores=4, threads=2)
FOUR_NODES = regular(sockets=2, nodes=2, cores=4)
TWO_CACHES = regular(cores=8, threads=2, cores_per_cache=4)
ADJACENT = regular(cores=4, threads=2, adjacent=True)
NUMA = CPUPolicyOptions(distribute_cpus_across_numa=True)
NUMA_CORES = CPUPolicyOptions(distribute_cpus_across_numa=True, full_pcpus_only=True)
NUMA_SOCKET = CPUPolicyOptions(distribute_cpus_across_numa=True, align_by_socket=True)
UNCORE = CPUPolicyOptions(prefer_align_cpus_by_uncorecache=True)
CORES = CPUPolicyOptions(distribute_cpus_across_cores=True)


@dataclass(frozen=True)
class Case:
    """Policy options, a request, and the CPUs that it gets."""

    name: str
    topology: CPUTopology
    free: str
    count: int
    want: str
    options: CPUPolicyOptions = field(default_factory=CPUPolicyOptions)
    minor: int = 36
    hint_width: int = 0


@pytest.mark.parametrize(
    "case",
    [
        Case("packed", TWO_NODES, "0-15", 10, "0-4,8-12"),
        Case("distributed", TWO_NODES, "0-15", 10, "0-2,4-6,8-9,12-13", NUMA),
        Case("distributed whole cores", TWO_NODES, "0-15", 10, "0-2,4-5,8-10,12-13", NUMA_CORES),
        Case("distributed over the hint", FOUR_NODES, "0-15", 4, "0,4,8,12", NUMA, 38, 4),
        Case("the hint counts from 1.38", FOUR_NODES, "0-15", 4, "0-3", NUMA, 37, 4),
        Case("no hint", FOUR_NODES, "0-15", 4, "0-3", NUMA, 38),
        Case("distributed inside a socket", FOUR_NODES, "0-14", 7, "0-6", NUMA_SOCKET, 37),
        Case("inside a socket from 1.37", FOUR_NODES, "0-14", 7, "0-2,8-11", NUMA_SOCKET, 36),
        Case("caches", TWO_CACHES, "1-15", 4, "4-5,12-13", UNCORE),
        Case("no caches", TWO_CACHES, "1-15", 4, "1-2,9-10"),
        Case("across cores, as v1.36 reads it", ADJACENT, "0-7", 5, "0-4", CORES),
        Case("across cores from 1.38", ADJACENT, "0-7", 5, "0-2,4,6", CORES, 38),
        Case("not across cores", ADJACENT, "2-4", 2, "2-3"),
        Case("across cores, the lowest numbers", ADJACENT, "1-3", 2, "1-2", CORES),
    ],
    ids=lambda case: case.name,
)
def test_the_options_choose_the_picker(case: Case) -> None:
    picker = Picker.of(case.topology, case.options, behaviours(case.minor))
    result = picker.pick(mask(case.free), case.count, hint_width=case.hint_width)
    assert isinstance(result, Picked)
    assert str(CPUSet(result.cpus)) == case.want


ALL = PickerRules(
    align_by_socket=True,
    limits_share=True,
    hint_floor=True,
    spreads_over_cores=True,
    counts_whole_groups=True,
    copies_combinations=True,
)


@pytest.mark.parametrize(
    ("minor", "want"),
    [(36, PickerRules()), (37, PickerRules(align_by_socket=True, limits_share=True)), (38, ALL)],
)
def test_the_minor_release_determines_the_rules(minor: int, want: PickerRules) -> None:
    assert picker_rules(behaviours(minor), align_by_socket=True) == want
    assert picker_rules(behaviours(minor)) == replace(want, align_by_socket=False)
