"""Cgroup values as the files of cgroup v1 and v2 show them once written.

Values that the kubelet does not write keep the kernel's default and are reported with it. Files:
*Documentation/admin-guide/cgroup-v2.rst* and *Documentation/admin-guide/cgroup-v1/*.
"""

from __future__ import annotations

import re
from enum import StrEnum

from cpuctl.pods.cgroups.linux_resources import (
    DEFAULT_PERIOD,
    curved_weight,
    linear_weight,
    page_size_name,
    systemd_quota,
)
from cpuctl.pods.cgroups.values import CgroupValues
from cpuctl.records import Record

_RUNTIME = r"(?P<name>runc|crun)[ -]?v?(?P<version>[0-9]{1,4}(?:\.[0-9]{1,4}){0,3})"
_CURVED_SINCE = {"runc": (1, 3, 2), "crun": (1, 23)}
_V1_UNLIMITED = -1


class WeightFormula(StrEnum):
    """How CPU shares convert to ``cpu.weight``: the kubelet's linear formula or the runtimes' later curve."""

    LINEAR = "linear"
    CURVED = "quadratic"

    def weight(self, shares: int) -> int:
        """Convert ``cpu.shares`` of cgroup v1 to ``cpu.weight``."""
        return linear_weight(shares) if self is WeightFormula.LINEAR else curved_weight(shares)


def formula_of_runtime(text: str) -> WeightFormula:
    """Return which formula an OCI runtime such as ``runc 1.3.2`` uses; raise ValueError for other text."""
    found = re.fullmatch(_RUNTIME, text.strip(), re.ASCII)
    if found is None:
        raise ValueError(f'expected runc or crun and its version, such as runc-1.2.6, found "{text}"')
    version = tuple(map(int, found["version"].split(".")))
    return WeightFormula.CURVED if version >= _CURVED_SINCE[found["name"]] else WeightFormula.LINEAR


class CgroupFile(Record):
    """The content of a file; ``written``: by a kubelet or runtime, otherwise it is the kernel's default."""

    text: str
    written: bool = True


class CgroupHost(Record):
    """The host's properties that the files depend on in addition to the values.

    With the *systemd* driver, quotas are whole hundredths of a CPU; the kernel rounds memory down to whole
    pages of ``memory_page`` bytes.
    """

    systemd: bool = False
    memory_page: int = 4096


def v2_files(values: CgroupValues, formula: WeightFormula, host: CgroupHost) -> dict[str, CgroupFile]:
    """Return the files of cgroup v2 by name; pods have the kubelet's linear weight."""
    quota, period = _quota(values, host), values.period or DEFAULT_PERIOD
    files = {
        "cpu.weight": CgroupFile(str(formula.weight(values.shares))),
        "cpu.max": CgroupFile(f"{quota or 'max'} {period}", written=values.period is not None),
        "memory.max": _memory(values.memory, host, "max"),
    }
    protection = {"min": values.memory_min, "low": values.memory_low, "high": values.memory_high}
    for name, amount in protection.items():
        if amount is not None:
            files[f"memory.{name}"] = _memory(amount, host, "")
    for size, limit in values.hugetlb.items():
        name = page_size_name(size)
        files[f"hugetlb.{name}.max"] = CgroupFile(str(limit))
        files[f"hugetlb.{name}.rsvd.max"] = CgroupFile(str(limit))
    return files | _pids(values)


def v1_files(values: CgroupValues, host: CgroupHost) -> dict[str, CgroupFile]:
    """Return the files of cgroup v1 by name."""
    quota, limited = _quota(values, host), values.period is not None
    files = {
        "cpu.shares": CgroupFile(str(values.shares)),
        "cpu.cfs_quota_us": CgroupFile(str(quota or _V1_UNLIMITED), written=values.quota is not None),
        "cpu.cfs_period_us": CgroupFile(str(values.period or DEFAULT_PERIOD), written=limited),
        "memory.limit_in_bytes": _memory(values.memory, host, str(_V1_UNLIMITED)),
    }
    for size, limit in values.hugetlb.items():
        files[f"hugetlb.{page_size_name(size)}.limit_in_bytes"] = CgroupFile(str(limit))
    return files | _pids(values)


def _quota(values: CgroupValues, host: CgroupHost) -> int:
    """Return the quota, 0 for none."""
    quota = max(values.quota or 0, 0)
    return systemd_quota(quota, values.period or DEFAULT_PERIOD) if host.systemd else quota


def _memory(amount: int | None, host: CgroupHost, default: str) -> CgroupFile:
    if amount is None:
        return CgroupFile(default, written=False)
    return CgroupFile(str(amount // host.memory_page * host.memory_page))


def _pids(values: CgroupValues) -> dict[str, CgroupFile]:
    return {} if values.pids is None else {"pids.max": CgroupFile(str(values.pids))}
