"""What a scheduler says of a pod that stays Pending: in events (FailedScheduling) and the pod's conditions.

Sources: ``pkg/scheduler/framework/plugins/noderesources`` of Kubernetes, and ``pkg/noderesourcetopology`` of
kubernetes-sigs/scheduler-plugins.
"""

from __future__ import annotations

from cpuctl.messages.message import Message, Speaker, Text

_FLEET = "cpuctl fleet plan RECORDINGS --nodes NODES --pods RUNNING -f PODS"
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
