"""CFS quotas on containers with exclusive CPUs, which throttle what nobody else can use.

Rule: since 1.33 kubelets lift them (gate DisableCPUQuotaWithExclusiveCPUs), for the container and its pod;
they never limit the groups above.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from shlex import quote

from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.picture import Picture, Seen
from cpuctl.cgroups.groups import Cgroup
from cpuctl.cgroups.names import ancestors
from cpuctl.diagnostics import Severity
from cpuctl.engine.placement import Isolation, isolation_of
from cpuctl.pods.model import Container


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
