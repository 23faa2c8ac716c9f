"""NodeResourceTopologies of classes: which object the scheduler's plug-in goes by, and what it makes of pods.

That is the object that somebody gave of a node, one that an exporter publishes anew after every pod, or what
the plug-in's reserve cache has left of either.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.errors import InputError
from cpuctl.fleet.topology_check import compared, publisher_of
from cpuctl.fleet.topology_plugin import Topologies, plugin_refusal, with_reserved
from cpuctl.operations.topology_publishing import Publisher, publish_node
from cpuctl.scheduler.node_topology import topology_settings
from cpuctl.scheduler.topology_match import TopologyRequest, TopologyScore, score_topology

if TYPE_CHECKING:
    from cpuctl.engine.node import Node
    from cpuctl.fleet.node_classes import NodeClass
    from cpuctl.pods.model import Pod
    from cpuctl.scheduler.node_topology import NodeTopology
    from cpuctl.scheduler.topology_match import Unaligned

_EXPORTER = Publisher()


class ClassTopologies:
    """Knows of every class the object that the plug-in goes by, and what would be published of it now."""

    def __init__(self, topologies: Topologies, kubelet_of: Callable[[NodeClass], Node]) -> None:
        """Take how the plug-in is set up, and how the kubelet of a class is started."""
        self._options = topologies.options
        self._given = topologies.published
        self._kubelet_of = kubelet_of

    @property
    def reserves(self) -> bool:
        """Whether the plug-in goes by its reserve cache."""
        return self._options.reserves

    def key(self, name: str) -> Hashable:
        """Return what the plug-in reads of the object that was given of a node."""
        given = (self._given or {}).get(name)
        return given and repr((given.zones, topology_settings(given)))

    def begin(self, node_class: NodeClass, name: str) -> None:
        """Let a class begin with the object of its first node, where objects are given, or none come anew."""
        if self._given is not None or not node_class.starts:
            node_class.topology, node_class.published = (self._given or {}).get(name), True
            node_class.given = node_class.topology

    def stale(self, node_class: NodeClass, names: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the nodes of a class of whose objects something is not true, and what."""
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
                yield name, tuple(map(str, found))

    def topology(self, node_class: NodeClass) -> NodeTopology | None:
        """Return the object that the plug-in goes by; None where the node has none."""
        if not node_class.published:
            node_class.topology, node_class.published = self._published_anew(node_class), True
        return node_class.topology

    def now(self, node_class: NodeClass) -> NodeTopology | None:
        """Return what the publisher of that object would publish; None where nobody publishes any."""
        topology = self.topology(node_class)
        return topology and self._published(node_class, publisher_of(topology))

    def learn(self, node_class: NodeClass, after: NodeClass, pod: Pod) -> None:
        """Let the plug-in go by what it has cached, less what a pod requests, or by what comes anew."""
        if self.reserves:
            topology = self.topology(node_class)
            after.topology, after.published = (
                topology and with_reserved(topology, TopologyRequest.of(pod)),
                True,
            )
        elif node_class.published and (node_class.topology is None or not node_class.starts):
            # Nobody publishes anew where no kubelet is known, or where no exporter runs.
            after.topology, after.published = node_class.topology, True

    def refusal(self, node_class: NodeClass, request: TopologyRequest) -> Unaligned | None:
        """Ask the plug-in's filter."""
        return plugin_refusal(request, self.topology(node_class), node_class.node.allocatable)

    def scores(
        self, classes: Sequence[NodeClass], request: TopologyRequest, shape: Hashable
    ) -> list[TopologyScore]:
        """Score classes for a pod of a *shape*; a scheduler takes the only node left without."""
        if sum(len(each.members) for each in classes) == 1:
            return [TopologyScore(0)]
        for node_class in classes:
            if shape not in node_class.scores:
                node_class.scores[shape] = score_topology(
                    request, self.topology(node_class), self._options.scoring
                )
        return [each.scores[shape] for each in classes]

    def _published_anew(self, node_class: NodeClass) -> NodeTopology | None:
        """Return what comes after an object that was given: an exporter with other settings keeps them."""
        if node_class.given is None:
            return self._published(node_class)
        found = self._published(node_class, publisher_of(node_class.given))
        return found and found._replace(
            attributes=node_class.given.attributes, policies=node_class.given.policies
        )

    def _published(self, node_class: NodeClass, publisher: Publisher = _EXPORTER) -> NodeTopology | None:
        """Return what an exporter publishes of nodes as they are; None where it crashes, or none is known."""
        if not node_class.starts:
            return None
        kubelet = self._kubelet_of(node_class)
        assert node_class.planning is not None, "it is read with its kubelet"
        try:
            return publish_node(node_class.node.name, node_class.planning, kubelet, publisher).topology
        except InputError:
            return None
