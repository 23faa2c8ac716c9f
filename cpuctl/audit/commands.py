"""Shell commands that fix findings."""

from __future__ import annotations

from collections.abc import Iterable
from shlex import quote
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.machine.model import SMT_CONTROL, SMT_FORCED_OFF, SMT_OFF, Machine
from cpuctl.pods.model import StoredPod

RESTART = "cpuctl checkpoint verify && systemctl restart kubelet"
"""Restarts a kubelet only if it would start again: otherwise it keeps running, and the text explains why."""
REPAIR = (
    "cpuctl checkpoint repair && systemctl stop kubelet && cpuctl checkpoint repair --yes; "
    "systemctl start kubelet"
)
"""A dry run comes first: if it finds no safe repair, it reports what to do instead and changes nothing."""
MOST = 200
"""The maximum number of arguments of one command; a repeated audit finds the others."""


def for_each(ids: Iterable[int], command: str) -> str:
    """Write a command for one id or a loop for several; ``{}`` in *command* is replaced by the id."""
    listed = sorted(set(ids))[:MOST]
    if len(listed) == 1:
        return command.format(listed[0])
    return f"for id in {' '.join(map(str, listed))}; do {command.format('$id')}; done"


class Offline(NamedTuple):
    """Why CPUs are offline, what brings them online, and the command that does it, empty if none does."""

    why: str
    how: str
    command: str


def bringing_online(machine: Machine, cpus: CPUSet, called: str) -> Offline | None:
    """Return how to bring CPUs online, which are *called* so; None unless all of them can be.

    A CPU that is not present, as in a virtual machine that was given fewer, cannot be switched on. While SMT
    is off, the kernel (``kernel/cpu.c``, ``cpu_smt_allowed``) brings no second thread of a core online.
    """
    if not cpus <= machine.offline:
        return None
    if machine.smt_control == SMT_OFF:
        how = f"switch SMT on (echo on | sudo tee /{SMT_CONTROL})"
        return Offline("offline because SMT is off", how, f"echo on > /{SMT_CONTROL}")
    if machine.smt_control == SMT_FORCED_OFF:
        return Offline("offline because SMT is forced off", "boot without nosmt=force", "")
    command = f"chcpu --enable {cpus}"
    return Offline("offline", f"bring {called} online ({command})", command)


def take_offline(cpus: CPUSet) -> str:
    """Return the command that takes CPUs offline."""
    return f"chcpu --disable {cpus}"


def operand(name: str) -> str:
    """Quote a name at the end of a command, so that it is always read as a name."""
    return f"-- {quote(name)}" if name.startswith("-") else quote(name)


def delete_pod(pod: StoredPod) -> str:
    """Return the command that deletes a pod; its workload creates another, which is allocated CPUs again."""
    return f"kubectl -n {quote(pod.namespace)} delete pod {operand(pod.name)}"


def show_pod(pod: StoredPod) -> str:
    """Return the command that shows what the API server knows about a pod."""
    return f"kubectl -n {quote(pod.namespace)} get pod -o json {operand(pod.name)}"
