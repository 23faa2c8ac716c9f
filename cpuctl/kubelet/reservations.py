"""CPUs kept from pods: what ``kubeReserved``, ``systemReserved`` and ``reservedSystemCPUs`` add up to.

Texts are the kubelet's, from ``cmd/kubelet/app/server.go``, the configuration's validation and the CPU
manager.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cpuctl.cpuset import CPUSet
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.golang import quoted
from cpuctl.quantity import Quantity

_RESERVABLE = frozenset({"cpu", "memory", "ephemeral-storage", "pid"})


@dataclass(frozen=True, slots=True)
class CPUReservation:
    """How many CPUs are kept from pods; ``cpus`` says which, None leaves the choice to the CPU manager."""

    count: int
    cpus: CPUSet | None = None


def cpu_reservation(config: KubeletConfiguration, online: CPUSet) -> CPUReservation:
    """Work out the CPU reservation of a node whose CPUs are *online*, checking in the kubelet's order.

    Raise ValueError with the kubelet's text. A count of zero is no error here: only the static policy
    refuses it (``require_cpu_reservation``).
    """
    listed = reserved_system_cpus(config)
    if listed is not None and not listed <= online:
        given = config.reserved_system_cpus
        raise ValueError(f"reserved-cpus: {given} is not a subset of online-cpus: {online}")
    kube, system = dict(config.kube_reserved), dict(config.system_reserved)
    if listed is not None:
        kube.pop("cpu", None)
        system["cpu"] = str(len(listed))
    reserved = parse_reservation(kube, flag="--kube-reserved")
    reserved_for_system = parse_reservation(system, flag="--system-reserved")
    zero = Quantity()
    total = reserved.get("cpu", zero) + reserved_for_system.get("cpu", zero)
    return CPUReservation(-(-total.milli_value // 1000), listed)


def require_cpu_reservation(reservation: CPUReservation) -> None:
    """Raise ValueError with the static CPU policy's text where nothing is reserved."""
    if reservation.count <= 0:
        raise ValueError("[cpumanager] unable to determine reserved CPU resources for static policy")


def reserved_system_cpus(config: KubeletConfiguration) -> CPUSet | None:
    """Read ``reservedSystemCPUs``; None where it is empty. Raise ValueError as the validation does."""
    text = config.reserved_system_cpus
    if not text:
        return None
    if config.system_reserved_cgroup or config.kube_reserved_cgroup:
        raise ValueError(
            "invalid configuration: can't use reservedSystemCPUs (--reserved-cpus) with"
            " systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)"
        )
    try:
        return CPUSet.parse(text)
    except ValueError as error:
        wrong = "invalid configuration: unable to parse reservedSystemCPUs (--reserved-cpus)"
        raise ValueError(f"{wrong} {text}, error: {error}") from None


def parse_reservation(amounts: Mapping[str, str], *, flag: str) -> dict[str, Quantity]:
    """Read a map such as ``kubeReserved``; *flag* names it in errors, which are ValueErrors.

    The kubelet walks the map in random order; here it is by name.
    """
    return {name: _amount(name, amounts[name], flag) for name in sorted(amounts)}


def _amount(name: str, text: str, flag: str) -> Quantity:
    wrong = f"{flag} value failed to parse: "
    if name not in _RESERVABLE:
        raise ValueError(f"{wrong}cannot reserve {quoted(name)} resource")
    try:
        amount = Quantity.parse(text)
    except ValueError as error:
        problem = f"failed to parse quantity {quoted(text)} for {quoted(name)} resource: {error}"
        raise ValueError(wrong + problem) from None
    if amount.sign < 0:
        raise ValueError(f"{wrong}resource quantity for {quoted(name)} cannot be negative: {text}")
    return amount
