"""The Memory Manager's accounts of huge pages, compared with the kernel's pages.

The accounts contain the allocations of Guaranteed pods. Other pods take pages from any NUMA node, and nothing
checks that allocated pages are available when needed (kubernetes issue 134395; KEP-5759 proposes it). Files:
*Documentation/admin-guide/mm/hugetlbpage.rst* (``nr_hugepages``, surplus pages among them), and ``numa_stat``
of *Documentation/admin-guide/cgroup-v2.rst*, HugeTLB.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from shlex import quote

from cpuctl.audit.commands import REPAIR, delete_pod
from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.snapshot import NodeSnapshot, ObservedContainer
from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.engine.memory.tables import is_huge_pages, page_bytes, pages_file
from cpuctl.phrases import named, some_of
from cpuctl.quantity import Format, Quantity
from cpuctl.records import Record

_WHO = "grep -ls huge /proc/[0-9]*/numa_maps"


class Page(Record):
    """One resource on a set of NUMA nodes, in bytes.

    ``had`` is the minimum that containers have of their ``guaranteed`` amount, ``had_at_most`` the maximum;
    ``free`` is None if the kernel's free pages are unknown.
    """

    resource: str
    nodes: tuple[int, ...]
    guaranteed: int
    had: int
    had_at_most: int
    free: int | None

    @property
    def missing(self) -> int:
        """The allocated amount that is certainly not available."""
        return 0 if self.free is None else max(0, self.guaranteed - self.had_at_most - self.free)

    @property
    def doubtful(self) -> bool:
        """Whether something may be missing, but the known facts do not show it."""
        return self.free is None or (not self.missing and self.guaranteed - self.had > self.free)

    def __str__(self) -> str:
        return f"{self.resource} on {named(CPUSet.of(self.nodes), 'NUMA node')}"


class _Allocation(Record):
    uid: str
    container: str
    resource: str
    nodes: tuple[int, ...]
    size: int


def check_huge_pages(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Report allocated pages that are not available, and nodes whose pages differ from the accounts."""
    for page in allocated_pages(snapshot):
        if page.missing:
            yield _taken(snapshot, page)
    yield from _differing(snapshot)


def allocated_pages(snapshot: NodeSnapshot) -> Iterator[Page]:
    """Yield the huge pages allocated to running containers, by resource and set of NUMA nodes."""
    configured = list(_guarantees(snapshot))
    for resource, nodes in sorted({(each.resource, each.nodes) for each in configured}):
        inside = [each for each in configured if each.resource == resource and set(each.nodes) <= set(nodes)]
        bounds = [_had(snapshot, each) for each in inside]
        yield Page(
            resource=resource,
            nodes=nodes,
            guaranteed=sum(each.size for each in inside),
            had=sum(low for low, _ in bounds),
            had_at_most=sum(high for _, high in bounds),
            free=_free(snapshot, resource, nodes),
        )


def _guarantees(snapshot: NodeSnapshot) -> Iterator[_Allocation]:
    """Yield the blocks of running containers; an ended container needs no more pages."""
    state = snapshot.state.memory
    for uid, containers in (state.entries if state else {}).items():
        for container, blocks in containers.items():
            for block in blocks if _containers(snapshot, uid, container) else ():
                if is_huge_pages(block.type):
                    yield _Allocation(uid, container, block.type, block.numa_affinity, block.size)


def _containers(snapshot: NodeSnapshot, uid: str, container: str) -> list[ObservedContainer]:
    """Find the container, or all containers of its pod that it may be."""
    ours = [observed for observed in snapshot.containers if observed.owner.uid == uid and not observed.sleeps]
    by_name = [observed for observed in ours if observed.owner.container == container]
    return by_name or [observed for observed in ours if not observed.owner.container]


def _had(snapshot: NodeSnapshot, allocation: _Allocation) -> tuple[int, int]:
    """Return the minimum and the maximum that a container can have of its allocation."""
    size, least, most = page_bytes(allocation.resource), 0, 0
    for observed in _containers(snapshot, allocation.uid, allocation.container):
        used = observed.group.memory.hugepages_used.get(size)
        if used is None:
            most = allocation.size
        elif used.by_node is None:
            most += used.total
        else:
            there = sum(used.by_node.get(node, 0) for node in allocation.nodes)
            least, most = least + there, most + there
    return min(least, allocation.size), min(most, allocation.size)


def _free(snapshot: NodeSnapshot, resource: str, nodes: Iterable[int]) -> int | None:
    by_id = {node.id: node for node in snapshot.machine.numa_nodes}
    size, total = page_bytes(resource), 0
    for number in nodes:
        pages = by_id[number].free_hugepages.get(size >> 10) if number in by_id else None
        if pages is None:
            return None
        total += pages * size
    return total


def _taken(snapshot: NodeSnapshot, page: Page) -> Finding:
    free = page.free or 0
    takers = _takers(snapshot, page)
    reserved = snapshot.machine.reserved_hugepages.get(page_bytes(page.resource) >> 10, 0)
    more = f"; {reserved} of the free pages of the machine are reserved already" if reserved else ""
    return Finding(
        severity=Severity.ERROR,
        code="huge-pages-taken",
        place=NodePart(str(page)),
        message=f"containers are guaranteed {_bytes(page.guaranteed)} and have {_bytes(page.had_at_most)} of "
        f"it, but only {_bytes(free)} are free: {_users(snapshot, takers)}{more}; pods that are not "
        "Guaranteed are not tracked (kubernetes issue 134395)",
        expected=f"{_bytes(page.guaranteed - page.had_at_most)} free",
        detected=f"{_bytes(free)} free",
        fix=_give_back(snapshot, next(iter(takers), "")),
    )


def _takers(snapshot: NodeSnapshot, page: Page) -> dict[str, int]:
    """Return the pods without an allocation that have pages of these nodes, by UID, the largest first."""
    guaranteed = {each.uid for each in _guarantees(snapshot) if each.resource == page.resource}
    taken: dict[str, int] = {}
    for observed in snapshot.containers:
        used = observed.group.memory.hugepages_used.get(page_bytes(page.resource))
        if used is None or observed.owner.uid in guaranteed:
            continue
        there = used.total if used.by_node is None else sum(used.by_node.get(node, 0) for node in page.nodes)
        if there:
            taken[observed.owner.uid] = taken.get(observed.owner.uid, 0) + there
    return dict(sorted(taken.items(), key=lambda each: -each[1]))


def _users(snapshot: NodeSnapshot, takers: dict[str, int]) -> str:
    if not takers:
        return "who uses the rest is unknown"
    names = [f"{snapshot.pod_name(uid)} ({_bytes(size)})" for uid, size in takers.items()]
    return f"{some_of(names)} {'have' if len(takers) > 1 else 'has'} taken pages"


def _give_back(snapshot: NodeSnapshot, uid: str) -> str:
    """Explain how to free pages for good: a Guaranteed pod gets other pages, which are in the accounts."""
    pod = snapshot.pods.get(uid)
    if not uid:
        return _WHO
    if pod is None:
        return f"crictl pods --label {quote(f'io.kubernetes.pod.uid={uid}')}"
    return f"make {quote(pod.full_name)} Guaranteed, then {delete_pod(pod)}"


def _differing(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Compare the pages of every node: a kubelet that starts rejects the accounts of another machine."""
    state, nodes = snapshot.state.memory, {node.id: node for node in snapshot.machine.numa_nodes}
    for number, saved in (state.machine_state if state else {}).items():
        if number not in nodes or not snapshot.machine.hugepages_known:
            continue
        for resource, table in saved.memory_map.items():
            if is_huge_pages(resource):
                size = page_bytes(resource)
                if size >> 10 not in nodes[number].hugepages:
                    yield _unknown_size(number, resource)
                    continue
                there = nodes[number].hugepages[size >> 10]
                surplus = nodes[number].surplus_hugepages.get(size >> 10, 0)
                if there * size != table.total:
                    yield _other_number(number, resource, table.total // size, there, surplus)


def _unknown_size(node: int, resource: str) -> Finding:
    return Finding(
        severity=Severity.ERROR,
        code="huge-pages-differ",
        place=NodePart(f"{resource} on NUMA node {node}"),
        message="the Memory Manager's state has pages of a size that this machine does not have: the kubelet "
        "would not start with it",
        fix=REPAIR,
    )


def _other_number(node: int, resource: str, saved: int, there: int, surplus: int) -> Finding:
    extra = f", {surplus} of them surplus pages, which are freed when no longer used" if surplus else ""
    return Finding(
        severity=Severity.ERROR,
        code="huge-pages-differ",
        place=NodePart(f"{resource} on NUMA node {node}"),
        message=f"the Memory Manager's state has {saved} pages and the kernel {there}{extra}: the "
        "kubelet would not start with it",
        expected=str(saved),
        detected=str(there),
        fix=f"echo {saved} > {pages_file(node, page_bytes(resource) >> 10)}",
    )


def _bytes(amount: int) -> str:
    return str(Quantity.from_value(amount, Format.BINARY_SI))
