"""All that is compared on a node, check by check, and what comes of it for every container."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import StrEnum

from cpuctl.audit.check_names import CheckName
from cpuctl.audit.containers.cpusets import check_cpusets, check_mems, check_partitions
from cpuctl.audit.containers.memory_spill import check_memory
from cpuctl.audit.containers.quota import check_quota
from cpuctl.audit.containers.threads import check_threads
from cpuctl.audit.containers.volumes import check_volumes
from cpuctl.audit.disturbers.foreign import check_foreign_processes, check_kernel_threads
from cpuctl.audit.disturbers.interrupts import check_interrupts, check_irqbalance
from cpuctl.audit.disturbers.isolation import check_isolation
from cpuctl.audit.disturbers.siblings import check_siblings
from cpuctl.audit.finding import Finding
from cpuctl.audit.kubelet_state.answers import check_answers
from cpuctl.audit.kubelet_state.devices import check_devices
from cpuctl.audit.kubelet_state.hotplug import check_hotplug
from cpuctl.audit.kubelet_state.stale import (
    check_finished_init_containers,
    check_missing_groups,
    check_stale,
    check_unclaimed,
)
from cpuctl.audit.kubelet_state.state import check_reserved, check_state
from cpuctl.audit.picture import Picture, Seen
from cpuctl.diagnostics import worst_first

Check = Callable[[Picture], Iterator[Finding]]

CHECKS: Mapping[CheckName, Sequence[Check]] = {
    "state": (check_state,),
    "hotplug": (check_hotplug,),
    "reserved": (check_reserved,),
    "cpusets": (check_cpusets, check_partitions, check_missing_groups),
    "mems": (check_mems,),
    "threads": (check_threads,),
    "quota": (check_quota,),
    "memory": (check_memory,),
    "stale": (check_stale, check_finished_init_containers, check_unclaimed),
    "devices": (check_devices,),
    "answers": (check_answers,),
    "foreign": (check_foreign_processes,),
    "kernel": (check_kernel_threads,),
    "interrupts": (check_interrupts, check_irqbalance),
    "siblings": (check_siblings,),
    "isolation": (check_isolation,),
    "volumes": (check_volumes,),
}
"""The checks by the names that people choose them by."""


def audit(picture: Picture, wanted: Collection[str] = ()) -> tuple[Finding, ...]:
    """Run the *wanted* checks, or all; the worst findings come first."""
    checks = (check for name, some in CHECKS.items() if not wanted or name in wanted for check in some)
    return tuple(worst_first(finding for check in checks for finding in check(picture)))


class Verdict(StrEnum):
    """What an audit says of a container."""

    OK = "ok"
    CPUSET = "cpuset differs"
    EFFECTIVE = "effective differs"
    MEMS = "mems differ"
    THREADS = "threads outside"
    QUOTA = "throttled"
    NOT_CHECKED = "not checked"


_VERDICTS = {
    "cpuset-differs": Verdict.CPUSET,
    "cpuset-left-over": Verdict.CPUSET,
    "effective-differs": Verdict.EFFECTIVE,
    "threads-outside": Verdict.THREADS,
    "mems-differ": Verdict.MEMS,
    "quota-on-exclusive": Verdict.QUOTA,
}
"""The codes that decide on a container, the worst first."""
_DECIDING = (check_cpusets, check_mems, check_threads, check_quota)


def verdicts(picture: Picture) -> dict[str, Verdict]:
    """Say for every container, by the path of its group, how it fares, whatever checks are wanted."""
    codes: dict[str, set[str]] = {}
    for check in _DECIDING:
        for finding in check(picture):
            codes.setdefault(finding.place.path, set()).add(finding.code)
    return {
        seen.group.path: _verdict(seen, set().union(*(codes.get(path, ()) for path in _paths(seen))))
        for seen in picture.containers
    }


def _paths(seen: Seen) -> Iterator[str]:
    yield seen.group.path
    yield from (group.path for group in seen.below)


def _verdict(seen: Seen, codes: Collection[str]) -> Verdict:
    for code, verdict in _VERDICTS.items():
        if code in codes:
            return verdict
    known = seen.expected.cpus is not None or seen.expected.choices
    return Verdict.OK if known else Verdict.NOT_CHECKED
