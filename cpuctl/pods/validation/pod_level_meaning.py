"""Pod-level resources that are taken and mean something else than they seem to.

Rule: ``ComputePodQOS`` in 1.36, which asks whether ``spec.resources`` is there, not whether it says anything;
since 1.37 (gate PodLevelResourcesFixKubeletQOSClass) an empty one is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.pods.model import Pod, QosClass
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.rules import PodRules
from cpuctl.pods.validation.finding import Finding, Spot

_FIXED_SINCE = 37
_FIX = "PodLevelResourcesFixKubeletQOSClass"


def check_pod_level_meaning(pod: Pod, spec: Spot, rules: PodRules) -> Iterator[Finding]:
    """Look for containers whose requests do not count: the pod level says nothing of cpu and memory."""
    # The API server writes the class into the status, and the kubelet takes it from there.
    node = rules.node._replace(empty_counts=rules.node.empty_counts or rules.server.minor < _FIXED_SINCE)
    seen = node.view(pod)._replace(qos_class=None)
    if seen.resources is None:
        return
    inside = pod_qos(seen._replace(resources=None)).qos_class
    if pod_qos(seen).qos_class is not QosClass.BEST_EFFORT or inside is QosClass.BEST_EFFORT:
        return
    spot = spec.child("resources")
    effect = f"the pod is BestEffort, and not {inside} as its containers are"
    if seen.resources.requests or seen.resources.limits:
        detail = f"it sets neither cpu nor memory, so that {effect}"
        yield spot.warning("pod-level-best-effort", detail, fix="set cpu and memory, too")
    else:
        detail = f"it is there and empty, so that {effect} (up to 1.36, and without the gate {_FIX})"
        yield spot.warning("pod-level-best-effort", detail, fix="leave it out")
