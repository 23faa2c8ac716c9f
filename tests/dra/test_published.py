"""Recorded slices of the driver count for the scheduler, next to the driver on the machine."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from cpuctl.cpuset import CPUSet
from cpuctl.dra.driver import DeviceMode, DriverMachine, DriverSettings, GroupBy
from cpuctl.dra.published import published_settings
from cpuctl.dra.slices import resource_slices
from cpuctl.inputs.dra import DriverFlags, driver_for_kubelet, flags_of, read_driver_arguments
from cpuctl.inputs.pods import GivenPods
from cpuctl.inputs.sources import Sources
from cpuctl.machine.sources import read_machine
from cpuctl.operations.claims import ClaimsPlan, own_devices, plan_claims
from cpuctl.pods.identity import with_uids
from cpuctl.pods.reading.manifests import decode_manifests
from tests.dra.claims import NODE, claim, cpus, given, loaded, pod, single_cpus

SPEC = "2n16c2t"
NOT = "ResourceSlices of dra.cpu are not what the driver would publish with these flags: "


def published(settings: DriverSettings) -> list[dict[str, Any]]:
    machine = DriverMachine.discover(read_machine(f"synthetic:{SPEC}").machine)
    return list(resource_slices(machine, settings, NODE))


def planned(
    slices: list[dict[str, Any]], text: str, words: DriverFlags | None = None
) -> tuple[ClaimsPlan, list[str]]:
    found = decode_manifests(yaml.safe_dump_all(slices) + text, "test.yaml")
    sources = Sources()
    source = read_machine(f"synthetic:{SPEC}")
    driver = driver_for_kubelet(words or DriverFlags(), source, sources, None, found.dra)
    pods = GivenPods(tuple(with_uids(found.pods)), dra=found.dra)
    return plan_claims(pods, driver, sources), sources.warnings


ONE, GROUP = claim("c", single_cpus(3)) + pod("a", "c"), claim("c", cpus(6)) + pod("a", "c")


@pytest.mark.parametrize(
    ("settings", "text", "want"),
    [
        (DriverSettings(), GROUP, "0-2,16-18"),
        (DriverSettings(group_by=GroupBy.SOCKET), GROUP, "0-2,16-18"),
        (DriverSettings(mode=DeviceMode.INDIVIDUAL, reserved=CPUSet.parse("0,16")), ONE, "1-2,17"),
        (DriverSettings(node_allocatable_mapping=True), GROUP, "0-2,16-18"),
    ],
)
def test_slices_show_how_the_driver_is_configured(settings: DriverSettings, text: str, want: str) -> None:
    found, warnings = planned(published(settings), text)
    assert given(found) == [want]
    assert found.driver.settings == settings
    assert not any(each.startswith(NOT) for each in warnings)
    words = read_driver_arguments(flags_of(settings))
    assert (words.mode, words.group_by, words.reserved) == (
        settings.mode,
        settings.group_by,
        str(settings.reserved),
    )


def test_the_scheduler_uses_published_slices_and_differences_from_the_driver_are_reported() -> None:
    slices = published(DriverSettings())
    first, second = slices[0]["spec"]["devices"]
    first["capacity"]["dra.cpu/cpu"]["value"] = "4"
    second["attributes"]["dra.cpu/socketID"] = {"int": 7}
    found, warnings = planned(slices, GROUP)
    assert given(found) == ["8-10,24-26"], "6 CPUs are left on the second node only"
    assert warnings == [
        f"{NOT}cpudevnuma000: published with 4 CPUs, expected 16",
        f"{NOT}cpudevnuma001: different dra.cpu/socketID",
    ]


def test_devices_that_the_driver_does_not_have_are_not_prepared() -> None:
    reserved = DriverSettings(mode=DeviceMode.INDIVIDUAL)
    words = DriverFlags(mode=DeviceMode.INDIVIDUAL, reserved="0-3,16-19")
    found, warnings = planned(published(reserved), claim("c", single_cpus(32)) + pod("a", "c"), words)
    assert 'device "cpudev024" not found in device to CPU ID map' in found.pods[0].problem
    assert warnings[0] == (
        f"{NOT}cpudev024, cpudev025, cpudev026, cpudev027, cpudev028, ...: the driver does not have this "
        "device, so it cannot prepare claims for it"
    )
    assert any(each.endswith("different dra.cpu/cpuID") for each in warnings)


def test_incomplete_slices_are_not_used() -> None:
    slices = published(DriverSettings())
    slices[0]["spec"]["pool"]["resourceSliceCount"] = 2
    found, warnings = planned(slices, GROUP)
    assert found.pods[0].why is not None
    assert f"pool dra.cpu/{NODE} is incomplete" in warnings[0]


def test_names_of_unknown_drivers_show_no_settings() -> None:
    devices = own_devices(loaded(SPEC, DriverSettings()))
    odd = tuple(each._replace(name="numa0") for each in devices)
    assert published_settings(odd, CPUSet()) is None
    assert published_settings((), CPUSet()) is None
