"""Containers compared with what the kubelet gives them: CPUs, memory nodes, threads.

A kubelet never reads back what it has written (kubelet v1.36, cpumanager ``reconcileState``): a set that
another program has changed stays as it is. The files: *Documentation/admin-guide/cgroup-v2.rst* and
*Documentation/admin-guide/cgroup-v1/cpusets.rst*.

Threads: ``Cpus_allowed_list`` of *proc(5)*; memory: ``/proc/PID/numa_maps`` (*numa(7)*).
"""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from cpuctl.audit.commands import for_each
from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.origins import equal_to
from cpuctl.audit.snapshot import POLICY_NONE, NodeSnapshot, ObservedContainer, Task
from cpuctl.cgroups.groups import Cgroup
from cpuctl.cgroups.names import ancestors
from cpuctl.cpuset import CPUSet, union
from cpuctl.diagnostics import Severity
from cpuctl.phrases import all_of, are, counted, few, named


def check_cpusets(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Compare every container's CPUs with what the kubelet gives it."""
    for observed in snapshot.containers:
        if observed.expected.cpus is not None:
            yield from _container(snapshot, observed, observed.expected.cpus)
        elif observed.expected.choices:
            if observed.fits_none:
                yield _nameless(snapshot, observed)
        elif snapshot.prepared is not None:
            continue  # the driver manages its CPUs, which the check ``claims`` covers
        elif snapshot.state.cpu and snapshot.state.cpu.policy_name == POLICY_NONE:
            yield from _left_over(snapshot, observed)


def check_mems(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Compare every container's NUMA nodes with those that the Memory Manager gives it."""
    for observed in snapshot.containers:
        expected, cpuset = observed.expected.mems, observed.group.cpuset
        if expected is None or (cpuset.mems == expected and cpuset.effective_mems in (None, expected)):
            continue
        detected = cpuset.effective_mems if cpuset.mems == expected else cpuset.mems
        yield Finding(
            severity=Severity.ERROR,
            code="mems-differ",
            place=NodePart.of(observed),
            message=f"the container's memory should be on {named(expected, 'NUMA node')}, but may come from "
            f"{_nodes(cpuset.effective_mems or cpuset.mems)}",
            expected=str(expected),
            detected=_text(detected),
            fix=f"crictl update --cpuset-mems {expected} {observed.owner.container_id}",
        )


def _container(snapshot: NodeSnapshot, observed: ObservedContainer, expected: CPUSet) -> Iterator[Finding]:
    configured = observed.group.cpuset.cpus
    if configured not in (expected, _left_by_v1(snapshot, expected)):
        yield _configured(snapshot, observed, expected)
    elif not _is_as_expected(snapshot, _with_partitions(observed), expected):
        yield _effective(snapshot, observed, observed.group, expected)
    for group in observed.below:
        given = group.cpuset.effective
        if given is not None and not given <= (observed.effective or expected) and not given <= expected:
            yield _effective(snapshot, observed, group, expected)


def _with_partitions(observed: ObservedContainer) -> CPUSet | None:
    """Return the effective set, including CPUs of partitions below the container's own group."""
    if observed.effective is None:
        return None
    return observed.effective | union(group.cpuset.taken for group in observed.below)


def _left_by_v1(snapshot: NodeSnapshot, expected: CPUSet) -> CPUSet:
    """Return what cgroup v1 leaves of a set while some of its CPUs do not run: that is reported elsewhere."""
    one = snapshot.hierarchies is not None and snapshot.hierarchies.version == 1
    return expected & snapshot.machine.online if one else expected


def _is_as_expected(snapshot: NodeSnapshot, effective: CPUSet | None, expected: CPUSet) -> bool:
    """Return whether only CPUs that do not run are missing; those are reported elsewhere."""
    return effective is None or (bool(effective) and effective == expected & snapshot.machine.online)


def _configured(snapshot: NodeSnapshot, observed: ObservedContainer, expected: CPUSet) -> Finding:
    owner, who = "the shared pool is", "the container"
    if observed.expected.exclusive:
        owner, who = "the container's exclusive CPUs are", "it"
    own = observed.group.cpuset.cpus
    return Finding(
        severity=Severity.ERROR,
        code="cpuset-differs",
        place=NodePart.of(observed),
        message=f"{owner} {expected}, but {who} may run on {_text(observed.effective)}"
        + _conflicts(snapshot, observed, (observed.effective or CPUSet()) - expected)
        + equal_to(snapshot, observed, own or observed.effective),
        expected=str(expected),
        # What is configured may include CPUs that are offline, or that no parent has.
        detected=_text(observed.effective) if own else _configured_text(observed.group),
        # cgroup v1 accepts no CPUs that are offline.
        fix=f"crictl update --cpuset-cpus {_left_by_v1(snapshot, expected)} {observed.owner.container_id}",
    )


def _nameless(snapshot: NodeSnapshot, observed: ObservedContainer) -> Finding:
    """Report a container of which only the pod is known: its CPUs must be those of a container of the pod."""
    allowed = " or ".join(map(str, observed.expected.choices))
    own = observed.group.cpuset.cpus or observed.effective
    cpus = named(own) if own else "these CPUs"
    return Finding(
        severity=Severity.ERROR,
        code="cpuset-differs",
        place=NodePart.of(observed),
        message=f"no container of its pod should have {cpus}; allowed: {allowed}"
        + ("" if snapshot.pods_known else "; use --pods to identify the container")
        + equal_to(snapshot, observed, observed.group.cpuset.cpus or observed.effective),
        expected=allowed,
        detected=_configured_text(observed.group),
        fix=f"crictl inspect {observed.owner.container_id}",
    )


def _left_over(snapshot: NodeSnapshot, observed: ObservedContainer) -> Iterator[Finding]:
    above = snapshot.groups.get(observed.group.parent)
    whole = above.cpuset.effective if above else None
    effective = observed.group.cpuset.effective
    if whole is None or effective is None or effective == whole or not observed.group.cpuset.cpus:
        return
    yield Finding(
        severity=Severity.NOTE,
        code="cpuset-left-over",
        place=NodePart.of(observed),
        message="with CPU Manager policy none the kubelet assigns no CPUs, "
        "but this container has its own CPU set" + equal_to(snapshot, observed, effective),
        expected=str(whole),
        detected=str(effective),
        fix=f"crictl update --cpuset-cpus {whole} {observed.owner.container_id}",
    )


def _effective(
    snapshot: NodeSnapshot, observed: ObservedContainer, group: Cgroup, expected: CPUSet
) -> Finding:
    effective = group.cpuset.effective or CPUSet()
    why, fix = _culprit(snapshot, group, expected)
    return Finding(
        severity=Severity.ERROR,
        code="effective-differs",
        place=NodePart(str(observed.owner), observed.owner, group.path),
        message=f"the container is assigned CPUs {expected}, but the kernel lets it run on "
        f"{_text(effective)}{why}"
        + _conflicts(snapshot, observed, effective - expected)
        + (equal_to(snapshot, observed, effective) if effective - expected else ""),
        expected=str(expected),
        detected=_text(effective),
        fix=fix,
    )


def _culprit(snapshot: NodeSnapshot, group: Cgroup, expected: CPUSet) -> tuple[str, str]:
    """Find what keeps a group from its CPUs: a list, its own or one further up, or another partition."""
    file, own = file_of(snapshot, group.path, "cpuset.cpus"), group.cpuset.cpus
    if own and not own <= expected:
        return f", because {group.path} has {own}", f"echo {expected} > {file}"
    for path in ancestors(group.path):
        own = _own_list(snapshot, path)
        if own and not expected <= own:
            return (
                f", because {path} has {own}",
                f"echo {own | expected} > {file_of(snapshot, path, 'cpuset.cpus')}",
            )
    for path, taken in snapshot.partitions.items():
        # The partitions above also have the CPUs that they have taken.
        if lost := expected & taken if path not in (group.path, *ancestors(group.path)) else CPUSet():
            return (
                f", because partition {path} has taken {named(lost)}",
                f"echo member > {file_of(snapshot, path, 'cpuset.cpus.partition')}",
            )
    top = snapshot.host_groups.get("/")
    if top and top.effective and not expected & snapshot.machine.online <= top.effective:
        return f", because this node's host allows it only {top.effective}", f"cat {file}*"
    return "", f"cat {file}*"


def _own_list(snapshot: NodeSnapshot, path: str) -> CPUSet | None:
    """Return the group's own list, whether it is the kubelet's or one above."""
    above = snapshot.groups.get(path)
    cpuset = above.cpuset if above else snapshot.host_groups.get(path)
    return cpuset.cpus if cpuset else None


def _conflicts(snapshot: NodeSnapshot, observed: ObservedContainer, extra: CPUSet) -> str:
    """Return which pods are disturbed by a container's excess CPUs."""
    disturbed = snapshot.holders(extra, but=observed.owner.uid)
    parts = [f"exclusive CPUs of {disturbed}"] if disturbed else []
    if reserved := extra & snapshot.configured.reserved:
        parts.append(f"the reserved {named(reserved)}")
    return f", including {all_of(parts)}" if parts else ""


def _configured_text(group: Cgroup) -> str:
    cpus = group.cpuset.cpus
    if cpus is None:
        return "no cpuset.cpus set"
    return str(cpus) if cpus else f"unset, so {_text(group.cpuset.effective)}"


def _text(cpus: CPUSet | None) -> str:
    return str(cpus) if cpus else "none"


def _nodes(nodes: CPUSet | None) -> str:
    return named(nodes, "NUMA node") if nodes else "none"


def file_of(snapshot: NodeSnapshot, path: str, name: str) -> str:
    """Return the path of a group's file in the hierarchy that controls CPUs, for a shell on the node."""
    root = snapshot.hierarchies.cpuset if snapshot.hierarchies else ""
    return quote(f"/{root}{path.rstrip('/')}/{name}")


TOLERANCE = 1 << 20
"""Bytes elsewhere that are not an error: what a process had before it was put into its group."""


def check_memory(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Report containers with private memory outside of their NUMA nodes."""
    for observed in snapshot.containers:
        allowed = observed.expected.mems or observed.group.cpuset.effective_mems or observed.group.cpuset.mems
        if allowed:
            yield from _spilled(observed, allowed)


def _spilled(observed: ObservedContainer, allowed: CPUSet) -> Iterator[Finding]:
    amounts: dict[int, int] = {}
    pids = []
    for leader in observed.processes:
        outside = {node: size for node, size in (leader.memory or {}).items() if node not in allowed}
        if sum(outside.values()):
            pids.append(leader.pid)
        for node, size in (leader.memory or {}).items():
            amounts[node] = amounts.get(node, 0) + size
    nodes = CPUSet.of(node for node, size in amounts.items() if node not in allowed and size)
    spilled = sum(amounts[node] for node in nodes)
    if spilled <= TOLERANCE:
        return
    yield Finding(
        severity=Severity.WARNING,
        code="memory-spill",
        place=NodePart.of(observed),
        message=f"{spilled >> 20} of its {sum(amounts.values()) >> 20} MiB of memory are on "
        f"{named(nodes, 'NUMA node')}",
        expected=f"node {allowed}",
        detected=", ".join(
            f"node {node}: {size >> 20 or 'less than 1'} MiB"
            for node, size in sorted(amounts.items())
            if size
        ),
        fix=for_each(pids, f"migratepages {{}} {nodes} {allowed}"),
    )


def check_threads(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Report threads that may run outside their container's CPUs, and unusable exclusive CPUs."""
    for observed in snapshot.containers:
        expected = observed.expected.cpus
        if expected is None or observed.sleeps:
            continue
        # If the whole group has other CPUs, that is the finding, and not each of its threads.
        allowed = expected | (observed.effective or CPUSet())
        if outside := [task for task in observed.tasks if not task.cpus <= allowed]:
            yield _outside(snapshot, observed, expected, outside)
        elif observed.expected.exclusive and observed.tasks:
            yield from _unused(observed, expected & snapshot.machine.online)


def _outside(
    snapshot: NodeSnapshot, observed: ObservedContainer, expected: CPUSet, outside: list[Task]
) -> Finding:
    cpus = union(task.cpus for task in outside)
    shown = few([f"{task.tid} ({task.comm})" for task in outside])
    return Finding(
        severity=Severity.ERROR,
        code="threads-outside",
        place=NodePart.of(observed),
        message=f"{counted(len(outside), 'thread')} of {len(observed.tasks)} may run on other CPUs: "
        f"{shown}"
        + (
            equal_to(snapshot, observed, cpus, of_threads=True)
            if all(task.cpus == cpus for task in outside)
            else ""
        ),
        expected=str(expected),
        detected=str(cpus),
        fix=for_each((task.tid for task in outside), f"taskset -cp {expected} {{}}"),
    )


def _unused(observed: ObservedContainer, expected: CPUSet) -> Iterator[Finding]:
    unused = expected - observed.running_on
    if unused and observed.effective in (None, expected):
        yield Finding(
            severity=Severity.NOTE,
            code="cpus-unused",
            place=NodePart.of(observed),
            message=f"{are(unused)} exclusive to the container, but none of its threads can run on "
            f"{'them' if len(unused) > 1 else 'it'} (pinned to {named(observed.running_on)})",
            expected=str(expected),
            detected=str(observed.running_on),
        )
