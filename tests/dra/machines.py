"""Machines of recorded ResourceSlices, rebuilt file by file, and the slices themselves."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.dra.discovery import discover
from cpuctl.dra.driver import DriverMachine
from cpuctl.machine.model import CPU, Cache, Machine, NumaNode
from cpuctl.machine.sysfs import read_machine_files
from cpuctl.machine.tree import MemoryTree
from tests.machine.sysfs_writer import sysfs_files

RECORDED = Path("fixtures/conformance/dra")


class Row(NamedTuple):
    """One CPU as the driver sees it."""

    cpu: int
    socket: int
    node: int
    core: int
    cache: int


def recorded(name: str) -> list[dict[str, Any]]:
    """Return the slices of a recording."""
    with gzip.open(RECORDED / f"dra-driver.{name}.json.gz", "rt") as file:
        items: list[dict[str, Any]] = json.load(file)["items"]
    return items


def rows_of(slices: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Read the CPUs of slices of individual CPUs."""
    devices = [device["attributes"] for each in slices for device in each["spec"]["devices"]]
    names = ("dra.cpu/cpuID", "dra.cpu/socketID", "resource.kubernetes.io/numaNode", "dra.cpu/coreID")
    return [Row(*(each[name]["int"] for name in (*names, "dra.cpu/cacheL3ID"))) for each in devices]


def machine_of(rows: Iterable[Row], e_cores: CPUSet | None = None) -> Machine:
    """Make the machine that has these CPUs."""
    by_cpu = {row.cpu: row for row in rows}
    ordered = [by_cpu[cpu] for cpu in sorted(by_cpu)]

    def like(row: Row, *names: str) -> CPUSet:
        return CPUSet.of(
            each.cpu for each in ordered if all(getattr(each, n) == getattr(row, n) for n in names)
        )

    return Machine(
        cpus=tuple(
            CPU(row.cpu, like(row, "socket", "core"), row.node, row.socket, core_id=row.core)
            for row in ordered
        ),
        numa_nodes=tuple(
            NumaNode(node, CPUSet.of(row.cpu for row in ordered if row.node == node))
            for node in sorted({row.node for row in ordered})
        ),
        caches=tuple({Cache(3, "Unified", like(row, "cache"), row.cache): None for row in ordered}),
        efficiency_cpus=e_cores,
    ).checked()


def seen(machine: Machine, more: Mapping[str, str] | None = None) -> DriverMachine:
    """Write a machine's files, and read them as the driver does."""
    tree = MemoryTree({**sysfs_files(machine), **(more or {})})
    return discover(read_machine_files(tree), tree, pcie_roots=True)
