"""Topology hints: sets of NUMA nodes that can serve a request, and whether they are as narrow as can be.

Rule: kubelet v1.36 ``pkg/kubelet/cm/topologymanager``. Sets of NUMA nodes are masks of node ids.
"""

from __future__ import annotations

from typing import NamedTuple


class Hint(NamedTuple):
    """A set of NUMA nodes, None for "no constraint", and whether it is preferred."""

    nodes: int | None
    preferred: bool


DONT_CARE = Hint(None, preferred=True)
"""Stands for a provider without preference."""
IMPOSSIBLE = Hint(None, preferred=False)
"""Stands for a resource without any hint: nothing that is merged with it is preferred."""
