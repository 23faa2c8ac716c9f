"""What happens to a rejected pod: what replaces it, and whether the scheduler chooses the same node.

Sources: kubelet v1.36 ``rejectPod`` (a rejected pod stays Failed, without exit codes), kubernetes issues
84869 and 108152, and the controllers' documentation.
"""

from __future__ import annotations

from cpuctl.engine.explain.decision import Decision, Rule
from cpuctl.engine.explain.scenario import Replay
from cpuctl.engine.outcome import Admitted, Rejected, RejectionReason, Verdict
from cpuctl.records import Record

_SHARED_CHECKS = "OutOf"
"""The beginning of reasons that the scheduler also sees, as it adds up the same requests."""
_AT_ONCE = frozenset({"Deployment", "ReplicaSet", "ReplicationController"})
_JOBS = frozenset({"Job", "CronJob"})
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
    "each time (CrashLoopBackOff)",
    "VirtualMachineInstanceReplicaSet.kubevirt.io": "replaces the machine",
    "VirtualMachinePool.kubevirt.io": "starts the machine again, waiting longer each time",
}
"""What happens to virtual machines whose pod is rejected: KubeVirt v1.9, ``pkg/virt-controller/watch``."""
_REPLACES = {
    **_KUBEVIRT,
    **dict.fromkeys(_AT_ONCE, "replaces the pod immediately"),
    **dict.fromkeys(_JOBS, "creates another"),
    "DaemonSet": "deletes it and creates another for this node",
    "StatefulSet": "deletes and recreates the pod",
}
"""What owners do, by kind."""
_STAYS = "a pod without an owner is not replaced: it stays Failed"
_NEW = ": a new pod holds nothing yet"


class Successor(Record):
    """The replacement of a rejected pod.

    It *fits* by the sum of requests, so that the scheduler may bind it here. ``verdict`` is what the kubelet
    decides then; None if it decides as before.
    """

    fits: bool = True
    verdict: Verdict | None = None

    @property
    def admitted(self) -> bool | None:
        """Whether the node admits it; None if that is unknown."""
        if self.verdict is None or isinstance(self.verdict, Rejected):
            return False
        return True if isinstance(self.verdict, Admitted) else None


def successor_of(replay: Replay) -> Successor:
    """Decide on the replacement of a rejected pod: the same pod, but new, once the rejected one is gone.

    A pod that is rejected at a restart is replaced after the kubelet has processed all pods; only then it
    releases what none of them holds (kubelet v1.36 ``sourcesReady``).
    """
    scenario = replay.scenario
    node = (replay.end if scenario.restarted else replay.after).copy()
    node.sources_ready = True
    # The API server has accepted the same pod before.
    node.server = None
    pod = scenario.pod._replace(uid=f"{scenario.pod.uid}-replacement", statuses=())
    fits = node.shortage(pod) is None
    return Successor(fits, node.admit(pod).verdict)


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
    """Whether pods fail again and again, and a sentence that describes it.

    ``admitted``: the node admits the replacement; None if that is unknown.
    """

    loops: bool
    text: str
    admitted: bool | None = False


def replacement_of(
    rejected: Rejected,
    decision: Decision,
    owner: str | None,
    *,
    static: bool,
    successor: Successor,
    remedy: str = "",
) -> Replacement | None:
    """Return what follows a rejection; *owner* is ``Kind/name``, empty without one, None if unknown.

    A text about a loop ends with the *remedy*. Return None if the owner is unknown, if the scheduler sees the
    kubelet's reason to reject the pod, or another one because the pod does not fit by the sum of requests,
    and for static pods, which it never sees.
    """
    if owner is None or static or not successor.fits or rejected.reason.startswith(_SHARED_CHECKS):
        return None
    if decision.rule is Rule.UNHEALTHY_DEVICES or (
        decision.rule is Rule.NOT_ENOUGH and decision.provider == "devices"
    ):
        return None  # the node's status shows how many devices are healthy
    admitted = successor.admitted
    if admitted is False:
        return _rejected_again(owner, f"; {remedy}" if remedy else "")
    why = _NEW if decision.rule is Rule.OTHER_ASSIGNMENT else ""
    return Replacement(loops=False, text=_ends(owner, why, admitted=admitted), admitted=admitted)


def _ends(owner: str, why: str, *, admitted: bool | None) -> str:
    """Describe a pod whose replacement is admitted, and *why*, or for which that is unknown."""
    kind = owner.partition("/")[0]
    does = f"{owner} {_REPLACES.get(kind, 'may replace the pod')}" if owner else _STAYS
    if admitted is None:
        return f"{does}; whether this node admits a new pod is unknown"
    if not owner or kind == _GUEST:
        return f"{does}; delete it and create it again, then this node admits it{why}"
    here = "" if kind == "DaemonSet" else " if it is bound here"
    return f"{does}, and this node admits the replacement{here}{why}"


def _rejected_again(owner: str, ending: str) -> Replacement:
    kind = owner.partition("/")[0]
    does = f"{owner} {_REPLACES.get(kind, 'may replace the pod')}"
    if not owner:
        return Replacement(loops=False, text=_STAYS)
    if kind == _GUEST:
        return Replacement(loops=False, text=does)
    if kind == "DaemonSet":
        return Replacement(loops=True, text=f"{does}, waiting longer each time")
    if kind in _JOBS:
        text = (
            f"{does}, which the scheduler binds here again because it does not see this, until backoffLimit "
            f"(6 if unset) is reached; podFailurePolicy sees no exit code{ending}"
        )
        return Replacement(loops=True, text=text)
    if kind in _KUBEVIRT:
        return Replacement(loops=True, text=f"{does}, {_AGAIN}{ending}")
    piles = ": failed pods accumulate" if kind in _AT_ONCE else ""
    return Replacement(
        loops=kind in _AT_ONCE or kind == "StatefulSet",
        text=f"{does}, and the scheduler, which is not aware of this, binds the replacement to the same node "
        f"again{piles} (kubernetes issue 84869){ending}",
    )
