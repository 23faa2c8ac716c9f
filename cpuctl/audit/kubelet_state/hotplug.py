"""CPUs that came or went while the kubelet ran.

Rule: kubelet v1.36 ``policy_static.go``: CPUs that are not those of its state are found at the next start,
and refused. A group of cgroup v1 has lost a CPU that went for good (*cgroup-v1/cpusets.rst*).
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.picture import POLICY_NONE, Picture
from cpuctl.audit.sets import union
from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.machine.wording import are


def check_hotplug(picture: Picture) -> Iterator[Finding]:
    """Compare the CPUs of the state with those that run."""
    state, online = picture.state.cpu, picture.machine.online
    if state is None or state.policy_name == POLICY_NONE:
        return
    given = (cpus for containers in state.entries.values() for cpus in containers.values())
    known = union((state.default_cpu_set, *given))
    if gone := known - online:
        yield _gone(picture, known, gone)
    strict = picture.promises.reserved if picture.promises.strict_reservation else CPUSet()
    if new := online - known - strict:
        yield Finding(
            severity=Severity.ERROR,
            code="cpus-unknown",
            place=NodePart("node"),
            message=f"{are(new)} online, but not in the kubelet's state: it does not start again with it",
            expected=str(known),
            detected=str(online),
            fix=_switch(new, 0),
        )


def _gone(picture: Picture, known: CPUSet, gone: CPUSet) -> Finding:
    holders = picture.holders(gone)
    whose = f" (exclusive to {holders})" if holders else ""
    return Finding(
        severity=Severity.ERROR,
        code="cpus-offline",
        place=NodePart("node"),
        message=f"{are(gone)} offline, but in the kubelet's state{whose}: it does not start again with it",
        expected=str(known),
        detected=str(picture.machine.online),
        fix=_switch(gone, 1),
    )


def _switch(cpus: CPUSet, on: int) -> str:
    commands = (f"echo {on} > /sys/devices/system/cpu/cpu{cpu}/online" for cpu in cpus)
    return "; ".join(commands)
