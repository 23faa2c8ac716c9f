"""Why a node does not have the devices of a claim that is allocated already."""

from __future__ import annotations

from collections.abc import Iterable

from cpuctl.dra.driver import DRIVER
from cpuctl.dra.model import Device, Result


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
