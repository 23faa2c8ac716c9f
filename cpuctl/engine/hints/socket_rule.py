"""How many sockets a set of NUMA nodes touches: what ``align-by-socket`` prefers hints for.

Rule: kubelet v1.36 ``policy_static.go``. Sets of NUMA nodes are masks of node ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import accumulate, chain
from typing import NamedTuple

from cpuctl.cpuset import CPUSet


class SocketRule(NamedTuple):
    """Sets of nodes have to touch ``wanted`` sockets, exactly; ``of_node`` has the sockets of each node."""

    wanted: int
    of_node: Mapping[int, frozenset[int]]

    def allows(self, nodes: int) -> bool:
        """Tell whether a set touches as many sockets as wanted."""
        return len(self.touched(nodes)) == self.wanted

    def most_free(self, taken: int, free: Mapping[int, int], count: int) -> int | None:
        """Tell the most free CPUs of *count* nodes that make an allowed set with those *taken*, if any do.

        *free* has the free CPUs of the nodes to choose from. Nodes of one socket differ in that only, so
        what is tried grows with sockets times nodes, not with the number of sets.
        """
        touched = self.touched(taken)
        groups: dict[frozenset[int], list[int]] = {}
        for node, cpus in free.items():
            groups.setdefault(self.of_node[node] - touched, []).append(cpus)
        times = Counter(chain.from_iterable(groups))
        shared = frozenset(socket for socket, number in times.items() if number > 1)
        # By number of sockets touched, which of these other groups touch, too, and number of nodes.
        most = {(len(touched), frozenset[int](), 0): 0}
        for sockets, free_in_group in groups.items():
            sums = list(accumulate(sorted(free_in_group, reverse=True)))
            for (number, seen, nodes), total in list(most.items()):
                for more, extra in enumerate(sums[: count - nodes], 1):
                    state = (number + len(sockets - seen), seen | sockets & shared, nodes + more)
                    most[state] = max(most.get(state, 0), total + extra)
        wanted = (self.wanted, count)
        return max(
            (total for (number, _, nodes), total in most.items() if (number, nodes) == wanted), default=None
        )

    def touched(self, nodes: int) -> frozenset[int]:
        """Name the sockets that a set touches."""
        return frozenset[int]().union(*(self.of_node[node] for node in CPUSet(nodes)))
