"""What a kubelet reports about a pod that it rejects, and an API server about one that it rejects.

Sources: ``pkg/kubelet/cm`` and ``pkg/kubelet/lifecycle`` of 1.27 to 1.36, and recorded answers of
1.27 to 1.38.
"""

from __future__ import annotations

from cpuctl.messages.fixes import for_resource, if_whole_cores
from cpuctl.messages.message import Message, Speaker, Text

EXPLAIN = "cpuctl explain {pod} -f PODS -m NODE --kubelet-config CONFIG"
EXPLAIN_AMONG = f"{EXPLAIN} --pods RUNNING"
"""The command if what other pods hold or request decides."""
PLAN = "cpuctl plan -f PODS -m NODE --kubelet-config CONFIG"
_LOOP = "the scheduler is not aware of this and may bind a replacement to the same node again"
_MOVED = "move a pod with exclusive CPUs to another node"
_WHOLE = "reserve only whole cores in reservedSystemCPUs"

NOT_ENOUGH = Text(
    "Node didn't have enough resource: {resource:word}, requested: {requested:n}, used: {used:n}, "
    "capacity: {capacity:n}"
)
"""Also the reason why a resize has to wait."""
NO_QUANTITY = (
    Text("quantities must match the regular expression"),
    Text("unable to parse quantity's suffix"),
)
"""What both an API server and a kubelet say of an amount that they cannot read."""

ADMISSION = (
    Message(
        code="topology-affinity",
        speaker=Speaker.TOPOLOGY_MANAGER,
        texts=(
            Text("Resources cannot be allocated with Topology locality"),
            Text("TopologyAffinityError"),
        ),
        meaning="no set of NUMA nodes on the node can provide the pod's CPUs, memory and devices as "
        f"topologyManagerPolicy requires; {_LOOP}",
        fix="request no more than what is free on one NUMA node, or use topologyManagerPolicy: best-effort, "
        "or, with restricted, topologyManagerScope: pod",
        commands=(EXPLAIN_AMONG,),
    ),
    Message(
        code="smt-alignment",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text(
                "SMT Alignment Error: requested {requested:n} cpus not multiple cpus per core = {perCore:n}"
            ),
        ),
        meaning="full-pcpus-only allocates whole cores, and the request is not a multiple of the number "
        f"of threads per core; {_LOOP}",
        meanings=if_whole_cores(
            "full-pcpus-only allocates whole cores, and no core is completely free: kubelets before "
            f"1.32 print this text in that case, too; {_LOOP}"
        ),
        fix="request a multiple of the number of threads per core, with requests equal to limits",
        fixes=if_whole_cores(f"{_MOVED}, or {_WHOLE}"),
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
        meaning="full-pcpus-only allocates whole cores, and too few cores are completely free: other "
        "containers have them exclusively, or single threads of them are reserved or belong to containers "
        f"placed by older kubelets; {_LOOP}",
        fix=f"request fewer CPUs, {_MOVED}, or {_WHOLE}",
        commands=(EXPLAIN_AMONG, "cpuctl config check -m NODE --kubelet-config CONFIG"),
    ),
    Message(
        code="whole-cores",
        speaker=Speaker.CPU_MANAGER,
        texts=(Text("SMTAlignmentError"),),
        meaning="full-pcpus-only allocates whole cores: the request is not a multiple of the number of "
        f"threads per core, or too few cores are completely free; {_LOOP}",
        fix="request a multiple of the number of threads per core, and no more than the free cores have",
        commands=(EXPLAIN_AMONG,),
        general=True,
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
        meaning="fewer CPUs are free for exclusive use than the container requests: reserved CPUs and CPUs "
        f"of other Guaranteed containers are not free; {_LOOP}",
        fix=f"request fewer CPUs, or {_MOVED}",
        commands=(EXPLAIN_AMONG, "sudo cpuctl checkpoint verify"),
    ),
    Message(
        code="cpu-accounting",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text("accounting error, not enough CPUs allocated, remaining: {remaining:n}"),
            Text("accounting error, too many CPUs allocated, remaining: {remaining:n}", since=36),
            Text("failed to allocate cpus"),
        ),
        meaning="the kubelet counted enough free CPUs, but could not allocate them in the way its policy "
        "options require",
        commands=(EXPLAIN_AMONG,),
    ),
    Message(
        code="memory-hint-not-extended",
        speaker=Speaker.MEMORY_MANAGER,
        texts=(
            Text("[memorymanager] failed to find NUMA nodes to extend the current topology hint"),
            Text("[memorymanager] failed to find the extended preferred hint"),
        ),
        meaning="the chosen NUMA nodes have too little free memory or huge pages, and no larger set of "
        "nodes has enough and is allowed: a NUMA node in use belongs to only one set",
        fix="request less memory, or move pods with pinned memory off a NUMA node",
        commands=(EXPLAIN_AMONG,),
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
        meaning="no set of NUMA nodes has enough memory or huge pages that are neither reserved nor "
        "allocated",
        fix="request less, allocate more huge pages on the node, or reserve less memory (kubeReserved, "
        "systemReserved and evictionHard, with reservedMemory to match)",
        commands=(EXPLAIN_AMONG,),
    ),
    Message(
        code="memory-group",
        speaker=Speaker.MEMORY_MANAGER,
        texts=(Text("[memorymanager] preferred hint violates NUMA node allocation", since=32),),
        meaning="the hint includes a NUMA node that another container, of this or another pod, uses alone or "
        "together with other nodes; from 1.32 on, the Memory Manager rejects overlapping sets (KEP-1769); "
        "earlier kubelets admit the pod",
        fix="request less memory than one NUMA node has, use topologyManagerScope: pod if it is a "
        "container of the same pod, or move the pod that uses the node",
        commands=(EXPLAIN_AMONG, f"{PLAN} --compare 1.31 1.32"),
    ),
    Message(
        code="memory-quantity",
        speaker=Speaker.MEMORY_MANAGER,
        texts=(Text("[memorymanager] failed to represent quantity as int64"),),
        meaning="an amount of memory or huge pages is not a whole number of bytes, or exceeds 64 bits",
        fix="set the quantity to a whole number of bytes, Ki, Mi or Gi",
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
        meaning="the resource managers cannot allocate what the pod requests in spec.resources (KEP-5526), "
        "or containers with amounts of their own leave nothing of it to the others",
        fix="request less, or request more in spec.resources than the containers together",
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
        meaning="containers with their own resources use up all of spec.resources, leaving nothing for "
        "the containers that share it (KEP-5526)",
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
        meaning="the device plugin has fewer free and healthy devices than the container requests",
        fix="request fewer, move a pod that has such devices to another node, or check that the device "
        "plugin is running and its devices are healthy",
        commands=(f"{EXPLAIN} --devices FILE",),
    ),
    Message(
        code="devices-unregistered",
        speaker=Speaker.DEVICE_MANAGER,
        texts=(Text("cannot allocate unregistered device {resource:word}"),),
        meaning="no device plugin has registered the resource since the kubelet started: after a restart, a "
        "pod may be admitted before its plugin registers",
        fix="check that the device plugin is running; once it has registered, delete the pod so that its "
        "owner recreates it",
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
        meaning="the device plugin has not registered since the kubelet started, or reports its devices "
        "as unhealthy; after a restart, this also rejects pods that were running",
        fix="check that the device plugin is running, then delete the pod so that its owner recreates it",
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
        meaning="the kubelet has recorded a different number of devices for this container than it "
        "requests now",
        commands=("sudo cpuctl checkpoint verify",),
    ),
    Message(
        code="node-full",
        speaker=Speaker.KUBELET,
        texts=(
            NOT_ENOUGH,
            Text("OutOf{resource:native}"),
            Text("OutOf{resource:extended}"),
        ),
        meaning="the requests of this pod and of the pods on the node together exceed the node's "
        "allocatable resources: the scheduler did not know about all of them yet, or the pod is static",
        fixes=for_resource("move a pod to another node"),
        commands=("cpuctl config show -m NODE --kubelet-config CONFIG", EXPLAIN_AMONG),
    ),
    Message(
        code="too-many-pods",
        speaker=Speaker.KUBELET,
        texts=(
            Text(
                "Node didn't have enough resource: pods, requested: {requested:n}, used: {used:n}, "
                "capacity: {capacity:n}"
            ),
            Text("OutOfpods"),
        ),
        meaning="the node already runs as many pods as maxPods, or podsPerCore times its CPUs, allows",
        fix="move a pod to another node, or raise maxPods (and podsPerCore, if it is set)",
        commands=("cpuctl config show -m NODE --kubelet-config CONFIG",),
    ),
    Message(
        code="preemption-failed",
        speaker=Speaker.KUBELET,
        texts=(Text("Unexpected error while attempting to recover from admission failure: {cause:rest}"),),
        meaning="the node's allocatable resources are used up, and the kubelet could not make room for this "
        "critical pod by evicting pods of lower priority",
        fix="move a pod to another node, or request less",
        commands=(EXPLAIN_AMONG,),
    ),
    Message(
        code="pod-level-off",
        speaker=Speaker.KUBELET,
        texts=(
            Text("PodLevelResources feature gate is disabled", 34),
            Text("PodLevelResourcesNotSupported", 34),
        ),
        meaning="the pod sets spec.resources, but the feature gate PodLevelResources is disabled in this "
        "kubelet",
        fix="enable PodLevelResources in this kubelet as well, or remove spec.resources",
        commands=("cpuctl config show -m NODE --kubelet-config CONFIG",),
    ),
    Message(
        code="static-pod-references",
        speaker=Speaker.KUBELET,
        texts=(
            Text("static pods may not use ResourceClaims", 32),
            Text("static pods may not use ClusterTrustBundle projected volume sources", 29),
            Text("static pods may not reference {objects:word}", 34),
        ),
        meaning="the kubelet rejects static pods that reference API objects: resource claims, "
        "secrets, config maps, a service account",
        fix="remove the references from the manifest, or create the pod through the API server",
        commands=("cpuctl pods lint --static -f MANIFESTS",),
    ),
    Message(
        code="sidecar-off",
        speaker=Speaker.KUBELET,
        texts=(
            Text("Init container {container:quoted} may not have a non-default restartPolicy", 28, 32),
            Text("InitContainerRestartPolicyForbidden", 28, 32),
        ),
        meaning="the pod has a sidecar, but the feature gate SidecarContainers is disabled in this kubelet",
        fix="enable SidecarContainers in this kubelet as well",
        commands=("cpuctl config show -m NODE --kubelet-config CONFIG",),
    ),
    Message(
        code="admission",
        speaker=Speaker.KUBELET,
        texts=(
            Text("Allocate failed due to {cause:rest}, which is unexpected"),
            Text("UnexpectedAdmissionError"),
        ),
        meaning="the kubelet rejects the pod: a resource manager could not allocate what it requests",
        commands=(EXPLAIN_AMONG,),
        general=True,
    ),
)


_LINT = "cpuctl pods lint -f PODS"
_INVALID = "{field:object}: Invalid value: {value:quoted}"

OBJECTS = (
    Message(
        code="huge-pages-alone",
        speaker=Speaker.API_SERVER,
        texts=(Text("{field:object}: Forbidden: HugePages require cpu or memory"),),
        meaning="huge pages can be requested only together with cpu or memory",
        fix="request cpu or memory as well",
        commands=(_LINT,),
    ),
    Message(
        code="huge-pages-split",
        speaker=Speaker.API_SERVER,
        texts=(
            Text(
                "{field:object}: Invalid value: {value:quoted}: {amount:rest} is not positive integer "
                "multiple of {resource:word}"
            ),
        ),
        meaning="huge pages must be requested in whole pages",
        fix="request a multiple of the page size",
        commands=(_LINT,),
    ),
    Message(
        code="limit-missing",
        speaker=Speaker.API_SERVER,
        texts=(Text("{field:object}: Required value: Limit must be set for non overcommitable resources"),),
        meaning="huge pages and devices must have a limit, which is also their request",
        fix="set the limit to the request",
        commands=(_LINT,),
    ),
    Message(
        code="request-above-limit",
        speaker=Speaker.API_SERVER,
        texts=(Text(f"{_INVALID}: must be less than or equal to {{resource:word}} limit of {{bound:rest}}"),),
        meaning="a request exceeds its limit",
        fix="raise the limit or lower the request",
        commands=(_LINT,),
    ),
    Message(
        code="pod-below-containers",
        speaker=Speaker.API_SERVER,
        texts=(Text(f"{_INVALID}: must be greater than or equal to aggregate {{bound:rest}}"),),
        meaning="the containers together have more than the pod's own amount in spec.resources",
        fix="raise the pod's own amount, or lower those of its containers",
        commands=(_LINT,),
    ),
    Message(
        code="request-unequal",
        speaker=Speaker.API_SERVER,
        texts=(Text(f"{_INVALID}: must be equal to {{resource:word}} limit of {{bound:rest}}"),),
        meaning="requests and limits of devices and huge pages must be equal",
        fix="set the request to the limit, or leave out the request",
        commands=(_LINT,),
    ),
    Message(
        code="negative-amount",
        speaker=Speaker.API_SERVER,
        texts=(Text("{field:object}: Invalid value: {value:quoted}: must be greater than or equal to 0"),),
        meaning="an amount is negative",
        fix="set 0 or more",
        commands=(_LINT,),
    ),
    Message(
        code="pod-rejected",
        speaker=Speaker.API_SERVER,
        texts=(
            Text("Pod {pod:quoted} is invalid: {cause:rest}"),
            Text("{field:object}: Invalid value: {cause:rest}"),
            Text("{field:object}: Required value: {cause:rest}"),
            Text("{field:object}: Required value"),
            Text("{field:object}: Forbidden: {cause:rest}"),
            Text("{field:object}: Unsupported value: {cause:rest}"),
            Text("{field:object}: Duplicate value: {cause:rest}"),
            Text("{field:object}: Not found: {cause:rest}"),
            Text("{field:object}: Too long: {cause:rest}"),
        ),
        meaning="the API server rejects the pod: a field has an invalid value",
        fix="correct the field that the message names",
        commands=(_LINT,),
        general=True,
    ),
    Message(
        code="quantity",
        speaker=Speaker.API_SERVER,
        texts=NO_QUANTITY,
        meaning="a value is not a quantity: the API server rejects the pod, or the kubelet its configuration",
        fix="set quantities such as 500m, 2 or 1Gi",
        commands=(_LINT, "cpuctl config check -m NODE --kubelet-config CONFIG"),
        general=True,
    ),
    Message(
        code="unknown-field",
        speaker=Speaker.API_SERVER,
        texts=(
            Text("cannot be handled as a {kind:podkind}: {cause:rest}"),
            Text('strict decoding error: unknown field "spec.{cause:rest}'),
            Text('strict decoding error: duplicate field "spec.{cause:rest}'),
        ),
        meaning="the manifest has a field that the API server does not know, the same field twice, or a "
        "value of the wrong type",
        fix="correct or remove the field that the message names",
        commands=(_LINT,),
    ),
    Message(
        code="exceeded-quota",
        speaker=Speaker.API_SERVER,
        texts=(
            Text("pods {pod:quoted} is forbidden: exceeded quota: {figures:rest}"),
            Text("pods {pod:quoted} is forbidden: failed quota: {missing:rest}"),
        ),
        meaning="a ResourceQuota of the namespace does not allow the pod: the quota is used up, or the pod "
        "does not specify an amount that the quota limits",
        fix="request less, specify the amounts that the message names, or raise the quota",
        commands=(f"{_LINT} -f NAMESPACE_OBJECTS",),
    ),
    Message(
        code="uncounted-quota",
        speaker=Speaker.API_SERVER,
        texts=(Text("pods {pod:quoted} is forbidden: status unknown for quota: {quota:rest}"),),
        meaning="a ResourceQuota of the namespace is new: kube-controller-manager has not counted yet what "
        "is used of it",
        fix="try again in a few seconds; if it persists, check that kube-controller-manager is running",
    ),
    Message(
        code="quota-required",
        speaker=Speaker.API_SERVER,
        texts=(Text("pods {pod:quoted} is forbidden: insufficient quota {cause:rest}"),),
        meaning="the API server is configured to accept such pods, for example of a high priority class, "
        "only in namespaces with a ResourceQuota for them, and this namespace has none",
        fix="create a ResourceQuota with the scopes that the message names, or use another priority class",
    ),
    Message(
        code="limit-range",
        speaker=Speaker.API_SERVER,
        texts=tuple(
            Text(template)
            for kind in ("Container", "Pod")
            for template in (
                f"minimum {{resource:resource}} usage per {kind} is {{bound:rest}}",
                f"maximum {{resource:resource}} usage per {kind} is {{bound:rest}}",
                f"{{resource:limited}} max limit to request ratio per {kind} is {{bound:rest}}",
            )
        ),
        meaning="a LimitRange of the namespace does not allow the amounts of the pod or of a container",
        fix="set requests and limits within the bounds that the message names",
        commands=(f"{_LINT} -f NAMESPACE_OBJECTS",),
    ),
)
