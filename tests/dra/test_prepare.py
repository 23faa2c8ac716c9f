"""The CPUs that the driver picks, including its defect."""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.dra.driver import DriverMachine, DriverSettings, GroupBy
from cpuctl.dra.model import CPUConfig, Device, Grant
from cpuctl.dra.prepare import Driver, NotPrepared, Prepared, driver_topology
from cpuctl.dra.slices import CPU_CAPACITY
from cpuctl.engine.cpu.picking.packed import take_packed
from cpuctl.engine.masks import CPUMask
from cpuctl.engine.outcome import Picked
from cpuctl.machine.synthetic import parse_synthetic
from cpuctl.quantity import Quantity
from tests.dra.claims import claim, cpus, given, plan, pod
from tests.dra.machines import Row, machine_of, seen


def repeated() -> DriverMachine:
    """Two sockets, each with two L3 caches with two cores of two CPUs; core ids 0 to 3 on both."""
    rows = [Row(cpu, cpu // 4 % 2, cpu // 4 % 2, cpu % 4, cpu // 2 % 4) for cpu in range(16)]
    return seen(machine_of(rows))


RECORDED = [
    ("1-3,8-10", "1,5,9,13", "1-2,9-10"),
    ("0,1,3,9,10,11", "1,5,9,13", "1,3,9,11"),
    ("1-3,9-11", "2-3,10-11", "2-3,10-11"),
]


@pytest.mark.parametrize(("available", "recorded", "fixed"), RECORDED)
def test_cores_that_share_an_id_are_one_core_to_the_driver(available: str, recorded: str, fixed: str) -> None:
    """Recorded with the driver's own code."""
    for topology, wanted in (
        (driver_topology(repeated()), recorded),
        (driver_topology(repeated(), fixed=True), fixed),
    ):
        offered = CPUMask(CPUSet.parse(available).mask)
        picked = take_packed(topology, offered, 4, prefer_uncore=True)
        assert isinstance(picked, Picked)
        assert str(CPUSet(picked.cpus)) == wanted


def test_cpus_outside_the_device_are_reported_and_a_fixed_driver_has_none() -> None:
    text = claim("first", cpus(4)) + pod("a", "first")
    settings = DriverSettings(reserved=CPUSet.parse("0,11"))
    (found,) = plan(text, repeated(), settings).pods[0].claims
    assert found.prepared == Prepared(CPUSet.parse("1,5,9,13"), strays=CPUSet.parse("5,13"))
    (fixed,) = plan(text, repeated(), settings, fixed=True).pods[0].claims
    assert fixed.prepared == Prepared(CPUSet.parse("1-2,9-10"))


def test_a_claim_takes_whole_caches_and_cores_of_its_group_first() -> None:
    text = claim("a", cpus(4)) + claim("b", cpus(3)) + claim("c", cpus(8))
    text += pod("one", "a", "b") + pod("two", "c")
    assert given(plan(text, "1s2n8c2t,l3=4")) == ["0-1,8-9", "2-3,10", "4-7,12-15"]


def grant(amount: str | None, device: str = "cpudevnuma000") -> Grant:
    consumed = {} if amount is None else {CPU_CAPACITY: Quantity.parse(amount)}
    return Grant("cpus", Device("dra.cpu", "node", device), consumed)


@pytest.mark.parametrize(
    ("grants", "error"),
    [
        (grant(None), 'CPU capacity "dra.cpu/cpu" for device "cpudevnuma000" is missing'),
        (grant("0"), 'CPU capacity for device "cpudevnuma000" must be positive, got 0'),
        (grant("1500m"), 'CPU capacity for device "cpudevnuma000" must be a whole number, got 1500m'),
        (grant("1", "cpudevnuma007"), "no valid NUMA node ID found for device cpudevnuma007"),
        (grant("9"), "not enough cpus available to satisfy request: requested=9, available=8"),
    ],
)
def test_claims_that_the_driver_cannot_prepare_show_its_error(grants: Grant, error: str) -> None:
    driver = Driver(DriverMachine.discover(parse_synthetic("2n8c2t")), DriverSettings())
    found = driver.prepare("default/a", [grants])
    assert isinstance(found, NotPrepared)
    assert found.reason(consumable=True) == error
    assert not driver.prepared


@pytest.mark.parametrize(
    ("config", "outcome"),
    [
        ([CPUConfig(CPUSet.parse("2-5"), ("cpus",))], Prepared(CPUSet.parse("2-5"))),
        ([], "is targeted by 0 configurations, must be targeted by exactly 1"),
        ([CPUConfig(CPUSet.parse("2-4"))], "cpuset size 3 does not match requested capacity 4"),
        ([CPUConfig(CPUSet.parse("0-3"))], "requested CPUs 0-3 from opaque config contain reserved cores: 0"),
        ([CPUConfig(CPUSet.parse("14-17"))], "contain offline cores: 16-17"),
        ([CPUConfig(CPUSet.parse("8-11"))], "8-11 from opaque config conflict with already allocated claims"),
    ],
)
def test_a_claim_of_the_machine_as_one_device_names_its_cpus(
    config: list[CPUConfig], outcome: Prepared | str
) -> None:
    settings = DriverSettings(group_by=GroupBy.MACHINE, reserved=CPUSet.parse("0"))
    driver = Driver(DriverMachine.discover(parse_synthetic("2n8c2t")), settings)
    driver.prepared = CPUSet.parse("11")
    found = driver.prepare("default/a", [grant("4", "cpudevmachine")], config)
    if isinstance(outcome, Prepared):
        assert found == outcome
    else:
        assert isinstance(found, NotPrepared)
        assert found.error.endswith(outcome)


def test_the_cpus_of_a_claim_are_read_from_its_configuration() -> None:
    config = """, config: [{requests: [cpus], opaque: {driver: dra.cpu,
        parameters: {apiVersion: v1alpha1, cpuConfig: {cpuset: "2-5"}}}}]"""
    text = claim("a", cpus(4), config) + pod("one", "a")
    assert given(plan(text, "2n8c2t", DriverSettings(group_by=GroupBy.MACHINE))) == ["2-5"]
