"""NodeResourceTopologies of lots: which object the scheduler's plug-in goes by, and what it makes of pods.

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
from cpuctl.scheduler.topology_match import Asking, TopologyScore, score_topology

if TYPE_CHECKING:
    from cpuctl.engine.node import Node
    from cpuctl.fleet.lots import Lot
    from cpuctl.pods.model import Pod
    from cpuctl.scheduler.node_topology import NodeTopology
    from cpuctl.scheduler.topology_match import Unaligned

_EXPORTER = Publisher()


class LotTopologies:
    """Knows of every lot the object that the plug-in goes by, and what would be published of it now."""

    def __init__(self, topologies: Topologies, kubelet_of: Callable[[Lot], Node]) -> None:
        """Take how the plug-in is set up, and how the kubelet of a lot is started."""
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

    def begin(self, lot: Lot, name: str) -> None:
        """Let a lot begin with the object of its first node, where objects are given, or none come anew."""
        if self._given is not None or not lot.starts:
            lot.seen, lot.published = (self._given or {}).get(name), True
            lot.given = lot.seen

    def stale(self, lot: Lot, names: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the nodes of a lot of whose objects something is not true, and what."""
        if self._given is None or not lot.starts:
            return
        published: dict[Publisher, NodeTopology | None] = {}
        for name in names:
            if (given := self._given.get(name)) is None:
                continue
            publisher = publisher_of(given)
            if publisher not in published:
                published[publisher] = self._published(lot, publisher)
            if (now := published[publisher]) is None:
                continue
            assert lot.planning is not None, "something is published of it"
            found = compared(given, now, self._kubelet_of(lot), lot.planning).findings
            if found:
                yield name, tuple(map(str, found))

    def seen(self, lot: Lot) -> NodeTopology | None:
        """Return the object that the plug-in goes by; None where the node has none."""
        if not lot.published:
            lot.seen, lot.published = self._published_anew(lot), True
        return lot.seen

    def now(self, lot: Lot) -> NodeTopology | None:
        """Return what the publisher of that object would publish; None where nobody publishes any."""
        seen = self.seen(lot)
        return seen and self._published(lot, publisher_of(seen))

    def learn(self, lot: Lot, after: Lot, pod: Pod) -> None:
        """Let the plug-in go by what it has cached, less what a pod requests, or by what comes anew."""
        if self.reserves:
            seen = self.seen(lot)
            after.seen, after.published = seen and with_reserved(seen, Asking.of(pod)), True
        elif lot.published and (lot.seen is None or not lot.starts):
            # Nobody publishes anew where no kubelet is known, or where no exporter runs.
            after.seen, after.published = lot.seen, True

    def refusal(self, lot: Lot, asking: Asking) -> Unaligned | None:
        """Ask the plug-in's filter."""
        return plugin_refusal(asking, self.seen(lot), lot.node.allocatable)

    def scores(self, lots: Sequence[Lot], asking: Asking, shape: Hashable) -> list[TopologyScore]:
        """Score lots for a pod of a *shape*; the only node that is left a scheduler takes without scores."""
        if sum(len(lot.members) for lot in lots) == 1:
            return [TopologyScore(0)]
        for lot in lots:
            if shape not in lot.scores:
                lot.scores[shape] = score_topology(asking, self.seen(lot), self._options.scoring)
        return [lot.scores[shape] for lot in lots]

    def _published_anew(self, lot: Lot) -> NodeTopology | None:
        """Return what comes after an object that was given: an exporter with other settings keeps them."""
        if lot.given is None:
            return self._published(lot)
        found = self._published(lot, publisher_of(lot.given))
        return found and found._replace(attributes=lot.given.attributes, policies=lot.given.policies)

    def _published(self, lot: Lot, publisher: Publisher = _EXPORTER) -> NodeTopology | None:
        """Return what an exporter publishes of nodes as they are; None where it crashes, or none is known."""
        if not lot.starts:
            return None
        kubelet = self._kubelet_of(lot)
        assert lot.planning is not None, "it is read with its kubelet"
        try:
            return publish_node(lot.node.name, lot.planning, kubelet, publisher).topology
        except InputError:
            return None
