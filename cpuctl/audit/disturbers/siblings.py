"""Exclusive CPUs whose core is not exclusive: a thread on the core's other CPU takes half of it."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from cpuctl.audit.commands import delete_pod
from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.picture import Picture
from cpuctl.audit.sets import union
from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.machine.wording import are, named

_WHOLE = "set the CPU Manager policy option full-pcpus-only"


def check_siblings(picture: Picture) -> Iterator[Finding]:
    """Tell for every pod with whom it shares cores; with full-pcpus-only that must not be."""
    first, told = _no_parts_of_cores(picture), CPUSet()
    for uid, held in picture.held.items():
        # CPUs that are given twice are a finding of their own.
        siblings = _siblings(picture, held, held - told)
        told |= held
        if not siblings:
            continue
        wrong = picture.promises.full_cores
        option = "" if wrong else f"{_WHOLE}, then "
        name = picture.pod_name(uid)
        yield Finding(
            severity=Severity.ERROR if wrong else Severity.NOTE,
            code="siblings-shared",
            place=NodePart(name),
            message=f"{are(siblings)} on cores of its {named(held)}, and {_whose(picture, uid, siblings)}",
            expected="whole cores, as full-pcpus-only promises" if wrong else "whole cores",
            detected=str(siblings),
            fix=f"{first}{option}{_delete(picture, uid)}",
        )


def _siblings(picture: Picture, held: CPUSet, looked_at: CPUSet) -> CPUSet:
    """Return the CPUs that run on the same cores as some of the held ones without being held."""
    cpus = picture.machine.cpu_by_number
    cores = union(cpus[cpu].siblings for cpu in looked_at if cpu in cpus)
    return (cores & picture.machine.online) - held


def _whose(picture: Picture, uid: str, siblings: CPUSet) -> str:
    others = picture.holders(siblings, but=uid)
    whose = [f"used by {others}"] if others else []
    if reserved := siblings & picture.promises.reserved:
        whose.append(f"reserved ({reserved})")
    if pool := (siblings & (picture.shared_pool or CPUSet())) - picture.promises.reserved:
        whose.append(f"in the shared pool ({pool})")
    return ", ".join(whose) or "nobody's"


def _no_parts_of_cores(picture: Picture) -> str:
    """Say what must be done first, as a kubelet that restarts with the option refuses running pods, too."""
    threads = len(picture.machine.online) // len(picture.machine.cores)
    asking = [
        quote(picture.pod_name(uid))
        for uid in picture.held
        if any(len(cpus) % threads for cpus in picture.state.entries[uid].values())
    ]
    return f"let {' and '.join(asking)} ask for multiples of {threads} CPUs, then " if asking else ""


def _delete(picture: Picture, uid: str) -> str:
    pod = picture.pods.get(uid)
    return delete_pod(pod) if pod else f"crictl pods --label {quote(f'io.kubernetes.pod.uid={uid}')}"
