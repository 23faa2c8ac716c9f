"""CFS quotas of containers with exclusive CPUs, which waste CPUs that others cannot use.

Rule: since 1.33 kubelets lift them (gate DisableCPUQuotaWithExclusiveCPUs), for the container and its pod;
others write the quota of the limit, which is at least as many CPUs as the container has. No kubelet limits
the groups above pods.
"""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.pod_values import is_isolated, pod_values
from cpuctl.audit.snapshot import NodeSnapshot, ObservedContainer
from cpuctl.cgroups.groups import Cgroup, driver_quota
from cpuctl.cgroups.names import Level, ancestors
from cpuctl.diagnostics import Severity
from cpuctl.pods.cgroups.linux_resources import quota_of
from cpuctl.records import replace


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
    quota, period = _quota(snapshot, observed, group), group.cpu.period or 0
    where = "it" if group.path == observed.group.path else f"the group {group.path} above it"
    share = f"{actual / period:g} CPUs" if period else "some time"
    finding = Finding(
        severity=Severity.ERROR,
        code="quota-on-exclusive",
        place=NodePart(str(observed.owner), observed.owner, group.path),
        message=f"the container has exclusive CPUs {observed.expected.cpus}, but {where} "
        f"is throttled at {share}",
        expected="no quota",
        detected=f"{actual} us in {period} us",
        fix=_lifted(snapshot, group),
    )
    if quota is None:
        return finding
    quota = quota * period // snapshot.configured.cgroups.period
    if actual >= quota:
        return None
    quota = driver_quota(quota, period, group.role.driver)
    fix = _raised(snapshot, group, quota)
    return replace(finding, code="quota-too-low", expected=f"{quota} us in {period} us", fix=fix)


def _quota(snapshot: NodeSnapshot, observed: ObservedContainer, group: Cgroup) -> int | None:
    """Return the quota that a group should have, in us per configured period; None means no quota.

    Without a manifest it is as many CPUs as the container has: its limit is no lower.
    """
    configured = snapshot.configured
    if group.role.level not in (Level.POD, Level.CONTAINER):
        return None
    values = pod_values(snapshot, group, configured.rules, configured.cgroups)
    if values is not None:
        return values.quota if values.quota is not None and values.quota > 0 else None
    if configured.cgroups.lifts_quota or not configured.cgroups.cfs_quota:
        return None
    return quota_of(len(observed.expected.cpus or ()) * 1000, configured.cgroups.period)


def _lifted(snapshot: NodeSnapshot, group: Cgroup) -> str:
    at = snapshot.hierarchies
    assert at is not None
    if at.version == 1:
        return f"echo -1 > {quote(f'/{at.cpu}{group.path}/cpu.cfs_quota_us')}"
    return f"echo max > {quote(f'/{at.cpu}{group.path}/cpu.max')}"


def _raised(snapshot: NodeSnapshot, group: Cgroup, quota: int) -> str:
    at = snapshot.hierarchies
    assert at is not None
    if at.version == 1:
        return f"echo {quota} > {quote(f'/{at.cpu}{group.path}/cpu.cfs_quota_us')}"
    return f"echo {quota} {group.cpu.period} > {quote(f'/{at.cpu}{group.path}/cpu.max')}"
