"""Partitions of CPUs, which a kubelet never makes, and what they take from its containers.

Rule: *Documentation/admin-guide/cgroup-v2.rst*, ``cpuset.cpus.partition``: a valid root of a partition has
CPUs that no group outside has, including those above it. ``cpuset.cpus.exclusive`` of a group that
is not a partition, and has none below, changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.audit.containers import file_of
from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.snapshot import NodeSnapshot
from cpuctl.cgroups.groups import CpusetValues
from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.phrases import all_of, named

_PARTITION, _EXCLUSIVE = "cpuset.cpus.partition", "cpuset.cpus.exclusive"


def check_partitions(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Report partitions that take CPUs of pods, invalid partitions, and lists that change nothing."""
    sets = {path: group.cpuset for path, group in snapshot.groups.items()}
    for path, cpuset in (*sets.items(), *snapshot.host_groups.items()):
        if cpuset.is_partition:
            yield from _valid(snapshot, path, cpuset)
        elif cpuset.invalid_partition:
            yield from _invalid(snapshot, path, cpuset)
        elif cpuset.exclusive and path in sets and not _leads_to_partition(snapshot, path):
            yield _idle(snapshot, path, cpuset.exclusive)


def _valid(snapshot: NodeSnapshot, path: str, cpuset: CpusetValues) -> Iterator[Finding]:
    """Report the CPUs that a partition takes; one of the host may have CPUs that are not for pods."""
    lost = cpuset.taken & _counted_on(snapshot)
    if path not in snapshot.groups and not lost:
        return
    above = path.rpartition("/")[0] or "/"
    yield Finding(
        severity=Severity.WARNING,
        code="partition",
        place=_place(snapshot, path),
        message="the group is a partition, which the kubelet never creates: it has taken "
        f"{named(cpuset.taken) if cpuset.taken else 'no CPUs yet'} from {above} and all groups outside"
        f"{_owners_text(snapshot, path, lost)}",
        expected="member",
        detected=cpuset.partition,
        fix=f"echo member > {file_of(snapshot, path, _PARTITION)}",
    )


def _invalid(snapshot: NodeSnapshot, path: str, cpuset: CpusetValues) -> Iterator[Finding]:
    wanted = cpuset.exclusive or cpuset.cpus or CPUSet()
    if path not in snapshot.groups and not wanted & _counted_on(snapshot):
        return
    yield Finding(
        severity=Severity.WARNING,
        code="partition-invalid",
        place=_place(snapshot, path),
        message="the group was meant to be a partition, but the kernel rejected it: "
        f"{cpuset.invalid_partition}; until that changes it is an ordinary group",
        expected="member",
        detected=cpuset.partition,
        fix=f"echo member > {file_of(snapshot, path, _PARTITION)}",
    )


def _idle(snapshot: NodeSnapshot, path: str, exclusive: CPUSet) -> Finding:
    return Finding(
        severity=Severity.NOTE,
        code="exclusive-idle",
        place=_place(snapshot, path),
        message=f"{_EXCLUSIVE} is {exclusive}, which has no effect: neither the group nor one below it "
        "is a partition",
        expected="none",
        detected=str(exclusive),
        fix=f"echo > {file_of(snapshot, path, _EXCLUSIVE)}",
    )


def _leads_to_partition(snapshot: NodeSnapshot, path: str) -> bool:
    """Return whether a partition is below: every group on the way to a remote partition has such a list."""
    return any(each.startswith(f"{path.rstrip('/')}/") for each in snapshot.partitions)


def _counted_on(snapshot: NodeSnapshot) -> CPUSet:
    """Return the CPUs that pods may use: all online ones, or those that the kubelet has allocated."""
    pool = snapshot.shared_pool
    return snapshot.machine.online if pool is None else pool | snapshot.exclusive


def _owners_text(snapshot: NodeSnapshot, path: str, lost: CPUSet) -> str:
    """Describe whose CPUs they are; the pod that contains the partition still has them."""
    owner = snapshot.owners.get(path)
    parts = []
    if holders := snapshot.holders(lost, but=owner.uid if owner else ""):
        parts.append(f"exclusive CPUs of {holders}")
    if shared := lost & (snapshot.shared_pool or CPUSet()):
        parts.append(f"{named(shared)} of the shared pool")
    return f", including {all_of(parts)}" if parts else ""


def _place(snapshot: NodeSnapshot, path: str) -> NodePart:
    return NodePart(f"cgroup {path}", snapshot.owners.get(path), path)
