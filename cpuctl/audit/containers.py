"""Containers against what the kubelet gives them: CPUs, memory nodes, threads, quotas.

A kubelet never reads back what it has written (kubelet v1.36, cpumanager ``reconcileState``): a set that
somebody else has changed stays as it is. The files: *Documentation/admin-guide/cgroup-v2.rst* and
*Documentation/admin-guide/cgroup-v1/cpusets.rst*.

A CFS quota on exclusive CPUs throttles what nobody else can use. Rule: since 1.33 kubelets lift it (gate
DisableCPUQuotaWithExclusiveCPUs), for the container and its pod; they never limit the groups above.
Threads: ``Cpus_allowed_list`` of *proc(5)*; memory: ``/proc/PID/numa_maps`` (*numa(7)*).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from shlex import quote

from cpuctl.audit.commands import for_each
from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.origins import equal_to
from cpuctl.audit.picture import POLICY_NONE, Picture, Seen, Task
from cpuctl.cgroups.groups import Cgroup
from cpuctl.cgroups.names import ancestors
from cpuctl.cpuset import CPUSet, union
from cpuctl.diagnostics import Severity
from cpuctl.engine.placement import Isolation, isolation_of
from cpuctl.machine.wording import are, count, named
from cpuctl.pods.model import Container


def check_cpusets(picture: Picture) -> Iterator[Finding]:
    """Compare every container's CPUs with what the kubelet gives it."""
    for seen in picture.containers:
        if seen.expected.cpus is not None:
            yield from _container(picture, seen, seen.expected.cpus)
        elif seen.expected.choices:
            yield from _nameless(picture, seen)
        elif picture.state.cpu and picture.state.cpu.policy_name == POLICY_NONE:
            yield from _left_over(picture, seen)


def check_mems(picture: Picture) -> Iterator[Finding]:
    """Compare every container's NUMA nodes with those that the Memory Manager gives it."""
    for seen in picture.containers:
        wanted, cpuset = seen.expected.mems, seen.group.cpuset
        if wanted is None or (cpuset.mems == wanted and cpuset.effective_mems in (None, wanted)):
            continue
        detected = cpuset.effective_mems if cpuset.mems == wanted else cpuset.mems
        yield Finding(
            severity=Severity.ERROR,
            code="mems-differ",
            place=NodePart.of(seen),
            message=f"its memory belongs on {named(wanted, 'NUMA node')}, but may come from "
            f"{_nodes(cpuset.effective_mems or cpuset.mems)}",
            expected=str(wanted),
            detected=_text(detected),
            fix=f"crictl update --cpuset-mems {wanted} {seen.owner.container_id}",
        )


def _container(picture: Picture, seen: Seen, wanted: CPUSet) -> Iterator[Finding]:
    configured = seen.group.cpuset.cpus
    if configured not in (wanted, _left_by_v1(picture, wanted)):
        yield _configured(picture, seen, wanted)
    elif not _is_as_wanted(picture, _with_partitions(seen), wanted):
        yield _effective(picture, seen, seen.group, wanted)
    for group in seen.below:
        given = group.cpuset.effective
        if given is not None and not given <= (seen.effective or wanted) and not given <= wanted:
            yield _effective(picture, seen, group, wanted)


def _with_partitions(seen: Seen) -> CPUSet | None:
    """Return what is in effect, with what partitions have that are below the container's own group."""
    if seen.effective is None:
        return None
    return seen.effective | union(group.cpuset.taken for group in seen.below)


def _left_by_v1(picture: Picture, wanted: CPUSet) -> CPUSet:
    """Return what cgroup v1 leaves of a set while some of its CPUs do not run: that is told of elsewhere."""
    one = picture.hierarchies is not None and picture.hierarchies.version == 1
    return wanted & picture.machine.online if one else wanted


def _is_as_wanted(picture: Picture, effective: CPUSet | None, wanted: CPUSet) -> bool:
    """Tell whether nothing but CPUs that do not run is missing; those are told of elsewhere."""
    return effective is None or (bool(effective) and effective == wanted & picture.machine.online)


def _configured(picture: Picture, seen: Seen, wanted: CPUSet) -> Finding:
    whose = "its exclusive CPUs are" if seen.expected.exclusive else "the shared pool is"
    return Finding(
        severity=Severity.ERROR,
        code="cpuset-differs",
        place=NodePart.of(seen),
        message=f"{whose} {wanted}, but it may run on {_text(seen.effective)}"
        + _conflicts(picture, seen, (seen.effective or CPUSet()) - wanted)
        + equal_to(picture, seen, seen.group.cpuset.cpus or seen.effective),
        expected=str(wanted),
        detected=_configured_text(seen.group),
        fix=f"crictl update --cpuset-cpus {wanted} {seen.owner.container_id}",
    )


def _nameless(picture: Picture, seen: Seen) -> Iterator[Finding]:
    """Look at a container of which only the pod is known: it must have the CPUs of one of the pod's."""
    choices, configured = seen.expected.choices, seen.group.cpuset.cpus
    if configured in choices:
        return
    allowed = " or ".join(map(str, choices))
    yield Finding(
        severity=Severity.ERROR,
        code="cpuset-differs",
        place=NodePart.of(seen),
        message=f"no container of its pod has these CPUs, but {allowed}; --pods tells which one it is"
        + equal_to(picture, seen, configured or seen.effective),
        expected=allowed,
        detected=_configured_text(seen.group),
        fix=f"crictl inspect {seen.owner.container_id}",
    )


def _left_over(picture: Picture, seen: Seen) -> Iterator[Finding]:
    above = picture.groups.get(seen.group.parent)
    whole = above.cpuset.effective if above else None
    effective = seen.group.cpuset.effective
    if whole is None or effective is None or effective == whole or not seen.group.cpuset.cpus:
        return
    yield Finding(
        severity=Severity.NOTE,
        code="cpuset-left-over",
        place=NodePart.of(seen),
        message="under the CPU Manager policy none no kubelet gives it CPUs, but it has some of its own"
        + equal_to(picture, seen, effective),
        expected=str(whole),
        detected=str(effective),
        fix=f"crictl update --cpuset-cpus {whole} {seen.owner.container_id}",
    )


def _effective(picture: Picture, seen: Seen, group: Cgroup, wanted: CPUSet) -> Finding:
    effective = group.cpuset.effective or CPUSet()
    why, fix = _culprit(picture, group, wanted)
    return Finding(
        severity=Severity.ERROR,
        code="effective-differs",
        place=NodePart(str(seen.owner), seen.owner, group.path),
        message=f"it is given CPUs {wanted}, but the kernel lets it run on {_text(effective)}{why}"
        + _conflicts(picture, seen, effective - wanted)
        + (equal_to(picture, seen, effective) if effective - wanted else ""),
        expected=str(wanted),
        detected=_text(effective),
        fix=fix,
    )


def _culprit(picture: Picture, group: Cgroup, wanted: CPUSet) -> tuple[str, str]:
    """Find what keeps a group from its CPUs: a list, its own or one further up, or a partition elsewhere."""
    file, own = file_of(picture, group.path, "cpuset.cpus"), group.cpuset.cpus
    if own and not own <= wanted:
        return f", because {group.path} has {own}", f"echo {wanted} > {file}"
    for path in ancestors(group.path):
        own = _own_list(picture, path)
        if own and not wanted <= own:
            return (
                f", because {path} has {own}",
                f"echo {own | wanted} > {file_of(picture, path, 'cpuset.cpus')}",
            )
    for path, taken in picture.partitions.items():
        # Those above have what they have taken, too.
        if lost := wanted & taken if path not in (group.path, *ancestors(group.path)) else CPUSet():
            return (
                f", because the partition {path} has taken {named(lost)}",
                f"echo member > {file_of(picture, path, 'cpuset.cpus.partition')}",
            )
    top = picture.host_groups.get("/")
    if top and top.effective and not wanted & picture.machine.online <= top.effective:
        return f", because whoever runs this node leaves it {top.effective} only", f"cat {file}*"
    return "", f"cat {file}*"


def _own_list(picture: Picture, path: str) -> CPUSet | None:
    """Return the list that a group has of its own, be it the kubelet's or one above."""
    above = picture.groups.get(path)
    cpuset = above.cpuset if above else picture.host_groups.get(path)
    return cpuset.cpus if cpuset else None


def _conflicts(picture: Picture, seen: Seen, extra: CPUSet) -> str:
    """Say who is disturbed by the CPUs that a container has too many."""
    disturbed = picture.holders(extra, but=seen.owner.uid)
    told = [f"those of {disturbed}"] if disturbed else []
    if reserved := extra & picture.promises.reserved:
        told.append(f"the reserved {named(reserved)}")
    return f", {' and '.join(told)} among them" if told else ""


def _configured_text(group: Cgroup) -> str:
    cpus = group.cpuset.cpus
    if cpus is None:
        return "no cpuset.cpus here"
    return str(cpus) if cpus else f"none of its own, so {_text(group.cpuset.effective)}"


def _text(cpus: CPUSet | None) -> str:
    return str(cpus) if cpus else "none"


def _nodes(nodes: CPUSet | None) -> str:
    return named(nodes, "NUMA node") if nodes else "none"


def file_of(picture: Picture, path: str, name: str) -> str:
    """Name a file of a group in the hierarchy that decides on CPUs, for a shell on the node."""
    root = picture.hierarchies.cpuset if picture.hierarchies else ""
    return quote(f"/{root}{path.rstrip('/')}/{name}")


TOLERANCE = 1 << 20
"""Bytes elsewhere that are nobody's fault: what a process had before it was put into its group."""


def check_memory(picture: Picture) -> Iterator[Finding]:
    """Tell containers that have memory of their own outside of their NUMA nodes."""
    for seen in picture.containers:
        allowed = seen.expected.mems or seen.group.cpuset.effective_mems or seen.group.cpuset.mems
        if allowed:
            yield from _spilled(seen, allowed)


def _spilled(seen: Seen, allowed: CPUSet) -> Iterator[Finding]:
    amounts: dict[int, int] = {}
    pids = []
    for leader in seen.leaders:
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
        place=NodePart.of(seen),
        message=f"{spilled >> 20} of its {sum(amounts.values()) >> 20} MiB of own memory have come from "
        f"{named(nodes, 'NUMA node')}",
        expected=f"node {allowed}",
        detected=", ".join(f"node {node}: {size >> 20} MiB" for node, size in sorted(amounts.items())),
        fix=for_each(pids, f"migratepages {{}} {nodes} {allowed}"),
    )


_SHOWN = 3


def check_threads(picture: Picture) -> Iterator[Finding]:
    """Tell threads that may run elsewhere than their container, and exclusive CPUs that no thread may use."""
    for seen in picture.containers:
        wanted = seen.expected.cpus
        if wanted is None or seen.sleeps:
            continue
        # Where the whole group has other CPUs, that is the finding, and not each of its threads.
        allowed = wanted | (seen.effective or CPUSet())
        if outside := [task for task in seen.tasks if not task.cpus <= allowed]:
            yield _outside(picture, seen, wanted, outside)
        elif seen.expected.exclusive and seen.tasks:
            yield from _unused(seen, wanted & picture.machine.online)


def _outside(picture: Picture, seen: Seen, wanted: CPUSet, outside: list[Task]) -> Finding:
    cpus = union(task.cpus for task in outside)
    shown = ", ".join(f"{task.tid} ({task.comm})" for task in outside[:_SHOWN])
    more = f" and {len(outside) - _SHOWN} more" if len(outside) > _SHOWN else ""
    return Finding(
        severity=Severity.ERROR,
        code="threads-outside",
        place=NodePart.of(seen),
        message=f"{count(len(outside), 'thread')} of {len(seen.tasks)} may run on other CPUs: {shown}{more}"
        + (equal_to(picture, seen, cpus) if all(task.cpus == cpus for task in outside) else ""),
        expected=str(wanted),
        detected=str(cpus),
        fix=for_each((task.tid for task in outside), f"taskset -cp {wanted} {{}}"),
    )


def _unused(seen: Seen, wanted: CPUSet) -> Iterator[Finding]:
    unused = wanted - seen.running_on
    if unused and seen.effective in (None, wanted):
        yield Finding(
            severity=Severity.NOTE,
            code="cpus-unused",
            place=NodePart.of(seen),
            message=f"its {are(unused)} exclusive, but none of its {count(len(seen.tasks), 'thread')} may "
            f"run on {'them' if len(unused) > 1 else 'it'}: it has pinned itself to {named(seen.running_on)}",
            expected=str(wanted),
            detected=str(seen.running_on),
        )


def check_quota(picture: Picture) -> Iterator[Finding]:
    """Tell quotas at and above containers with CPUs of their own, each once."""
    if not picture.promises.lifts_quota:
        return
    told: set[str] = set()
    for seen in picture.containers:
        if not seen.expected.exclusive or not _is_isolated(picture, seen):
            continue
        for path in (seen.group.path, *_above(picture, seen)):
            group = picture.groups.get(path)
            if group is not None and group.cpu.quota is not None and path not in told:
                told.add(path)
                yield _finding(picture, seen, group)


def _is_isolated(picture: Picture, seen: Seen) -> bool:
    """Tell whether the quota is lifted: not for a container that shares its pod's CPUs (KEP-5526)."""
    state = picture.state.cpu
    divided = state is not None and seen.owner.uid in state.pod_entries
    if not divided:
        return True
    container = _containers(picture, seen).get(seen.owner.container)
    return (
        container is not None and isolation_of(container, assigned=True, divided=True) is Isolation.CONTAINER
    )


def _above(picture: Picture, seen: Seen) -> Iterator[str]:
    """Name the groups above; a pod whose containers divide its CPUs keeps its quota for the others."""
    state = picture.state.cpu
    divided = state is not None and seen.owner.uid in state.pod_entries
    for path in ancestors(seen.group.path):
        group = picture.groups.get(path)
        if group is not None and not (divided and group.role.uid):
            yield path


def _containers(picture: Picture, seen: Seen) -> Mapping[str, Container]:
    pod = picture.pods.get(seen.owner.uid)
    return {container.name: container for container in pod.all_containers} if pod else {}


def _finding(picture: Picture, seen: Seen, group: Cgroup) -> Finding:
    quota, period = group.cpu.quota or 0, group.cpu.period or 0
    own = group.path == seen.group.path
    where = "it" if own else f"the group {group.path} above it"
    share = f"{quota / period:g} CPUs" if period else "some time"
    return Finding(
        severity=Severity.ERROR,
        code="quota-on-exclusive",
        place=NodePart(str(seen.owner), seen.owner, group.path),
        message=f"it has exclusive CPUs {seen.expected.cpus}, but {where} is throttled at {share}",
        expected="no quota",
        detected=f"{quota} us in {period} us",
        fix=_fix(picture, group.path),
    )


def _fix(picture: Picture, path: str) -> str:
    at = picture.hierarchies
    assert at is not None
    if at.version == 1:
        return f"echo -1 > {quote(f'/{at.cpu}{path}/cpu.cfs_quota_us')}"
    return f"echo max > {quote(f'/{at.cpu}{path}/cpu.max')}"
