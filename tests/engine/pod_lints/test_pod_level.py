# ruff: noqa: E501, ISC004  # texts stand whole in one line, so that they can be searched for
"""Pod-level resources and the resource managers."""

from __future__ import annotations

import pytest

from cpuctl.engine.pod_lints import KubeletView
from cpuctl.pods.model import QosClass
from cpuctl.pods.rules import NodeRules
from tests.support.linted_pods import NONE, STATIC, UNKNOWN, Case, linted
from tests.support.pods import app, init, pod, resources, sidecar

FULL = "cpu=2 memory=1Gi"
ONE = "cpu=1 memory=1Gi"
MANAGERS = KubeletView(
    rules=NodeRules(managers=True), cpu_policy="static", topology_policy="restricted", topology_scope="pod"
)
NO_POOL = "error empty-pod-shared-pool spec.resources: TopologyAffinityError: Pod Scope pod with pod-level resources failed admission under pod-scope topology manager"
UNALIGNED = "pod-level resources are ignored for CPU alignment (KEP-2837): pod is using pod-level resources which are not supported by the static CPU manager policy"
CASES = [
    Case(
        "pod-level resources",
        pod(app(), pod_level=resources(FULL, FULL)),
        UNKNOWN,
        [
            f"note pod-level-not-aligned spec.resources: {UNALIGNED}"
            " | set resources only on the containers, or enable the gate PodLevelResourceManagers"
        ],
    ),
    Case(
        "pod-level resources under the static policy",
        pod(
            app("cpu=1 memory=1Gi", "cpu=1 memory=1Gi"),
            pod_level=resources("cpu=1500m memory=1Gi", "cpu=1500m memory=1Gi"),
        ),
        STATIC,
        [
            f"warning pod-level-not-aligned spec.resources: {UNALIGNED}"
            " | set resources only on the containers, or enable the gate PodLevelResourceManagers"
        ],
    ),
    Case(
        "pod-level resources, not whole, and only some containers are",
        pod(
            app(ONE, ONE, "a"),
            app(name="b"),
            pod_level=resources("cpu=1500m memory=1Gi", "cpu=1500m memory=1Gi"),
        ),
        UNKNOWN,
        [
            f"note pod-level-not-aligned spec.resources: {UNALIGNED}"
            " | set resources only on the containers, or enable the gate PodLevelResourceManagers"
        ],
    ),
    *(
        Case(
            f"Guaranteed by its status, with {requested} for the whole pod",
            pod(app(), pod_level=resources(requested, requested))._replace(qos_class=QosClass.GUARANTEED),
            STATIC,
        )
        for requested in ("memory=1Gi", "cpu=0 memory=1Gi", "cpu=-1 memory=1Gi")
    ),
    Case("pod-level resources without pinning", pod(app(), pod_level=resources(FULL, FULL)), NONE),
    Case(
        "pod-level resources without pinning, and the other managers align",
        pod(app(), pod_level=resources(FULL, FULL)),
        KubeletView(cpu_policy="none", memory_policy="Static", topology_policy="restricted"),
        [
            f"warning pod-level-not-aligned spec.resources: pod-level resources are ignored for {what} | set "
            "resources only on the containers, or enable the gate PodLevelResourceManagers"
            for what in (
                "memory alignment (KEP-2837): pod is using pod-level resources which are not supported by the "
                "static Memory manager policy",
                "topology alignment (KEP-2837)",
            )
        ],
    ),
    Case("burstable pod-level resources", pod(app(), pod_level=resources("cpu=1", FULL)), STATIC),
    Case(
        "part of a CPU on the pod level",
        pod(app(), pod_level=resources("cpu=500m memory=1Gi", "cpu=500m memory=1Gi")),
        STATIC,
    ),
    Case("pod-level managers", pod(app(), pod_level=resources(FULL, FULL)), MANAGERS),
    Case(
        "pod-level managers, and nothing to share",
        pod(app(FULL, FULL, "a"), app(name="b"), pod_level=resources(FULL, FULL)),
        MANAGERS,
        [f"{NO_POOL} | leave CPUs for b: raise cpu in spec.resources"],
    ),
    Case(
        "pod-level managers, best effort, and nothing to share",
        pod(app(FULL, FULL, "a"), sidecar(name="b"), pod_level=resources(FULL, FULL)),
        MANAGERS._replace(topology_policy="best-effort"),
        [
            "error empty-pod-shared-pool spec.resources: EmptyPodSharedPoolError: pod rejected, sum of exclusive"
            " container cpu requests equals pod budget, leaving no cpus for shared containers"
            " | leave CPUs for b: raise cpu in spec.resources"
        ],
    ),
    Case(
        "pod-level managers, and more is exclusive than there is",
        pod(
            app(FULL, FULL, "a"),
            app(FULL, FULL, "b"),
            *(app(name=name) for name in "cdef"),
            pod_level=resources("cpu=3 memory=3Gi", "cpu=3 memory=3Gi"),
        ),
        MANAGERS._replace(topology_policy="single-numa-node"),
        [f"{NO_POOL} | leave CPUs for c, d, e: raise cpu in spec.resources"],
    ),
    Case(
        "pod-level managers, and the only CPU is exclusive",
        pod(app(ONE, ONE, "a"), app("memory=1Mi", name="b"), pod_level=resources(ONE, ONE)),
        MANAGERS,
        [f"{NO_POOL} | leave CPUs for b: raise cpu in spec.resources"],
    ),
    Case(
        "pod-level managers, and a container without CPUs has its own memory",
        pod(
            app(FULL, FULL, "a"),
            app("cpu=0 memory=1Gi", "cpu=0 memory=1Gi", "b"),
            pod_level=resources("cpu=2 memory=2Gi", "cpu=2 memory=2Gi"),
        ),
        MANAGERS,
        [f"{NO_POOL} | leave CPUs for b: raise cpu in spec.resources"],
    ),
    Case(
        "pod-level managers, and something is left",
        pod(
            app(FULL, FULL, "a"),
            app(name="b"),
            pod_level=resources("cpu=3 memory=3Gi", "cpu=3 memory=3Gi"),
        ),
        MANAGERS,
    ),
    Case(
        "pod-level managers, and only an init container has exclusive CPUs",
        pod(init(FULL, FULL), app(name="b"), pod_level=resources(FULL, FULL)),
        MANAGERS,
    ),
    *(
        Case(
            f"pod-level managers, and {why}: nobody has CPUs of its own",
            pod(
                app(requests, limits, "a"),
                app(name="b"),
                pod_level=resources("cpu=2 memory=2Gi", "cpu=2 memory=2Gi"),
            ),
            MANAGERS,
        )
        for why, requests, limits in (
            ("no memory is asked for", "cpu=2", "cpu=2"),
            ("no memory is meant", "cpu=2 memory=0", "cpu=2 memory=0"),
            ("more memory is allowed", "cpu=2 memory=1Gi", "cpu=2 memory=2Gi"),
            ("more CPUs are allowed", "cpu=1 memory=1Gi", "cpu=2 memory=1Gi"),
        )
    ),
    Case(
        "pod-level managers, and the pod has no whole CPUs",
        pod(
            app("cpu=1 memory=1Gi", "cpu=1 memory=1Gi", "a"),
            app(name="b"),
            pod_level=resources("cpu=999m memory=1Gi", "cpu=999m memory=1Gi"),
        ),
        MANAGERS,
    ),
    Case(
        "pod-level managers without a topology policy",
        pod(app(FULL, FULL, "a"), app(name="b"), pod_level=resources(FULL, FULL)),
        MANAGERS._replace(topology_policy="none"),
    ),
    Case(
        "pod-level managers with unknown pinning",
        pod(app(FULL, FULL, "a"), app(name="b"), pod_level=resources(FULL, FULL)),
        MANAGERS._replace(cpu_policy=""),
    ),
    Case(
        "pod-level managers in container scope",
        pod(app(FULL, FULL, "a"), app(name="b"), pod_level=resources(FULL, FULL)),
        MANAGERS._replace(topology_scope="container"),
    ),
    Case(
        "pod-level managers, all exclusive",
        pod(app(FULL, FULL), pod_level=resources(FULL, FULL)),
        MANAGERS,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_findings(case: Case) -> None:
    assert linted(case.pod, case.kubelet) == case.want
