"""Shell commands that mend things."""

from __future__ import annotations

from collections.abc import Iterable
from shlex import quote

from cpuctl.pods.model import StoredPod

RESTART = "cpuctl checkpoint verify && systemctl restart kubelet"
"""Restarts a kubelet that would start again: one that would not keeps running, and the words say why."""
MOST = 200
"""Of one command's arguments; those beyond are found when the audit is repeated."""


def for_each(ids: Iterable[int], command: str) -> str:
    """Write a command for one id or a loop for several; ``{}`` in *command* is the id's place."""
    listed = sorted(set(ids))[:MOST]
    if len(listed) == 1:
        return command.format(listed[0])
    return f"for id in {' '.join(map(str, listed))}; do {command.format('$id')}; done"


def switch_cpus(cpus: Iterable[int], *, on: bool) -> str:
    """Write the commands that bring CPUs online, or take them offline."""
    return "; ".join(f"echo {int(on)} > /sys/devices/system/cpu/cpu{cpu}/online" for cpu in cpus)


def operand(name: str) -> str:
    """Quote a name that stands at the end of a command, so that nothing but a name can come of it."""
    return f"-- {quote(name)}" if name.startswith("-") else quote(name)


def delete_pod(pod: StoredPod) -> str:
    """Return the command that deletes a pod; its workload creates another, which gets CPUs again."""
    return f"kubectl -n {quote(pod.namespace)} delete pod {operand(pod.name)}"


def show_pod(pod: StoredPod) -> str:
    """Write the command that tells what the API server knows of a pod."""
    return f"kubectl -n {quote(pod.namespace)} get pod -o json {operand(pod.name)}"
