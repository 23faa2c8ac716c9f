"""Kubelets that do not start, and how each part of the fix for their messages is followed."""

from __future__ import annotations

from tests.cli.test_fixes import MEMORY, STATIC, Config, memory_of
from tests.support.followed_fixes import cpu_options, options, settings

RESTRICTED: Config = {"topologyManagerPolicy": "restricted"}
SINGLE: Config = {"topologyManagerPolicy": "single-numa-node"}
POLICIES = (
    "set a valid policy: cpuManagerPolicy: none or static, memoryManagerPolicy: None or Static, "
    "topologyManagerPolicy: none, best-effort, restricted or single-numa-node"
)
GRACE: Config = {"evictionSoftGracePeriod": {"memory.available": "1m30s"}}
BY_CGROUP: Config = {
    "kubeReserved": {"cpu": "1"},
    "kubeReservedCgroup": "/kube.slice",
    "enforceNodeAllocatable": ["pods", "kube-reserved"],
}
CORRECTED = "correct the name of the option"
IN_SIGNALS = (
    "correct the signal or remove it: usual ones are memory.available, nodefs.available, nodefs.inodesFree, "
    "imagefs.available, imagefs.inodesFree and pid.available"
)
BEYOND_MACHINE = "set kubeReserved.cpu and systemReserved.cpu so that they add up to fewer CPUs"
MANY = "synthetic:2s12n12c1t,mem=4Gi"
STARTS = [
    settings(
        "no-reserved-cpus",
        {"cpuManagerPolicy": "static"},
        {
            "set reservedSystemCPUs": {"reservedSystemCPUs": "0"},
            ", if kubeReservedCgroup or systemReservedCgroup is set, kubeReserved.cpu": BY_CGROUP,
            "systemReserved.cpu": {"systemReserved": {"cpu": "1"}, "systemReservedCgroup": "/system.slice"},
        },
    ),
    settings(
        "reserved-cpus-short",
        {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "16"}, "systemReserved": {"cpu": "17"}},
        {BEYOND_MACHINE: {"systemReserved": {"cpu": "1"}}},
    ),
    settings(
        "reserved-cpus-offline",
        STATIC | {"reservedSystemCPUs": "0,32"},
        {
            "bring CPU 32 online if this machine has it": {"reservedSystemCPUs": "0,31"},
            'set reservedSystemCPUs: "0"': {"reservedSystemCPUs": "0"},
        },
    ),
    settings(
        "reserved-cpus-beside-cgroup",
        STATIC | BY_CGROUP,
        {
            "remove reservedSystemCPUs and set kubeReserved.cpu or systemReserved.cpu": {
                "reservedSystemCPUs": None
            },
            "remove kubeReservedCgroup and systemReservedCgroup (with their entries in "
            "enforceNodeAllocatable)": {"kubeReservedCgroup": None, "enforceNodeAllocatable": ["pods"]},
        },
    ),
    settings(
        "cpu-option-unknown",
        STATIC | cpu_options(full_cores="true"),
        {CORRECTED: cpu_options(full_pcpus_only="true"), "remove it": {"cpuManagerPolicyOptions": {}}},
    ),
    settings(
        "cpu-options-of-none",
        cpu_options(full_pcpus_only="true"),
        {
            "set cpuManagerPolicy: static and reserve CPUs for it": STATIC,
            "remove cpuManagerPolicyOptions": {"cpuManagerPolicyOptions": None},
        },
    ),
    *(
        settings(
            "cpu-option-gated",
            STATIC | cpu_options(**{option: "true"}) | {"featureGates": gates},
            {
                f"set featureGates: {{CPUManagerPolicy{stage}Options: true}}": {
                    "featureGates": {f"CPUManagerPolicy{stage}Options": True}
                },
                "remove the option": {"cpuManagerPolicyOptions": {}},
            },
            stage,
            release=release,
        )
        for stage, option, gates, release in (
            ("Alpha", "align_by_socket", {}, "1.33"),
            ("Beta", "full_pcpus_only", {"CPUManagerPolicyBetaOptions": False}, "1.31"),
        )
    ),
    settings(
        "cpu-options-gated",
        STATIC | cpu_options(full_pcpus_only="true") | {"featureGates": {"CPUManagerPolicyOptions": False}},
        {
            "set featureGates: {CPUManagerPolicyOptions: true}": {
                "featureGates": {"CPUManagerPolicyOptions": True}
            },
            "remove cpuManagerPolicyOptions": {"cpuManagerPolicyOptions": None},
        },
        release="1.31",
    ),
    settings(
        "cpu-options-conflict",
        STATIC
        | cpu_options(distribute_cpus_across_numa="true", prefer_align_cpus_by_uncorecache="true")
        | {"featureGates": {"CPUManagerPolicyAlphaOptions": True}},
        {"remove one of the two options": cpu_options(prefer_align_cpus_by_uncorecache="true")},
    ),
    settings(
        "align-by-socket-policy",
        STATIC
        | SINGLE
        | cpu_options(align_by_socket="true")
        | {"featureGates": {"CPUManagerPolicyAlphaOptions": True}},
        {
            "remove align-by-socket": {"cpuManagerPolicyOptions": {}},
            "set topologyManagerPolicy: restricted": RESTRICTED,
        },
    ),
    settings(
        "align-by-socket-machine",
        STATIC
        | RESTRICTED
        | cpu_options(align_by_socket="true")
        | {"featureGates": {"CPUManagerPolicyAlphaOptions": True}},
        {"remove align-by-socket": {"cpuManagerPolicyOptions": {}}},
        machine="synthetic:4s2n8c2t,mem=8Gi",
    ),
    settings(
        "option-value",
        STATIC | cpu_options(full_pcpus_only="yes"),
        {'set it to "true" or "false", in quotes': cpu_options(full_pcpus_only="true")},
    ),
    settings(
        "option-value",
        RESTRICTED | {"topologyManagerPolicyOptions": options(max_allowable_numa_nodes="many")},
        {
            'set max-allowable-numa-nodes to a whole number such as "16", in quotes': {
                "topologyManagerPolicyOptions": options(max_allowable_numa_nodes="16")
            }
        },
        "number",
        machine=MANY,
    ),
    settings(
        "option-too-small",
        RESTRICTED | {"topologyManagerPolicyOptions": options(max_allowable_numa_nodes="7")},
        {
            "set a greater value": {"topologyManagerPolicyOptions": options(max_allowable_numa_nodes="16")},
            "remove the option if the machine has no more NUMA nodes than that": {
                "topologyManagerPolicyOptions": {}
            },
        },
    ),
    settings(
        "topology-option-unknown",
        RESTRICTED | {"topologyManagerPolicyOptions": options(closest="true")},
        {
            CORRECTED: {"topologyManagerPolicyOptions": options(prefer_closest_numa_nodes="true")},
            "remove it": {"topologyManagerPolicyOptions": {}},
        },
    ),
    *(
        settings(
            "topology-option-gated",
            RESTRICTED | {"topologyManagerPolicyOptions": options(**{option: value}), "featureGates": gates},
            {
                f"set featureGates: {{TopologyManagerPolicy{stage}Options: true}}": {
                    "featureGates": gates | {f"TopologyManagerPolicy{stage}Options": True}
                },
                "remove the option": {"topologyManagerPolicyOptions": {}},
            },
            stage,
            release=release,
        )
        for stage, option, value, gates, release in (
            ("Alpha", "prefer_closest_numa_nodes", "true", {"TopologyManagerPolicyOptions": True}, "1.27"),
            ("Beta", "max_allowable_numa_nodes", "9", {"TopologyManagerPolicyBetaOptions": False}, "1.33"),
        )
    ),
    settings(
        "topology-options-gated",
        RESTRICTED
        | {
            "topologyManagerPolicyOptions": options(prefer_closest_numa_nodes="true"),
            "featureGates": {"TopologyManagerPolicyOptions": False},
        },
        {
            "set featureGates: {TopologyManagerPolicyOptions: true}": {
                "featureGates": {"TopologyManagerPolicyOptions": True}
            },
            "remove topologyManagerPolicyOptions": {"topologyManagerPolicyOptions": None},
        },
        release="1.31",
    ),
    settings(
        "too-many-numa-nodes",
        RESTRICTED,
        {
            "set topologyManagerPolicy: none": {"topologyManagerPolicy": "none"},
            ", from 1.31 on, set the option max-allowable-numa-nodes in topologyManagerPolicyOptions": {
                "topologyManagerPolicyOptions": options(max_allowable_numa_nodes="16")
            },
        },
        machine=MANY,
        release="1.31",
    ),
    *(
        settings("policy-unknown", before, {POLICIES: after}, name)
        for name, before, after in (
            ("cpu", STATIC | {"cpuManagerPolicy": "Static"}, STATIC),
            ("memory", {"memoryManagerPolicy": "none"}, {"memoryManagerPolicy": "None"}),
            ("topology", {"topologyManagerPolicy": "Restricted"}, RESTRICTED),
        )
    ),
    *(
        settings(
            "reserved-memory",
            MEMORY | {"reservedMemory": wrong},
            {
                "set reservedMemory to the values that cpuctl config reserve prints": {
                    "reservedMemory": memory_of(0, memory="1124Mi")
                }
            },
            name,
        )
        for name, wrong in (
            ("sum", memory_of(0, memory="1Gi")),
            ("node", memory_of(9, memory="1124Mi")),
            ("zero", [*memory_of(0, memory="1124Mi"), *memory_of(1, memory="0")]),
            ("twice", [*memory_of(0, memory="1Gi"), *memory_of(0, memory="100Mi")]),
        )
    ),
    *(
        settings(
            "reservation-amount",
            {"kubeReserved": wrong},
            {
                "reserve only cpu, memory, ephemeral-storage and pid, in quantities such as 500m or 1Gi": {
                    "kubeReserved": {"memory": "1Gi"}
                }
            },
            name,
        )
        for name, wrong in (("amount", {"memory": "1GB"}), ("resource", {"cpus": "1"}))
    ),
    *(
        settings("eviction-signal", before, {IN_SIGNALS: after})
        for before, after in (
            ({"evictionHard": {"memory.free": "1Gi"}}, {"evictionHard": {"memory.available": "1Gi"}}),
            ({"evictionMinimumReclaim": {"memory.free": "1Gi"}}, {"evictionMinimumReclaim": {}}),
        )
    ),
    *(
        settings(
            "eviction-threshold",
            {name: {"memory.available": wrong}} | grace,
            {
                "set it to a quantity such as 100Mi, or to a percentage such as 5%": {
                    name: {"memory.available": "5%"}
                }
            },
            f"{name} {wrong}",
        )
        for name, grace in (("evictionHard", {}), ("evictionSoft", GRACE), ("evictionMinimumReclaim", {}))
        for wrong in ("-5%", "0%", "-1", "200%")
        if (wrong == "0%") == (name == "evictionMinimumReclaim") or wrong in ("-1", "-5%")
    ),
    settings(
        "eviction-grace-period",
        {"evictionSoft": {"memory.available": "5%"}},
        {"set evictionSoftGracePeriod: {memory.available: 1m30s}": GRACE},
        "missing",
    ),
    settings(
        "eviction-grace-period",
        {"evictionSoft": {"memory.available": "5%"}, "evictionSoftGracePeriod": {"memory.available": "-1m"}},
        {"set it to a duration such as 1m30s": GRACE},
        "negative",
    ),
    settings(
        "duration",
        {"evictionSoft": {"memory.available": "5%"}, "evictionSoftGracePeriod": {"memory.available": "1x"}},
        {"set durations such as 30s or 1m30s": GRACE},
    ),
    settings(
        "qos-reserved",
        {"qosReserved": {"cpu": "50%"}, "featureGates": {"QOSReserved": True}},
        {"set qosReserved only for memory, to a percentage such as 50%": {"qosReserved": {"memory": "50%"}}},
    ),
    settings(
        "node-allocatable",
        {"kubeReserved": {"memory": "1000Gi"}},
        {"reserve less of the resource that the message names": {"kubeReserved": {"memory": "1Gi"}}},
    ),
    settings(
        "gate-unknown",
        {"featureGates": {"MemoryQos": True}},
        {
            "correct the name of the gate": {"featureGates": {"MemoryQoS": True}},
            "remove it from featureGates": {"featureGates": {}},
        },
    ),
    settings(
        "gate-locked",
        {"featureGates": {"NodeSwap": False}},
        {"remove the gate from featureGates": {"featureGates": {}}},
    ),
    settings(
        "gate-dependency",
        {"featureGates": {"PodLevelResources": False}},
        {
            "enable the gates in brackets": {"featureGates": {}},
            "disable the one that depends on them": {
                "featureGates": {
                    "PodLevelResources": False,
                    "InPlacePodLevelResourcesVerticalScaling": False,
                    "PodLevelResourceManagers": False,
                }
            },
        },
    ),
    settings(
        "cpu-list",
        STATIC | {"reservedSystemCPUs": "0, 1"},
        {"set CPU lists such as 0-3,8, without spaces": {"reservedSystemCPUs": "0,1"}},
    ),
    settings(
        "configuration-quantity",
        {"evictionHard": {"memory.available": "1GB"}},
        {
            "set quantities such as 500m, 1Gi or, for thresholds, 5%": {
                "evictionHard": {"memory.available": "1Gi"}
            }
        },
    ),
    settings(
        "configuration-rejected",
        {"containerLogMaxFiles": 1},
        {"correct the setting that the message names": {"containerLogMaxFiles": 2}},
    ),
    *(
        settings(code, {name: wrong}, {fix: {name: right}})
        for code, name, wrong, right, fix in (
            (
                "tls-version",
                "tlsMinVersion",
                "TLS13",
                "VersionTLS13",
                "set tlsMinVersion: VersionTLS12 or VersionTLS13",
            ),
            (
                "authorization-mode",
                "authorization",
                {"mode": "RBAC"},
                {"mode": "Webhook"},
                "set authorization.mode: Webhook or AlwaysAllow",
            ),
            (
                "change-detection",
                "configMapAndSecretChangeDetectionStrategy",
                "Poll",
                "Watch",
                "set configMapAndSecretChangeDetectionStrategy: Watch, Cache or Get",
            ),
            (
                "sync-frequency",
                "syncFrequency",
                "-1s",
                "1m",
                "set syncFrequency to a positive duration such as 1m",
            ),
            (
                "container-logs",
                "containerLogMaxSize",
                "some",
                "10Mi",
                "set containerLogMaxSize to a quantity such as 10Mi, and containerLogMaxFiles to 2 or more",
            ),
        )
    ),
    settings(
        "system-cgroups",
        {"systemCgroups": "/", "cgroupRoot": "/"},
        {
            "set systemCgroups to another cgroup": {"systemCgroups": "/system.slice"},
            "remove it": {"systemCgroups": None},
        },
    ),
]
