"""Topology hints: sets of NUMA nodes that can serve a request, and whether they are as narrow as can be.

Hints come listed, or as a rule instead of a list of up to 2^nodes of them.

Rule: kubelet v1.36 ``pkg/kubelet/cm/topologymanager``. Sets of NUMA nodes are masks of node ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from cpuctl.engine.masks import NodeMask

if TYPE_CHECKING:
    from cpuctl.engine.hints.coverage import Coverage, SocketRule
    from cpuctl.engine.hints.fit import Fit


class Hint(NamedTuple):
    """A set of NUMA nodes, None for "no constraint", and whether it is preferred."""

    nodes: NodeMask | None
    preferred: bool


DONT_CARE = Hint(None, preferred=True)
"""Stands for a provider without preference."""
IMPOSSIBLE = Hint(None, preferred=False)
"""Stands for a resource without any hint: nothing that is merged with it is preferred."""


class HintRule(Protocol):
    """The hints for one resource: all sets of NUMA nodes that serve its coverages, and some others."""

    def __bool__(self) -> bool:
        """Return whether there is any hint: all nodes together are one wherever some of them are."""

    def __iter__(self) -> Iterator[Hint]:
        """Yield every hint."""

    def __contains__(self, nodes: NodeMask) -> bool:
        """Return whether a set of nodes is a hint."""

    def prefers(self, nodes: NodeMask) -> bool:
        """Return whether a hint for these nodes is preferred."""

    @property
    def coverages(self) -> tuple[Coverage, ...]:
        """What a set has to serve to be a hint; all are of the same nodes."""

    @property
    def others(self) -> tuple[NodeMask, ...]:
        """Sets that are hints although they do not."""

    @property
    def width(self) -> int:
        """The size of the hints that are preferred."""

    @property
    def socket_rule(self) -> SocketRule | None:
        """What makes hints of other sizes preferred, too."""

    @property
    def narrowest(self) -> int:
        """Size of the smallest hint, 0 when there is none."""


class DirectRule:
    """A rule that finds its best sets by itself, sooner than any number of rules are searched together."""

    def best_preferred(self, fit: Fit) -> list[NodeMask]:
        """Find the best preferred hint, like ``node_search.best_sets``."""
        raise NotImplementedError

    def best_cut(self, nodes: NodeMask, sizes: Iterable[int], fit: Fit) -> list[NodeMask]:
        """Find the best of what hints cut out of *nodes*, in the first size there is."""
        raise NotImplementedError


HintList = Sequence[Hint] | HintRule
"""The hints for one resource, listed or as a rule."""
