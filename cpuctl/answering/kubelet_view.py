"""The kubelet's count of a machine, as part of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.engine.cpu.topology import CPUTopology, cpu_labels, differing_views
from cpuctl.engine.outcome import CORES_UNKNOWN
from cpuctl.golang.text import GoError
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.machine.model import Machine

if TYPE_CHECKING:
    from cpuctl.answers.topology import KubeletView, TopologyCounts, Unseen


def kubelet_view(machine: Machine, info: MachineInfo) -> KubeletView | Unseen:
    """Count and number as the kubelet does, or return its error if it would refuse the machine.

    If files that it reads are not recorded, the error says so.
    """
    if not info.cores_known:
        return {"error": CORES_UNKNOWN}
    try:
        topology = CPUTopology.discover(info)
    except GoError as error:
        return {"error": str(error)}
    return {
        **topology_counts(topology),
        "differences": list(differing_views(machine, topology)),
        "labels": {
            str(cpu): {
                "node": node,
                "socket": socket,
                "core": core,
                "uncoreCache": cache if topology.caches_known else None,
            }
            for cpu, (node, socket, core, cache) in cpu_labels(topology).items()
        },
    }


def topology_counts(topology: CPUTopology) -> TopologyCounts:
    """Report the totals and the average core size of a topology; caches as far as they are recorded."""
    return {
        "cpus": topology.num_cpus,
        "cores": topology.num_cores,
        "sockets": topology.num_sockets,
        "numaNodes": topology.num_numa_nodes,
        "uncoreCaches": topology.num_uncore_caches if topology.caches_known else None,
        "cpusPerCore": topology.cpus_per_core,
    }
