"""Giving one container the CPUs of its new size.

Rule: KEP-5554 and its reference implementation: what a container has stays when it grows, its baseline
stays when it shrinks.
"""

from __future__ import annotations

from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.cpu.resizing.packed import complete_packed
from cpuctl.engine.cpu.resizing.request import not_a_subset
from cpuctl.engine.masks import NO_CPUS, CPUMask, NodeMask
from cpuctl.engine.outcome import AllocationError, Picked, PickResult
from cpuctl.records import Record

RETAINED = "requested CPUs to be retained"
"""What the reference implementation calls the baseline in its errors."""


class ContainerCPUs(Record):
    """What a container has (``current``) and was promised (``baseline``), and what is free; all masks.

    ``current`` is None for a container that has no exclusive CPUs, which may use ``lent`` ones of earlier
    init containers.
    """

    current: CPUMask | None
    baseline: CPUMask
    free: CPUMask
    lent: CPUMask = NO_CPUS

    def pool(self, count: int) -> CPUMask:
        """Return the CPUs that *count* of them may come from."""
        if self.current is None:
            return self.free | self.lent
        if count < self.current.bit_count():
            return self.current
        return self.baseline | self.free | self.current


def allocate_resized(
    policy: StaticPolicy, container_cpus: ContainerCPUs, count: int, affinity: NodeMask | None
) -> PickResult:
    """Pick *count* CPUs for a container, first from the NUMA nodes of *affinity*: a mask, or None."""
    if few := too_few(count, container_cpus):
        return few
    pool = container_cpus.pool(count)
    aligned = Picked(NO_CPUS)
    if affinity is not None:
        near = pool & policy.near(affinity)
        first = pick_resized(policy, near, min(count, near.bit_count()), container_cpus)
        if not isinstance(first, Picked):
            return first
        aligned = first
    missing = count - aligned.cpus.bit_count()
    if not missing:
        return aligned
    rest = pick_resized(policy, pool & ~aligned.cpus, missing, container_cpus)
    if not isinstance(rest, Picked):
        return rest
    return Picked(aligned.cpus | rest.cpus, aligned.steps + rest.steps)


def too_few(count: int, container_cpus: ContainerCPUs) -> AllocationError | None:
    """Refuse to leave a container fewer CPUs than it was promised."""
    guaranteed = container_cpus.baseline.bit_count()
    if count >= guaranteed:
        return None
    why = f"requested number of CPUs ( {count} ) are less than number of retained CPUs ( {guaranteed} )"
    return AllocationError(why)


def pick_resized(
    policy: StaticPolicy, offered: CPUMask, count: int, container_cpus: ContainerCPUs
) -> PickResult:
    """Pick *count* CPUs out of the *offered* ones, an error if these lack what the container keeps."""
    current, baseline = container_cpus.current or NO_CPUS, container_cpus.baseline
    if baseline & ~offered:
        return AllocationError(not_a_subset(RETAINED, baseline, "available CPUs", offered))
    if current & ~offered:
        return AllocationError(not_a_subset("reusable CPUs", current, "available CPUs", offered))
    if baseline & ~current or (current and not baseline):
        return AllocationError(not_a_subset(RETAINED, baseline, "reusable CPUs", current))
    kept = current if count >= current.bit_count() else baseline
    return complete(policy, offered, count, kept)


def complete(policy: StaticPolicy, offered: CPUMask, count: int, kept: CPUMask) -> PickResult:
    """Complete *kept* CPUs (a mask) to *count* by the policy's picker."""
    picker = policy.picker
    if picker.distribute:
        from cpuctl.engine.cpu.resizing.distributed import complete_distributed

        return complete_distributed(policy.topology, offered, count, kept, picker.dealing)
    spread, uncore = picker.dealing.spread, picker.prefer_uncore
    return complete_packed(policy.topology, offered, count, kept, spread=spread, prefer_uncore=uncore)
