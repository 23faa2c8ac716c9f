"""The Topology Manager: what a policy makes of the providers' hints.

Rule: kubelet v1.36 ``pkg/kubelet/cm/topologymanager``: policies ``best-effort``, ``restricted`` and
``single-numa-node``. With policy ``none`` no hint is ever asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.fit import Fit
from cpuctl.engine.hints.hints import DONT_CARE, IMPOSSIBLE, Hint
from cpuctl.engine.outcome import FaultKind, KubeletFault
from cpuctl.named_tuple import NamedTuple

if TYPE_CHECKING:
    from cpuctl.engine.hints.rule import HintList
    from cpuctl.machine.cadvisor.machine_info import MachineInfo

LARGEST_NODE_ID = 63
"""The kubelet keeps sets of NUMA nodes in 64 bits."""

Answer: TypeAlias = "Mapping[str, HintList | None] | None"
"""A provider's hints by resource; None, empty or a resource without a list mean no preference."""


class Merged(NamedTuple):
    """What the hints come to, and whether the policy admits it."""

    hint: Hint
    admit: bool


class TopologyManager(NamedTuple):
    """A policy and its scope; ``everything`` are all NUMA nodes (a mask), also those without CPUs."""

    policy: str
    scope: str
    everything: int
    fit: Fit

    @classmethod
    def of(cls, info: MachineInfo, policy: str, scope: str, *, closest: bool) -> TopologyManager:
        """Set the manager up for a machine; *closest* is the option ``prefer-closest-numa-nodes``."""
        measured = closest and policy != "single-numa-node"
        return cls(
            policy=policy,
            scope=scope,
            everything=CPUSet.of(node.id for node in info.nodes).mask,
            fit=Fit(distances={node.id: node.distances for node in info.nodes} if measured else {}),
        )

    @classmethod
    def none(cls) -> TopologyManager:
        """Return the policy that takes no notice of hints."""
        return cls(policy="none", scope="none", everything=0, fit=Fit())

    def merge(self, answers: Sequence[Answer]) -> Merged | KubeletFault:
        """Merge all answers to one request; a fault where a mask or a row of distances is too short."""
        if self.policy == "none":
            return Merged(IMPOSSIBLE, admit=True)
        if self.everything >> LARGEST_NODE_ID + 1:
            return self._beyond_masks()
        lists = [hints for answer in answers for hints in _lists(answer)]
        hint = self._merge(lists)
        if isinstance(hint, KubeletFault):
            return hint
        return Merged(hint, admit=hint.preferred or self.policy == "best-effort")

    def _merge(self, lists: Sequence[HintList]) -> Hint | KubeletFault:
        from cpuctl.engine.hints.merge import merge

        if self.policy != "single-numa-node":
            return merge(lists, self.everything, self.fit)
        kept = [_on_one_node(hints, self.everything) for hints in lists]
        # A list that the policy leaves empty makes no combination at all.
        hint = merge(kept, self.everything, self.fit) if all(kept) else IMPOSSIBLE
        if isinstance(hint, Hint) and hint.nodes == self.everything:
            return Hint(None, hint.preferred)
        return hint

    def _beyond_masks(self) -> KubeletFault:
        highest = self.everything.bit_length() - 1
        return KubeletFault(
            kind=FaultKind.CRASH,
            where="Topology Manager, making a mask of all NUMA nodes",
            why=f"NUMA node {highest} is beyond {LARGEST_NODE_ID}, the highest id that a mask can hold",
        )


def _lists(answer: Answer) -> list[HintList]:
    if not answer:
        return [[DONT_CARE]]
    return [_filled(hints) for hints in answer.values()]


def _filled(hints: HintList | None) -> HintList:
    if hints is None:
        return [DONT_CARE]
    return hints or [IMPOSSIBLE]


def _on_one_node(hints: HintList, everything: int) -> list[Hint]:
    if not isinstance(hints, Sequence):
        nodes = (1 << node for node in CPUSet(everything))
        return [Hint(node, preferred=True) for node in nodes if node in hints and hints.prefers(node)]
    return [hint for hint in hints if hint.preferred and (hint.nodes is None or hint.nodes.bit_count() == 1)]
