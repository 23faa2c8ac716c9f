"""A KubeletConfiguration reduced to what cannot be a secret."""

from __future__ import annotations

import json

from cpuctl.documents import load_documents
from cpuctl.errors import InputError

_KIND = "KubeletConfiguration"

# A list of its own: a field that cpuctl learns to read is not harmless for that alone.
_HARMLESS = """
apiVersion kind
cgroupDriver cgroupRoot cgroupsPerQOS containerRuntimeEndpoint cpuCFSQuota cpuCFSQuotaPeriod
cpuManagerPolicy cpuManagerPolicyOptions cpuManagerReconcilePeriod enforceNodeAllocatable
evictionHard evictionMinimumReclaim evictionPressureTransitionPeriod evictionSoft evictionSoftGracePeriod
failCgroupV1 failSwapOn featureGates kubeReserved kubeReservedCgroup kubeletCgroups maxPods
memoryManagerPolicy memoryReservationPolicy memorySwap memoryThrottlingFactor mergeDefaultEvictionSettings
nodeStatusUpdateFrequency oomScoreAdj podPidsLimit podsPerCore port qosReserved readOnlyPort
reservedMemory reservedSystemCPUs singleProcessOOMKill staticPodPath systemCgroups systemReserved
systemReservedCgroup topologyManagerPolicy topologyManagerPolicyOptions topologyManagerScope
"""

# In drop-in files the kubelet takes field names in any case.
_KEPT = frozenset(_HARMLESS.lower().split())


def reduced_configuration(text: str) -> str:
    """Keep the fields that resource managers depend on, as JSON (which is YAML, too, and has one reading).

    Raise ValueError for text that is no KubeletConfiguration, never with a piece of that text.
    """
    try:
        document, *_ = load_documents(text, "", last_wins=True)
    except InputError:
        raise ValueError("it is no YAML or JSON") from None
    value = document.value
    if not isinstance(value, dict) or value.get("kind") != _KIND:
        raise ValueError(f"it is no {_KIND}")
    kept = {name: field for name, field in value.items() if name.lower() in _KEPT}
    return json.dumps(kept, indent=2) + "\n"
