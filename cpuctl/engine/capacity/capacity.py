"""What a node has room for, beside the pods that it runs.

Everything is found by admitting pods on copies of the node; what bounds a search has a name and is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from cpuctl.engine.admission import Admission
from cpuctl.engine.capacity.fragmentation import Fragmentation, fragmentation_of
from cpuctl.engine.capacity.largest import ElementRoom, Largest, largest_request, rooms
from cpuctl.engine.capacity.probe import Progress, copies_of, nobody, settled, shape_of
from cpuctl.engine.capacity.remedy import Remedy, remedy_for
from cpuctl.engine.hints.topology_manager import POLICIES
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, KubeletFault, Rejected, StartRefused, Undetermined, Verdict
from cpuctl.engine.start import start_node
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.pods.model import StoredPod

MAX_SHAPES = 32
"""Kinds of pods of which copies are counted, at most."""

MAX_RUNS = 10_000
"""Admissions that are tried to find remedies, at most; kinds of refused pods share them equally."""


class Capacity(NamedTuple):
    """How many more copies of each kind of pod fit, the largest requests, and what would let pods in.

    ``largest`` is the largest request for exclusive CPUs by policy of the Topology Manager; without a
    static CPU policy it is empty, as the rooms are. ``left_out`` kinds of pods were too many to count.
    """

    copies: tuple[Copies, ...]
    left_out: int
    largest: Mapping[TopologyPolicy, Largest | NotStarted]
    numa_nodes: tuple[ElementRoom, ...]
    uncore_caches: tuple[ElementRoom, ...]
    fragmentation: Fragmentation | None
    remedies: tuple[Remedy, ...]


def capacity_of(
    node: Node,
    info: MachineInfo,
    kubelet: Kubelet,
    admissions: Sequence[Admission],
    progress: Progress = nobody,
) -> Capacity:
    """Look at a node, which *kubelet* runs on the machine, once *admissions* have been decided on it."""
    node = settled(node)
    kinds = alike(admission.pod for admission in admissions)
    exclusive, caches_known = node.policy is not None, node.topology.caches_known
    return Capacity(
        copies=tuple(more_copies(node, pods, progress) for pods in kinds[:MAX_SHAPES]),
        left_out=len(kinds[MAX_SHAPES:]),
        largest=dict(_largest(node, info, kubelet)) if exclusive else {},
        numa_nodes=tuple(rooms(node, node.topology.numa_nodes)) if exclusive else (),
        uncore_caches=tuple(rooms(node, node.topology.uncore_caches)) if exclusive and caches_known else (),
        fragmentation=fragmentation_of(node),
        remedies=tuple(_remedies(node, admissions, progress)),
    )


def _largest(
    node: Node, info: MachineInfo, kubelet: Kubelet
) -> Iterator[tuple[TopologyPolicy, Largest | NotStarted]]:
    for policy in TOPOLOGY_POLICIES:
        other = under_policy(node, info, kubelet, policy)
        yield policy, largest_request(other) if isinstance(other, Node) else other


def _remedies(node: Node, admissions: Sequence[Admission], progress: Progress) -> Iterator[Remedy]:
    kinds = alike(each.pod for each in admissions if isinstance(each.verdict, Rejected))
    for pods in kinds:
        yield remedy_for(node, pods, MAX_RUNS // len(kinds), progress)


MAX_COPIES = 500
"""Copies that are tried of one pod; a kubelet's own limit of pods nearly always comes first."""


class Copies(NamedTuple):
    """``fits`` more of each of these pods, which are alike; ``stop`` refuses the next, None at the bound."""

    pods: tuple[StoredPod, ...]
    fits: int
    stop: Verdict | None


def alike(pods: Iterable[StoredPod]) -> list[tuple[StoredPod, ...]]:
    """Group pods that differ in their names only, in the order of their first ones."""
    shapes: dict[object, list[StoredPod]] = {}
    for pod in pods:
        shapes.setdefault(shape_of(pod), []).append(pod)
    return [tuple(group) for group in shapes.values()]


def more_copies(node: Node, pods: tuple[StoredPod, ...], progress: Progress) -> Copies:
    """Admit copies of *pods*, which are alike, until one is not admitted; *node* stays as it is."""
    node = node.copy()
    fits = 0
    for copy in islice(copies_of(node, pods[0]), MAX_COPIES):
        progress("admitting copies", fits, 0)
        verdict = node.admit(copy).verdict
        if not isinstance(verdict, Admitted):
            return Copies(pods, fits, verdict)
        fits += 1
    return Copies(pods, fits, None)


TopologyPolicy = Literal["none", "best-effort", "restricted", "single-numa-node"]
TOPOLOGY_POLICIES: tuple[TopologyPolicy, ...] = ("none", *POLICIES)

NotStarted = StartRefused | KubeletFault | Undetermined


def under_policy(node: Node, info: MachineInfo, kubelet: Kubelet, policy: str) -> Node | NotStarted:
    """Return *node*, which *kubelet* runs, as it were under *policy*, or why the kubelet would not start."""
    if policy == kubelet.config.topology_manager_policy:
        return node
    config = kubelet.config._replace(topology_manager_policy=policy)
    started = start_node(info, kubelet._replace(config=config))
    if not isinstance(started, Node):
        return started
    other = node.copy()
    other.topology_manager = started.topology_manager
    return other
