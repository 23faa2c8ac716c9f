"""Claims that count as the node's CPUs (KEP-5517), and what pods should request if they do not."""

from __future__ import annotations

import pytest

from cpuctl.answering.dra_answer import claim_warnings
from cpuctl.dra.driver import DeviceMode, DriverMachine, DriverSettings
from cpuctl.dra.node import NodeClaims
from cpuctl.engine.outcome import Pending
from cpuctl.inputs.dra import LoadedDriver
from cpuctl.inputs.sources import Sources
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.machine.synthetic import parse_synthetic
from cpuctl.operations.claims import node_claims
from cpuctl.pods.identity import with_uids
from cpuctl.pods.model import Pod
from cpuctl.pods.reading.manifests import decode_manifests
from cpuctl.pods.requests import pod_requests
from tests.dra.claims import NODE, allocated, claim, cpus, gpu_class, gpu_slice, single_cpus

MACHINE = DriverMachine.discover(parse_synthetic("2n16c2t"))
MAPPED = DriverSettings(node_allocatable_mapping=True)
GATES = FeatureGates.for_minor(37).with_overrides({"DRANodeAllocatableResources": True})


def pod(name: str, claims: str, resources: str = "", whole: str = "") -> str:
    """Write a pod whose first container uses all claims."""
    named = ", ".join(f"{{name: {each}, resourceClaimName: {each}}}" for each in claims.split())
    used = ", ".join(f"{{name: {each}}}" for each in claims.split())
    own = f", resources: {whole}" if whole else ""
    return f"""
---
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  {{resourceClaims: [{named}], containers: [{{name: main, resources: {{claims: [{used}]{resources}}}}}]{own}}}
"""


def served(
    text: str, settings: DriverSettings = MAPPED, gates: FeatureGates = GATES
) -> tuple[NodeClaims, list[Pod], list[Pending | None]]:
    found = decode_manifests(text, "test.yaml")
    node = node_claims(found.dra, LoadedDriver(settings, MACHINE, NODE, gates=gates), Sources())
    pods, answers = list(with_uids(found.pods)), []
    for each in pods:
        answer = node.allocate(each)
        assert answer is None or isinstance(answer, Pending)
        answers.append(answer)
        node.prepare(each)
    return node, pods, answers


def stated(text: str, settings: DriverSettings = MAPPED, gates: FeatureGates = GATES) -> str:
    node, _, _ = served(text, settings, gates)
    return "\n".join(message for _, message in claim_warnings(node, node.pods.values()))


GUARANTEED = ", requests: {cpu: 1m, memory: 2Gi}, limits: {cpu: 1m, memory: 2Gi}"
TEN = claim("ten", cpus(10))


def test_a_pod_counts_as_its_containers_and_its_claims() -> None:
    """hack/examples/pod_with_resource_claim_node_allocatable.yaml of the driver."""
    node, (first,), _ = served(TEN + pod("a", "ten", GUARANTEED))
    accounts = node.accounts(first)
    assert accounts is not None
    assert (accounts.claims, accounts.footprint) == (10 * 10**9, 10_001 * 10**6)
    assert (accounts.pod.shares, accounts.pod.quota) == (10241, 1_000_100)
    main = accounts.containers["main"]
    assert (main.shares, main.quota) == (2, 1_000_100), "shares of the request alone"
    assert str(pod_requests(node.counted(first))["cpu"]) == "10001m"


def test_without_a_limit_there_is_no_quota() -> None:
    node, (first,), _ = served(TEN + pod("a", "ten", ", requests: {memory: 2Gi}"))
    accounts = node.accounts(first)
    assert accounts is not None
    assert (accounts.pod.quota, accounts.containers["main"].quota) == (None, None)


def test_individual_cpus_count_one_each() -> None:
    settings = MAPPED._replace(mode=DeviceMode.INDIVIDUAL)
    node, (first,), _ = served(claim("c", single_cpus(3)) + pod("a", "c"), settings)
    accounts = node.accounts(first)
    assert accounts is not None
    assert accounts.claims == 3 * 10**9


@pytest.mark.parametrize(
    ("settings", "gates"),
    [
        (DriverSettings(), GATES),
        (MAPPED, FeatureGates.for_minor(37)),
        (MAPPED, FeatureGates.for_minor(36).with_overrides({"DRANodeAllocatableResources": True})),
    ],
    ids=["no mapping", "gate off", "the mapping of 1.37 on 1.36"],
)
def test_nothing_counts_without_mapping_gate_and_release(
    settings: DriverSettings, gates: FeatureGates
) -> None:
    node, (first,), _ = served(TEN + pod("a", "ten"), settings, gates)
    assert node.accounts(first) is None
    assert node.counted(first) is first


def test_a_pods_own_request_covers_its_claims_and_must_be_large_enough() -> None:
    own = "{requests: {cpu: 12}}"
    node, (first,), _ = served(TEN + pod("a", "ten", ", requests: {cpu: 2}", own))
    assert str(pod_requests(node.counted(first))["cpu"]) == "12"
    _, _, (answer,) = served(TEN + pod("a", "ten", ", requests: {cpu: 3}", own))
    less = (
        "pod level request for cpu is insufficient to cover the aggregated container and node-allocatable "
        "DRA requests (12 of 13)"
    )
    assert answer == Pending(f"claim default/ten: {less}")


def test_a_claim_that_counts_belongs_to_one_pod() -> None:
    _, _, answers = served(TEN + pod("a", "ten") + pod("b", "ten"))
    why = "node allocatable resource claim ten has a mapped device and cannot be shared across pods"
    assert answers == [None, Pending(f"claim default/ten: {why}")]


@pytest.mark.parametrize(
    ("resources", "whole", "words"),
    [
        ("", "", "container main requests no CPUs, but its claims allocate 10"),
        (", requests: {cpu: 10}, limits: {cpu: 10}", "", ""),
        (", requests: {cpu: 4}, limits: {cpu: 4}", "", "is throttled at 4 of the 10 CPUs of its claims"),
        ("", "{requests: {cpu: 12}, limits: {cpu: 12}}", ""),
        ("", "{requests: {cpu: 6}}", "the pod requests 6 CPUs as a whole, but its claims allocate 10"),
    ],
)
def test_if_claims_do_not_count_pods_have_to_request_the_same(resources: str, whole: str, words: str) -> None:
    text = stated(TEN + pod("a", "ten", resources, whole), DriverSettings())
    assert words in text
    assert bool(words) == bool(text)


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        ("", ""),
        (
            ", requests: {cpu: 10}",
            "requests 10 CPUs in addition to the 10 of its claims: they are counted twice",
        ),
        (GUARANTEED, "has a CPU limit, so the CPUs of its claims are throttled by a quota"),
    ],
)
def test_if_claims_count_their_cpus_must_not_be_requested_or_limited(resources: str, words: str) -> None:
    text = stated(TEN + pod("a", "ten", resources))
    assert words in text
    assert bool(words) == bool(text)


OLD = gpu_class() + gpu_slice("gpu0, nodeAllocatableResourceMappings: {cpu: {allocationMultiplier: '2'}}")
NEW = gpu_class() + gpu_slice("gpu0, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: '2'}}}")
GPU = claim("g", "{name: gpu, exactly: {deviceClassName: gpu}}")
UNNAMED = """
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {resourceClaims: [{name: g, resourceClaimName: g}], containers: [{name: main}]}
"""


def gates(minor: int) -> FeatureGates:
    return FeatureGates.for_minor(minor).with_overrides({"DRANodeAllocatableResources": True})


def test_slices_of_1_36_use_other_fields() -> None:
    for minor, counts in ((36, 2 * 10**9), (37, 0)):
        node, (first,), _ = served(OLD + GPU + pod("a", "g"), DriverSettings(), gates(minor))
        accounts = node.accounts(first)
        assert (accounts.claims if accounts else 0) == counts


@pytest.mark.parametrize(
    ("slices", "minor", "shares", "quotas"),
    [(OLD, 36, 1024, (200_000, 200_000)), (NEW, 37, 3072, (400_000, 400_000))],
)
def test_kubelets_of_1_36_count_claims_at_admission_only(
    slices: str, minor: int, shares: int, quotas: tuple[int, int]
) -> None:
    """pkg/kubelet of 1.36 ignores claims, except in the scheduler's code with which it admits pods."""
    text = slices + GPU + pod("a", "g", ", requests: {cpu: 1}, limits: {cpu: 2}")
    node, (first,), _ = served(text, DriverSettings(), gates(minor))
    accounts = node.accounts(first)
    assert accounts is not None
    assert (accounts.claims, accounts.footprint) == (2 * 10**9, 3 * 10**9)
    main = accounts.containers["main"]
    assert (accounts.pod.shares, main.shares) == (shares, 1024)
    assert (accounts.pod.quota, main.quota) == quotas
    known = node.kubelet.known(node.counted(first))
    assert str(pod_requests(known)["cpu"]) == "3"


@pytest.mark.parametrize(("minor", "throttled"), [(36, True), (37, False)])
def test_if_quotas_do_not_follow_claims_limits_throttle_them(minor: int, *, throttled: bool) -> None:
    node, _, _ = served(TEN + pod("a", "ten", ", requests: {cpu: 1}, limits: {cpu: 4}"), gates=gates(minor))
    text = "\n".join(message for _, message in claim_warnings(node, node.pods.values()))
    assert ("is throttled at 4 of the 10 CPUs of its claims" in text) is throttled


def test_up_to_1_36_a_container_has_to_use_a_claim_that_counts() -> None:
    _, _, (answer,) = served(OLD + GPU + UNNAMED, DriverSettings(), gates(36))
    why = "node-allocatable resource claim not referenced by any container within the pod"
    assert answer == Pending(f"claim default/g: claim g: {why}")
    node, (first,), (answer,) = served(NEW + GPU + UNNAMED, DriverSettings(), gates(37))
    assert answer is None
    assert str(pod_requests(node.counted(first))["cpu"]) == "2"


def test_in_1_36_claims_that_were_allocated_before_do_not_count_for_other_pods() -> None:
    text = OLD + GPU + pod("a", "g") + pod("b", "g")
    _, _, (_, answer) = served(text, DriverSettings(), gates(36))
    why = "node allocatable resource claim g is already used by another pod"
    assert answer == Pending(f"claim default/g: {why}")


def test_a_device_that_is_not_shared_has_no_capacity_to_count() -> None:
    device = (
        "gpu0, capacity: {cores: {value: '4'}}, nodeAllocatableResources: "
        "{cpu: {mapping: {capacityKey: cores, capacityMultiplier: '1'}}}"
    )
    text = gpu_class() + gpu_slice(device) + GPU + pod("a", "g")
    _, _, (answer,) = served(text, DriverSettings())
    assert answer == Pending(
        "claim default/g: device gpu0: ConsumedCapacity is nil, but Capacity key 'cores' is set in "
        "NodeAllocatableResources for resource cpu"
    )


def test_a_containers_limit_with_its_claims_stays_below_the_pods() -> None:
    own = "{requests: {cpu: 12}, limits: {cpu: 12}}"
    _, _, (answer,) = served(TEN + pod("a", "ten", ", requests: {cpu: 1}, limits: {cpu: 3}", own))
    why = (
        "pod level limit for cpu is insufficient to cover the limit and DRA overhead for container main "
        "(12 of 13)"
    )
    assert answer == Pending(f"claim default/ten: {why}")


TWO = """
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  resourceClaims: [{name: g, resourceClaimName: g}]
  containers:
  - {name: c1, resources: {claims: [{name: g}], requests: {cpu: 1}, limits: {cpu: 2}}}
  - {name: c2, resources: {claims: [{name: g}], requests: {cpu: 1}, limits: {cpu: 2}}}
"""


def test_overhead_of_devices_counts_for_the_pod_and_each_container() -> None:
    """Kubernetes 1.37, test/e2e/common/node, "overhead mappings" and "single device with both"."""
    on_top = "overhead: {perPod: 100m, perContainer: 100m}"
    for mapping, request, quotas in (
        ("", 2300, (430_000, 220_000)),
        (", mapping: {deviceMultiplier: '1'}", 3300, (530_000, 320_000)),
    ):
        device = f"gpu0, nodeAllocatableResources: {{cpu: {{{on_top}{mapping}}}}}"
        node, (first,), _ = served(gpu_class() + gpu_slice(device) + GPU + TWO, DriverSettings())
        accounts = node.accounts(first)
        assert accounts is not None
        assert accounts.footprint == request * 10**6
        assert (accounts.pod.quota, accounts.containers["c2"].quota) == quotas
        assert (accounts.pod.shares, accounts.containers["c2"].shares) == (request * 1024 // 1000, 1024)


@pytest.mark.parametrize(
    ("minor", "words"), [(33, "use ResourceClaims"), (34, "reference resourceclaims"), (31, "")]
)
def test_static_pods_have_no_claims(minor: int, words: str) -> None:
    """kubelet ``pkg/kubelet/config/common.go``; older ones accept such a pod, and never start it."""
    static = pod("a", "ten").replace(
        "{name: a}", "{name: a, annotations: {kubernetes.io/config.source: file}}"
    )
    found = FeatureGates.for_minor(minor).with_overrides({"DynamicResourceAllocation": True})
    node, (first,), (answer,) = served(TEN + static, gates=found)
    refusal = f"the kubelet rejects the static pod: static pods may not {words}"
    assert answer == (Pending(f"claim default/ten: {refusal}") if words else None)
    problem = "" if words else "its claims cannot be allocated: the scheduler does not handle static pods"
    assert node.problem(first.uid) == problem
    assert not node.held


def test_a_running_pod_counts_as_in_its_status() -> None:
    """A pod bound before the gate was enabled has nothing there; its own claim is not another pod's."""
    old = allocated("old", "cpudevnuma000", consumed=4, users="u", pool=NODE)
    counted = "{resourceClaimName: old, containers: [main], mapping: [{name: cpu, quantity: 4}]}"
    for status, cpus_ in (("", "1"), (f", nodeAllocatableResourceClaimStatuses: [{counted}]", "5")):
        text = pod("a", "old", ", requests: {cpu: 1}").replace("{name: a}", "{name: a, uid: u}")
        found = decode_manifests(old + text + f"status: {{phase: Running{status}}}\n", "test.yaml")
        (first,) = found.pods
        driver = LoadedDriver(MAPPED, MACHINE, NODE, gates=GATES)
        node = node_claims(found.dra, driver, Sources(), running=[first])
        assert str(pod_requests(node.counted(first))["cpu"]) == cpus_
        again = node_claims(found.dra, driver, Sources())
        assert again.allocate(first) is None
        assert str(pod_requests(again.counted(first))["cpu"]) == "5"
