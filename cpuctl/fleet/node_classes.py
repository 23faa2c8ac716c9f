"""Classes of nodes that neither scheduler nor kubelet could tell apart, and what each class becomes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from cpuctl.engine.capacity.probe import known_uids
from cpuctl.pods.identity import with_uids
from cpuctl.scheduler.model import Load, NodeObject
from cpuctl.scheduler.spreading import HOSTNAME, ZONE, Place, Siblings

if TYPE_CHECKING:
    from cpuctl.engine.admission import Admission
    from cpuctl.engine.node import Node
    from cpuctl.fleet.claims import ClaimFit
    from cpuctl.operations.plan_inputs import Planning
    from cpuctl.pods.model import StoredPod
    from cpuctl.scheduler.node_topology import NodeTopology
    from cpuctl.scheduler.topology_match import TopologyScore


class NodeClass:
    """Nodes in one state: what the scheduler knows of them, where to read one of them, and which they are.

    ``members`` is a heap. ``starts`` tells whether their kubelets run, ``alone`` that nothing is known of
    them. ``siblings`` are the replicas on each of them, by whose they are. ``topology`` is the object that
    the scheduler's plug-in goes by, once ``published``; ``given`` the one that somebody had of them first.
    """

    def __init__(
        self,
        node: NodeObject,
        load: Load,
        members: Iterable[int] = (),
        *,
        starts: bool = True,
        alone: bool = False,
    ) -> None:
        self.node = node
        self.load = load
        self.members = list(members)
        self.siblings: Mapping[Siblings, int] = {}
        self.starts = starts
        self.alone = alone
        self.kubelet: Node | None = None
        self.planning: Planning | None = None
        self.topology: NodeTopology | None = None
        self.published = False
        self.given: NodeTopology | None = None
        self.scores: dict[Hashable, TopologyScore] = {}
        self.claimed: dict[Hashable, ClaimFit] = {}
        self.rejecting: dict[Hashable, NodeClass] = {}
        self.decided: dict[Hashable, tuple[Admission, Node]] = {}
        self.next: dict[Hashable, tuple[Admission | None, NodeClass | None]] = {}

    def successor(self, load: Load, kubelet: Node | None) -> NodeClass:
        """Return a class without nodes that differs from this one in its load, and in its kubelet's state."""
        after = NodeClass(self.node, load, starts=self.starts, alone=self.alone)
        after.kubelet, after.planning = kubelet, self.planning
        after.siblings, after.given = self.siblings, self.given
        return after


def best(classes: Sequence[NodeClass], found: Sequence[int]) -> NodeClass:
    """Return the class with the best score, of several the one whose first node comes first."""
    most = max(found)
    return min(
        (node_class for node_class, score in zip(classes, found, strict=True) if score == most), key=first
    )


def newcomer(pod: StoredPod, kubelet: Node) -> StoredPod:
    """Give a pod another UID where its manifest was read from one that is there: who comes is new."""
    known = known_uids(kubelet)
    return with_uids([pod._replace(uid="")], known)[0] if pod.uid in known else pod


def place_of(node_class: NodeClass, siblings: Siblings) -> Place:
    """Return what the spread of a pod goes by."""
    labels = node_class.node.labels
    return Place(
        len(node_class.members), node_class.siblings.get(siblings, 0), labels.get(ZONE), HOSTNAME in labels
    )


def first(node_class: NodeClass) -> int:
    """Return the first node of a class, by its place in the fleet."""
    return node_class.members[0]


def load_of(load: Mapping[str, int]) -> Load:
    """Read a load that was written as plain data."""
    amounts = {
        name: amount for name, amount in load.items() if name not in ("pods", "scoredCPU", "scoredMemory")
    }
    return Load(load["pods"], amounts, load["scoredCPU"], load["scoredMemory"])
