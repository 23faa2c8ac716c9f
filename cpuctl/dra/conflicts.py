"""Conflicts between the driver ``dra.cpu`` and a kubelet on the same node, reported before they happen.

Rule: kubernetes-sigs/dra-driver-cpu at de98098, README and ``docs/user/configuration.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cpuctl.dra.driver import DeviceMode, DriverMachine, DriverSettings
from cpuctl.dra.model import MAX_RESULTS
from cpuctl.golang.text import GoError
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.reservations import kube_reserved, listed_cpus, system_reserved
from cpuctl.phrases import NO_CPU_MANAGER


class Conflict(NamedTuple):
    """A conflict with its ``code`` and the kubelet's ``setting`` that is involved.

    ``breaks`` if CPUs are assigned twice.
    """

    code: str
    setting: str
    text: str
    breaks: bool = False


def conflicts(
    machine: DriverMachine, settings: DriverSettings, kubelet: KubeletConfiguration | None
) -> Iterator[Conflict]:
    """Yield the contradictions between the two, and the limits of claims for individual CPUs.

    The kubelet is None if its configuration is unknown.
    """
    if kubelet is not None:
        yield from static_conflict(kubelet)
        yield from _reservations(machine, settings, kubelet)
    if settings.mode is DeviceMode.INDIVIDUAL and any(
        len(cpus - settings.reserved) > MAX_RESULTS for cpus in machine.numa_nodes.values()
    ):
        yield Conflict(
            "driver-claim-limit",
            "",
            f"a claim can have at most {MAX_RESULTS} devices, so no container can get more individual CPUs, "
            "although a NUMA node has more",
        )


def static_conflict(kubelet: KubeletConfiguration) -> Iterator[Conflict]:
    """Report a CPU Manager that also assigns CPUs."""
    if kubelet.cpu_manager_policy == "static":
        yield Conflict(
            "driver-static-policy",
            "cpuManagerPolicy",
            "the kubelet's CPU Manager policy is static: the CPU Manager and the driver do not know "
            f"about each other and assign the same CPUs; {NO_CPU_MANAGER}",
            breaks=True,
        )


def _reservations(
    machine: DriverMachine, settings: DriverSettings, kubelet: KubeletConfiguration
) -> Iterator[Conflict]:
    """Compare the CPUs that both reserve; the kubelet has a number or a list of CPUs."""
    try:
        listed = listed_cpus(kubelet, machine.online)
        amounts = (kube_reserved(kubelet, listed).get("cpu"), system_reserved(kubelet, listed).get("cpu"))
    except GoError:
        return  # such a kubelet does not start, which is not reported here
    own = settings.reserved
    if listed is not None and listed != own:
        yield Conflict(
            "driver-reserves-others",
            "reservedSystemCPUs",
            f"the kubelet reserves CPUs {listed}, the driver reserves {own or 'none'}: claims get CPUs that "
            "are reserved for the system, or some CPUs stay unused",
        )
    milli = sum(-(-each.nano // 10**6) for each in amounts if each is not None)
    if listed is None and milli != 1000 * len(own):
        yield Conflict(
            "driver-reserves-others",
            "kubeReserved" if "cpu" in kubelet.kube_reserved else "systemReserved",
            f"the kubelet reserves {milli / 1000:g} CPUs (kubeReserved and systemReserved), the driver "
            f"reserves {len(own)}: the scheduler counts CPUs that are not available, or leaves some unused",
        )
