"""The preparation of claims by the driver ``dra.cpu``: the CPUs that it assigns.

Rule: kubernetes-sigs/dra-driver-cpu at de98098, ``pkg/driver/dra_hooks.go`` and ``pkg/cpumanager``, a copy
of the kubelet's packed picker with alignment to uncore caches that identifies a core only by its id: it
treats cores of several sockets that share an id as one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.dra.driver import DRIVER, DeviceMode, DriverMachine, DriverSettings, GroupBy
from cpuctl.dra.model import CPUConfig, Grant
from cpuctl.dra.slices import CPU_CAPACITY, driver_devices
from cpuctl.engine.changeable import Copied
from cpuctl.engine.cpu.picking.packed import take_packed
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.masks import CPUMask
from cpuctl.engine.outcome import AllocationError, KubeletFault, Picked, Undetermined

_NOT_CONSUMABLE = (
    ": devices for groups of CPUs need the feature gate DRAConsumableCapacity (1.34 and later), "
    "devices for single CPUs (--cpu-device-mode individual) do not"
)


class Prepared(NamedTuple):
    """The CPUs of a claim; ``strays`` are those outside the devices that the claim was given."""

    cpus: CPUSet = CPUSet()
    strays: CPUSet = CPUSet()


class NotPrepared(NamedTuple):
    """The driver's error, with which the pod does not start; ``without_capacity``: no CPUs were allocated."""

    error: str
    without_capacity: bool = False

    def reason(self, *, consumable: bool) -> str:
        """Return the error, and its cause if devices have no *consumable* capacity in the release."""
        return self.error + _NOT_CONSUMABLE if self.without_capacity and not consumable else self.error


class Driver(Copied):
    """The running driver, which knows the CPUs of claims.

    With *fixed*, cores are also distinguished by socket and cluster, as they should be. ``why_unknown`` maps
    claims of groups with unknown CPUs to the reasons; CPUs that are picked later are uncertain then.
    """

    def __init__(self, machine: DriverMachine, settings: DriverSettings, *, fixed: bool = False) -> None:
        self.machine = machine
        self.settings = settings
        self.available = machine.all_cpus - settings.reserved
        self.prepared = CPUSet()
        self.why_unknown: dict[str, str] = {}
        self._topology = driver_topology(machine, fixed=fixed)
        self._groups = {each.name: each for each in driver_devices(machine, settings)}

    @property
    def shared(self) -> CPUSet:
        """The CPUs of containers without a claim."""
        return self.available - self.prepared

    def prepare(
        self, claim: str, grants: Sequence[Grant], configs: Sequence[CPUConfig] = ()
    ) -> Prepared | NotPrepared | Undetermined:
        """Pick the CPUs of a claim for its devices, and reserve them for the claim."""
        if self.why_unknown:
            other, why = next(iter(self.why_unknown.items()))
            self.why_unknown = {
                **self.why_unknown,
                claim: f"it was prepared while the CPUs of {other} were unknown",
            }
            return Undetermined(f"the CPUs of claim {other} are unknown: {why}")
        ours = [each for each in grants if each.device.driver == DRIVER]
        found = (
            self._named(claim, ours)
            if self.settings.mode is DeviceMode.INDIVIDUAL
            else self._picked(ours, configs)
        )
        if isinstance(found, NotPrepared):
            return found
        if not found <= self.shared:
            return NotPrepared(f'claim "{claim}" has overlapping CPU assignment "{found}"')
        self.prepared |= found
        given = CPUSet()
        for each in ours:
            given |= self._groups[each.device.name].cpus
        return Prepared(found, found - given)

    def resume(self, claim: str, grants: Sequence[Grant], cpus: CPUSet | None) -> Prepared | None:
        """Add a prepared claim, with its *cpus* if the driver's own files contain them.

        Return None if its CPUs are unknown.
        """
        if cpus is None:
            ours = [each for each in grants if each.device.driver == DRIVER]
            named = self._named(claim, ours) if self.settings.mode is DeviceMode.INDIVIDUAL else None
            if not isinstance(named, CPUSet):
                why = f"they are recorded in the node's /var/run/cdi/{DRIVER}.json"
                self.why_unknown = {**self.why_unknown, claim: why}
                return None
            cpus = named
        self.prepared |= cpus
        return Prepared(cpus)

    def unprepare(self, claim: str, cpus: CPUSet) -> None:
        """Free the CPUs of a claim, even if they are unknown."""
        self.prepared -= cpus
        self.why_unknown = {name: why for name, why in self.why_unknown.items() if name != claim}

    def _named(self, claim: str, grants: Sequence[Grant]) -> CPUSet | NotPrepared:
        cpus = CPUSet()
        for each in grants:
            if each.device.name not in self._groups:
                return NotPrepared(f'device "{each.device.name}" not found in device to CPU ID map')
            cpus |= self._groups[each.device.name].cpus
        if not cpus <= self.shared:
            return NotPrepared(f"claim {claim} has overlapping device assignment with other claims")
        return cpus

    def _picked(self, grants: Sequence[Grant], configs: Sequence[CPUConfig]) -> CPUSet | NotPrepared:
        assigned = CPUSet()
        for each in grants:
            count = _whole(each)
            if isinstance(count, NotPrepared):
                return count
            if self.settings.group_by is GroupBy.MACHINE:
                found = self._configured(each, configs, count, assigned)
            else:
                found = self._taken(each, count, assigned)
            if isinstance(found, NotPrepared):
                return found
            assigned |= found
        return assigned

    def _taken(self, grant: Grant, count: int, assigned: CPUSet) -> CPUSet | NotPrepared:
        device = self._groups.get(grant.device.name)
        by_node = self.settings.group_by is GroupBy.NUMA_NODE
        if device is None:
            kind = "NUMA node" if by_node else "socket"
            return NotPrepared(f"no valid {kind} ID found for device {grant.device.name}")
        offered = CPUMask(((self.shared - assigned) & device.cpus).mask)
        picked = take_packed(self._topology, offered, count, prefer_uncore=True)
        match picked:
            case Picked():
                return CPUSet(picked.cpus)
            case AllocationError():
                return NotPrepared(picked.message)
            case KubeletFault():
                return NotPrepared(f"the driver crashes: {picked.why} ({picked.where})")

    def _configured(
        self, grant: Grant, configs: Sequence[CPUConfig], count: int, assigned: CPUSet
    ) -> CPUSet | NotPrepared:
        """Take the CPUs that the claim names: with the machine as the device, the driver picks none."""
        found = [each for each in configs if not each.requests or grant.request in each.requests]
        if len(found) != 1:
            targeted = f'opaque config: request "{grant.request}" is targeted by {len(found)} configurations'
            return NotPrepared(f"{targeted}, must be targeted by exactly 1")
        (config,) = found
        cpus = config.cpus
        problem = config.problem
        if not problem and len(cpus) != count:
            problem = f"opaque config cpuset size {len(cpus)} does not match requested capacity {count}"
        for wrong, words in (
            (cpus - self.machine.online, "from opaque config contain offline cores: {}"),
            (cpus & self.settings.reserved, "from opaque config contain reserved cores: {}"),
            (cpus & assigned, "from opaque config are already assigned to another device in this claim"),
            (cpus & self.prepared, "from opaque config conflict with already allocated claims"),
        ):
            if wrong and not problem:
                problem = f"requested CPUs {cpus} {words.format(wrong)}"
        return NotPrepared(problem) if problem else cpus


def _whole(grant: Grant) -> int | NotPrepared:
    device, amount = grant.device.name, grant.consumed.get(CPU_CAPACITY)
    if amount is None:
        error = f'CPU capacity "{CPU_CAPACITY}" for device "{device}" is missing'
        return NotPrepared(error, without_capacity=True)
    if amount.nano <= 0:
        return NotPrepared(f'CPU capacity for device "{device}" must be positive, got {amount}')
    if amount.nano % 10**9:
        return NotPrepared(f'CPU capacity for device "{device}" must be a whole number, got {amount}')
    return amount.value


def driver_topology(machine: DriverMachine, *, fixed: bool = False) -> CPUTopology:
    """Label CPUs as the driver's picker does; *fixed* distinguishes cores that share an id."""
    cores: dict[int, int] = {}
    for index, core in enumerate(machine.physical_cores):
        # By lowest CPU, which is the order of core ids if these are correct.
        key = index if fixed else core[0].core
        for cpu in core:
            cores[key] = cores.get(key, 0) | 1 << cpu.number
    return CPUTopology(
        numa_nodes=_masks(machine.numa_nodes),
        sockets=_masks(machine.sockets),
        cores={key: CPUMask(cores[key]) for key in sorted(cores)},
        uncore_caches=_masks(machine.caches),
        num_cpus=len(machine.cpus),
        num_sockets=len(machine.sockets),
        num_cores=len(machine.physical_cores),
    )


def _masks(sets: Mapping[int, CPUSet]) -> dict[int, CPUMask]:
    return {element: CPUMask(cpus.mask) for element, cpus in sets.items()}
