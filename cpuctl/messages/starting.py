"""What a kubelet reports if it does not start because of its settings.

Sources: ``cmd/kubelet/app``, ``pkg/kubelet/cm`` and ``pkg/kubelet/apis/config/validation`` of 1.27 to 1.36,
and recorded answers of 1.27 to 1.38.
"""

from __future__ import annotations

from cpuctl.messages.fixes import for_gated_option, for_offline_cpus, for_option_value
from cpuctl.messages.message import OF_A_KUBELET, Message, Speaker, Text

CHECK = "cpuctl config check -m NODE --kubelet-config CONFIG"
_RESERVE = "cpuctl config reserve -m NODE --kubelet-config CONFIG"
VERSIONS = "cpuctl config versions --kubelet-config CONFIG"
_GATED = (
    "in this release the option is not generally available, and the feature gate for its stage is disabled"
)

STARTING = (
    Message(
        code="no-reserved-cpus",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text("unable to determine reserved CPU resources for static policy"),
            Text("the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero"),
        ),
        meaning="cpuManagerPolicy: static requires at least one reserved CPU, and none is reserved",
        fix="set reservedSystemCPUs or, if kubeReservedCgroup or systemReservedCgroup is set, "
        "kubeReserved.cpu or systemReserved.cpu",
        commands=(f"{_RESERVE} --cpu-count 2", CHECK),
    ),
    Message(
        code="reserved-cpus-short",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text(
                "[cpumanager] unable to reserve the required amount of CPUs (size of {found:set} did "
                "not equal {wanted:n})"
            ),
        ),
        meaning="kubeReserved and systemReserved together reserve more CPUs than the CPU Manager can take on "
        "this machine",
        fix="set kubeReserved.cpu and systemReserved.cpu so that they add up to fewer CPUs",
        commands=(f"{_RESERVE} --cpu-count 2", CHECK),
    ),
    Message(
        code="reserved-cpus-unknown",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text(
                "[cpumanager] unable to build the reserved physical CPUs from the reserved set: {cause:rest}"
            ),
        ),
        meaning="reservedSystemCPUs lists a CPU that the kubelet has not found in the machine's topology",
        fix="remove the CPU that the message names from reservedSystemCPUs",
        commands=("cpuctl topology show", CHECK),
    ),
    Message(
        code="reserved-cpus-offline",
        speaker=Speaker.KUBELET,
        texts=(Text("reserved-cpus: {reserved:set} is not a subset of online-cpus: {online:set}"),),
        meaning="reservedSystemCPUs (--reserved-cpus) contains CPUs that are not online",
        fix="remove CPUs that are not online from reservedSystemCPUs, or bring them online",
        fixes=for_offline_cpus,
        commands=("cpuctl topology show", CHECK),
    ),
    Message(
        code="reserved-cpus-beside-cgroup",
        speaker=Speaker.KUBELET,
        texts=(
            Text("can't use reservedSystemCPUs (--reserved-cpus) with {groups:rest}"),
            Text("can't use --reserved-cpus with {groups:rest}"),
        ),
        meaning="the kubelet accepts no list of reserved CPUs beside a cgroup for what is reserved",
        fix="remove reservedSystemCPUs and set kubeReserved.cpu or systemReserved.cpu, or remove "
        "kubeReservedCgroup and systemReservedCgroup (with their entries in enforceNodeAllocatable)",
        commands=(CHECK,),
    ),
    Message(
        code="cpu-option-unknown",
        speaker=Speaker.CPU_MANAGER,
        texts=(Text("unknown CPU Manager Policy option: {option:quoted}"),),
        meaning="this kubelet does not know an option in cpuManagerPolicyOptions",
        fix="correct the name of the option, or remove it",
        commands=(CHECK, VERSIONS),
    ),
    Message(
        code="cpu-options-of-none",
        speaker=Speaker.CPU_MANAGER,
        texts=(Text("None policy: received unsupported options={options:rest}"),),
        meaning="only the static policy has options, but cpuManagerPolicy is none, the default",
        fix="set cpuManagerPolicy: static and reserve CPUs for it, or remove cpuManagerPolicyOptions",
        commands=(CHECK,),
    ),
    Message(
        code="cpu-option-gated",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text("CPU Manager Policy {stage:word} Options not enabled, but option {option:quoted} provided"),
        ),
        meaning=_GATED,
        fix="set CPUManagerPolicyAlphaOptions or CPUManagerPolicyBetaOptions to true in featureGates, or "
        "remove the option",
        fixes=for_gated_option("CPUManagerPolicy"),
        commands=(CHECK, VERSIONS),
    ),
    Message(
        code="cpu-options-gated",
        speaker=Speaker.CPU_MANAGER,
        texts=(Text("CPU Manager policy options {options:map} require feature gates {gates:rest}"),),
        meaning="the feature gate for all policy options of the CPU Manager is disabled",
        fix="set featureGates: {CPUManagerPolicyOptions: true}, or remove cpuManagerPolicyOptions",
        commands=(CHECK, VERSIONS),
    ),
    Message(
        code="cpu-options-conflict",
        speaker=Speaker.CPU_MANAGER,
        texts=(Text("static policy options {one:word} and {other:word} can not be used at the same time"),),
        meaning="two options in cpuManagerPolicyOptions exclude each other",
        fix="remove one of the two options",
        commands=(CHECK,),
    ),
    Message(
        code="align-by-socket-policy",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text(
                "{manager:name} manager single-numa-node policy is incompatible with CPUManager "
                "align-by-socket policy option"
            ),
        ),
        meaning="align-by-socket may allocate CPUs of several NUMA nodes, which topologyManagerPolicy: "
        "single-numa-node excludes",
        fix="remove align-by-socket, or set topologyManagerPolicy: restricted",
        commands=(CHECK,),
    ),
    Message(
        code="align-by-socket-machine",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text(
                "Align by socket is not compatible with hardware where number of sockets are more than "
                "number of NUMA"
            ),
        ),
        meaning="align-by-socket needs at least one NUMA node per socket, and this machine has fewer",
        fix="remove align-by-socket",
        commands=("cpuctl topology show", CHECK),
    ),
    Message(
        code="option-value",
        speaker=Speaker.KUBELET,
        texts=(
            Text("bad value for option {option:quoted}: {cause:rest}"),
            Text("unable to convert policy option to integer {option:quoted}: {cause:rest}"),
        ),
        meaning="the value of a policy option has the wrong form",
        fix='set it to "true" or "false", in quotes',
        fixes=for_option_value,
        commands=(CHECK,),
    ),
    Message(
        code="option-too-small",
        speaker=Speaker.TOPOLOGY_MANAGER,
        texts=(Text("the minimum value of {option:quoted} should not be less than {least:n}"),),
        meaning="the value of a policy option is below its minimum, which is also its default",
        fix="set a greater value, or remove the option if the machine has no more NUMA nodes than that",
        commands=(CHECK,),
    ),
    Message(
        code="topology-option-unknown",
        speaker=Speaker.TOPOLOGY_MANAGER,
        texts=(Text("unknown Topology Manager Policy option: {option:quoted}"),),
        meaning="this kubelet does not know an option in topologyManagerPolicyOptions",
        fix="correct the name of the option, or remove it",
        commands=(CHECK, VERSIONS),
    ),
    Message(
        code="topology-option-gated",
        speaker=Speaker.TOPOLOGY_MANAGER,
        texts=(
            Text(
                "Topology Manager Policy {stage:word} Options not enabled, but option {option:quoted} "
                "provided",
                until=32,
            ),
            Text(
                "topology manager policy {stage:word} options not enabled, but option {option:quoted} "
                "provided",
                33,
            ),
        ),
        meaning=_GATED,
        fix="set TopologyManagerPolicyAlphaOptions or TopologyManagerPolicyBetaOptions to true in "
        "featureGates, or remove the option",
        fixes=for_gated_option("TopologyManagerPolicy"),
        commands=(CHECK, VERSIONS),
    ),
    Message(
        code="topology-options-gated",
        speaker=Speaker.TOPOLOGY_MANAGER,
        texts=(Text("topology manager policy options {options:map} require feature gates {gates:rest}"),),
        meaning="the feature gate for all policy options of the Topology Manager is disabled",
        fix="set featureGates: {TopologyManagerPolicyOptions: true}, or remove topologyManagerPolicyOptions",
        commands=(CHECK, VERSIONS),
    ),
    Message(
        code="too-many-numa-nodes",
        speaker=Speaker.TOPOLOGY_MANAGER,
        texts=(Text("unsupported on machines with more than {most:n} NUMA Nodes"),),
        meaning="the Topology Manager tries every set of NUMA nodes, and does not support machines with more "
        "nodes",
        fix="set topologyManagerPolicy: none or, from 1.31 on, set the option max-allowable-numa-nodes "
        "in topologyManagerPolicyOptions",
        commands=("cpuctl topology show", CHECK),
    ),
    Message(
        code="policy-unknown",
        speaker=Speaker.KUBELET,
        texts=(
            Text("unknown policy: {policy:quoted}"),
            Text("policy {policy:quoted} is not available for platform {platform:quoted}"),
            Text(
                "topologyManagerPolicy (--topology-manager-policy) {policy:quoted} must be one of: "
                "{known:rest}"
            ),
        ),
        meaning="a policy is misspelled (names are case-sensitive), or not available on Linux",
        fix="set a valid policy: cpuManagerPolicy: none or static, memoryManagerPolicy: None or Static, "
        "topologyManagerPolicy: none, best-effort, restricted or single-numa-node",
        commands=(CHECK,),
        evidence=f"{OF_A_KUBELET}|(?i:manager)|^\\W*unknown policy: ",
    ),
    Message(
        code="reserved-memory",
        speaker=Speaker.MEMORY_MANAGER,
        texts=(
            Text("[memorymanager] you should specify the system reserved memory"),
            Text(
                "the reserved memory configuration references a NUMA node {node:n} that does not exist "
                "on this machine"
            ),
            Text(
                "the total amount {total:quoted} of type {resource:quoted} is not equal to the value "
                "{due:quoted} "
                "determined by Node Allocatable feature"
            ),
            Text("reserved memory may not be zero for NUMA node {node:n} and resource {resource:quoted}"),
            Text(
                "the reserved memory has a duplicate value for NUMA node {node:n} and resource "
                "{resource:quoted}"
            ),
            Text("could not covert a variable of type Quantity to int64"),
        ),
        meaning="with memoryManagerPolicy: Static, the amounts in reservedMemory must add up, over all "
        "NUMA nodes, to exactly what kubeReserved, systemReserved and evictionHard reserve, and must be "
        "whole numbers (1536Mi, not 1.5Gi)",
        fix="set reservedMemory to the values that cpuctl config reserve prints",
        commands=(_RESERVE, CHECK),
    ),
)
