"""What a kubelet is told about its machine: the values cAdvisor hands it.

The kubelet never reads sysfs itself; its managers see only these values (cAdvisor's ``MachineInfo``,
``info/v1/machine.go``), quirks included.
"""

from collections.abc import Mapping
from typing import NamedTuple, Self


class InfoCore(NamedTuple):
    """One core entry: its threads (CPU numbers, as discovered) and the ids of the uncore caches it lists.

    ``book_id`` and ``drawer_id`` hold sockets together on s390x; no other machine has any.
    """

    socket_id: int
    threads: tuple[int, ...]
    uncore_cache_ids: tuple[int, ...] = ()
    core_id: int = 0
    book_id: int | None = None
    drawer_id: int | None = None


class InfoNode(NamedTuple):
    """One NUMA node entry; ``hugepages`` counts pages by page size in KiB.

    ``memory_known`` is False where nothing is recorded of the node's memory; what it has is not known then.
    ``distances`` are the kernel's relative figures, 10 to the node itself, in the order of its own nodes.
    """

    id: int
    cores: tuple[InfoCore, ...]
    memory_bytes: int = 0
    hugepages: Mapping[int, int] = {}
    distances: tuple[int, ...] = ()
    memory_known: bool = True


class MachineInfo(NamedTuple):
    """The node entries and the three totals that cAdvisor counts separately.

    ``ephemeral_storage`` is the size of the kubelet's file system in bytes, None where it is not known;
    ``memory_bytes`` is 0 where it is not, and ``hugepages_known`` False where those of some node are not.
    ``caches_known`` is False where it is not known which CPUs share caches: none told is not none there.
    """

    nodes: tuple[InfoNode, ...]
    num_cpus: int
    num_sockets: int
    memory_bytes: int = 0
    ephemeral_storage: int | None = None
    hugepages_known: bool = True
    caches_known: bool = True

    @property
    def nodes_without_memory(self) -> tuple[int, ...]:
        """The NUMA nodes of whose memory nothing is recorded."""
        return tuple(sorted(node.id for node in self.nodes if not node.memory_known))

    @property
    def without_books(self) -> Self:
        """The same from a cAdvisor that knows no books and drawers: it takes cores of one id for one core."""
        if all(core.book_id is core.drawer_id is None for node in self.nodes for core in node.cores):
            return self
        return self._replace(nodes=tuple(map(_without_books, self.nodes)))


def _without_books(node: InfoNode) -> InfoNode:
    cores: dict[tuple[int, int], InfoCore] = {}
    for core in node.cores:
        same = cores.setdefault((core.core_id, core.socket_id), core._replace(threads=()))
        # Directories of CPUs are read in the order of their names.
        threads = tuple(sorted(same.threads + core.threads, key=str))
        cores[core.core_id, core.socket_id] = same._replace(threads=threads, book_id=None, drawer_id=None)
    return node._replace(cores=tuple(cores.values()))
