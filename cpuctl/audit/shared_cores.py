"""Exclusive CPUs whose core has other users: a thread on the other CPU takes half of the core.

Rule: kubelet v1.36 ``cm/cpumanager/policy_static.go``: ``full-pcpus-only`` allocates groups of as many CPUs
as the kubelet assumes that every core has (``topology.CPUsPerCore``): the average of those online at its
start, rounded down. Where that is less than a core has, it guarantees no whole cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote
from typing import NamedTuple

from cpuctl.audit.commands import REPAIR, bringing_online, delete_pod
from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.snapshot import NodeSnapshot
from cpuctl.cpuset import CPUSet, union
from cpuctl.diagnostics import Severity
from cpuctl.machine.findings import assumed_per_core
from cpuctl.machine.machine_info import kubelet_view
from cpuctl.phrases import all_of, are, named

_WHOLE = "set the CPU Manager policy option full-pcpus-only"


class _Cores(NamedTuple):
    """Whether the kubelet can guarantee whole cores of ``threads`` CPUs.

    ``why_not`` is why it cannot, empty if it can. ``first`` is what makes it possible, empty if nothing does:
    a pod that is recreated before may get the same CPUs again.
    """

    threads: int
    why_not: str = ""
    first: str = ""


def check_siblings(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Report for every pod which pods share its cores; with full-pcpus-only that must not happen."""
    cores, reported = _cores(snapshot), CPUSet()
    for uid, held in snapshot.held.items():
        # CPUs that are allocated twice are a separate finding.
        siblings = _siblings(snapshot, held, held - reported)
        reported |= held
        if siblings:
            yield _shared(snapshot, uid, siblings, cores)


def _shared(snapshot: NodeSnapshot, uid: str, siblings: CPUSet, cores: _Cores) -> Finding:
    configured = snapshot.configured.full_cores
    guaranteed = configured and not cores.why_not
    why_not = f"; {cores.why_not}" if cores.why_not else ""
    return Finding(
        severity=Severity.ERROR if guaranteed else Severity.WARNING if configured else Severity.NOTE,
        code="siblings-shared",
        place=NodePart(snapshot.pod_name(uid)),
        message=f"{are(siblings)} on cores of its {named(snapshot.held[uid])}, and "
        f"{_users(snapshot, uid, siblings)}{why_not}",
        expected="whole cores, as full-pcpus-only guarantees" if guaranteed else "whole cores",
        detected=str(siblings),
        fix=_fix(snapshot, uid, cores),
    )


def _fix(snapshot: NodeSnapshot, uid: str, cores: _Cores) -> str:
    """Return how the pod gets whole cores; empty if it cannot."""
    if cores.why_not and not cores.first:
        return ""
    option = "" if snapshot.configured.full_cores else f"{_WHOLE}, then "
    return f"{_no_parts_of_cores(snapshot, cores.threads)}{cores.first}{option}{_delete(snapshot, uid)}"


def _cores(snapshot: NodeSnapshot) -> _Cores:
    machine, info = snapshot.machine, kubelet_view(snapshot.machine)
    threads = max(map(len, machine.cores), default=1)
    # A kubelet that has offline CPUs in its state counted them when it started.
    offline = machine.offline - snapshot.state.known_cpus
    counted = info.num_cpus + len(machine.offline - offline)
    if counted >= threads * info.num_cores:
        return _Cores(max(threads, info.cpus_per_core))
    unit = " CPU" if info.cpus_per_core == 1 else " CPUs"
    why_not = f"{assumed_per_core(info, unit)}, so full-pcpus-only does not guarantee whole cores"
    found = bringing_online(machine, offline, named(offline)) if offline else None
    if found is None or counted + len(offline) < threads * info.num_cores:
        return _Cores(threads, why_not)
    first = f"{found.command or found.how}, then {REPAIR}, then "
    return _Cores(threads, f"while {are(offline)} offline, {why_not}", first)


def _siblings(snapshot: NodeSnapshot, held: CPUSet, looked_at: CPUSet) -> CPUSet:
    """Return the CPUs on the same cores as some of the held ones that are not held themselves."""
    cpus = snapshot.machine.cpu_by_number
    cores = union(cpus[cpu].siblings for cpu in looked_at if cpu in cpus)
    return (cores & snapshot.machine.online) - held


def _users(snapshot: NodeSnapshot, uid: str, siblings: CPUSet) -> str:
    others = snapshot.holders(siblings, but=uid)
    owner = [f"used by {others}"] if others else []
    if reserved := siblings & snapshot.configured.reserved:
        owner.append(f"reserved ({reserved})")
    if pool := (siblings & (snapshot.shared_pool or CPUSet())) - snapshot.configured.reserved:
        owner.append(f"in the shared pool ({pool})")
    return ", ".join(owner) or "unassigned"


def _no_parts_of_cores(snapshot: NodeSnapshot, threads: int) -> str:
    """Return what must be done first: a kubelet that restarts with the option also rejects running pods."""
    asking = [
        quote(snapshot.pod_name(uid))
        for uid in snapshot.held
        if any(len(cpus) % threads for cpus in snapshot.state.entries[uid].values())
    ]
    return f"change the CPU requests of {all_of(asking)} to multiples of {threads}, then " if asking else ""


def _delete(snapshot: NodeSnapshot, uid: str) -> str:
    pod = snapshot.pods.get(uid)
    label = quote(f"io.kubernetes.pod.uid={uid}")
    return delete_pod(pod) if pod else f"delete the pod that this lists: crictl pods --label {label}"
