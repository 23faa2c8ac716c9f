"""How the kubelet names a pod's control group."""

from __future__ import annotations

from collections.abc import Sequence

from cpuctl.pods.model import QosClass

_MIDDLE = {
    QosClass.GUARANTEED: (),
    QosClass.BURSTABLE: ("burstable",),
    QosClass.BEST_EFFORT: ("besteffort",),
}


def pod_components(uid: str, qos: QosClass, root: Sequence[str] = ()) -> tuple[str, ...]:
    """Name a pod's group; a Guaranteed pod's is a sibling of the groups of the other QoS classes."""
    return (*root, "kubepods", *_MIDDLE[qos], f"pod{uid}")
