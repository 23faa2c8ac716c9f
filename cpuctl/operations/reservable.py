"""CPUs that a kubelet accepts as reserved, close to those that it rejects.

Other CPUs may belong to running pods, and the kubelet then rejects its own state file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cpuctl.audit.commands import bringing_online
from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cpuset import CPUSet, union
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.reserve import CPUReserve, choose_reserved
from cpuctl.golang.text import GoError
from cpuctl.phrases import named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpuctl.inputs.state_files import StateInput
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.sources import MachineSource


class ReservableCPUs(NamedTuple):
    """What can be reserved in place of ``reservedSystemCPUs`` that are not all online.

    ``kept`` are those that are online, unless these are all CPUs; ``online`` says how to bring the others
    online, empty if they cannot be. If none is kept, ``size`` is how many to reserve, and ``others`` are such
    CPUs if those that ``config reserve`` proposes belong to pods, otherwise empty.
    """

    kept: CPUSet
    online: str
    size: int
    others: CPUSet = CPUSet()


def reservable_cpus(source: MachineSource, kubelet: Kubelet, states: Sequence[StateInput]) -> ReservableCPUs:
    """Return what to reserve on a machine with these state files: at least a core's CPUs, but not all."""
    try:
        configured = CPUSet.parse(kubelet.config.reserved_system_cpus)
    except ValueError:
        configured = CPUSet()
    machine = source.machine
    gone, left = configured - machine.online, configured & machine.online
    found = bringing_online(machine, gone, named(gone)) if gone else None
    kept = CPUSet() if left == machine.online else left
    size = max(len(kept), source.info.threads_per_core)
    return ReservableCPUs(
        kept=kept,
        online=found.how if found else "",
        size=size,
        others=_others(source, kubelet, size, _held(states)),
    )


def _held(states: Sequence[StateInput]) -> CPUSet:
    """Return the CPUs that containers have exclusively."""
    files = (each.inspection.state for each in states)
    entries = (each.entries.values() for each in files if isinstance(each, CPUStateFile))
    return union(cpus for pods in entries for containers in pods for cpus in containers.values())


def _others(source: MachineSource, kubelet: Kubelet, size: int, held: CPUSet) -> CPUSet:
    """Choose CPUs that are not *held*, if the usual choice includes such; empty if there are not enough."""
    isolated = source.machine.isolated
    try:
        topology = CPUTopology.discover(source.info, knows_books=kubelet.gates.release.knows_books)
        usual, others = (
            CPUSet(choose_reserved(topology, CPUReserve(count=size, isolated=last.mask)).cpus)
            for last in (isolated, isolated | held)
        )
    except (GoError, ValueError):
        return CPUSet()
    return CPUSet() if usual.isdisjoint(held) or not others.isdisjoint(held) else others
