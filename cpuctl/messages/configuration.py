"""What a kubelet reports about its configuration as a whole, its feature gates and thresholds, and its node.

Sources: ``cmd/kubelet/app``, ``pkg/kubelet/eviction`` and ``pkg/kubelet/apis/config/validation`` of 1.27 to
1.36, and recorded answers.
"""

from __future__ import annotations

from cpuctl.messages.admission import NO_QUANTITY
from cpuctl.messages.fixes import for_grace_period
from cpuctl.messages.message import OF_A_KUBELET, Message, Speaker, Text
from cpuctl.messages.starting import CHECK, VERSIONS

_VALUES = (
    (
        "duration",
        "a duration has no unit, or one that does not exist",
        "set durations such as 30s or 1m30s",
        Text("time: unknown unit {what:rest}"),
        Text("time: missing unit in duration {what:rest}"),
        Text("time: invalid duration {what:rest}"),
    ),
    (
        "tls-version",
        "tlsMinVersion has an unknown value",
        "set tlsMinVersion: VersionTLS12 or VersionTLS13",
        Text("unknown tls version {version:quoted}"),
    ),
    (
        "authorization-mode",
        "authorization.mode has an unknown value",
        "set authorization.mode: Webhook or AlwaysAllow",
        Text("unknown authorization mode {mode:word}"),
    ),
    (
        "change-detection",
        "configMapAndSecretChangeDetectionStrategy has an unknown value",
        "set configMapAndSecretChangeDetectionStrategy: Watch, Cache or Get",
        Text("unknown configmap and secret manager mode: {mode:word}"),
    ),
    (
        "sync-frequency",
        "syncFrequency is negative",
        "set syncFrequency to a positive duration such as 1m",
        Text("invalid sync frequency {nanoseconds:n}"),
    ),
    (
        "container-logs",
        "containerLogMaxSize or containerLogMaxFiles has an invalid value",
        "set containerLogMaxSize to a quantity such as 10Mi, and containerLogMaxFiles to 2 or more",
        Text("failed to initialize container log manager: {cause:rest}"),
    ),
    (
        "system-cgroups",
        "systemCgroups is the root cgroup",
        "set systemCgroups to another cgroup, or remove it",
        Text('system container cannot be root ("/")'),
    ),
    (
        "swap-needs-cgroup-v2",
        "memorySwap.swapBehavior: LimitedSwap needs cgroup v2, and the node uses cgroup v1",
        "set memorySwap.swapBehavior: NoSwap, or boot with cgroup v2 (systemd.unified_cgroup_hierarchy=1)",
        Text("swap feature is enabled and LimitedSwap but it is only supported with cgroupv2", 30),
    ),
)
"""Settings that a kubelet reads only while it starts: code, meaning, fix and texts."""

CONFIGURATION = (
    Message(
        code="reservation-amount",
        speaker=Speaker.KUBELET,
        texts=(
            Text("--kube-reserved value failed to parse: {cause:rest}"),
            Text("--system-reserved value failed to parse: {cause:rest}"),
        ),
        meaning="an amount in kubeReserved or systemReserved is not a valid quantity, or reserves a resource "
        "of which the kubelet can reserve nothing",
        fix="reserve only cpu, memory, ephemeral-storage and pid, in quantities such as 500m or 1Gi",
        commands=(CHECK,),
    ),
    Message(
        code="eviction-signal",
        speaker=Speaker.KUBELET,
        texts=(Text("unsupported eviction signal {signal:word}"),),
        meaning="evictionHard, evictionSoft or a setting beside them has a signal that the kubelet does not "
        "know",
        fix="correct the signal or remove it: usual ones are memory.available, nodefs.available, "
        "nodefs.inodesFree, imagefs.available, imagefs.inodesFree and pid.available",
        commands=(CHECK,),
    ),
    Message(
        code="eviction-threshold",
        speaker=Speaker.KUBELET,
        texts=(
            Text("--eviction-hard value failed to parse: {cause:rest}"),
            Text("eviction percentage threshold {signal:word} must be {cause:rest}"),
            Text("eviction threshold {signal:word} must be positive: {amount:word}"),
            Text("invalid eviction threshold {cause:rest}"),
            Text("eviction percentage minimum reclaim {signal:word} must be positive: {amount:word}"),
            Text("negative eviction minimum reclaim specified for {signal:word}"),
        ),
        meaning="an amount in evictionHard, evictionSoft or evictionMinimumReclaim is out of range",
        fix="set it to a quantity such as 100Mi, or to a percentage such as 5%",
        commands=(CHECK,),
    ),
    Message(
        code="eviction-grace-period",
        speaker=Speaker.KUBELET,
        texts=(
            Text("grace period must be specified for the soft eviction threshold {signal:word}"),
            Text("invalid eviction grace period specified: {period:word}, must be a positive value"),
        ),
        meaning="every signal in evictionSoft needs a positive duration in evictionSoftGracePeriod",
        fix="set it to a duration such as 1m30s",
        fixes=for_grace_period,
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
        texts=(
            Text("invalid Node Allocatable configuration. Resource {resource:quoted} has {amounts:rest}"),
        ),
        meaning="kubeReserved, systemReserved and evictionHard together exceed the node's capacity",
        fix="reserve less of the resource that the message names",
        commands=("cpuctl config show -m NODE --kubelet-config CONFIG", CHECK),
    ),
    Message(
        code="gate-unknown",
        speaker=Speaker.KUBELET,
        texts=(Text("unrecognized feature gate: {gate:word}"),),
        meaning="this release has no such feature gate: it is misspelled, newer, or was removed when its "
        "feature became permanent",
        fix="correct the name of the gate, or remove it from featureGates",
        commands=(CHECK, VERSIONS),
    ),
    Message(
        code="gate-locked",
        speaker=Speaker.KUBELET,
        texts=(
            Text("cannot set feature gate {gate:word} to {value:word}, feature is locked to {locked:word}"),
        ),
        meaning="the feature gate can no longer be changed in this release",
        fix="remove the gate from featureGates",
        commands=(CHECK, VERSIONS),
    ),
    Message(
        code="gate-dependency",
        speaker=Speaker.KUBELET,
        texts=(
            Text("{gate:name} is enabled, but depends on features that are disabled: [{missing:rest}]", 35),
        ),
        meaning="an enabled feature gate depends on another one, which is disabled",
        fix="enable the gates in brackets, or disable the one that depends on them",
        commands=(CHECK, VERSIONS),
    ),
    Message(
        code="cgroup-v1",
        speaker=Speaker.KUBELET,
        texts=(Text("cgroup v1 support is {what:rest}", 31), Text("Cgroup v1 support is {what:rest}", 31)),
        meaning="the node uses cgroup v1, which this kubelet warns about or rejects",
        fix="boot with cgroup v2 (systemd.unified_cgroup_hierarchy=1) or, if the kubelet does not start, set "
        "failCgroupV1: false",
        commands=(CHECK,),
    ),
    Message(
        code="cgroup-controllers",
        speaker=Speaker.KUBELET,
        texts=(
            Text("has some missing controllers: {controllers:rest}"),
            Text("has some missing paths: {paths:rest}"),
        ),
        meaning="the cgroup above the pods lacks a controller that the kubelet needs: the kernel does not "
        "provide it, or it is not enabled in cgroup.subtree_control of a parent group",
        fix="enable the controller from the root downwards, have systemd delegate it (Delegate=yes), or boot "
        "with it if cgroup.controllers of the root does not list it",
        commands=("sudo cpuctl cgroups show",),
    ),
    Message(
        code="cgroup-root",
        speaker=Speaker.KUBELET,
        texts=(Text("cgroup-root {group:rest} doesn't exist"),),
        meaning="the cgroup that cgroupRoot (--cgroup-root) names does not exist",
        fix="create the cgroup before the kubelet starts, or correct cgroupRoot",
        commands=("sudo cpuctl cgroups show", CHECK),
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
            Text("unable to parse reserved-cpus list: {cause:rest}"),
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
        code="configuration-kind",
        speaker=Speaker.KUBELET,
        texts=(
            Text("Object 'Kind' is missing in {what:rest}"),
            Text('no kind "KubeletConfiguration" is registered for {version:rest}'),
        ),
        meaning="the file does not begin like a KubeletConfiguration",
        fix="set apiVersion: kubelet.config.k8s.io/v1beta1 and kind: KubeletConfiguration",
        commands=(CHECK,),
        evidence=OF_A_KUBELET,
    ),
    Message(
        code="configuration-decode",
        speaker=Speaker.KUBELET,
        texts=(
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
        code="flag-rejected",
        speaker=Speaker.KUBELET,
        texts=(
            Text("failed to parse kubelet flag: {cause:rest}"),
            Text("unknown flag: {flag:word}"),
            Text("unknown shorthand flag: {flag:rest}"),
        ),
        meaning="the kubelet does not know a flag, perhaps because its release no longer has it, or cannot "
        "read the value",
        fix="correct or remove the flag that the message names",
        commands=(CHECK,),
        evidence=OF_A_KUBELET,
    ),
    *(
        Message(
            code=code,
            speaker=Speaker.KUBELET,
            texts=tuple(texts),
            meaning=meaning,
            fix=fix,
            commands=(CHECK,),
            evidence=OF_A_KUBELET,
        )
        for code, meaning, fix, *texts in _VALUES
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
