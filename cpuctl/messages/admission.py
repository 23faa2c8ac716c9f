"""What a kubelet says of a pod that it rejects, and an API server of one that it does not store.

Sources: ``pkg/kubelet/cm`` and ``pkg/kubelet/lifecycle`` of 1.27 to 1.36, and recorded answers of
1.27 to 1.38.
"""

from __future__ import annotations

from cpuctl.messages.message import Message, Speaker, Text

EXPLAIN = "cpuctl explain {pod} -f PODS -m NODE --kubelet-config CONFIG"
PLAN = "cpuctl plan -f PODS -m NODE --kubelet-config CONFIG"
_LOOP = "the scheduler does not see this, and binds a replacement to the node again"

ADMISSION = (
    Message(
        code="topology-affinity",
        speaker=Speaker.TOPOLOGY_MANAGER,
        texts=(
            Text("Resources cannot be allocated with Topology locality"),
            Text("TopologyAffinityError"),
        ),
        meaning="the node has no NUMA nodes that give the pod its CPUs, memory and devices in the way that "
        f"topologyManagerPolicy demands; {_LOOP}",
        fix="ask for no more than one NUMA node has free, or use topologyManagerPolicy: best-effort, or "
        "topologyManagerScope: pod",
        commands=(EXPLAIN,),
    ),
    Message(
        code="smt-alignment",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text(
                "SMT Alignment Error: requested {requested:n} cpus not multiple cpus per core = {perCore:n}"
            ),
            Text("SMTAlignmentError"),
        ),
        meaning="full-pcpus-only gives whole cores, and the request is not a multiple of the threads of "
        "a core; "
        f"{_LOOP}",
        fix="ask for a multiple of the threads of a core, requests equal to limits",
        commands=("cpuctl pods show -f PODS -m NODE --kubelet-config CONFIG", EXPLAIN),
    ),
    Message(
        code="too-few-free-cores",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text(
                "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = {free:n}, "
                "requested CPUs = {requested:n}, CPUs per core = {perCore:n}"
            ),
        ),
        meaning="full-pcpus-only gives whole cores, and too few are wholly free: reserved CPUs and "
        "containers of older kubelets may hold single threads of others",
        fix="reserve whole cores in reservedSystemCPUs, or ask for fewer CPUs",
        commands=(EXPLAIN, "cpuctl config check -m NODE --kubelet-config CONFIG"),
    ),
    Message(
        code="not-enough-cpus",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text(
                "not enough cpus available to satisfy request: requested={requested:n}, available={free:n}",
                since=29,
            ),
            Text("not enough cpus available to satisfy request", until=28),
        ),
        meaning="fewer CPUs are free for exclusive use than the container asks for; what reservations "
        "and other "
        f"Guaranteed containers hold does not count as free, and {_LOOP}",
        fix="ask for fewer CPUs, or move a pod with exclusive CPUs to another node",
        commands=(EXPLAIN, "cpuctl checkpoint verify /var/lib/kubelet"),
    ),
    Message(
        code="cpu-accounting",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text("accounting error, not enough CPUs allocated, remaining: {remaining:n}"),
            Text("accounting error, too many CPUs allocated, remaining: {remaining:n}", since=36),
            Text("failed to allocate cpus"),
        ),
        meaning="the kubelet counted enough free CPUs, and could not hand them out as its policy options "
        "want",
        commands=(EXPLAIN,),
    ),
    Message(
        code="memory-hint-not-extended",
        speaker=Speaker.MEMORY_MANAGER,
        texts=(
            Text("[memorymanager] failed to find NUMA nodes to extend the current topology hint"),
            Text("[memorymanager] failed to find the extended preferred hint"),
        ),
        meaning="the NUMA nodes that were agreed on have too little free memory or huge pages, and adding "
        "nodes gives no set that the Memory Manager may use: nodes in use belong to one set only",
        fix="ask for less memory, or free a NUMA node of pods with memory of their own",
        commands=(EXPLAIN,),
    ),
    Message(
        code="no-memory-affinity",
        speaker=Speaker.MEMORY_MANAGER,
        texts=(
            Text(
                "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough "
                "memory is "
                "available"
            ),
            Text("[memorymanager] failed to find the default preferred hint"),
        ),
        meaning="no set of NUMA nodes has enough memory or huge pages that are not reserved or promised to "
        "others",
        fix="ask for less, set more huge pages aside, or reserve less in reservedMemory",
        commands=(EXPLAIN,),
    ),
    Message(
        code="memory-group",
        speaker=Speaker.MEMORY_MANAGER,
        texts=(Text("[memorymanager] preferred hint violates NUMA node allocation", since=32),),
        meaning="the hint takes a NUMA node that another pod uses alone or with other nodes; from 1.32 on "
        "the Memory Manager keeps such sets apart (KEP-1769), earlier kubelets admit the pod",
        fix="ask for less memory than one NUMA node has, or move the pod that uses the node",
        commands=(EXPLAIN, f"{PLAN} --compare 1.31 1.32"),
    ),
    Message(
        code="memory-quantity",
        speaker=Speaker.MEMORY_MANAGER,
        texts=(Text("[memorymanager] failed to represent quantity as int64"),),
        meaning="an amount of memory or huge pages is no whole number of bytes, or beyond 64 bits",
        fix="write the amount in whole bytes, Ki, Mi or Gi",
        commands=("cpuctl pods lint -f PODS",),
    ),
    Message(
        code="pod-level-scope",
        speaker=Speaker.TOPOLOGY_MANAGER,
        texts=(
            Text(
                "Pod Scope pod with pod-level resources failed admission under pod-scope topology manager", 36
            ),
            Text(
                "Pod Scope pod with pod-level resources failed admission with a container-level topology "
                "manager",
                36,
            ),
        ),
        meaning="resource managers cannot give the pod what its spec.resources asks for (KEP-5526)",
        commands=(EXPLAIN,),
    ),
    Message(
        code="pod-level-budget",
        speaker=Speaker.KUBELET,
        texts=(
            Text(
                "pod rejected, sum of exclusive container {resource:word} requests equals pod budget, "
                "leaving no {left:word} for shared containers",
                36,
            ),
            Text("pod rejected, pod has shared init containers but no cpus available for them", 36),
        ),
        meaning="containers with resources of their own take all that spec.resources has, and nothing is "
        "left for the containers that share (KEP-5526)",
        fix="raise spec.resources above the sum of the exclusive containers",
        commands=("cpuctl pods lint -f PODS -m NODE --kubelet-config CONFIG", EXPLAIN),
    ),
    Message(
        code="devices-unavailable",
        speaker=Speaker.DEVICE_MANAGER,
        texts=(
            Text(
                "requested number of devices unavailable for {resource:word}. Requested: {requested:n}, "
                "Available: {free:n}"
            ),
        ),
        meaning="the device plugin has fewer free and healthy devices than the container asks for",
        fix="see that the plugin runs and its devices are healthy",
        commands=(f"{EXPLAIN} --devices FILE",),
    ),
    Message(
        code="devices-unregistered",
        speaker=Speaker.DEVICE_MANAGER,
        texts=(Text("cannot allocate unregistered device {resource:word}"),),
        meaning="no device plugin has offered the resource since the kubelet started: after a restart, a pod "
        "that had devices before can come before its plugin",
        fix="see that the plugin runs; once it has registered, delete the pod, and its owner makes another",
        commands=("cpuctl topology devices", f"{EXPLAIN} --devices FILE"),
    ),
    Message(
        code="devices-unhealthy",
        speaker=Speaker.DEVICE_MANAGER,
        texts=(
            Text("no healthy devices present; cannot allocate unhealthy devices {resource:word}"),
            Text(
                "previously allocated devices are no longer healthy; cannot allocate unhealthy devices "
                "{resource:word}"
            ),
        ),
        meaning="the device plugin has not registered since the kubelet started, or calls its devices "
        "unhealthy; pods that ran are rejected after a restart for that, too",
        fix="see that the device plugin runs, then delete the pod so that it is made anew",
        commands=(f"{EXPLAIN} --pods RUNNING --devices FILE",),
    ),
    Message(
        code="devices-changed",
        speaker=Speaker.DEVICE_MANAGER,
        texts=(
            Text(
                "pod {uid:quoted} container {container:quoted} changed request for resource "
                "{resource:quoted} "
                "from {before:n} to {requested:n}"
            ),
        ),
        meaning="the kubelet remembers another number of devices for this container than it asks for now",
        commands=("cpuctl checkpoint verify /var/lib/kubelet",),
    ),
    Message(
        code="node-full",
        speaker=Speaker.KUBELET,
        texts=(
            Text(
                "Node didn't have enough resource: {resource:word}, requested: {requested:n}, used: "
                "{used:n}, "
                "capacity: {capacity:n}"
            ),
            Text("OutOf{resource:word}"),
        ),
        meaning="requests of the pods on the node and of this one are more than the node has for pods "
        "(allocatable): the scheduler bound it before it knew, or the pod is static",
        fix="move a pod to another node, ask for less, or reserve less",
        commands=("cpuctl config show -m NODE --kubelet-config CONFIG", EXPLAIN),
    ),
    Message(
        code="pod-level-off",
        speaker=Speaker.KUBELET,
        texts=(
            Text("PodLevelResources feature gate is disabled", 34),
            Text("PodLevelResourcesNotSupported", 34),
        ),
        meaning="the pod has spec.resources, and this kubelet has the feature gate PodLevelResources off",
        fix="switch PodLevelResources on in this kubelet, too, or leave spec.resources out",
        commands=("cpuctl config check --kubelet-config CONFIG",),
    ),
    Message(
        code="static-pod-references",
        speaker=Speaker.KUBELET,
        texts=(
            Text("static pods may not use ResourceClaims", 32),
            Text("static pods may not use ClusterTrustBundle projected volume sources", 29),
            Text("static pods may not reference {objects:word}", 34),
        ),
        meaning="the kubelet does not take the manifest of a static pod that names objects of the API "
        "server: resource claims, secrets, config maps, a service account",
        fix="leave these out of the manifest, or send the pod to the API server",
        commands=("cpuctl pods lint --static -f MANIFESTS",),
    ),
    Message(
        code="sidecar-off",
        speaker=Speaker.KUBELET,
        texts=(
            Text("Init container {container:quoted} may not have a non-default restartPolicy", 28, 32),
            Text("InitContainerRestartPolicyForbidden", 28, 32),
        ),
        meaning="the pod has a sidecar, and this kubelet has the feature gate SidecarContainers off",
        fix="switch SidecarContainers on in this kubelet, too",
        commands=("cpuctl config check --kubelet-config CONFIG",),
    ),
    Message(
        code="admission",
        speaker=Speaker.KUBELET,
        texts=(
            Text("Allocate failed due to {cause:rest}, which is unexpected"),
            Text("UnexpectedAdmissionError"),
            Text("Pod was rejected"),
        ),
        meaning="the kubelet rejects the pod: a resource manager could not give it what it asks for",
        commands=(EXPLAIN,),
        general=True,
    ),
)


_LINT = "cpuctl pods lint -f PODS"

OBJECTS = (
    Message(
        code="huge-pages-alone",
        speaker=Speaker.API_SERVER,
        texts=(
            Text("{field:object}: Forbidden: HugePages require cpu or memory"),
            Text(
                "{field:object}: Invalid value: {value:quoted}: {amount:rest} is not positive integer "
                "multiple of {resource:word}"
            ),
            Text("{field:object}: Required value: Limit must be set for non overcommitable resources"),
        ),
        meaning="huge pages and devices are asked for in whole pieces, with a limit that equals the "
        "request, and huge pages beside cpu or memory",
        fix="set the limit, and a multiple of the page size",
        commands=(_LINT,),
    ),
    Message(
        code="request-above-limit",
        speaker=Speaker.API_SERVER,
        texts=(
            Text("{field:object}: Invalid value: {value:quoted}: must be less than or equal to {bound:rest}"),
            Text("{field:object}: Invalid value: {value:quoted}: must be equal to {bound:rest}"),
            Text(
                "{field:object}: Invalid value: {value:quoted}: must be greater than or equal to {bound:rest}"
            ),
        ),
        meaning="a request is above its limit, or the containers' sum and the pod's own amount do not fit",
        fix="raise the limit or lower the request",
        commands=(_LINT,),
    ),
    Message(
        code="pod-refused",
        speaker=Speaker.API_SERVER,
        texts=(
            Text("{field:object}: Invalid value: {cause:rest}"),
            Text("{field:object}: Required value: {cause:rest}"),
            Text("{field:object}: Required value"),
            Text("{field:object}: Forbidden: {cause:rest}"),
            Text("{field:object}: Unsupported value: {cause:rest}"),
            Text("{field:object}: Duplicate value: {cause:rest}"),
            Text("{field:object}: Not found: {cause:rest}"),
            Text("{field:object}: Too long: {cause:rest}"),
            Text("quantities must match the regular expression"),
            Text("unable to parse quantity's suffix"),
        ),
        meaning="the API server does not store the pod: a field has no value that it takes",
        fix="correct the field that the message names",
        commands=(_LINT,),
        general=True,
    ),
    Message(
        code="exceeded-quota",
        speaker=Speaker.API_SERVER,
        texts=(Text("is forbidden: exceeded quota: {figures:rest}"), Text("is forbidden: {cause:rest}")),
        meaning="a ResourceQuota or LimitRange of the namespace does not allow the pod",
        commands=(f"{_LINT} -f NAMESPACE_OBJECTS",),
        general=True,
    ),
)
