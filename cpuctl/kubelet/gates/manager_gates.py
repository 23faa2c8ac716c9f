"""Feature gates that the resource managers depend on, release by release.

A line is a gate and its stages. ``33B`` means: beta since 1.33. Letters are ``a`` alpha, ``b`` beta, ``g``
generally available and ``d`` deprecated, in capitals if the gate is on by default; ``!`` means that it is
locked to its default, ``-`` that the gate does not exist (any more), ``?`` that the stage was not verified:
it is announced, or that of the nearest known release. The table starts at 1.26, and follows the version
records in the source of 1.36.2 and, since 1.37, release notes.
"""

from __future__ import annotations

from collections.abc import Mapping

MANAGER_GATES = """
CPUManager                                 26G! 33-
CPUManagerPolicyAlphaOptions               26a
CPUManagerPolicyBetaOptions                26B 37B?
CPUManagerPolicyOptions                    26B 33G! 37G!?
CustomCPUCFSQuotaPeriod                    26a 36G 37G!?
DRANodeAllocatableResources                36a 37a?
DisableCPUQuotaWithExclusiveCPUs           33B 36D 37D!?
DownwardAPIAssignedResources               37a
DynamicResourceAllocation                  26a 32b 34G 35G! 37G!?
InPlacePodLevelResourcesVerticalScaling    35a 36B 37B?
InPlacePodVerticalScaling                  27a 33B 35G! 37G!?
InPlacePodVerticalScalingAllocatedStatus   32a 33d 36-
InPlacePodVerticalScalingExclusiveCPUs     32a
InPlacePodVerticalScalingExclusiveMemory   34a 37a?
InPlacePodVerticalScalingInitContainers    36B 37B?
KubeletCgroupDriverFromCRI                 28a 31B 34G! 37G!?
KubeletPodResourcesGet                     27a 34B 36G! 37G!?
MemoryManager                              26B 32G! 36-
MemoryQoS                                  26a 37B?
NodeDeclaredFeatures                       35a 36B 37G!?
NodeSwap                                   26a 28b 30B 34G! 37G!?
PodLevelResourceManagers                   36a 37b
PodLevelResources                          32a 34B 37B?
PodLevelResourcesFixDefaulting             37B
PodLevelResourcesFixKubeletQOSClass        37B
QOSReserved                                26a 37a?
SidecarContainers                          28a 29B 33G! 37-?
TopologyManager                            26B 27G! 29-
TopologyManagerPolicyAlphaOptions          26a 37a?
TopologyManagerPolicyBetaOptions           26b 28B 37B?
TopologyManagerPolicyOptions               26a 28B 32G 36G! 37G!?
WindowsCPUAndMemoryAffinity                32a 37a?
"""

DEPENDENCIES_SINCE = 35
"""The first release that refuses a gate whose dependencies are off."""

DEPENDENCIES: Mapping[str, tuple[str, ...]] = {
    "DRANodeAllocatableResources": ("DynamicResourceAllocation",),
    "InPlacePodLevelResourcesVerticalScaling": (
        "InPlacePodVerticalScaling",
        "PodLevelResources",
        "NodeDeclaredFeatures",
    ),
    "InPlacePodVerticalScalingAllocatedStatus": ("InPlacePodVerticalScaling",),
    "InPlacePodVerticalScalingExclusiveCPUs": ("InPlacePodVerticalScaling",),
    "InPlacePodVerticalScalingExclusiveMemory": ("InPlacePodVerticalScaling",),
    "InPlacePodVerticalScalingInitContainers": ("InPlacePodVerticalScaling", "NodeDeclaredFeatures"),
    "PodLevelResourceManagers": ("PodLevelResources",),
    "PodLevelResourcesFixDefaulting": ("PodLevelResources",),
    "PodLevelResourcesFixKubeletQOSClass": ("PodLevelResources",),
}
