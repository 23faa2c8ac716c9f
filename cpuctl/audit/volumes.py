"""The exclusive CPUs that containers read, compared with the CPU Manager's state and their control group.

Rule: KEP-6122: a file of a downward API volume contains ``assigned.cpuset``: the CPUs that a container will
keep if some are to be taken from it, else those it has; it is empty without exclusive CPUs. A kubelet writes
it regardless of its gates; the API server's gate decides which pods can have the field when they are written.
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.audit.commands import RESTART
from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.snapshot import DownwardFile, NodeSnapshot, ObservedContainer
from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.engine.placement import Isolation, isolation_of
from cpuctl.phrases import named
from cpuctl.pods.rules import ASSIGNED_CPUSET, ASSIGNED_CPUSET_SINCE

_GATE = "DownwardAPIAssignedResources"


def check_volumes(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Check the files of running containers."""
    if snapshot.state.cpu is None:
        return
    running = {(observed.owner.uid, observed.owner.container): observed for observed in snapshot.containers}
    served = False
    for volume in snapshot.downward_files:
        observed = running.get((volume.uid, volume.container))
        if observed is None or not volume.looked_at:
            continue
        served = served or volume.text is not None
        if not snapshot.configured.has_assigned:
            yield _unserved(snapshot, observed, volume)
        elif volume.text is None:
            yield _missing(observed, volume)
        else:
            yield from _compared(snapshot, observed, volume, volume.text)
    if served and snapshot.configured.has_assigned and not snapshot.configured.takes_assigned:
        yield Finding(
            severity=Severity.NOTE,
            code="assigned-cpuset-gate",
            place=NodePart(_GATE),
            message=f"the feature gate is disabled: the kubelet still keeps {ASSIGNED_CPUSET} files up to "
            "date, but an API server with the gate disabled drops the field, and the file, when a pod is "
            "updated",
            expected="on",
            detected="off",
            fix=f"enable {_GATE} in the API server",
        )


def _unserved(snapshot: NodeSnapshot, observed: ObservedContainer, volume: DownwardFile) -> Finding:
    kubelet = f"kubelets before 1.{ASSIGNED_CPUSET_SINCE} do not know {ASSIGNED_CPUSET}"
    what = "the file is not kept up to date" if volume.text is not None else "the file is missing"
    return Finding(
        severity=Severity.WARNING,
        code="assigned-cpuset-unserved",
        place=NodePart.of(observed),
        message=f"{kubelet}: {what}, and its pod could not be restarted",
        expected=_cpus(_expected(snapshot, observed)),
        detected=_shown(volume.text),
        fix=f"remove {ASSIGNED_CPUSET} from the pod, or upgrade the kubelet",
    )


def _missing(observed: ObservedContainer, volume: DownwardFile) -> Finding:
    return Finding(
        severity=Severity.ERROR,
        code="assigned-cpuset-missing",
        place=NodePart.of(observed),
        message=f"the pod reads {ASSIGNED_CPUSET} in /{volume.path}, but the file does not exist",
        expected="a file",
        detected="none",
        fix=RESTART,
    )


def _compared(
    snapshot: NodeSnapshot, observed: ObservedContainer, volume: DownwardFile, text: str
) -> Iterator[Finding]:
    wanted, cpus = _expected(snapshot, observed), _listed(text)
    if cpus == wanted:
        return
    if cpus and cpus <= wanted and snapshot.configured.delays:
        yield Finding(
            severity=Severity.NOTE,
            code="assigned-cpuset-pending",
            place=NodePart.of(observed),
            message=f"the container will release {named(wanted - cpus)} after the delay, so it reads only "
            "the rest",
            expected=_cpus(wanted),
            detected=_cpus(cpus),
        )
        return
    applied = observed.group.cpuset.cpus == wanted
    yield Finding(
        severity=Severity.ERROR if applied else Severity.WARNING,
        code="assigned-cpuset-stale",
        place=NodePart.of(observed),
        message=f"the CPU Manager's state has {_cpus(wanted)} for it, and its cgroup "
        f"{_cpus(observed.group.cpuset.cpus or CPUSet())}, but it reads {_shown(text)} in /{volume.path}",
        expected=_cpus(wanted),
        detected=_shown(text),
        fix=RESTART,
    )


def _expected(snapshot: NodeSnapshot, observed: ObservedContainer) -> CPUSet:
    """Return a container's exclusive CPUs, without those of its pod's pool."""
    owner, state = observed.owner, snapshot.state.cpu
    held = snapshot.state.entries.get(owner.uid, {}).get(owner.container)
    pod = snapshot.pods[owner.uid]
    container = next((each for each in pod.all_containers if each.name == owner.container), None)
    if held is None or state is None or container is None:
        return CPUSet()
    level = isolation_of(container, assigned=True, divided=owner.uid in state.pod_entries)
    return held if level is Isolation.CONTAINER else CPUSet()


def _listed(text: str) -> CPUSet | None:
    try:
        return CPUSet.parse(text)
    except ValueError:
        return None


def _shown(text: str | None) -> str:
    """Return a file's content; anything but a list of CPUs is untrusted, and is not shown."""
    if text is None:
        return "none"
    cpus = _listed(text)
    return "not a CPU list" if cpus is None else _cpus(cpus)


def _cpus(cpus: CPUSet) -> str:
    return str(cpus) or "none"
