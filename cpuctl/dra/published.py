"""Recorded ResourceSlices of the driver ``dra.cpu``: its settings, and unusual properties.

A scheduler uses the published slices, a driver uses the machine and its flags: claims get devices from the
former, and CPUs from the latter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cpuctl.cpuset import CPUSet
from cpuctl.dra.driver import DRIVER, DeviceMode, DriverSettings, GroupBy
from cpuctl.dra.model import Attribute, Device, Result
from cpuctl.dra.slices import CPU_CAPACITY, MACHINE_DEVICE, PCIE_ROOT
from cpuctl.phrases import some_of

_MODES: Mapping[str, tuple[DeviceMode, GroupBy]] = {
    r"cpudev\d+": (DeviceMode.INDIVIDUAL, GroupBy.NUMA_NODE),
    r"cpudevnuma\d+": (DeviceMode.GROUPED, GroupBy.NUMA_NODE),
    r"cpudevsocket\d+": (DeviceMode.GROUPED, GroupBy.SOCKET),
    MACHINE_DEVICE: (DeviceMode.GROUPED, GroupBy.MACHINE),
}
_CPU_ID = f"{DRIVER}/cpuID"
_FEW = 5


def published_settings(devices: Sequence[Device], online: CPUSet) -> DriverSettings | None:
    """Return the configuration of a driver that publishes these devices; None if their names do not show it.

    Only individual CPUs show which CPUs are reserved: groups only have a number of CPUs.
    """
    name = devices[0].name if devices else ""
    found = next((mode for pattern, mode in _MODES.items() if re.fullmatch(pattern, name, re.ASCII)), None)
    if found is None:
        return None
    mode, group_by = found
    numbers = [each.attributes.get(_CPU_ID) for each in devices]
    known = [each for each in numbers if type(each) is int and each >= 0]
    whole = mode is DeviceMode.INDIVIDUAL and len(known) == len(devices)
    return DriverSettings(
        mode=mode,
        group_by=group_by,
        reserved=online - CPUSet.of(known) if whole else CPUSet(),
        expose_pcie_roots=any(PCIE_ROOT in each.attributes for each in devices),
        node_allocatable_mapping=any(each.shares for each in devices),
    )


def differences(published: Sequence[Device], own: Sequence[Device]) -> Iterator[str]:
    """Yield the differences between *published* devices and those that a driver would publish (*own*)."""
    there, due = ({each.name: each for each in devices} for devices in (published, own))
    if unknown := [name for name in there if name not in due]:
        yield (
            f"{some_of(unknown, _FEW)}: the driver does not have this device, so it cannot prepare "
            "claims for it"
        )
    if missing := [name for name in due if name not in there]:
        yield f"{some_of(missing, _FEW)}: not published"
    both = [(there[name], due[name]) for name in there if name in due]
    for one, other in both:
        have, should = (_count(each) for each in (one, other))
        if have != should:
            yield f"{one.name}: published with {have} CPUs, expected {should}"
    yield from _odd_attributes(both)
    if [one.name for one, _ in both] != [name for name in due if name in there]:
        yield "the devices are in a different order, and the scheduler takes the first ones that fit"


def _odd_attributes(both: Sequence[tuple[Device, Device]]) -> Iterator[str]:
    odd: dict[str, list[str]] = {}
    for one, other in both:
        # Different numbers were reported before.
        for name in sorted((one.attributes.keys() | other.attributes.keys()) - {f"{DRIVER}/numCPUs"}):
            if _value(one.attributes.get(name)) != _value(other.attributes.get(name)):
                odd.setdefault(name, []).append(one.name)
    for name, names in odd.items():
        yield f"{some_of(names, _FEW)}: different {name}"


def _count(device: Device) -> str | None:
    capacity = device.capacity.get(CPU_CAPACITY)
    return None if capacity is None else str(capacity.value)


def _value(attribute: Attribute | None) -> tuple[type, Attribute | None]:
    """Return an attribute with its type: 1 is not true."""
    return type(attribute), attribute


def elsewhere(allocated: Result, devices: Iterable[Device]) -> str:
    """Say where a device is that is not among the *devices* of a node."""
    device, pool = f"device {allocated.device} of {allocated.driver}", allocated.pool
    if (allocated.driver, pool) not in {each.id[:2] for each in devices}:
        return f"the claim is allocated outside this node: {device} in pool {pool}"
    options = " (--driver-args sets its mode)" if allocated.driver == DRIVER else ""
    return (
        f"the claim is allocated {device}, which is not in pool {pool} of this node: the driver publishes "
        f"other devices{options}"
    )
