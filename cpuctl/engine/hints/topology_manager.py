"""The Topology Manager: its start, what a policy does with the providers' hints, and its metrics.

Rule: kubelet v1.36 ``pkg/kubelet/cm/topologymanager``: policies ``best-effort``, ``restricted`` and
``single-numa-node``. With policy ``none`` no hint is ever requested. How long an admission takes is not among
the metrics: a dry run cannot know.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Literal, TypeAlias

from cpuctl.cpuset import CPUSet
from cpuctl.engine.changeable import Changeable
from cpuctl.engine.hints.hints import DONT_CARE, IMPOSSIBLE, Fit, Hint, HintList
from cpuctl.engine.hints.node_sets import endless_merge
from cpuctl.engine.masks import NO_NODES, NODE_0, NodeMask
from cpuctl.engine.outcome import FaultKind, KubeletFault, Undetermined
from cpuctl.kubelet.config import KubeletConfiguration, SettingError
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.policy_options import (
    MAX_NODES,
    PREFER_CLOSEST,
    TopologyOptions,
    parse_topology_options,
    refuse_gated_topology_options,
)
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.pods.model import Container
from cpuctl.records import Record

NODE_IDS = range(64)
"""The ids that a set of NUMA nodes can hold: the kubelet keeps them in 64 bits."""

ProviderName: TypeAlias = Literal["devices", "cpu", "memory"]
Answer: TypeAlias = Mapping[str, HintList | None] | None
"""A provider's hints by resource; None, empty or a resource without a list mean no preference."""

AlignmentPolicy: TypeAlias = Literal["best-effort", "restricted", "single-numa-node"]
POLICIES: tuple[AlignmentPolicy, ...] = ("best-effort", "restricted", "single-numa-node")
"""The policies that use hints, the least strict first."""
_OPTIONS = "topologyManagerPolicyOptions"


class Merged(Record):
    """The merged hint, and whether the policy admits it."""

    hint: Hint
    admit: bool


MergeResult: TypeAlias = Merged | KubeletFault | Undetermined


class HintRound(Record):
    """One round of the Topology Manager, for a container or (None) the pod: hints and their merged result.

    ``answers`` has the hints of each provider by name, in the order in which they were asked.
    """

    container: Container | None
    answers: Mapping[ProviderName, Answer]
    merged: MergeResult

    @property
    def preferred(self) -> bool:
        """Whether every provider prefers the resulting NUMA nodes."""
        return not isinstance(self.merged, KubeletFault | Undetermined) and self.merged.hint.preferred


class TopologyManager(Record):
    """A policy and its scope; ``everything`` is the mask of all NUMA nodes, including those without CPUs.

    ``fault`` is how every admission ends on a machine with a NUMA node id that no mask can hold: without
    NUMA nodes cAdvisor treats packages as nodes, and a package that the kernel does not know has the id -1.
    ``short_rows``: distances count, and some that may be looked up are in no row.
    """

    policy: str
    scope: str
    everything: NodeMask
    fit: Fit
    fault: KubeletFault | None = None
    short_rows: bool = False

    @classmethod
    def of(cls, info: MachineInfo, policy: str, scope: str, *, closest: bool) -> "TopologyManager":
        """Set the manager up for a machine; *closest* is the option ``prefer-closest-numa-nodes``."""
        measured = closest and policy != "single-numa-node"
        ids = [node.id for node in info.nodes]
        everything = NodeMask(CPUSet.of(node for node in ids if node in NODE_IDS).mask)
        fit = Fit(distances={node.id: node.distances for node in info.nodes} if measured else {})
        return cls(
            policy=policy,
            scope=scope,
            everything=everything,
            fit=fit,
            fault=next((_unmaskable(node) for node in ids if node not in NODE_IDS), None),
            short_rows=fit.unknown(everything) is not None,
        )

    @classmethod
    def none(cls) -> "TopologyManager":
        """Return the manager with the policy ``none``, which ignores hints."""
        return cls(policy="none", scope="none", everything=NO_NODES, fit=Fit())

    def merge(self, answers: Sequence[Answer]) -> MergeResult:
        """Merge all answers to one request; return a fault if a mask or a row of distances is too short."""
        if self.policy == "none":
            return Merged(IMPOSSIBLE, admit=True)
        if self.fault is not None:
            return self.fault
        providers = [_lists(answer) for answer in answers]
        lists = list(chain(*providers))
        all_are_combined = self.policy != "single-numa-node"
        if all_are_combined and (fault := endless_merge(lists, self.everything.bit_count())):
            return fault
        hint = self._walk(providers) if self.short_rows else self._merge(lists)
        if not isinstance(hint, Hint):
            return hint
        return Merged(hint, admit=hint.preferred or self.policy == "best-effort")

    def _walk(self, providers: Sequence[Sequence[HintList]]) -> Hint | KubeletFault | Undetermined:
        from cpuctl.engine.hints.walk import walked

        hint = walked(providers, self.everything, self.fit)
        if isinstance(hint, Undetermined) and not hint.variants:
            # A crash over the winning sets is certain, however long the walk to them is.
            resolved = self._merge(list(chain(*providers)))
            return resolved if isinstance(resolved, KubeletFault) else hint
        return hint

    def _merge(self, lists: Sequence[HintList]) -> Hint | KubeletFault:
        from cpuctl.engine.hints.merge import merge

        if self.policy != "single-numa-node":
            return merge(lists, self.everything, self.fit)
        kept = [_on_one_node(hints, self.everything) for hints in lists]
        # With a list that the policy leaves empty there are no combinations.
        hint = merge(kept, self.everything, self.fit) if all(kept) else IMPOSSIBLE
        if isinstance(hint, Hint) and hint.nodes == self.everything:
            return Hint(None, hint.preferred)
        return hint


def _unmaskable(node: int) -> KubeletFault:
    return KubeletFault(
        kind=FaultKind.CRASH,
        where="Topology Manager, making a mask of all NUMA nodes",
        why=f"a mask holds NUMA nodes 0 to {NODE_IDS[-1]}, and this machine has {node}",
    )


def _lists(answer: Answer) -> list[HintList]:
    if not answer:
        return [[DONT_CARE]]
    return [_filled(hints) for hints in answer.values()]


def _filled(hints: HintList | None) -> HintList:
    if hints is None:
        return [DONT_CARE]
    return hints or [IMPOSSIBLE]


def _on_one_node(hints: HintList, everything: NodeMask) -> list[Hint]:
    if not isinstance(hints, Sequence):
        nodes = (NODE_0 << node for node in CPUSet(everything))
        return [Hint(node, preferred=True) for node in nodes if node in hints and hints.prefers(node)]
    return [hint for hint in hints if hint.preferred and (hint.nodes is None or hint.nodes.bit_count() == 1)]


def start_topology_manager(
    info: MachineInfo, config: KubeletConfiguration, gates: FeatureGates
) -> TopologyManager:
    """Set the manager up, in the order of ``NewManager``, or raise SettingError with the kubelet's text.

    The scope's name was checked by configuration validation, as the policy's should have been. With the
    policy ``none`` the number of nodes is not checked, nor, since 1.28, are the options.
    """
    refuse_gated_topology_options(config.topology_manager_policy_options, gates)
    none = config.topology_manager_policy == "none"
    if none and gates.release.ignores_topology_options_of_none:
        return TopologyManager.none()
    options = parse_topology_options(config.topology_manager_policy_options, gates)
    _check_distances(info, options)
    if none:
        return TopologyManager.none()
    _check_number(info, options)
    if config.topology_manager_policy not in POLICIES:
        text = f'unknown policy: "{config.topology_manager_policy}"'
        raise SettingError(text, "topologyManagerPolicy")
    return TopologyManager.of(
        info,
        config.topology_manager_policy,
        config.topology_manager_scope,
        closest=options.prefer_closest_numa_nodes,
    )


def _check_distances(info: MachineInfo, options: TopologyOptions) -> None:
    if options.prefer_closest_numa_nodes and not all(node.distances for node in info.nodes):
        text = "cannot discover NUMA topology: error getting NUMA distances from cadvisor"
        raise SettingError(text, _OPTIONS, PREFER_CLOSEST)


def _check_number(info: MachineInfo, options: TopologyOptions) -> None:
    if len(info.nodes) > options.max_allowable_numa_nodes:
        text = f"unsupported on machines with more than {options.max_allowable_numa_nodes} NUMA Nodes"
        raise SettingError(text, _OPTIONS, MAX_NODES)


class TopologyMetrics(Changeable):
    """Counters since the kubelet's start; ``aligned`` and ``unaligned`` are by scope."""

    def __init__(self) -> None:
        self.requests = 0
        self.errors = 0
        self.aligned: Counter[str] = Counter()
        self.unaligned: Counter[str] = Counter()

    def count(
        self, manager: TopologyManager, *, admitted: bool, placed: int, hint_rounds: Sequence[HintRound]
    ) -> None:
        """Count one admission of a pod, of which *placed* containers were allocated after these rounds."""
        self.requests += 1
        self.errors += not admitted and manager.policy != "none"
        if manager.policy != "single-numa-node":
            # Only this policy's containers are known to be aligned.
            return
        self.aligned[manager.scope] += placed if manager.scope == "container" else admitted
        self.unaligned[manager.scope] += any(
            isinstance(each.merged, Merged) and not each.merged.admit for each in hint_rounds
        )
