"""What happens to a rejected pod: what replaces it, and whether the scheduler chooses the same node.

Sources: kubelet v1.36 ``rejectPod`` (a rejected pod stays Failed, without exit codes), kubernetes issues
84869 and 108152, and the controllers' documentation.
"""

from __future__ import annotations

from cpuctl.engine.explain.decision import Decision, Rule
from cpuctl.engine.outcome import Rejected, RejectionReason
from cpuctl.records import Record

_SHARED_CHECKS = "OutOf"
"""The beginning of reasons that the scheduler also sees, as it adds up the same requests."""
_AT_ONCE = frozenset({"Deployment", "ReplicaSet", "ReplicationController"})
_GUEST = "VirtualMachineInstance.kubevirt.io"
_SEES_NODES = "single-numa-node"
"""The only policy by which the scheduler plugin NodeResourceTopologyMatch keeps pods off a node."""
_AGAIN = (
    "and the scheduler binds the next launcher pod to this node again because it does not see this "
    "(kubernetes issue 84869)"
)
_KUBEVIRT = {
    _GUEST: "fails with its pod, and stays failed unless a VirtualMachine or a replica set owns it",
    "VirtualMachine.kubevirt.io": "starts again under runStrategy Always or RerunOnFailure, waiting longer "
    f"each time (CrashLoopBackOff), {_AGAIN}",
    "VirtualMachineInstanceReplicaSet.kubevirt.io": f"replaces the machine, {_AGAIN}",
    "VirtualMachinePool.kubevirt.io": f"starts the machine again, waiting longer each time, {_AGAIN}",
}
"""What happens to virtual machines whose pod is rejected: KubeVirt v1.9, ``pkg/virt-controller/watch``."""


def remedy_of(rejected: Rejected, policy: str) -> str:
    """Say what stops a loop of pods that a kubelet rejects.

    *policy* is that of its Topology Manager, empty if unknown.
    """
    remedy = "to stop this, use a node affinity or taint"
    if rejected.reason != RejectionReason.TOPOLOGY_AFFINITY or policy not in ("", _SEES_NODES):
        return remedy
    where = "" if policy else f"with {_SEES_NODES} "
    return f"{remedy}, or {where}a scheduler that sees NUMA nodes (NodeResourceTopologyMatch)"


class Replacement(Record):
    """Whether pods fail again and again, and a sentence that describes it."""

    loops: bool
    text: str


def replacement_of(
    rejected: Rejected, decision: Decision, owner: str | None, *, static: bool, fits: bool, remedy: str = ""
) -> Replacement | None:
    """Return what follows a rejection; *owner* is ``Kind/name``, empty without one, None if unknown.

    A text about a loop ends with the *remedy*. Return None if the owner is unknown, if the scheduler sees the
    kubelet's reason to reject the pod, or another one because the pod does not *fit* by the sum of requests,
    and for static pods, which it never sees.
    """
    if owner is None or static or not fits or rejected.reason.startswith(_SHARED_CHECKS):
        return None
    if decision.rule is Rule.UNHEALTHY_DEVICES or (
        decision.rule is Rule.NOT_ENOUGH and decision.provider == "devices"
    ):
        return None  # the node's status shows how many devices are healthy
    kind, ending = owner.partition("/")[0], f"; {remedy}" if remedy else ""
    if not owner:
        return Replacement(loops=False, text="a pod without an owner is not replaced: it stays Failed")
    if kind in ("Job", "CronJob"):
        return Replacement(
            loops=True,
            text=f"{owner} creates another, which the scheduler binds here again because it does not see "
            f"this, until backoffLimit (6 if unset) is reached; podFailurePolicy sees no exit code{ending}",
        )
    if kind == "DaemonSet":
        return Replacement(
            loops=True, text=f"{owner} deletes it and creates another for this node, waiting longer each time"
        )
    if kind in _KUBEVIRT:
        loops = kind != _GUEST
        return Replacement(loops=loops, text=f"{owner} {_KUBEVIRT[kind]}{ending if loops else ''}")
    if kind == "StatefulSet":
        how = "deletes and recreates the pod"
    elif kind in _AT_ONCE:
        how = "replaces the pod immediately"
    else:
        how = "may replace the pod"
    piles = ": failed pods accumulate" if kind in _AT_ONCE else ""
    return Replacement(
        loops=kind in _AT_ONCE or kind == "StatefulSet",
        text=f"{owner} {how}, and the scheduler, which is not aware of this, binds the replacement to the "
        f"same node again{piles} (kubernetes issue 84869){ending}",
    )
