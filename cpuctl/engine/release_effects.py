"""What another release does with the same pods, and which difference between the two does it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet
from cpuctl.engine.admission import Admission, Admitted, Placement
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Forbidden, KubeletFault, Rejected, Undetermined
from cpuctl.engine.start import start_node
from cpuctl.named_tuple import NamedTuple
from cpuctl.quantity import Format, Quantity

if TYPE_CHECKING:
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.cadvisor.machine_info import MachineInfo
    from cpuctl.pods.model import Pod


class PodEffect(NamedTuple):
    """One pod whose fate is another one: what becomes of it on either side, in words."""

    pod: str
    before: str
    after: str


class Effects(NamedTuple):
    """``shown``: differences that, taken the other way alone, change what becomes of a pod."""

    pods: tuple[PodEffect, ...]
    shown: frozenset[str]


def effects_of(
    info: MachineInfo, kubelets: tuple[Kubelet, Kubelet], pods: Sequence[Pod], names: Iterable[str]
) -> Effects:
    """Admit *pods* to a fresh node with either kubelet, and again with one of the differences *names* turned.

    A kubelet that does not start has no pods to tell of.
    """
    before, after = (_fates(info, kubelet, pods) for kubelet in kubelets)
    changed = tuple(
        PodEffect(pod.full_name, was, becomes)
        for pod, was, becomes in zip(pods, before, after, strict=True)
        if was != becomes
    )
    known = tuple(zip(kubelets, (before, after), strict=True))
    shown = frozenset(
        name
        for name in names
        if any(
            _fates(info, kubelet._replace(turned=frozenset({name})), pods) != fates
            for kubelet, fates in known
        )
    )
    return Effects(changed, shown)


def _fates(info: MachineInfo, kubelet: Kubelet, pods: Sequence[Pod]) -> list[str]:
    node = start_node(info, kubelet, fit=True)
    if not isinstance(node, Node):
        return ["the kubelet does not start"] * len(pods)
    return [_fate(node.admit(pod)) for pod in pods]


def _fate(admission: Admission) -> str:
    match admission.verdict:
        case Admitted():
            placed = "; ".join(filter(None, map(_placement, admission.placements)))
            return f"admitted: {placed}" if placed else "admitted"
        case Rejected(reason=reason, message=message):
            return f"rejected: {reason}: {message}"
        case Forbidden(refusals=refusals):
            return f"refused by the API server: {refusals[0]}"
        case KubeletFault(where=where, why=why):
            return f"the kubelet fails in {where}: {why}"
        case Undetermined(why=why):
            return f"not determined: {why}"


def _placement(placement: Placement) -> str:
    words = [f"CPUs {CPUSet(placement.cpus)}"] if placement.exclusive else []
    words += [
        f"{Quantity.from_value(block.size, Format.BINARY_SI)} of {block.type} on NUMA nodes "
        f"{CPUSet.of(block.numa_affinity)}"
        for block in placement.memory
    ]
    return f"{placement.container.name} {', '.join(words)}" if words else ""
