"""What a scheduler says of a pod that stays Pending: in events (FailedScheduling) and the pod's conditions.

Sources: ``pkg/scheduler/framework/plugins/noderesources`` and ``dynamicresources`` of Kubernetes, and
``pkg/noderesourcetopology`` of kubernetes-sigs/scheduler-plugins.
"""

from __future__ import annotations

from cpuctl.messages.message import Message, Speaker, Text

_FLEET = "cpuctl fleet plan RECORDINGS --nodes NODES --pods RUNNING -f PODS"
_CLAIMS = "cpuctl explain {pod} -f PODS_AND_CLAIMS -m NODE"
_PLUGIN = f"{_FLEET} --scheduler-plugin noderesourcetopologymatch"

SCHEDULING = (
    Message(
        code="insufficient-resource",
        speaker=Speaker.SCHEDULER,
        texts=(Text("Insufficient {resource:resource}"),),
        meaning="the Node object has less allocatable than the requests of the pods on it and this one add "
        "up to; the scheduler counts requests, not use, and knows nothing of NUMA nodes or exclusive CPUs",
        fix="request less, remove pods, or reserve less on the node (kubeReserved, systemReserved)",
        commands=(_FLEET, "cpuctl config reserve -m NODE --kubelet-config CONFIG"),
    ),
    Message(
        code="claims-not-allocated",
        speaker=Speaker.SCHEDULER,
        texts=(Text("cannot allocate all claims"), Text("resourceclaim not available on the node")),
        meaning="the node has no free devices that all resource claims of the pod match together, or a claim "
        "of it has devices of another node already",
        fix="ask for less, or for what devices of one node have",
        commands=(_CLAIMS, _FLEET),
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
        meaning="devices of a resource claim count as the node's CPUs or memory (KEP-5517), and such a claim "
        "belongs to one pod, is named by a container (1.36), and is covered by the pod's own resources",
        fix="give every pod its own claim, name it in a container, and raise the pod's own resources",
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
        meaning="the plug-in NodeResourceTopologyMatch finds no NUMA node in the NodeResourceTopology object "
        "that has all that the pod or container requests; the kubelet itself may decide otherwise",
        fix="request no more than one NUMA node has free, and see that the object is up to date",
        commands=(_PLUGIN, "cpuctl fleet check RECORDINGS --check nrt --nrt OBJECTS"),
    ),
    Message(
        code="topology-data-stale",
        speaker=Speaker.SCHEDULER,
        texts=(Text("invalid node topology data"),),
        meaning="the plug-in NodeResourceTopologyMatch knows of pods on the node that its cache has not "
        "accounted for (another scheduler bound them), and waits for a NodeResourceTopology object whose "
        "fingerprint is that of the pods now on the node",
        fix="see that the exporter runs on the node and writes fingerprints, and let one scheduler bind all "
        "pods there",
        commands=("cpuctl fleet check RECORDINGS --check nrt --nrt OBJECTS --pods RUNNING", _PLUGIN),
    ),
)
