"""What a scheduler, or a cluster autoscaler, reports about a Pending pod: in events and its conditions.

Sources: ``pkg/scheduler/framework/plugins/noderesources`` and ``dynamicresources`` of Kubernetes, and
``pkg/noderesourcetopology`` of kubernetes-sigs/scheduler-plugins.
"""

from __future__ import annotations

from cpuctl.messages.fixes import for_resource
from cpuctl.messages.message import Message, Speaker, Text

_FLEET, _FLEET_AND_CLAIMS = (
    f"cpuctl fleet plan RECORDINGS --nodes NODES --pods ALL_PODS -f {pods}"
    for pods in ("PODS", "PODS_AND_CLAIMS")
)
_CLAIMS = "cpuctl explain {pod} -f PODS_AND_CLAIMS -m NODE"
_PLUGIN = f"{_FLEET} --scheduler-plugin noderesourcetopologymatch"

_UNSCHEDULED = r"\d Insufficient |^\W*Insufficient [\w./-]++[\s.,;]*$|FailedScheduling|Unschedulable"
"""A scheduler counts nodes, or the reason is alone."""

SCHEDULING = (
    Message(
        code="insufficient-resource",
        speaker=Speaker.SCHEDULER,
        texts=(Text("Insufficient {resource:native}"),),
        meaning="the requests of this pod and of the pods on the node together exceed the node's "
        "allocatable resources; the scheduler counts requests, not usage, and does not consider NUMA nodes "
        "or exclusive CPUs",
        fixes=for_resource("remove pods"),
        commands=(_FLEET, "cpuctl config show -m NODE --kubelet-config CONFIG"),
        evidence=_UNSCHEDULED,
    ),
    Message(
        code="not-scaled-up",
        speaker=Speaker.AUTOSCALER,
        texts=(Text("pod didn't trigger scale-up{causes:rest}"),),
        meaning="the pod would not fit on a new node of these node groups, beside its DaemonSet pods, or "
        "no group may grow; the numbers are node groups, not nodes",
        fix="request less, or add a node group with larger nodes, or raise the maximum size of a group",
        commands=("cpuctl explain {pod} -f PODS -m NODE --state none",),
    ),
    Message(
        code="too-many-pods-scheduled",
        speaker=Speaker.SCHEDULER,
        texts=(Text("Too many pods"), Text("Insufficient pods")),
        meaning="the node already has as many pods as its kubelet's maxPods, or podsPerCore times its CPUs, "
        "allows",
        fix="move pods to another node, or raise maxPods (and podsPerCore, if it is set)",
        commands=(_FLEET, "cpuctl config show -m NODE --kubelet-config CONFIG"),
        evidence=rf"\d Too many pods|^\W*Too many pods\W*$|{_UNSCHEDULED}",
    ),
    Message(
        code="insufficient-devices",
        speaker=Speaker.SCHEDULER,
        texts=(Text("Insufficient {resource:extended}"),),
        meaning="the pod requests more of this extended resource, usually devices, than a node has left "
        "after the requests of its pods; the scheduler does not consider NUMA nodes",
        fix="request less, or remove pods, and check that the device plugins are running",
        commands=(_FLEET,),
        evidence=_UNSCHEDULED,
    ),
    Message(
        code="claims-not-allocated",
        speaker=Speaker.SCHEDULER,
        texts=(Text("cannot allocate all claims"), Text("resourceclaim not available on the node")),
        meaning="the node has no free devices that satisfy all resource claims of the pod together, or "
        "one of its claims is already allocated on another node",
        fix="request less, or only what the devices of one node offer",
        commands=(_CLAIMS, _FLEET_AND_CLAIMS),
    ),
    Message(
        code="claims-count",
        speaker=Speaker.SCHEDULER,
        texts=(
            Text("node-allocatable resource claim not referenced by any container within the pod", 36, 36),
            Text("node allocatable resource claim {claim:word} is already used by another pod", 36, 36),
            Text(
                "node allocatable resource claim {claim:word} has a mapped device and cannot be shared "
                "across pods",
                37,
            ),
            Text(
                "pod level request for {resource:resource} is insufficient to cover the aggregated container "
                "and node-allocatable DRA requests",
                36,
            ),
            Text(
                "pod level limit for {resource:resource} is insufficient to cover the limit and DRA overhead "
                "for container {container:word}",
                37,
            ),
        ),
        meaning="devices of a resource claim are mapped to the node's CPUs or memory (KEP-5517); such a "
        "claim must belong to one pod, be referenced by a container (1.36), and be covered by the pod's own "
        "resources",
        fix="use a separate claim for every pod, reference it in a container, and raise the pod's own "
        "resources",
        commands=(_CLAIMS,),
    ),
    Message(
        code="cannot-align",
        speaker=Speaker.SCHEDULER,
        texts=(
            Text("cannot align pod"),
            Text("cannot align container"),
            Text("cannot align {kind:word} container"),
        ),
        meaning="according to the NodeResourceTopology object, no NUMA node has everything that the pod "
        "or container requests (scheduler plugin NodeResourceTopologyMatch); the kubelet itself may "
        "decide differently",
        fix="request no more than what is free on one NUMA node, and check that the object is up to date",
        commands=(_PLUGIN, "cpuctl fleet check RECORDINGS --check nrt --nrt OBJECTS"),
    ),
    Message(
        code="topology-data-stale",
        speaker=Speaker.SCHEDULER,
        texts=(Text("invalid node topology data"),),
        meaning="the scheduler plugin NodeResourceTopologyMatch has found pods on the node that are not "
        "in its cache (bound by another scheduler), and waits for a NodeResourceTopology "
        "object whose fingerprint matches the pods on the node; with discardReservedNodes: true, it only "
        "waits until a pod is bound to the node",
        fix="check that the exporter runs on the node and writes fingerprints, and let a single scheduler "
        "bind all pods of the node",
        commands=("cpuctl fleet check RECORDINGS --check nrt --nrt OBJECTS --pods ALL_PODS", _PLUGIN),
    ),
)
