"""The slices that the driver publishes: equal to the recorded ones, and in its order on odd machines."""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.dra.driver import DeviceMode, DriverMachine, DriverSettings, GroupBy
from cpuctl.dra.slices import driver_devices, resource_slices
from cpuctl.machine.model import Machine
from cpuctl.machine.synthetic import parse_synthetic
from cpuctl.records import replace
from tests.dra.machines import Row, machine_of, recorded, rows_of, seen

INDIVIDUAL = DriverSettings(mode=DeviceMode.INDIVIDUAL)


def test_individual_cpus_are_published_as_recorded() -> None:
    slices = recorded("dualsocket-8cpu-ht.individual")
    machine = seen(machine_of(rows_of(slices)))
    assert list(resource_slices(machine, INDIVIDUAL, "node-a", generate_names=True)) == slices


def test_groups_without_reserved_cpus_are_published_as_recorded() -> None:
    slices = recorded("dualsocket-8cpu-ht.grouped-numanode.reserved-0,4.nodeallocatable")
    machine = seen(machine_of(rows_of(recorded("dualsocket-8cpu-ht.individual"))))
    settings = DriverSettings(reserved=CPUSet.parse("0,4"), node_allocatable_mapping=True)
    assert list(resource_slices(machine, settings, "node-a", generate_names=True)) == slices


def test_kinds_of_cores_are_published_as_recorded() -> None:
    slices = recorded("hybrid-4cpu.individual.nodeallocatable")
    machine = seen(machine_of(rows_of(slices), e_cores=CPUSet.parse("2-3")))
    settings = INDIVIDUAL._replace(node_allocatable_mapping=True)
    assert list(resource_slices(machine, settings, "node-b", generate_names=True)) == slices


def test_sockets_whose_core_ids_repeat_are_published_as_recorded() -> None:
    rows = [Row(cpu, cpu // 4, cpu // 4, cpu % 4 // 2, cpu // 4) for cpu in range(8)]
    settings = DriverSettings(group_by=GroupBy.SOCKET)
    slices = resource_slices(seen(machine_of(rows)), settings, "node-c", generate_names=True)
    assert list(slices) == recorded("2socket-2numa-8cpu.grouped-socket")


def test_pcie_roots_are_published_as_recorded() -> None:
    slices = recorded("xeon6230R-104cpu.individual.pcie")
    reserved = [Row(cpu, cpu % 2, cpu % 2, 0, cpu % 2) for cpu in (0, 1, 52, 53)]
    machine = machine_of([*rows_of(slices), *reserved])
    near = {0: ("00", "17", "3a", "5d"), 1: ("80", "85", "ae", "d7")}
    roots = {
        f"sys/devices/pci0000:{bus}/pci_bus/0000:{bus}/cpulistaffinity": f"{machine.sockets[socket]}\n"
        for socket, buses in near.items()
        for bus in buses
    }
    settings = INDIVIDUAL._replace(expose_pcie_roots=True, reserved=CPUSet.parse("0-1,52-53"))
    published = resource_slices(seen(machine, roots), settings, "node-d", generate_names=True)
    assert list(published) == slices
    assert [len(each["spec"]["devices"]) for each in published] == [64, 36]


def numbered(machine: DriverMachine, reserved: str) -> list[int]:
    settings = INDIVIDUAL._replace(reserved=CPUSet.parse(reserved))
    return [each.cpus.lowest for each in driver_devices(machine, settings)]


def test_a_cpu_is_followed_by_its_sibling_unless_that_is_reserved() -> None:
    # Siblings 0-2, 1-3, 4-6, 5-7.
    rows = [Row(cpu, 0, 0, cpu // 4 * 2 + cpu % 2, 0) for cpu in range(8)]
    assert numbered(seen(machine_of(rows)), "0") == [1, 3, 2, 4, 6, 5, 7]


def test_cores_of_four_threads_have_no_siblings() -> None:
    assert numbered(DriverMachine.discover(parse_synthetic("2c4t")), "1") == [0, 2, 3, 4, 5, 6, 7]


def test_512_cpus_make_four_slices_of_128_or_eight_of_64() -> None:
    machine = DriverMachine.discover(parse_synthetic("2s8n128c2t"))
    for settings, sizes in ((INDIVIDUAL, [128] * 4), (INDIVIDUAL._replace(expose_pcie_roots=True), [64] * 8)):
        slices = resource_slices(machine, settings, "big")
        assert [len(each["spec"]["devices"]) for each in slices] == sizes
        assert [each["metadata"]["name"] for each in slices][:2] == [
            "00000-dra.cpu-big",
            "00001-dra.cpu-big",
        ]
        assert {each["spec"]["pool"]["resourceSliceCount"] for each in slices} == {len(sizes)}


def test_groups_without_a_cpu_left_are_not_devices_but_the_machine_is() -> None:
    machine = DriverMachine.discover(parse_synthetic("2s2n1c2t"))
    reserved = machine.numa_nodes[1]
    by_node = driver_devices(machine, DriverSettings(reserved=reserved))
    assert [(each.name, each.cpus) for each in by_node] == [("cpudevnuma000", machine.numa_nodes[0])]
    whole = DriverSettings(group_by=GroupBy.MACHINE, reserved=machine.online)
    assert [(each.name, len(each.cpus)) for each in driver_devices(machine, whole)] == [("cpudevmachine", 0)]


@pytest.mark.parametrize("missing", ["socket", "a socket's number", "core", "NUMA node"])
def test_a_cpu_with_an_unknown_place_is_skipped_but_counts_for_the_machine(missing: str) -> None:
    whole = parse_synthetic("4c")
    odd = {
        "socket": whole.cpus[2]._replace(package_id=None),
        "a socket's number": whole.cpus[2]._replace(package_id=-1),
        "core": whole.cpus[2]._replace(core_id=None),
        "NUMA node": whole.cpus[2]._replace(numa_node=None),
    }[missing]
    machine = DriverMachine.discover(replace(whole, cpus=(*whole.cpus[:2], odd, whole.cpus[3])))
    assert machine.skipped == CPUSet.parse("2")
    assert numbered(machine, "") == [0, 1, 3]
    (device,) = driver_devices(machine, DriverSettings(group_by=GroupBy.MACHINE))
    assert device.cpus == CPUSet.parse("0-3")


@pytest.mark.parametrize(
    ("control", "enabled"), [("on", True), ("off\n", False), ("notsupported", False), ("odd", True)]
)
def test_smt_follows_the_kernels_setting_or_else_the_cores(control: str, enabled: bool) -> None:
    machine = seen(parse_synthetic("2c2t"), {"sys/devices/system/cpu/smt/control": control})
    assert machine.smt_enabled is enabled


def test_a_cache_without_an_id_uses_its_lowest_cpu_and_no_cache_is_minus_one() -> None:
    def caches(machine: Machine) -> list[int]:
        return [cpu.cache for cpu in DriverMachine.discover(machine).cpus.values()]

    machine = parse_synthetic("2s2c")
    nameless = tuple(cache._replace(id=None) for cache in machine.caches)
    assert caches(replace(machine, caches=nameless)) == [0, 0, 2, 2]
    assert caches(parse_synthetic("2c,l3=0")) == [-1, -1]
