"""Claims that count as the node's CPUs (KEP-5517), and what pods should ask for where they do not."""

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
from tests.dra.claims import NODE, claim, cpus, gpu_class, gpu_slice, single_cpus

MACHINE = DriverMachine.discover(parse_synthetic("2n16c2t"))
MAPPED = DriverSettings(node_allocatable_mapping=True)
GATES = FeatureGates.for_minor(37).with_overrides({"DRANodeAllocatableResources": True})


def pod(name: str, claims: str, resources: str = "", whole: str = "") -> str:
    """Write a pod whose first container names all claims."""
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


def said(text: str, settings: DriverSettings = MAPPED, gates: FeatureGates = GATES) -> str:
    node, _, _ = served(text, settings, gates)
    return "\n".join(message for _, message in claim_warnings(node, node.pods.values()))


GUARANTEED = ", requests: {cpu: 1m, memory: 2Gi}, limits: {cpu: 1m, memory: 2Gi}"
TEN = claim("ten", cpus(10))


def test_a_pod_comes_to_its_containers_and_its_claims() -> None:
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


def test_a_pods_own_request_stands_for_its_claims_and_must_be_large_enough() -> None:
    own = "{requests: {cpu: 12}}"
    node, (first,), _ = served(TEN + pod("a", "ten", ", requests: {cpu: 2}", own))
    assert node.counted(first) is first
    _, _, (answer,) = served(TEN + pod("a", "ten", ", requests: {cpu: 3}", own))
    less = "the pod's own request of cpu 12 is less than 3 of its containers and 10 of its claims"
    assert answer == Pending(f"claim default/ten: {less}")


def test_a_claim_that_counts_is_one_pods() -> None:
    _, _, answers = served(TEN + pod("a", "ten") + pod("b", "ten"))
    why = "node allocatable resource claim default/ten has a mapped device and cannot be shared across pods"
    assert answers == [None, Pending(f"claim default/ten: {why}")]


@pytest.mark.parametrize(
    ("resources", "whole", "words"),
    [
        ("", "", "container main requests no CPUs, and claims give it 10"),
        (", requests: {cpu: 10}, limits: {cpu: 10}", "", ""),
        (", requests: {cpu: 4}, limits: {cpu: 4}", "", "is throttled at 4 of the 10 CPUs of its claims"),
        ("", "{requests: {cpu: 12}, limits: {cpu: 12}}", ""),
        ("", "{requests: {cpu: 6}}", "as a whole it requests 6 CPUs, and claims give it 10"),
    ],
)
def test_where_claims_do_not_count_pods_have_to_request_the_same(
    resources: str, whole: str, words: str
) -> None:
    text = said(TEN + pod("a", "ten", resources, whole), DriverSettings())
    assert words in text
    assert bool(words) == bool(text)


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        ("", ""),
        (
            ", requests: {cpu: 10}",
            "requests 10 CPUs beside the 10 of its claims: they count twice",
        ),
        (GUARANTEED, "has a CPU limit, so that a quota stays on the CPUs of its claims: leave it out"),
    ],
)
def test_where_they_count_nothing_is_to_be_requested_twice_or_limited(resources: str, words: str) -> None:
    text = said(TEN + pod("a", "ten", resources))
    assert words in text
    assert bool(words) == bool(text)


def test_slices_of_1_36_tell_it_otherwise() -> None:
    device = "gpu0, nodeAllocatableResourceMappings: {cpu: {allocationMultiplier: '2'}}"
    text = gpu_class() + gpu_slice(device) + claim("g", "{name: gpu, exactly: {deviceClassName: gpu}}")
    switched = {"DRANodeAllocatableResources": True}
    for minor, counts in ((36, 2 * 10**9), (37, 0)):
        gates = FeatureGates.for_minor(minor).with_overrides(switched)
        node, (first,), _ = served(text + pod("a", "g"), DriverSettings(), gates)
        accounts = node.accounts(first)
        assert (accounts.claims if accounts else 0) == counts
