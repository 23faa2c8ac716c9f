"""What a kubelet counts on a machine, as part of an answer."""

from __future__ import annotations

from typing import Any

from cpuctl.engine.topology import CPUTopology
from cpuctl.machine.machine_info import MachineInfo


def kubelet_counts(info: MachineInfo) -> dict[str, Any]:
    """Count as the kubelet does, or give its error where it would refuse the machine."""
    try:
        return topology_counts(CPUTopology.discover(info))
    except ValueError as error:
        return {"error": str(error)}


def topology_counts(topology: CPUTopology) -> dict[str, Any]:
    """Report the totals and the average core size of a topology."""
    return {
        "cpus": topology.num_cpus,
        "cores": topology.num_cores,
        "sockets": topology.num_sockets,
        "numaNodes": topology.num_numa_nodes,
        "uncoreCaches": topology.num_uncore_caches,
        "cpusPerCore": topology.cpus_per_core,
    }
