"""What components report about a resize of a running pod.

Sources: ``pkg/kubelet/allocation`` of 1.33 to 1.36, ``pkg/kubelet/kubelet.go`` of 1.27 to 1.32, and the
reference implementation of KEP-5554.
"""

from __future__ import annotations

from cpuctl.messages.admission import NOT_ENOUGH
from cpuctl.messages.message import Message, Speaker, Text

_RESIZE, _RESIZE_CPUS, _RESIZE_MEMORY = (
    f"cpuctl resize --pods RUNNING --set {{pod}}:{resource}=N -m NODE --kubelet-config CONFIG"
    for resource in ("RESOURCE", "cpu", "memory")
)

RESIZING = (
    Message(
        code="resize-rejected",
        speaker=Speaker.API_SERVER,
        texts=(
            Text("Pod QOS Class may not change as a result of resizing"),
            Text("may not be added or removed on resize"),
            Text("may not be renamed or reordered on resize"),
            Text("only cpu and memory resources are mutable"),
        ),
        meaning="the API server rejects the resize of a running pod: this part of it cannot be changed",
        fix="change only cpu and memory within the pod's QoS class, or recreate the pod",
        commands=(_RESIZE,),
    ),
    Message(
        code="resize-removal",
        speaker=Speaker.API_SERVER,
        texts=(
            Text("resource limits cannot be removed"),
            Text("resource requests cannot be removed"),
            Text("pod-level resources cannot be removed"),
        ),
        meaning="a resize can change amounts, but not remove them",
        fix="set another amount instead, or recreate the pod",
        commands=(_RESIZE,),
    ),
    Message(
        code="resize-off",
        speaker=Speaker.KUBELET,
        texts=(
            Text("InPlacePodVerticalScaling is disabled"),
            Text("InPlacePodLevelResourcesVerticalScaling is disabled"),
        ),
        meaning="the kubelet of the pod's node has this feature gate disabled",
        fix="enable the gate in the kubelet, or recreate the pod with the new size",
        commands=("cpuctl config show -m NODE",),
    ),
    Message(
        code="resize-kind",
        speaker=Speaker.API_SERVER,
        texts=(
            Text("resources of init containers and sidecars are immutable"),
            Text("resources for non-sidecar init containers are immutable"),
            Text("static pods cannot be resized"),
            Text("windows pods cannot be resized"),
            Text("pods with pod-level resources cannot be resized"),
        ),
        meaning="the API server resizes no pods or containers of this kind",
        fix="recreate the pod with the new size",
        commands=(_RESIZE,),
    ),
    Message(
        code="resize-unsupported",
        speaker=Speaker.API_SERVER,
        texts=(Text("Pod running on node without support for resize"),),
        meaning="the kubelet of the pod's node does not support in-place resizes, or has the feature gate "
        "InPlacePodVerticalScaling disabled",
        fix="enable the gate in the kubelet, or recreate the pod with the new size",
        commands=("cpuctl config show -m NODE",),
    ),
    Message(
        code="resize-pod-level",
        speaker=Speaker.API_SERVER,
        texts=(
            Text(
                "resize of pods with pod-level resources is forbidden when {gate:word} feature gate is "
                "disabled"
            ),
        ),
        meaning="the API server has the feature gate InPlacePodLevelResourcesVerticalScaling disabled",
        fix="enable the gate in the API server and the kubelets, or recreate the pod with the new size",
        commands=(_RESIZE,),
    ),
    Message(
        code="resize-memory-limit",
        speaker=Speaker.API_SERVER,
        texts=(Text("memory limits cannot be decreased unless resizePolicy is RestartContainer"),),
        meaning="the API server lowers a memory limit only if that restarts the container: releases before "
        "1.34 do not lower it otherwise",
        fix="recreate the pod with the new limit; with resizePolicy RestartContainer for memory in its "
        "template, later resizes can lower it",
        commands=(_RESIZE_MEMORY,),
    ),
    Message(
        code="pod-immutable",
        speaker=Speaker.API_SERVER,
        texts=(Text("pod updates may not change fields other than {fields:rest}"),),
        meaning="the pod exists already, and this field of an existing pod cannot be changed",
        fix="delete the pod and create it again, or change the pod template of its workload; cpu and memory "
        "can be resized in place",
        commands=(_RESIZE,),
    ),
    Message(
        code="tolerations-immutable",
        speaker=Speaker.API_SERVER,
        texts=(Text("existing toleration can not be modified except its tolerationSeconds"),),
        meaning="the pod exists already, and tolerations can only be added to an existing pod",
        fix="delete the pod and create it again, or change the pod template of its workload",
    ),
    Message(
        code="resize-static-policy",
        speaker=Speaker.KUBELET,
        texts=(Text("Resize is infeasible for Guaranteed Pods alongside {manager:rest}", 32),),
        meaning="with a static policy the kubelet does not resize Guaranteed pods: their CPUs or memory are "
        "fixed",
        fix="recreate the pod with the new size; if no exclusive CPUs change, the feature gate "
        "InPlacePodVerticalScalingExclusiveCPUs or InPlacePodVerticalScalingExclusiveMemory also helps, in "
        "releases that have it; no gate changes exclusive CPUs up to 1.37",
        commands=(_RESIZE,),
    ),
    Message(
        code="resize-deferred",
        speaker=Speaker.KUBELET,
        texts=(NOT_ENOUGH,),
        meaning="the pod keeps its resources: the resize waits until other pods have released what it needs",
        fix="move a pod to another node, or request less",
        commands=(_RESIZE,),
        evidence=r"PodResizePending|\b(?:Resize)?Deferred\b",
    ),
    Message(
        code="resize-too-large",
        speaker=Speaker.KUBELET,
        texts=(
            Text(
                "Node didn't have enough capacity: {resource:word}, requested: {requested:n}, capacity: "
                "{capacity:n}"
            ),
        ),
        meaning="the new size exceeds the node's total capacity for pods: the resize is infeasible, not "
        "deferred",
        fix="request less",
        commands=(_RESIZE,),
    ),
    Message(
        code="resize-larger-than-node",
        speaker=Speaker.API_SERVER,
        texts=(Text("Node didn't have enough allocatable resources: {amounts:rest}", 36),),
        meaning="the pod's new requests exceed the node's allocatable resources, even without other pods",
        fix="request less, or recreate the pod on a larger node",
        commands=(_RESIZE,),
    ),
    Message(
        code="resize-counted-claims",
        speaker=Speaker.API_SERVER,
        texts=(Text("pods with node allocatable resource claims cannot be resized", 36, 36),),
        meaning="claims of the pod are mapped to the node's CPUs or memory (KEP-5517), and 1.36 does not "
        "resize such pods; later releases do",
        fix="recreate the pod with the new size",
        commands=(_RESIZE,),
    ),
    Message(
        code="resize-below-promise",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text(
                "prohibitedCPUAllocation Error: Skip resize, Not allowed to reduce container "
                "exclusively allocated "
                "pool below promised, (requested CPUs = {requested:n}, allocated CPUs = {held:n}, "
                "promised CPUs = "
                "{promised:n}, guaranteed CPUs = {guaranteed:n})"
            ),
        ),
        meaning="a container keeps the CPUs it was admitted with (KEP-5554) and cannot shrink below them",
        fix="request at least as many CPUs as at admission",
        commands=(_RESIZE_CPUS,),
    ),
    Message(
        code="resize-changes-pool",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text(
                "inconsistentCPUAllocation Error: Not allowed to move a container from "
                "{moved:rest}(requested CPUs = "
                "{requested:word}, allocated CPUs = {held:word})"
            ),
            Text("inconsistentCPUAllocation Error: Skip resize, nothing to be done, ({figures:rest})"),
        ),
        meaning="a resize cannot turn shared CPUs into exclusive ones or vice versa (KEP-5554)",
        fix="if the container has exclusive CPUs, request whole CPUs; otherwise recreate the pod",
        commands=(_RESIZE_CPUS,),
    ),
    Message(
        code="resize-cpus",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text(
                "ResizeAllocateCPUs Error: Skip resize, unable to resize container exclusively "
                "allocated pool, (podUID "
                "= {uid:word}, containerName = {container:word}, topologyError = {cause:rest})"
            ),
        ),
        meaning="the CPU Manager cannot find enough CPUs for the new size in addition to those that the "
        "container must keep",
        commands=(_RESIZE_CPUS,),
    ),
    Message(
        code="resize-promise-unknown",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text(
                "getOriginalCPUSet Error: Skip resize, unable to get PromisedCPUSet, nothing to be "
                "done, {figures:rest}"
            ),
        ),
        meaning="cpu_manager_state does not record which CPUs the container was admitted with (KEP-5554)",
        fix="recreate the pod with the new size",
        commands=("sudo cpuctl checkpoint dump",),
    ),
    Message(
        code="resize-as-a-whole",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text("Unsupported Lifecycle Operation Error: resize is neither AddOperation nor ResizeOperation"),
        ),
        meaning="the pod has CPUs as a whole (pod-level resources), and the preview of KEP-5554 does not "
        "resize such pods",
        fix="recreate the pod with the new size",
        commands=(_RESIZE_CPUS,),
    ),
    Message(
        code="resize-swap",
        speaker=Speaker.KUBELET,
        texts=(Text("In-place resize of containers with swap is not supported", 33),),
        meaning="a container that may use swap keeps its memory size",
        commands=(_RESIZE_MEMORY,),
    ),
    Message(
        code="resize-pod-inactive",
        speaker=Speaker.KUBELET,
        texts=(Text("pod not active"),),
        meaning="the pod is no longer running on this node",
    ),
)
