"""Dynamic resource allocation of CPUs: the devices of a driver, and what claims get of them."""

from __future__ import annotations

from typing import TypedDict

from cpuctl.answers.sources import Source


class DriverDevices(TypedDict):
    """What ``dra slices`` shows to people: what else it prints are the ResourceSlices themselves."""

    sources: dict[str, Source]
    node: str
    devices: list[DeviceRow]
    available: str
    reserved: str


class DeviceRow(TypedDict):
    name: str
    slice: int
    cpus: str
    count: int
    socket: int | None
    numaNode: int | None
    core: int | None
    l3: int | None
    coreType: str | None
    pcieRoots: list[str]
