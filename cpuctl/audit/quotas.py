"""CFS quotas of containers with exclusive CPUs, which waste CPUs that others cannot use.

Rule: since 1.33 kubelets lift them (gate DisableCPUQuotaWithExclusiveCPUs), for the container and its pod;
others write the quota of the allocated limit, which is at least as many CPUs as the container has unless a
resize has changed the limit alone. No kubelet limits the groups above pods.
"""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.pod_values import is_isolated, pod_values
from cpuctl.audit.snapshot import NodeSnapshot, ObservedContainer
from cpuctl.cgroups.groups import Cgroup, driver_quota
from cpuctl.cgroups.hierarchies import Hierarchies
from cpuctl.cgroups.names import Level, ancestors
from cpuctl.cpuset import CPUSet, union
from cpuctl.diagnostics import Severity
from cpuctl.pods.cgroups.linux_resources import quota_of


def check_quota(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Report quotas that throttle containers with exclusive CPUs, each once."""
    reported: set[str] = set()
    for observed in snapshot.containers:
        if not observed.expected.exclusive or not is_isolated(snapshot, observed.owner):
            continue
        if observed.expected.claimed:
            continue  # no kubelet lifts it
        # The groups above come first: on cgroup v1 none can have a higher quota than its parent.
        for path in (*reversed(list(ancestors(observed.group.path))), observed.group.path):
            group = snapshot.groups.get(path)
            if group is None or group.cpu.quota is None or path in reported:
                continue
            if finding := _throttled(snapshot, observed, group, group.cpu.quota):
                reported.add(path)
                yield finding


def _throttled(
    snapshot: NodeSnapshot, observed: ObservedContainer, group: Cgroup, actual: int
) -> Finding | None:
    at = snapshot.hierarchies
    assert at is not None
    file, whole = _quota_file(at, group), len(_exclusive_cpus(snapshot, observed, group))
    quota, period = _quota(snapshot, group, whole), group.cpu.period or 0
    if quota is None:
        lifted = "max" if at.version == 2 else "-1"
        return _finding(
            observed, group, code="quota-on-exclusive", expected="no quota", fix=f"echo {lifted} > {file}"
        )
    quota = quota * period // snapshot.configured.cgroups.period
    if actual >= min(quota, whole * period):
        return None
    quota = driver_quota(quota, period, group.role.driver)
    raised = f"{quota} {period}" if at.version == 2 else f"{quota}"
    expected = f"{quota} us per {period} us"
    return _finding(observed, group, code="quota-too-low", expected=expected, fix=f"echo {raised} > {file}")


def _finding(observed: ObservedContainer, group: Cgroup, *, code: str, expected: str, fix: str) -> Finding:
    quota, period = group.cpu.quota or 0, group.cpu.period or 0
    where = "it" if group.path == observed.group.path else f"the group {group.path} above it"
    share = f"{quota / period:g} CPUs" if period else "some time"
    return Finding(
        severity=Severity.ERROR,
        code=code,
        place=NodePart(str(observed.owner), observed.owner, group.path),
        message=f"the container has exclusive CPUs {observed.expected.cpus}, but {where} "
        f"is throttled at {share}",
        expected=expected,
        detected=f"{quota} us per {period} us",
        fix=fix,
    )


def _quota(snapshot: NodeSnapshot, group: Cgroup, exclusive: int) -> int | None:
    """Return the quota that a group should have, in us per configured period; None means no quota.

    Without a manifest it is as many CPUs as are *exclusive*.
    """
    configured = snapshot.configured
    if group.role.level not in (Level.POD, Level.CONTAINER):
        return None
    values = pod_values(snapshot, group, configured.rules, configured.cgroups)
    if values is not None:
        return values.quota if values.quota is not None and values.quota > 0 else None
    if configured.cgroups.lifts_quota or not configured.cgroups.cfs_quota:
        return None
    return quota_of(exclusive * 1000, configured.cgroups.period)


def _exclusive_cpus(snapshot: NodeSnapshot, observed: ObservedContainer, group: Cgroup) -> CPUSet:
    """Return the exclusive CPUs of a container, or of all running containers of its pod."""
    if group.path == observed.group.path:
        return observed.expected.cpus or CPUSet()
    uid, state = observed.owner.uid, snapshot.state.cpu
    # The state may still have the CPUs of an init container that has ended: the limit need not include them.
    containers = [each.expected for each in snapshot.containers if each.owner.uid == uid]
    own = union(each.cpus for each in containers if each.exclusive and each.cpus)
    divided = state.pod_entries.get(uid) if state is not None else None
    return own | (divided or CPUSet())


def _quota_file(at: Hierarchies, group: Cgroup) -> str:
    return quote(f"/{at.cpu}{group.path}/{'cpu.max' if at.version == 2 else 'cpu.cfs_quota_us'}")
