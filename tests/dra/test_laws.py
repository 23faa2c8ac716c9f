"""Invariants of all claims on all machines."""

from __future__ import annotations

from hypothesis import given as each
from hypothesis import settings as limits
from hypothesis import strategies as st

from cpuctl.cpuset import CPUSet
from cpuctl.dra.driver import DeviceMode, DriverMachine, DriverSettings, GroupBy
from cpuctl.dra.prepare import Prepared
from cpuctl.machine.synthetic import parse_synthetic
from tests.dra.claims import claim, cpus, plan, pod, single_cpus

MACHINES = st.builds(
    "{}s{}n{}c{}t,{}".format,
    st.integers(1, 2),
    st.sampled_from([2, 4, 8]),
    st.sampled_from([8, 16]),
    st.integers(1, 4),
    st.sampled_from(["near", "far", "interleaved"]),
)
SETTINGS = st.builds(
    DriverSettings,
    st.sampled_from(DeviceMode),
    st.sampled_from([GroupBy.NUMA_NODE, GroupBy.SOCKET]),
    st.sets(st.integers(0, 31), max_size=12).map(CPUSet.of),
)
NODE = "resource.kubernetes.io/numaNode"


@limits(max_examples=100, deadline=None)
@each(MACHINES, SETTINGS, st.lists(st.integers(1, 16), min_size=1, max_size=6), st.booleans())
def test_claims_are_disjoint_available_and_exact(
    machine: str, settings: DriverSettings, counts: list[int], aligned: bool
) -> None:
    individual = settings.mode is DeviceMode.INDIVIDUAL
    by_node = individual or settings.group_by is GroupBy.NUMA_NODE
    constraint = f", constraints: [{{matchAttribute: {NODE}}}]" if aligned and by_node else ""
    request = single_cpus if individual else cpus
    text = "".join(
        claim(f"c{number}", request(count), constraint) + pod(f"p{number}", f"c{number}")
        for number, count in enumerate(counts)
    )
    driver_machine = DriverMachine.discover(parse_synthetic(machine))
    found = plan(text, driver_machine, settings, fixed=True)
    available, held = driver_machine.all_cpus - settings.reserved, CPUSet()
    groups = driver_machine.numa_nodes if by_node else driver_machine.sockets
    for every, count in zip(found.pods, counts, strict=True):
        largest = max((len((group & available) - held) for group in groups.values()), default=0)
        together = bool(constraint) or not individual
        free = largest if together else len(available - held)
        assert (every.why is None) == (count <= free), "satisfied exactly where there is room"
        if every.why is None:
            (outcome,) = every.claims
            assert isinstance(outcome.prepared, Prepared)
            assert len(outcome.cpus) == count
            assert outcome.cpus <= available - held
            assert not outcome.prepared.strays
            if together:
                assert any(outcome.cpus <= group for group in groups.values())
            held |= outcome.cpus
    assert found.driver.shared == available - held
