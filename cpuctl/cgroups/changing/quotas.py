"""Writing CFS quotas: which value a driver makes of one, and in which order groups take theirs.

Rule: *Documentation/scheduler/sched-bwc.rst*: on v1 no group may have more than the one above it, so that
limits are loosened from above and tightened from below.
"""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.cgroups.changing.writes import PlannedWrite, QuotaReason
from cpuctl.cgroups.groups import Cgroup
from cpuctl.cgroups.names import Driver
from cpuctl.pods.cgroups.linux_resources import systemd_quota


def plan_quotas(
    groups: Mapping[str, Cgroup], goal: Mapping[str, int | None], version: int
) -> list[PlannedWrite]:
    """Order the writes that give every group its quota in us; None is none at all.

    *version* is that of the control groups, 1 or 2.
    """
    looser: list[PlannedWrite] = []
    tighter: list[PlannedWrite] = []
    for path in sorted(goal):
        group = groups.get(path)
        if group is None or group.cpu.period is None:
            continue
        now, quota = group.cpu.quota, goal[path]
        wanted = None if quota is None else driver_quota(quota, group.cpu.period, group.role.driver)
        if wanted == now:
            continue
        loosens = wanted is None or (now is not None and wanted > now)
        write = _write(group, wanted, "lift the quota" if loosens else "limit", version)
        (looser if loosens else tighter).append(write)
    return [*looser, *reversed(tighter)]


def driver_quota(quota: int, period: int, driver: Driver) -> int:
    """Return the quota that a driver writes (us, as *period*): systemd rounds up to hundredths of a CPU."""
    return quota if driver is Driver.CGROUPFS else systemd_quota(quota, period)


def _write(group: Cgroup, wanted: int | None, why: QuotaReason, version: int) -> PlannedWrite:
    now, period = group.cpu.quota, group.cpu.period
    if version == 1:
        before, after = (str(-1 if quota is None else quota) for quota in (now, wanted))
        return PlannedWrite(group.path, "cpu.cfs_quota_us", before, after, why)
    before, after = (f"{'max' if quota is None else quota} {period}" for quota in (now, wanted))
    return PlannedWrite(group.path, "cpu.max", before, after, why)
