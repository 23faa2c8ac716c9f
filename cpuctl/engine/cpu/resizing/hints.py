"""Topology hints for a resize: where a container may have CPUs, given those it holds.

Rule: KEP-5554 and its reference implementation. A growing container has to stay where it is; for a
shrinking one its baseline counts twice, so that a hint can be too optimistic.
"""

from __future__ import annotations

from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.cpu.provider import CPUAnswer
from cpuctl.engine.cpu.state import CPUManagerState
from cpuctl.pods.model import Container, Pod


def resize_hints(
    policy: StaticPolicy, state: CPUManagerState, pod: Pod, container: Container, count: int
) -> CPUAnswer:
    """Answer for one container that is due *count* exclusive CPUs after the resize."""
    if count == 0:
        return None
    free, lent = state.default & ~policy.reserved, state.reusable_for(pod.uid)
    held = state.assigned(pod.uid, container.name)
    if held is None:
        available, reusable = free, lent
    elif count > held.bit_count():
        available, reusable = free, held | lent
    elif count < held.bit_count():
        available, reusable = held, state.baseline(pod.uid, container.name) or 0
    else:
        available, reusable = held, 0
    align = policy.options.align_by_socket
    return {"cpu": CPUHints.generate(policy.topology, available, reusable, count, align_by_socket=align)}
