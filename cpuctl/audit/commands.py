"""Shell commands that fix findings."""

from __future__ import annotations

from collections.abc import Iterable
from shlex import quote

from cpuctl.cpuset import CPUSet
from cpuctl.pods.model import StoredPod

RESTART = "cpuctl checkpoint verify && systemctl restart kubelet"
"""Restarts a kubelet only if it would start again: otherwise it keeps running, and the text explains why."""
MOST = 200
"""The maximum number of arguments of one command; a repeated audit finds the others."""


def for_each(ids: Iterable[int], command: str) -> str:
    """Write a command for one id or a loop for several; ``{}`` in *command* is replaced by the id."""
    listed = sorted(set(ids))[:MOST]
    if len(listed) == 1:
        return command.format(listed[0])
    return f"for id in {' '.join(map(str, listed))}; do {command.format('$id')}; done"


def bring_online(cpus: CPUSet) -> str:
    """Return the command that brings CPUs online while SMT is on."""
    return f"chcpu --enable {cpus}"


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
