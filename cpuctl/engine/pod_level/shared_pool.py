"""Whether a pod's exclusive slices leave something for its shared containers.

Rule: KEP-5526 and kubelet v1.36: every manager checks its own resources before it allocates for a pod.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from cpuctl.pods.model import Container, ContainerKind

Amounts = Mapping[str, int]
"""Whole CPUs, or bytes, by resource."""
Claims = Callable[[Container], Amounts]
"""What a container gets for itself, by resource; nothing for a shared one."""


def empty_pool(containers: Iterable[Container], claims: Claims, budget: Amounts) -> str:
    """Say in the kubelet's words that a pod's pool would be empty; nothing where all is well.

    *budget* is what the pod has. CPUs are counted under the name ``cpus``.
    """
    exclusive = dict.fromkeys(budget, 0)
    needs_pool = False
    for container in containers:
        own = claims(container)
        if container.kind is ContainerKind.INIT:
            used_up = _used_up(exclusive, budget)
            if not own and used_up:
                return f"pod rejected, pod has shared init containers but no {used_up} available for them"
        elif own:
            for name in budget:
                exclusive[name] += own.get(name, 0)
        else:
            needs_pool = True
    used_up = _used_up(exclusive, budget) if needs_pool else ""
    if not used_up:
        return ""
    summed, left = ("cpu", "cpus") if used_up == "cpus" else (used_up, "memory")
    return (
        f"pod rejected, sum of exclusive container {summed} requests equals pod budget, "
        f"leaving no {left} for shared containers"
    )


def _used_up(exclusive: Amounts, budget: Amounts) -> str:
    return next((name for name, amount in budget.items() if exclusive[name] >= amount), "")
