"""The largest request for exclusive CPUs that would be admitted now: in all, and inside one element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cpuctl.engine.capacity.probe import exclusive_pod, free_cpus
from cpuctl.engine.cpu.topology import Masks
from cpuctl.engine.masks import CPUMask
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Rejected, Verdict


class Refusal(NamedTuple):
    """What becomes of a request that is too large: how many CPUs it was for, and the verdict."""

    cpus: int
    verdict: Verdict


class Largest(NamedTuple):
    """The most CPUs that one container would get; ``stop`` refuses more, None where no more are free."""

    cpus: int
    stop: Refusal | None = None


class ElementRoom(NamedTuple):
    """What is left of a NUMA node or an uncore cache: CPUs (masks), and the largest request inside it.

    That is a request which gets all its CPUs here when every free CPU elsewhere is taken; what the node has
    of cpu, memory and pods in all is left out of account.
    """

    number: int
    cpus: int
    free: int
    largest: int


def largest_request(node: Node) -> Largest:
    """Find the largest request that is admitted, and what becomes of the next one that would make sense.

    *node* has cleaned up (``settled``) and stays as it is.
    """
    assert node.policy is not None
    cpus = _most(node)
    step = node.topology.cpus_per_core if node.policy.options.full_pcpus_only else 1
    more = cpus + max(step, 1)
    if more > free_cpus(node).bit_count():
        return Largest(cpus)
    return Largest(cpus, Refusal(more, _verdict(node, more)))


def _most(node: Node) -> int:
    """Try from all free CPUs downwards: on several NUMA nodes a request may fit where a smaller one fails."""
    cpus = free_cpus(node).bit_count()
    while cpus > 0:
        verdict = _verdict(node, cpus)
        if isinstance(verdict, Admitted):
            return cpus
        cpus = _next(cpus, verdict)
    return 0


def _verdict(node: Node, cpus: int) -> Verdict:
    return node.copy().admit(exclusive_pod(node, cpus)).verdict


def _next(cpus: int, verdict: Verdict) -> int:
    """Skip what is sure to be refused: the node says how much of a resource it has left."""
    if isinstance(verdict, Rejected) and verdict.reason == "OutOfcpu":
        left = verdict.details["capacity"] - verdict.details["used"]
        return left // 1000
    if isinstance(verdict, Rejected) and verdict.reason.startswith("OutOf"):
        return 0
    return cpus - 1


def rooms(node: Node, elements: Masks) -> Iterator[ElementRoom]:
    """Look into every element on its own; *node* as in ``largest_request``."""
    free = free_cpus(node)
    for number, cpus in elements.items():
        yield ElementRoom(number=number, cpus=cpus, free=free & cpus, largest=_inside(node, cpus))


def _inside(node: Node, cpus: CPUMask) -> int:
    alone = node.copy()
    alone.allocatable = None
    assert alone.policy is not None
    alone.state.default &= cpus | alone.policy.reserved
    return _most(alone)
