"""The data that the driver ``dra.cpu`` reads from a node in addition to its CPU topology.

Rule: kubernetes-sigs/dra-driver-cpu at de98098, ``pkg/cpuinfo`` and ``pkg/pcie``.
"""

from __future__ import annotations

import re

from cpuctl.cpuset import CPUSet
from cpuctl.dra.driver import DriverMachine
from cpuctl.errors import InputError
from cpuctl.machine.kernel_files import KernelFiles
from cpuctl.machine.model import CPU_DIRECTORY, Machine
from cpuctl.machine.tree import Tree

_ROOT = re.compile(r"pci([0-9a-f]{4}:[0-9a-f]{2})", re.ASCII)
_AMD64 = "x86_64"
_SMT = {"on": True, "off": False, "forceoff": False, "notsupported": False, "notimplemented": False}


def discover(machine: Machine, files: Tree | None, *, pcie_roots: bool = False) -> DriverMachine:
    """Return a machine as the driver sees it; raise InputError for an invalid file.

    Only a driver that exposes *pcie_roots* reads them, on amd64. Without *files*, for a machine that is only
    described, there are no roots, and its cores determine SMT.
    """
    if files is None:
        return DriverMachine.discover(machine)
    amd64 = machine.architecture in (_AMD64, None)
    return DriverMachine.discover(
        machine,
        smt_control=_SMT.get((machine.smt_control or "").lower()),
        pcie_roots=_pcie_roots(files) if pcie_roots and amd64 else {},
        cacheless=_cacheless(machine, files),
    )


def _cacheless(machine: Machine, files: Tree) -> CPUSet:
    """Return the CPUs without a cache directory; empty if caches were not recorded."""
    if not machine.caches:
        return CPUSet()
    return CPUSet.of(
        cpu.number for cpu in machine.cpus if not files.names(f"{CPU_DIRECTORY}/cpu{cpu.number}/cache")
    )


def _pcie_roots(tree: Tree) -> dict[str, CPUSet]:
    """Read the CPUs near every root."""
    files, roots = KernelFiles(tree), {}
    for name in tree.names("sys/devices"):
        if found := _ROOT.fullmatch(name):
            path = f"sys/devices/{name}/pci_bus/{found[1]}/cpulistaffinity"
            near = files.cpu_list(path)
            if near is None:
                raise InputError("does not exist: the driver does not start without it", where=path)
            roots[name] = near
    return roots


def node_name(files: Tree | None) -> str:
    """Return the node's name as a kubelet chooses it without --hostname-override; empty if unknown."""
    return ((files.read("etc/hostname") if files else None) or "").strip().lower()
