"""CPUs that a kubelet accepts as reserved, close to those that it rejects.

Other CPUs may belong to running pods, and the kubelet then rejects its own state file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cpuctl.audit.commands import bringing_online
from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cpuset import CPUSet, union
from cpuctl.phrases import named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpuctl.inputs.state_files import StateInput
    from cpuctl.kubelet.config import KubeletConfiguration
    from cpuctl.machine.sources import MachineSource


class ReservableCPUs(NamedTuple):
    """What can be reserved in place of ``reservedSystemCPUs`` that are not all online.

    ``kept`` are those that are online, unless these are all CPUs; ``online`` says how to bring the others
    online, empty if they cannot be. If none is kept, ``size`` is how many to reserve, and ``unheld`` are the
    CPUs that no container has exclusively, empty if no container has any.
    """

    kept: CPUSet
    online: str
    size: int
    unheld: CPUSet = CPUSet()


def reservable_cpus(
    source: MachineSource, config: KubeletConfiguration, states: Sequence[StateInput]
) -> ReservableCPUs:
    """Return what to reserve on a machine with these state files: at least a core's CPUs, but not all."""
    try:
        configured = CPUSet.parse(config.reserved_system_cpus)
    except ValueError:
        configured = CPUSet()
    machine, threads = source.machine, source.info.threads_per_core
    gone, left = configured - machine.online, configured & machine.online
    found = bringing_online(machine, gone, named(gone)) if gone else None
    kept = CPUSet() if left == machine.online else left
    return ReservableCPUs(
        kept=kept,
        online=found.how if found else "",
        size=max(len(kept), threads),
        unheld=_unheld(states) & machine.online,
    )


def _unheld(states: Sequence[StateInput]) -> CPUSet:
    files = (each.inspection.state for each in states)
    shared = (each.default_cpu_set for each in files if isinstance(each, CPUStateFile) and each.entries)
    return union(shared)
