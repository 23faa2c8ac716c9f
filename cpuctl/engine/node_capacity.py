"""What a node has, and what a configuration keeps from pods, as the kubelet computes it when it starts.

Rule: cAdvisor's ``CapacityFromMachineInfo`` and kubelet v1.36 ``cmd/kubelet/app/server.go``.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.outcome import CORES_UNKNOWN
from cpuctl.golang.text import GoError
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.reservations import (
    Reservations,
    check_qos_reserved,
    hard_thresholds,
    kube_reserved,
    listed_cpus,
    system_reserved,
)
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.quantity import Format, Quantity

_ZERO = Quantity()

T = TypeVar("T")


class Stages(Protocol):
    """How to run a check that belongs to a stage of the kubelet's start."""

    def __call__(self, stage: str, check: Callable[[], T], /) -> T:
        """Run *check* and return what it returns."""


def node_capacity(info: MachineInfo) -> dict[str, Quantity]:
    """Return CPUs, memory and, if it is known, storage by resource name."""
    capacity = {
        "cpu": Quantity.from_milli(info.num_cpus * 1000),
        "memory": Quantity.from_value(info.memory_bytes, Format.BINARY_SI),
    }
    if info.ephemeral_storage is not None:
        capacity["ephemeral-storage"] = Quantity.from_value(info.ephemeral_storage, Format.BINARY_SI)
    return capacity


def _at_once(_stage: str, check: Callable[[], T]) -> T:
    return check()


def node_reservations(
    info: MachineInfo, config: KubeletConfiguration, run: Stages = _at_once
) -> Reservations:
    """Compute what is kept from pods, in the kubelet's order; *run* is called with the stage of every check.

    Raise GoError with the kubelet's text, or with the reason that what it would use is not recorded.
    """
    listed = run("reservedSystemCPUs", lambda: _listed(info, config))
    kube = run("kubeReserved", lambda: kube_reserved(config, listed))
    system = run("systemReserved", lambda: system_reserved(config, listed))
    thresholds = run("evictionHard", lambda: hard_thresholds(config))
    run("qosReserved", lambda: check_qos_reserved(config.qos_reserved))
    return Reservations(kube=kube, system=system, thresholds=thresholds, listed=listed)


def _listed(info: MachineInfo, config: KubeletConfiguration) -> CPUSet | None:
    if not config.reserved_system_cpus:
        return None
    if not info.cores_known:
        raise GoError(CORES_UNKNOWN)
    try:
        topology = CPUTopology.discover(info)
    except GoError as error:
        raise GoError(f"unable to discover CPU topology info: {error}") from None
    return listed_cpus(config, CPUSet(topology.cpus))


def left_for_pods(
    config: KubeletConfiguration, reservations: Reservations, resource: str, capacity: Quantity
) -> Quantity:
    """Return what the kubepods cgroup may use of a resource: hard eviction is not subtracted there."""
    if "pods" not in config.enforce_node_allocatable:
        return capacity
    left = capacity - reservations.kube.get(resource, _ZERO) - reservations.system.get(resource, _ZERO)
    return max(left, _ZERO)
