"""A pod that comes back after a kubelet restart keeps the CPUs that its state file says it has.

Rule: kubernetes pull request 141041, in 1.38: before, a pod is allocated again as if it held nothing.
"""

from __future__ import annotations

from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.cpu.state import CPUManagerState
from cpuctl.engine.outcome import KubeletFault, Rejected, Undetermined
from cpuctl.engine.pod_level.cpu_bubble import BubbleRequest, CPUBubble, allocate_bubble, record_bubble
from cpuctl.pods.model import Pod


def usable_bubble(state: CPUManagerState, pod: Pod) -> int | None:
    """Tell the CPUs a pod holds as a whole; None where it holds none, or what it holds makes no sense."""
    held = state.pod_entries.get(pod.uid)
    if held is None or held & state.default:
        return None
    entries = state.assignments.get(pod.uid, {})
    known = [container.name in entries for container in pod.all_containers]
    # The kubelet records containers in order, so those it has recorded come first.
    return None if known != sorted(known, reverse=True) else held


def restore_bubble(
    policy: StaticPolicy, state: CPUManagerState, request: BubbleRequest
) -> CPUBubble | Rejected | KubeletFault | Undetermined:
    """Keep what a pod holds and record what is missing of it; start anew where it is of no use."""
    uid = request.pod.uid
    held = usable_bubble(state, request.pod)
    if held is None:
        give_back(state, uid)
        return allocate_bubble(policy, state, request)
    kept = dict(state.assignments.get(uid, {}))
    bubble = record_bubble(policy, state, request, held, kept)
    if not isinstance(bubble, CPUBubble):
        give_back(state, uid)
    return bubble


def give_back(state: CPUManagerState, uid: str) -> None:
    """Return all that a pod holds as a whole to the shared pool, and forget its containers."""
    if uid in state.pod_entries:
        state.default |= state.pod_entries.pop(uid)
        state.forget(uid)
