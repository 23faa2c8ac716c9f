"""A machine of which some CPUs do not run (any more): what its kernel lists then."""

from __future__ import annotations

from cpuctl.cpuset import CPUSet
from cpuctl.machine.model import CPU, Machine


def without(machine: Machine, offline: int) -> Machine:
    """Return the machine with these CPUs (a mask) offline."""
    gone = CPUSet(offline)
    cpus = tuple(_cpu(cpu, gone) for cpu in machine.cpus if cpu.number not in gone)
    caches = tuple(cache._replace(cpus=cache.cpus - gone) for cache in machine.caches)
    sockets = {cpu.package_id for cpu in cpus}
    return machine._replace(
        cpus=cpus,
        numa_nodes=tuple(
            node._replace(
                cpus=node.cpus - gone,
                directory_cpus=None if node.directory_cpus is None else node.directory_cpus - gone,
            )
            for node in machine.numa_nodes
        ),
        caches=tuple(cache for cache in caches if cache.cpus),
        offline=machine.offline | gone,
        cpuinfo_sockets=min(machine.cpuinfo_sockets, len(sockets)),
    )


def _cpu(cpu: CPU, gone: CPUSet) -> CPU:
    packages = None if cpu.package_cpus is None else cpu.package_cpus - gone
    return cpu._replace(siblings=cpu.siblings - gone, package_cpus=packages)
