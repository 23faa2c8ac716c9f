"""What the scheduler knows of nodes: their objects in the API server, and the pods that are bound to them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from cpuctl.pods.node_selection import Taint
from cpuctl.quantity import Quantity

UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
"""The taint that stands for ``spec.unschedulable``, which ``kubectl cordon`` sets."""

Amounts = Mapping[str, int]
"""Amounts by resource: CPU in milli, all others in bytes or pieces."""


class NodeObject(NamedTuple):
    """A Node as the API server has it; ``pods`` is among the amounts that are ``allocatable``."""

    name: str
    allocatable: Amounts
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    kubelet_version: str = ""


class Load(NamedTuple):
    """What the pods request together that are bound to a node.

    ``scored_cpu`` and ``scored_memory`` count a little for containers that request none, as scores do.
    """

    pods: int = 0
    amounts: Amounts = MappingProxyType({})
    scored_cpu: int = 0
    scored_memory: int = 0

    def plus(self, other: "Load") -> "Load":
        """Add more pods."""
        amounts = dict(self.amounts)
        for name, amount in other.amounts.items():
            amounts[name] = amounts.get(name, 0) + amount
        return Load(
            self.pods + other.pods,
            amounts,
            self.scored_cpu + other.scored_cpu,
            self.scored_memory + other.scored_memory,
        )


def amount_of(name: str, quantity: Quantity) -> int:
    """Write an amount as the scheduler counts it."""
    return quantity.milli_value if name == "cpu" else quantity.value
