"""Allocation of CPUs for one container's new size.

Rule: KEP-5554 and its reference implementation: a growing container keeps what it has, a shrinking one its
baseline.
"""

from __future__ import annotations

from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.cpu.resizing.packed import complete_packed
from cpuctl.engine.cpu.resizing.request import not_a_subset
from cpuctl.engine.masks import NO_CPUS, CPUMask, NodeMask
from cpuctl.engine.outcome import AllocationError, Picked, PickResult
from cpuctl.records import Record

RETAINED = "requested CPUs to be retained"
"""The reference implementation's name for the baseline in errors."""


class ContainerCPUs(Record):
    """The CPUs that a container has (``current``), was promised (``baseline``), and that are free; all masks.

    ``current`` is None for a container without exclusive CPUs, which may use ``lent`` ones of earlier init
    containers.
    """

    current: CPUMask | None
    baseline: CPUMask
    free: CPUMask
    lent: CPUMask = NO_CPUS

    def pool(self, count: int) -> CPUMask:
        """Return the CPUs that *count* CPUs may be chosen from."""
        if self.current is None:
            return self.free | self.lent
        if count < self.current.bit_count():
            return self.current
        return self.baseline | self.free | self.current


def allocate_resized(
    policy: StaticPolicy, container_cpus: ContainerCPUs, count: int, affinity: NodeMask | None
) -> PickResult:
    """Pick *count* CPUs for a container, first from the NUMA nodes of *affinity* (a mask or None)."""
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
    """Pick *count* of the *offered* CPUs; return an error if these lack what the container keeps."""
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
    """Complete the *kept* CPUs (a mask) to *count* with the policy's picker."""
    picker = policy.picker
    if picker.distribute:
        from cpuctl.engine.cpu.resizing.distributed import complete_distributed

        return complete_distributed(policy.topology, offered, count, kept, picker.dealing)
    spread, uncore = picker.dealing.spread, picker.prefer_uncore
    return complete_packed(policy.topology, offered, count, kept, spread=spread, prefer_uncore=uncore)
