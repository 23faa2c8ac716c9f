"""What a kubelet reports if it does not start because of its settings.

Sources: ``cmd/kubelet/app``, ``pkg/kubelet/cm`` and ``pkg/kubelet/apis/config/validation`` of 1.27 to 1.36,
and recorded answers of 1.27 to 1.38.
"""

from __future__ import annotations

from cpuctl.messages.admission import NO_QUANTITY
from cpuctl.messages.fixes import for_offline_cpus, for_option_value
from cpuctl.messages.message import OF_A_KUBELET, Message, Speaker, Text

CHECK = "cpuctl config check -m NODE --kubelet-config CONFIG"
_RESERVE = "cpuctl config reserve -m NODE --kubelet-config CONFIG"
_VERSIONS = "cpuctl config versions --kubelet-config CONFIG"

STARTING = (
    Message(
        code="no-reserved-cpus",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text("unable to determine reserved CPU resources for static policy"),
            Text("the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero"),
        ),
        meaning="cpuManagerPolicy: static requires at least one reserved CPU, and none is reserved",
        fix="set reservedSystemCPUs, or kubeReserved.cpu, or systemReserved.cpu",
        commands=(f"{_RESERVE} --cpu-count 2", CHECK),
    ),
    Message(
        code="reserved-cpus-short",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text(
                "[cpumanager] unable to reserve the required amount of CPUs (size of {found:set} did "
                "not equal "
                "{wanted:n})"
            ),
            Text(
                "[cpumanager] unable to build the reserved physical CPUs from the reserved set: {cause:rest}"
            ),
        ),
        meaning="the reserved CPUs do not match the reserved number of CPUs, or do not exist on this machine",
        fix="reserve fewer CPUs than the machine has (kubeReserved, systemReserved), or list only online "
        "CPUs in reservedSystemCPUs",
        commands=(CHECK,),
    ),
    Message(
        code="reserved-cpus-offline",
        speaker=Speaker.KUBELET,
        texts=(
            Text("reserved-cpus: {reserved:set} is not a subset of online-cpus: {online:set}"),
            Text("unable to parse reserved-cpus list: {cause:rest}"),
        ),
        meaning="reservedSystemCPUs (--reserved-cpus) contains CPUs that are not online, or is not a CPU "
        "list",
        fix="remove CPUs that are not online from reservedSystemCPUs, or bring them online",
        fixes=for_offline_cpus,
        commands=("cpuctl topology show", CHECK),
    ),
    Message(
        code="cpu-option-unknown",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text("unknown CPU Manager Policy option: {option:quoted}"),
            Text("None policy: received unsupported options={options:rest}"),
        ),
        meaning="this kubelet does not know an option in cpuManagerPolicyOptions, or its policy has no "
        "options",
        fix="correct or remove the option",
        commands=(CHECK, _VERSIONS),
    ),
    Message(
        code="cpu-option-gated",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text("CPU Manager Policy Alpha-level Options not enabled, but option {option:quoted} provided"),
            Text("CPU Manager Policy Beta-level Options not enabled, but option {option:quoted} provided"),
        ),
        meaning="the option is not generally available in this release, and the feature gate for its stage "
        "is disabled",
        fix="enable the feature gate CPUManagerPolicyAlphaOptions or CPUManagerPolicyBetaOptions",
        commands=(CHECK, _VERSIONS),
    ),
    Message(
        code="cpu-options-gated",
        speaker=Speaker.CPU_MANAGER,
        texts=(Text("CPU Manager policy options {options:map} require feature gates {gates:rest}"),),
        meaning="the feature gate for all policy options of the CPU Manager is disabled",
        fix="enable the feature gate CPUManagerPolicyOptions, or remove the options",
        commands=(CHECK, _VERSIONS),
    ),
    Message(
        code="cpu-options-conflict",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text("static policy options {one:word} and {other:word} can not be used at the same time"),
            Text(
                "{manager:name} manager single-numa-node policy is incompatible with CPUManager "
                "align-by-socket policy "
                "option"
            ),
            Text(
                "Align by socket is not compatible with hardware where number of sockets are more than "
                "number of "
                "NUMA"
            ),
        ),
        meaning="the CPU Manager's policy options conflict with each other, with the topology policy or "
        "with this machine",
        fix="remove one of the options (align-by-socket if it conflicts with the machine or the topology "
        "policy)",
        commands=(CHECK,),
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
        fix="remove the option, or set a greater value",
        commands=(CHECK,),
    ),
    Message(
        code="topology-option-unknown",
        speaker=Speaker.TOPOLOGY_MANAGER,
        texts=(Text("unknown Topology Manager Policy option: {option:quoted}"),),
        meaning="this kubelet does not know an option in topologyManagerPolicyOptions",
        fix="correct or remove the option",
        commands=(CHECK, _VERSIONS),
    ),
    Message(
        code="topology-option-gated",
        speaker=Speaker.TOPOLOGY_MANAGER,
        texts=(
            Text(
                "Topology Manager Policy Alpha-level Options not enabled, but option {option:quoted} "
                "provided",
                until=32,
            ),
            Text(
                "Topology Manager Policy Beta-level Options not enabled, but option {option:quoted} provided",
                until=32,
            ),
            Text(
                "topology manager policy alpha-level options not enabled, but option {option:quoted} "
                "provided",
                33,
            ),
            Text(
                "topology manager policy beta-level options not enabled, but option {option:quoted} provided",
                33,
            ),
            Text("topology manager policy options {options:map} require feature gates {gates:rest}"),
        ),
        meaning="the option is not generally available in this release, and the feature gate for its stage "
        "is disabled",
        fix="enable the feature gate named in the message, or TopologyManagerPolicyAlphaOptions or "
        "TopologyManagerPolicyBetaOptions",
        commands=(CHECK, _VERSIONS),
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
        fix="valid are cpuManagerPolicy: none or static, memoryManagerPolicy: None or Static, "
        "topologyManagerPolicy: none, best-effort, restricted or single-numa-node",
        commands=(CHECK,),
        evidence=f"{OF_A_KUBELET}|(?i:manager)",
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
            Text("could not covert a variable of type Quantity to int64"),
        ),
        meaning="with memoryManagerPolicy: Static, the amounts in reservedMemory must add up, over all "
        "NUMA nodes, to exactly what kubeReserved, systemReserved and evictionHard reserve, and must be "
        "whole numbers (1536Mi, not 1.5Gi)",
        fix="set reservedMemory to the values that cpuctl config reserve prints",
        commands=(_RESERVE, CHECK),
    ),
    Message(
        code="reservation-amount",
        speaker=Speaker.KUBELET,
        texts=(
            Text("--kube-reserved value failed to parse: {cause:rest}"),
            Text("--system-reserved value failed to parse: {cause:rest}"),
            Text("--eviction-hard value failed to parse: {cause:rest}"),
            Text("unsupported eviction signal {signal:word}"),
            Text("eviction percentage threshold {signal:word} must be {cause:rest}"),
            Text("eviction threshold {signal:word} must be positive: {amount:word}"),
            Text("invalid eviction threshold {cause:rest}"),
        ),
        meaning="a reservation or an eviction threshold is not a valid amount, or names a resource or "
        "signal that the kubelet does not support",
        fix="set quantities such as 500m or 1Gi (for thresholds, also percentages such as 5%), and reserve "
        "only cpu, memory, ephemeral-storage or pid; eviction signals are written like memory.available",
        commands=(CHECK,),
    ),
    Message(
        code="qos-reserved",
        speaker=Speaker.KUBELET,
        texts=(Text("--qos-reserved value failed to parse: {cause:rest}"),),
        meaning="qosReserved names a resource other than memory, or is not a percentage",
        fix="set qosReserved only for memory, to a percentage such as 50%",
        commands=(CHECK,),
    ),
    Message(
        code="node-allocatable",
        speaker=Speaker.KUBELET,
        texts=(Text("invalid Node Allocatable configuration. {cause:rest}"),),
        meaning="kubeReserved, systemReserved and evictionHard together exceed the node's capacity",
        fix="reserve less",
        commands=("cpuctl config show -m NODE --kubelet-config CONFIG", CHECK),
    ),
    Message(
        code="gate-unknown",
        speaker=Speaker.KUBELET,
        texts=(
            Text("unrecognized feature gate: {gate:word}"),
            Text("cannot set feature gate {gate:word} to {value:word}, feature is locked to {locked:word}"),
            Text("{gate:name} is enabled, but depends on features that are disabled: [{missing:rest}]", 35),
        ),
        meaning="a feature gate does not exist in this release, is locked, or depends on another gate",
        fix="remove the gate from featureGates, or enable the gates it depends on",
        commands=(CHECK, _VERSIONS),
    ),
    Message(
        code="cgroup-v1",
        speaker=Speaker.KUBELET,
        texts=(Text("cgroup v1 support is {what:rest}", 31), Text("Cgroup v1 support is {what:rest}", 31)),
        meaning="the node uses cgroup v1, which this kubelet warns about or rejects",
        fix="boot with systemd.unified_cgroup_hierarchy=1 (cgroup v2); a kubelet that rejects cgroup v1 "
        "starts with failCgroupV1: false",
        commands=(CHECK,),
    ),
    Message(
        code="no-topology",
        speaker=Speaker.KUBELET,
        texts=(
            Text("unable to discover CPU topology info: {cause:rest}"),
            Text("could not detect number of cpus"),
            Text("no cpus provided"),
            Text("cpus provided are not unique"),
            Text("cannot discover NUMA topology: {cause:rest}"),
        ),
        meaning="the kubelet cannot read the machine's CPUs or NUMA nodes from sysfs",
        commands=("cpuctl topology show", "cpuctl capture node.tar.xz"),
    ),
    Message(
        code="cpu-list",
        speaker=Speaker.KUBELET,
        texts=(
            Text("invalid range {text:quoted} ({range:rest})"),
            Text("strconv.Atoi: parsing {text:quoted}: {cause:rest}"),
        ),
        meaning="a CPU list or a number is not in the format that the kubelet expects",
        fix="set CPU lists such as 0-3,8, without spaces",
        commands=(CHECK, "sudo cpuctl checkpoint verify"),
        evidence=f"{OF_A_KUBELET}|(?i:cpu.?set|cpu_manager|reserved)",
    ),
    Message(
        code="static-pod-manifest",
        speaker=Speaker.KUBELET,
        texts=(Text("couldn't parse as pod({cause:rest}), please check config file"),),
        meaning="a file in staticPodPath is not the manifest of a pod: the kubelet ignores it",
        fix="correct the file, or move it elsewhere: the kubelet reads every file there",
        commands=("cpuctl pods lint --static -f MANIFESTS",),
    ),
    Message(
        code="static-pod-invalid",
        speaker=Speaker.KUBELET,
        texts=(Text("invalid pod: {cause:rest}"),),
        meaning="the kubelet rejects the static pod in this manifest file",
        fix="correct the field that the message names",
        commands=("cpuctl pods lint --static -f MANIFESTS",),
        evidence="manifest",
    ),
    Message(
        code="configuration-quantity",
        speaker=Speaker.KUBELET,
        texts=NO_QUANTITY,
        meaning="a reservation or an eviction threshold is not an amount",
        fix="set quantities such as 500m, 1Gi or, for thresholds, 5%",
        commands=(CHECK,),
        general=True,
        evidence=OF_A_KUBELET,
    ),
    Message(
        code="configuration-decode",
        speaker=Speaker.KUBELET,
        texts=(
            Text("Object 'Kind' is missing in {what:rest}"),
            Text('no kind "KubeletConfiguration" is registered for {version:rest}'),
            Text("failed to decode: {cause:rest}"),
            Text(
                "failed to load kubelet dropin file, path: {path:word}, error: strict decoding error: "
                "{cause:rest}",
                28,
            ),
        ),
        meaning="the file is not a KubeletConfiguration that this kubelet can read",
        fix="correct what the message names; if another tool manages the configuration, change it there",
        commands=(CHECK,),
        evidence=OF_A_KUBELET,
    ),
    Message(
        code="configuration-lenient",
        speaker=Speaker.KUBELET,
        texts=(Text("strict decoding error: {cause:rest}"),),
        meaning="the kubelet ignores unknown fields of its configuration file, and uses the last of repeated "
        "ones; in a drop-in file, repeated fields keep it from starting",
        fix="correct or remove the fields that the message names",
        commands=(CHECK,),
        evidence=rf"{OF_A_KUBELET}|\bcodec\.go:",
    ),
    Message(
        code="configuration-rejected",
        speaker=Speaker.KUBELET,
        texts=(
            Text("invalid configuration: {cause:reason}"),
            Text(
                "failed to merge global and in-flight KubeletConfiguration while setting defaults, "
                "error: {cause:rest}"
            ),
            Text("{setting:setting}: Invalid value: {cause:rest}"),
            Text("{setting:setting}: Required value: {cause:rest}"),
            Text("{setting:setting}: Unsupported value: {cause:rest}"),
            Text("invalid taint: {taint:rest}"),
            Text("{setting:setting}: Forbidden: {cause:rest}"),
            Text("--show-hidden-metrics-for-version must be omitted or have the value {cause:rest}"),
            Text("failed to validate kubelet configuration, error: {cause:rest}"),
        ),
        meaning="the kubelet rejects its configuration and exits",
        fix="correct the setting that the message names",
        commands=(CHECK,),
        general=True,
        evidence=rf"{OF_A_KUBELET}|\(--[a-z]",
    ),
    Message(
        code="crash",
        speaker=Speaker.KUBELET,
        texts=(Text("runtime error: {cause:fault}"), Text("panic: {cause:rest}")),
        meaning="the kubelet crashed: a kubelet bug triggered by its settings, the machine or a state file",
        commands=(CHECK, "sudo cpuctl checkpoint verify", "cpuctl plan -f PODS -m NODE"),
        general=True,
        evidence=OF_A_KUBELET,
    ),
    Message(
        code="not-started",
        speaker=Speaker.KUBELET,
        texts=(
            Text("failed to run Kubelet"),
            Text("Failed to start ContainerManager"),
            Text("Failed to initialize CPU manager"),
            Text("failed to load kubelet config file"),
        ),
        meaning="the kubelet exits during startup; the reason follows in the message, or in err=",
        commands=(CHECK, "sudo cpuctl checkpoint verify"),
        heading=True,
    ),
)
