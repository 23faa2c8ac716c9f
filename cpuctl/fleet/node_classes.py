"""Classes of nodes that are identical to scheduler and kubelet, and how each class changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from cpuctl.engine.capacity.probe import known_uids
from cpuctl.errors import InputError
from cpuctl.fleet.topology_check import compared, publisher_of
from cpuctl.fleet.topology_plugin import Topologies, plugin_refusal, with_reserved
from cpuctl.operations.topology_publishing import Publisher, publish_node
from cpuctl.pods.identity import with_uids
from cpuctl.scheduler.model import HOSTNAME, ZONE, Domain, Load, NodeObject, Siblings
from cpuctl.scheduler.node_topology import topology_settings
from cpuctl.scheduler.topology_match import TopologyRequest, TopologyScore, score_topology

if TYPE_CHECKING:
    from cpuctl.engine.admission import Admission
    from cpuctl.engine.node import Node
    from cpuctl.fleet.claims import ClaimFit
    from cpuctl.operations.plan_inputs import Planning
    from cpuctl.pods.model import Pod, StoredPod
    from cpuctl.scheduler.node_topology import NodeTopology
    from cpuctl.scheduler.topology_match import Unaligned


class NodeClass:
    """Nodes in the same state: what the scheduler knows about them, how to read one, and which they are.

    ``members`` is a heap. ``starts``: whether their kubelets run; ``alone``: whether their kubelets are
    unknown. ``siblings`` are the replicas on each of them, by owner. ``topology`` is the object that the
    scheduler's plugin uses, once ``published``; ``given`` is the first one that the input had for them.
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
        """Return a class without nodes that differs from this one in its load and its kubelet's state."""
        after = NodeClass(self.node, load, starts=self.starts, alone=self.alone)
        after.kubelet, after.planning = kubelet, self.planning
        after.siblings, after.given = self.siblings, self.given
        return after


def best(classes: Sequence[NodeClass], found: Sequence[int]) -> NodeClass:
    """Return the class with the best score; of several, the one with the first node in the fleet."""
    most = max(found)
    return min(
        (node_class for node_class, score in zip(classes, found, strict=True) if score == most), key=first
    )


def as_new_pod(pod: StoredPod, kubelet: Node) -> StoredPod:
    """Give a pod another UID if its manifest is that of an existing pod: the new one is not the same."""
    known = known_uids(kubelet)
    return with_uids([pod._replace(uid="")], known)[0] if pod.uid in known else pod


def domain_of(node_class: NodeClass, siblings: Siblings) -> Domain:
    """Return the values on which the spread of a pod depends."""
    labels = node_class.node.labels
    return Domain(
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


# NodeResourceTopologies of classes: which object the scheduler's plugin uses, and how it rates pods.
#
# This is the object that the input has for a node, one that an exporter publishes again after every pod, or
# what the plugin's reserve cache has left of either.

_ASSUMED = "its configuration is not recorded, and defaults are assumed: set it with --kubelet-config FILE"
_EXPORTER = Publisher()


class ClassTopologies:
    """For every class, the object that the plugin uses, and what would be published for it now."""

    def __init__(self, topologies: Topologies, kubelet_of: Callable[[NodeClass], Node]) -> None:
        """Store the plugin's configuration, and the function that starts the kubelet of a class."""
        self._options = topologies.options
        self._given = topologies.published
        self._kubelet_of = kubelet_of

    @property
    def reserves(self) -> bool:
        """Whether the plugin uses its reserve cache."""
        return self._options.reserves

    def key(self, name: str) -> Hashable:
        """Return the parts that the plugin reads of the object given for a node."""
        given = (self._given or {}).get(name)
        return given and repr((given.zones, topology_settings(given)))

    def begin(self, node_class: NodeClass, name: str) -> None:
        """Start a class with its first node's object, if any are given, or if none are published later."""
        if self._given is not None or not node_class.starts:
            node_class.topology, node_class.published = (self._given or {}).get(name), True
            node_class.given = node_class.topology

    def stale(self, node_class: NodeClass, names: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the nodes of a class whose objects do not match them, with the differences."""
        if self._given is None or not node_class.starts:
            return
        published: dict[Publisher, NodeTopology | None] = {}
        for name in names:
            if (given := self._given.get(name)) is None:
                continue
            publisher = publisher_of(given)
            if publisher not in published:
                published[publisher] = self._published(node_class, publisher)
            if (now := published[publisher]) is None:
                continue
            assert node_class.planning is not None, "something is published of it"
            found = compared(given, now, self._kubelet_of(node_class), node_class.planning).findings
            if found:
                note = "" if node_class.planning.sources.names_kubelet else f" ({_ASSUMED})"
                yield name, tuple(f"{each}{note}" for each in found)

    def topology(self, node_class: NodeClass) -> NodeTopology | None:
        """Return the object that the plugin uses; None if the node has none."""
        if not node_class.published:
            node_class.topology, node_class.published = self._republished(node_class), True
        return node_class.topology

    def comparable(self, node_class: NodeClass) -> bool:
        """Return whether the object can be held against the kubelet: a given one not if that is assumed."""
        assert node_class.planning is not None, "it is read with its kubelet"
        return node_class.given is None or node_class.planning.sources.names_kubelet

    def now(self, node_class: NodeClass) -> NodeTopology | None:
        """Return what the publisher of that object would publish now; None if there is no object."""
        topology = self.topology(node_class)
        return topology and self._published(node_class, publisher_of(topology))

    def learn(self, node_class: NodeClass, after: NodeClass, pod: Pod) -> None:
        """Let the plugin use what it has cached, less what a pod requests, or what is published."""
        if self.reserves:
            topology = self.topology(node_class)
            after.topology, after.published = (
                topology and with_reserved(topology, TopologyRequest.of(pod)),
                True,
            )
        elif node_class.published and (node_class.topology is None or not node_class.starts):
            # Nothing is published again if the kubelet is unknown, or if no exporter runs.
            after.topology, after.published = node_class.topology, True

    def refusal(self, node_class: NodeClass, request: TopologyRequest) -> Unaligned | None:
        """Apply the plugin's filter."""
        return plugin_refusal(request, self.topology(node_class), node_class.node.allocatable)

    def scores(
        self, classes: Sequence[NodeClass], request: TopologyRequest, shape: Hashable
    ) -> list[TopologyScore]:
        """Score classes for a pod of a *shape*; a scheduler takes an only remaining node unscored."""
        if sum(len(each.members) for each in classes) == 1:
            return [TopologyScore(0)]
        for node_class in classes:
            if shape not in node_class.scores:
                node_class.scores[shape] = score_topology(
                    request, self.topology(node_class), self._options.scoring
                )
        return [each.scores[shape] for each in classes]

    def _republished(self, node_class: NodeClass) -> NodeTopology | None:
        """Return the successor of a given object, which keeps its settings even if the exporter's differ."""
        if node_class.given is None:
            return self._published(node_class)
        found = self._published(node_class, publisher_of(node_class.given))
        return found and found._replace(
            attributes=node_class.given.attributes, policies=node_class.given.policies
        )

    def _published(self, node_class: NodeClass, publisher: Publisher = _EXPORTER) -> NodeTopology | None:
        """Return what an exporter publishes about nodes now; None if it crashes, or no kubelet runs."""
        if not node_class.starts:
            return None
        kubelet = self._kubelet_of(node_class)
        assert node_class.planning is not None, "it is read with its kubelet"
        try:
            return publish_node(node_class.node.name, node_class.planning, kubelet, publisher).topology
        except InputError:
            return None
