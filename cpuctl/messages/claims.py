"""What a kubelet reports about the resource claims of a pod that it has admitted.

Sources: ``pkg/kubelet/kuberuntime`` and ``pkg/kubelet/cm/dra`` of 1.27 to 1.36, and events that users have
published.
"""

from __future__ import annotations

from cpuctl.messages.message import Message, Speaker, Text

_EXPLAIN = "cpuctl explain {pod} -f PODS_AND_CLAIMS -m NODE"

CLAIMS = (
    Message(
        code="claim-driver-missing",
        speaker=Speaker.KUBELET,
        texts=(
            Text("DRA driver {driver:word} is not registered"),
            Text("plugin name {driver:word} not found in the list of registered DRA plugins"),
        ),
        meaning="devices of this driver are allocated to the pod, but the driver has not registered with "
        "the kubelet of the node; the pod is admitted, but its containers are not created until it has",
        fix="check that the driver's DaemonSet runs a pod on the node, and that its socket is in "
        "/var/lib/kubelet/plugins_registry",
        commands=(_EXPLAIN,),
    ),
    Message(
        code="claims-not-prepared",
        speaker=Speaker.KUBELET,
        texts=(Text("Failed to prepare dynamic resources"), Text("FailedPrepareDynamicResources")),
        meaning="the devices of the pod's resource claims could not be prepared: the pod is admitted, but "
        "its containers are not created, and the kubelet tries again",
        fix="see the rest of the message, and the log of the driver's pod on the node",
        commands=(_EXPLAIN,),
        general=True,
    ),
)
