"""Pods that a kubelet rejects, and how each part of the fix for its messages is followed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.cli.test_fixes import STATIC, Config, memory_of
from tests.support.followed_fixes import Case, Node, Pod, cpu_options

Amounts = Mapping[str, str]
SMALL = "synthetic:2s2n4c2t,mem=4Gi"
"""16 CPUs and 8 GiB on two NUMA nodes."""
ONE = "synthetic:1s1n4c2t,mem=8Gi"
PINNED: Config = {"memoryManagerPolicy": "Static", "reservedMemory": memory_of(0, memory="100Mi")}
WHOLE = STATIC | cpu_options(full_pcpus_only="true")
RESTRICTED: Config = {"topologyManagerPolicy": "restricted"}
BEST_EFFORT: Config = {"topologyManagerPolicy": "best-effort"}
POD_SCOPE: Config = {"topologyManagerScope": "pod"}
POD_LEVEL: Config = {"featureGates": {"PodLevelResources": True, "PodLevelResourceManagers": True}}
NIC = "example.com/nic"


def amounts(cpu: str, memory: str = "1Mi", **others: str) -> Amounts:
    return {"cpu": cpu, "memory": memory} | {name.replace("_", "-"): text for name, text in others.items()}


def pod(
    name: str, *containers: Amounts, whole: Amounts | None = None, source: str = "api", **spec: Any
) -> Pod:
    """Return a pod with a container for each of the amounts; *whole* are those of the pod itself."""
    own = [
        {"name": f"c{number}", "resources": {"requests": each, "limits": each}}
        for number, each in enumerate(containers)
    ]
    if whole:
        spec |= {"resources": {"requests": whole, "limits": whole}}
    metadata = {"name": name, "uid": name, "annotations": {"kubernetes.io/config.source": source}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata} | {"spec": {"containers": own} | spec}


def node(config: Config, *pods: Pod, machine: str = SMALL, **more: Any) -> Node:
    return Node(config=config, machine=machine, pods=pods, **more)


def with_pods(before: Node, *pods: Pod) -> Node:
    return replace(before, pods=pods)


BIG, LARGE, LOW = pod("big", amounts("10")), pod("large", amounts("6")), pod("low", amounts("2"))
THREE = node(STATIC | RESTRICTED, pod("three", amounts("5"), amounts("5"), amounts("5")))
UNEVEN = node(WHOLE, pod("uneven", amounts("3")))
FULL = node(WHOLE, BIG, LARGE)
SPLIT = node(WHOLE | {"reservedSystemCPUs": "0-1"}, pod("wide", amounts("14")))
OLD = node(WHOLE, pod("one", amounts("6")), LOW, machine=ONE, release="1.31")
OLD_SPLIT = node(
    WHOLE | {"reservedSystemCPUs": "0-1"}, LOW, machine="synthetic:1s1n2c2t,mem=8Gi", release="1.31"
)
BEYOND = node({"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "500m"}}, BIG, LARGE)
UNPINNED = node(PINNED, pod("db", amounts("1", "9Gi")))
RESERVED = node(
    PINNED | {"systemReserved": {"memory": "3Gi"}, "reservedMemory": memory_of(0, memory="3172Mi")},
    pod("db", amounts("1", "6Gi")),
)
PAGED = node(
    PINNED,
    pod("web", amounts("1", hugepages_2Mi="2Mi")),
    pod("db", amounts("1", hugepages_2Mi="6Mi")),
    machine=f"{SMALL},hugepages-2Mi=2",
)
EXTENDED = node(
    PINNED | BEST_EFFORT, pod("db", amounts("5", "5Gi")), pod("log", amounts("1", "3Gi")), machine=ONE
)
GROUPED = node(PINNED | RESTRICTED, pod("db", amounts("1", "2Gi"), amounts("3", "5Gi")))
APART = node(PINNED | RESTRICTED, pod("web", amounts("1", "2Gi")), pod("db", amounts("3", "5Gi")))
UNWHOLE = node(PINNED, pod("db", amounts("1", "1500m")))
WHOLE_POD = node(
    STATIC | PINNED | POD_LEVEL | POD_SCOPE | {"topologyManagerPolicy": "single-numa-node"},
    pod("db", amounts("2", "1Gi"), {}, whole=amounts("9", "3Gi")),
)
LEAVES_NONE = WHOLE_POD.with_config(**RESTRICTED)
BUDGET = node(
    STATIC | PINNED | POD_LEVEL | BEST_EFFORT | POD_SCOPE,
    pod("db", amounts("2", "1Gi"), {}, whole=amounts("4", "1Gi")),
)
HEAVY = node({}, pod("web", amounts("1", "4Gi")), pod("db", amounts("1", "4Gi")))
CROWDED = node({"maxPods": 1}, LOW, pod("more", amounts("1")))
GATE_OFF = node(
    {"featureGates": dict.fromkeys(("PodLevelResources", "InPlacePodLevelResourcesVerticalScaling"), False)},
    pod("db", amounts("1", "1Gi"), whole=amounts("2", "2Gi"), source="file"),
)
SIDECAR = node(
    {},
    pod("db", amounts("1"), initContainers=[{"name": "log", "restartPolicy": "Always"}]),
    release="1.28",
)

FEWER, MOVED = "request fewer CPUs", "move a pod with exclusive CPUs to another node"
WHOLE_CORES = "reserve only whole cores in reservedSystemCPUs"
ADMISSIONS: list[Case] = [
    Case(
        "topology-affinity",
        THREE,
        {
            "request no more than what is free on one NUMA node": with_pods(
                THREE, pod("three", amounts("5"), amounts("5"), amounts("2"))
            ),
            "use topologyManagerPolicy: best-effort": THREE.with_config(**BEST_EFFORT),
            ", with restricted, topologyManagerScope: pod": THREE.with_config(**POD_SCOPE),
        },
    ),
    Case(
        "smt-alignment",
        UNEVEN,
        {
            "request a multiple of the number of threads per core, with requests equal to limits": with_pods(
                UNEVEN, LOW
            )
        },
    ),
    Case("smt-alignment", OLD, {MOVED: with_pods(OLD, LOW)}, "whole cores"),
    Case(
        "smt-alignment",
        OLD_SPLIT,
        {WHOLE_CORES: OLD_SPLIT.with_config(reservedSystemCPUs="0,2")},
        "split cores",
    ),
    Case("too-few-free-cores", FULL, {FEWER: with_pods(FULL, BIG, LOW), MOVED: with_pods(FULL, LARGE)}),
    Case(
        "too-few-free-cores",
        SPLIT,
        {WHOLE_CORES: SPLIT.with_config(reservedSystemCPUs="0,8")},
        "split cores",
    ),
    Case("not-enough-cpus", BEYOND, {FEWER: with_pods(BEYOND, BIG, LOW), MOVED: with_pods(BEYOND, LOW)}),
    Case(
        "no-memory-affinity",
        UNPINNED,
        {"request less": with_pods(UNPINNED, pod("db", amounts("1", "7Gi")))},
    ),
    Case(
        "no-memory-affinity",
        RESERVED,
        {
            "reserve less memory (kubeReserved, systemReserved and evictionHard, with reservedMemory to "
            "match)": RESERVED.with_config(systemReserved=None, reservedMemory=memory_of(0, memory="100Mi"))
        },
        "reserved",
    ),
    Case(
        "no-memory-affinity",
        PAGED,
        {"allocate more huge pages on the node": replace(PAGED, machine=f"{SMALL},hugepages-2Mi=4")},
        "huge pages",
    ),
    Case(
        "memory-hint-not-extended",
        EXTENDED,
        {
            "request less memory": with_pods(
                EXTENDED, pod("db", amounts("5", "5Gi")), pod("log", amounts("1", "2Gi"))
            ),
            "move pods with pinned memory off a NUMA node": with_pods(EXTENDED, EXTENDED.pods[1]),
        },
    ),
    Case(
        "memory-group",
        GROUPED,
        {
            "request less memory than one NUMA node has": with_pods(
                GROUPED, pod("db", amounts("1", "2Gi"), amounts("3", "3Gi"))
            ),
            "use topologyManagerScope: pod if it is a container of the same pod": GROUPED.with_config(
                **POD_SCOPE
            ),
        },
    ),
    Case("memory-group", APART, {"move the pod that uses the node": with_pods(APART, APART.pods[1])}, "pods"),
    Case(
        "memory-quantity",
        UNWHOLE,
        {
            "set the quantity to a whole number of bytes, Ki, Mi or Gi": with_pods(
                UNWHOLE, pod("db", amounts("1", "2Ki"))
            )
        },
    ),
    Case(
        "pod-level-scope",
        WHOLE_POD,
        {"request less": with_pods(WHOLE_POD, pod("db", amounts("2", "1Gi"), {}, whole=amounts("6", "3Gi")))},
    ),
    Case(
        "pod-level-scope",
        with_pods(LEAVES_NONE, pod("db", amounts("2", "1Gi"), {}, whole=amounts("2", "2Gi"))),
        {
            "request more in spec.resources than the containers together": with_pods(
                LEAVES_NONE, pod("db", amounts("2", "1Gi"), {}, whole=amounts("4", "2Gi"))
            )
        },
        "leaves none",
    ),
    Case(
        "pod-level-budget",
        BUDGET,
        {
            "raise spec.resources above the sum of the exclusive containers": with_pods(
                BUDGET, pod("db", amounts("2", "1Gi"), {}, whole=amounts("4", "2Gi"))
            )
        },
    ),
    Case(
        "node-full",
        HEAVY,
        {
            "move a pod to another node": with_pods(HEAVY, HEAVY.pods[0]),
            "request less memory": with_pods(HEAVY, HEAVY.pods[0], LOW),
        },
    ),
    Case(
        "node-full",
        HEAVY.with_config(kubeReserved={"memory": "4Gi"}),
        {
            "reserve less of it on the node (kubeReserved, systemReserved, evictionHard)": node(
                {}, HEAVY.pods[0], pod("db", amounts("1", "3Gi"))
            )
        },
        "reserved",
    ),
    Case(
        "too-many-pods",
        CROWDED,
        {
            "move a pod to another node": with_pods(CROWDED, LOW),
            "raise maxPods (and podsPerCore, if it is set)": CROWDED.with_config(maxPods=2),
        },
    ),
    Case(
        "pod-level-off",
        GATE_OFF,
        {
            "enable PodLevelResources in this kubelet as well": GATE_OFF.with_config(featureGates={}),
            "remove spec.resources": with_pods(GATE_OFF, LOW),
        },
    ),
    Case(
        "sidecar-off",
        SIDECAR,
        {
            "enable SidecarContainers in this kubelet as well": SIDECAR.with_config(
                featureGates={"SidecarContainers": True}
            )
        },
    ),
]
