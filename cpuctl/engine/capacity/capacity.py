"""What a node has room for, beside the pods that it runs.

Everything is found by admitting pods on copies of the node; what bounds a search has a name and is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from cpuctl.engine.admission import Admission
from cpuctl.engine.capacity.copies import Copies, alike, more_copies
from cpuctl.engine.capacity.fragmentation import Fragmentation, fragmentation_of
from cpuctl.engine.capacity.largest import ElementRoom, Largest, largest_request, rooms
from cpuctl.engine.capacity.policies import TOPOLOGY_POLICIES, NotStarted, under_policy
from cpuctl.engine.capacity.probe import settled
from cpuctl.engine.capacity.remedy import Remedy, remedy_for
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Rejected
from cpuctl.engine.progress import Progress, nobody
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.machine.cadvisor.machine_info import MachineInfo

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
    largest: Mapping[str, Largest | NotStarted]
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
    exclusive = node.policy is not None
    return Capacity(
        copies=tuple(more_copies(node, pods, progress) for pods in kinds[:MAX_SHAPES]),
        left_out=len(kinds[MAX_SHAPES:]),
        largest=dict(_largest(node, info, kubelet)) if exclusive else {},
        numa_nodes=tuple(rooms(node, node.topology.numa_nodes)) if exclusive else (),
        uncore_caches=tuple(rooms(node, node.topology.uncore_caches)) if exclusive else (),
        fragmentation=fragmentation_of(node),
        remedies=tuple(_remedies(node, admissions, progress)),
    )


def _largest(node: Node, info: MachineInfo, kubelet: Kubelet) -> Iterator[tuple[str, Largest | NotStarted]]:
    for policy in TOPOLOGY_POLICIES:
        other = under_policy(node, info, kubelet, policy)
        yield policy, largest_request(other) if isinstance(other, Node) else other


def _remedies(node: Node, admissions: Sequence[Admission], progress: Progress) -> Iterator[Remedy]:
    kinds = alike(each.pod for each in admissions if isinstance(each.verdict, Rejected))
    for pods in kinds:
        yield remedy_for(node, pods, MAX_RUNS // len(kinds), progress)
