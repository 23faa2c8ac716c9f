"""Claims that exist already, incomplete slices, and disabled gates."""

from __future__ import annotations

import pytest

from cpuctl.answering.dra_answer import claim_warnings
from cpuctl.cpuset import CPUSet
from cpuctl.dra.allocation import Unsatisfied
from cpuctl.dra.driver import DeviceMode, DriverMachine, DriverSettings
from cpuctl.dra.prepare import Prepared
from cpuctl.engine.outcome import Undetermined
from cpuctl.inputs.dra import LoadedDriver
from cpuctl.inputs.pods import GivenPods
from cpuctl.inputs.sources import Sources
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.machine.synthetic import parse_synthetic
from cpuctl.operations.claims import ClaimsPlan, node_claims, plan_claims
from cpuctl.pods.identity import with_uids
from cpuctl.pods.model import Pod
from cpuctl.pods.reading.manifests import decode_manifests
from tests.dra.claims import NODE, allocated, claim, cpus, given, gpu_class, gpu_slice, pod, single_cpus
from tests.dra.test_claims import why

INDIVIDUAL = DriverSettings(mode=DeviceMode.INDIVIDUAL)
MACHINE = DriverMachine.discover(parse_synthetic("2n16c2t"))
GROUPED = DriverSettings()


def planned(
    text: str,
    settings: DriverSettings = GROUPED,
    prepared: dict[str, CPUSet] | None = None,
    minor: int = 36,
) -> ClaimsPlan:
    found = decode_manifests(text, "test.yaml")
    driver = LoadedDriver(settings, MACHINE, NODE, prepared or {}, FeatureGates.for_minor(minor))
    return plan_claims(GivenPods(tuple(with_uids(found.pods)), dra=found.dra), driver, Sources())


def test_devices_that_a_claim_has_are_taken() -> None:
    text = allocated("old", "cpudev000", "cpudev001", users="x") + claim("c", single_cpus(2)) + pod("a", "c")
    found = planned(text, INDIVIDUAL)
    assert given(found) == ["1,17"], "0 and 16 are taken"
    assert 0 not in found.driver.shared


def test_capacity_of_an_allocated_claim_is_consumed_and_its_cpus_come_from_the_drivers_file() -> None:
    text = allocated("old", "cpudevnuma000", consumed=12, users="x") + claim("c", cpus(6)) + pod("a", "c")
    found = planned(text, prepared={"old-uid": CPUSet.parse("0-5,16-21")})
    assert given(found) == ["8-10,24-26"], "4 CPUs are left on node 0"
    four = planned(text.replace('"6"', '"4"'), prepared={"old-uid": CPUSet.parse("2-7,18-23")})
    assert given(four) == ["0-1,16-17"]


def test_unknown_cpus_of_a_group_make_others_unknown() -> None:
    text = allocated("old", "cpudevnuma000", consumed=4, users="x") + claim("c", cpus(4)) + pod("a", "c")
    (outcome,) = planned(text).pods[0].claims
    assert isinstance(outcome.prepared, Undetermined)
    assert "the CPUs of claim default/old are unknown" in outcome.prepared.text
    assert [str(each.consumed["dra.cpu/cpu"]) for each in outcome.grants] == ["4"]


def test_a_claim_that_has_been_allocated_keeps_its_devices() -> None:
    text = allocated("mine", "cpudevnuma001", consumed=4) + pod("a", "mine")
    assert given(planned(text)) == ["8-9,24-25"]
    elsewhere = planned(allocated("mine", "cpudevnuma001", consumed=4, pool="node-b") + pod("a", "mine"))
    assert why(elsewhere) == (
        "default/mine cpus: the claim is allocated outside this node: "
        "device cpudevnuma001 of dra.cpu in pool node-b"
    )


def test_a_device_of_another_mode_is_not_outside_the_node() -> None:
    """The allocation was made while the driver published other devices."""
    text = allocated("mine", "cpudevmachine", consumed=4) + pod("a", "mine")
    assert why(planned(text)) == (
        "default/mine cpus: the claim is allocated device cpudevmachine of dra.cpu, which is not in pool "
        "node-a of this node: the driver publishes other devices (--driver-args sets its mode)"
    )


def test_the_machine_as_a_device_gets_the_cpus_in_the_allocation() -> None:
    """docs/user/opaque-cpuset-overrides.md of the driver."""
    from cpuctl.dra.driver import GroupBy

    config = (
        ", config: [{source: FromClaim, requests: [cpus], opaque: {driver: dra.cpu, parameters: "
        "{apiVersion: v1alpha1, cpuConfig: {cpuset: 2-5}}}}]"
    )
    text = allocated("mine", "cpudevmachine", consumed=4, config=config) + pod("a", "mine")
    machine = DriverSettings(group_by=GroupBy.MACHINE)
    assert given(planned(text, machine)) == ["2-5"]
    from_class = planned(text.replace("FromClaim", "FromClass"), machine)
    assert "DeviceClass" in from_class.pods[0].problem


def test_a_claim_made_from_a_template_belongs_to_its_pod() -> None:
    made = allocated("a-c-x7k2p", "cpudevnuma001", consumed=4).replace(
        "metadata: {",
        "metadata: {annotations: {resource.kubernetes.io/pod-claim-name: c}, "
        "ownerReferences: [{apiVersion: v1, kind: Pod, name: a, uid: pod-a}], ",
    )
    text = f"""{made}
---
apiVersion: v1
kind: Pod
metadata: {{name: a, uid: pod-a}}
spec:
  resourceClaims: [{{name: c, resourceClaimTemplateName: t}}]
  containers: [{{name: main, resources: {{claims: [{{name: c}}]}}}}]
"""
    (outcome,) = planned(text).pods[0].claims
    assert (outcome.claim, str(outcome.cpus)) == ("default/a-c-x7k2p", "8-9,24-25")


def test_a_running_pod_with_an_unknown_claim_may_have_any_device() -> None:
    found = decode_manifests(claim("c", cpus(4)) + pod("a", "c") + pod("old", "gone"), "test.yaml")
    a, old = with_uids(found.pods)
    node = node_claims(found.dra, LoadedDriver(GROUPED, MACHINE, NODE), Sources(), running=[old])
    answer = node.allocate(a)
    assert isinstance(answer, Undetermined)
    assert answer.text.startswith(
        "pod default/old is running: ResourceClaim default/gone is not among the manifests (add it to -f: "
    )


def test_removed_pods_release_devices_and_cpus() -> None:
    text = claim("c", cpus(12)) + claim("d", cpus(12)) + claim("e", cpus(12))
    found = decode_manifests(text + pod("a", "c") + pod("b", "d") + pod("f", "e"), "test.yaml")
    a, b, last = with_uids(found.pods)
    node = node_claims(found.dra, LoadedDriver(GROUPED, MACHINE, NODE), Sources())
    for each in (a, b):
        assert node.allocate(each) is None
        node.prepare(each)
    kept = node.copy()
    assert node.allocate(last) is not None
    node.release(a.uid)
    assert node.allocate(last) is None
    node.prepare(last)
    assert str(node.pods[last.uid].claims[0].cpus) == "0-5,16-21"
    assert str(kept.pods[a.uid].claims[0].cpus) == "0-5,16-21", "a copy goes its own way"
    assert kept.copy().allocate(last) is not None


TWO_NAMES = """
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  resourceClaims: [{name: one, resourceClaimName: c}, {name: two, resourceClaimName: c}]
  containers: [{name: main, resources: {requests: {cpu: 4}, claims: [{name: one}]}}]
"""


def test_a_claim_with_two_names_in_a_pod_is_one_claim() -> None:
    found = planned(claim("c", cpus(4)) + TWO_NAMES)
    assert given(found) == ["0-1,16-17"] * 2
    assert [each.containers for each in found.pods[0].claims] == [("main",)] * 2
    assert list(claim_warnings(found.claims, found.pods)) == []
    found.claims.release(found.pods[0].pod.uid)
    assert (found.claims.held, found.driver.shared) == ({}, MACHINE.online)


def test_a_claim_used_by_two_containers_under_two_names_belongs_to_the_first() -> None:
    other = "{name: side, resources: {claims: [{name: two}]}}"
    found = planned(claim("c", cpus(4)) + TWO_NAMES.replace("[{name: main", f"[{other}, {{name: main"))
    assert "is referenced by containers side, main" in found.pods[0].problem


def test_before_consumable_capacity_a_claimed_group_is_taken() -> None:
    text = allocated("old", "cpudevnuma000", users="u") + claim("c", cpus(4)) + pod("a", "c")
    found = planned(text, minor=35)
    assert [each.device.name for each in found.pods[0].claims[0].grants] == ["cpudevnuma001"]


def test_unknown_cpus_are_free_when_their_pods_are_gone() -> None:
    text = allocated("old", "cpudevnuma000", consumed=4, users="u")
    text += "".join(claim(name, cpus(4)) + pod(name, name) for name in "ab")
    found = decode_manifests(text + pod("r", "old").replace("{name: r}", "{name: r, uid: u}"), "test.yaml")
    a, b, running = with_uids(found.pods)
    node = node_claims(found.dra, LoadedDriver(GROUPED, MACHINE, NODE), Sources(), running=[running])

    def come(pod: Pod) -> object:
        assert node.allocate(pod) is None
        node.prepare(pod)
        return node.pods[pod.uid].claims[0].prepared

    assert isinstance(come(a), Undetermined)
    node.release("u")
    alongside = come(b)
    assert isinstance(alongside, Undetermined)
    assert alongside.text.endswith(
        "claim default/a are unknown: it was prepared while the CPUs of default/old were unknown"
    )
    node.release(a.uid)
    node.release(b.uid)
    assert come(a) == Prepared(CPUSet.parse("0-1,16-17"))


ONE = gpu_class() + claim("g", "{name: gpu, exactly: {deviceClassName: gpu}}") + pod("a", "g")
ALL = ONE.replace("deviceClassName: gpu}", "deviceClassName: gpu, allocationMode: All}")


def taken(found: ClaimsPlan) -> list[str]:
    return [grant.device.name for each in found.pods[0].claims for grant in each.grants]


def test_nothing_is_taken_from_an_incomplete_pool() -> None:
    part = gpu_slice("gpu0", count=2)
    assert why(planned(part + ONE)) == "default/g gpu: requests 1 device, 0 match"
    assert taken(planned(part + ONE, minor=35)) == ["gpu0"], "before, it was"
    elsewhere = gpu_slice("gpu1", count=2, where="nodeName: node-b", name="t")
    assert taken(planned(part + elsewhere + ONE)) == ["gpu0"], "its other slice is another node's"
    updated = "requests all devices, but resource pool gpu.example.com/gpus is currently being updated"
    assert why(planned(part + ALL)) == f"default/g gpu: {updated}"
    assert taken(planned(part + gpu_slice("gpu1", count=2, name="t") + ALL)) == ["gpu0", "gpu1"]


def test_slices_of_older_generations_do_not_count() -> None:
    old, new = gpu_slice("old", generation=1, name="a"), gpu_slice("new", generation=2, name="b")
    for text in (old + new, new + old):
        assert taken(planned(text + ALL)) == ["new"]


def test_nothing_is_taken_from_a_pool_with_two_devices_of_the_same_name() -> None:
    twice = gpu_slice("gpu0", "gpu0") + ONE
    assert why(planned(twice)) == "default/g gpu: requests 1 device, 0 match"
    assert why(planned(twice, minor=35)).endswith(
        "pool gpu.example.com/gpus is invalid: duplicate device name gpu0"
    )


@pytest.mark.parametrize(
    ("where", "answer"),
    [
        ("allNodes: true", "gpu0"),
        ("nodeName: node-b", "no ResourceSlice lists"),
        (f"{{}}{NODE}", "gpu0"),
        ("{}node-b", "no ResourceSlice lists"),
        ("labels", "depends on the node's labels"),
    ],
)
def test_slices_are_for_the_nodes_that_they_name_or_select(where: str, answer: str) -> None:
    if where.startswith("{}"):
        term = f"{{matchFields: [{{key: metadata.name, operator: In, values: [{where[2:]}]}}]}}"
        where = f"nodeSelector: {{nodeSelectorTerms: [{term}]}}"
    elif where == "labels":
        term = "{matchExpressions: [{key: example.com/gpu, operator: Exists}]}"
        where = f"nodeSelector: {{nodeSelectorTerms: [{term}]}}"
    found = planned(gpu_slice("gpu0", where=where) + ONE)
    assert answer in (*taken(found), why(found)) or answer in why(found)


def test_devices_may_select_their_own_nodes() -> None:
    text = gpu_slice(
        "gpu0, nodeName: node-b", f"gpu1, nodeName: {NODE}", where="perDeviceNodeSelection: true"
    )
    assert taken(planned(text + ALL)) == ["gpu1"]


def test_before_consumable_capacity_a_group_serves_one_claim_and_the_driver_cannot_prepare_it() -> None:
    text = "".join(claim(name, cpus(4)) + pod(name, name) for name in "abc")
    found = planned(text, minor=35)
    cause = "devices for groups of CPUs need the feature gate DRAConsumableCapacity (1.34 and later), "
    assert [each.problem for each in found.pods[:2]] == [
        f'CPU capacity "dra.cpu/cpu" for device "{device}" is missing: {cause}'
        "devices for single CPUs (--cpu-device-mode individual) do not"
        for device in ("cpudevnuma000", "cpudevnuma001")
    ]
    assert isinstance(found.pods[2].why, Unsatisfied)
    assert not any(each.problem for each in planned(text, minor=36).pods)


def test_before_prioritized_lists_a_claim_with_alternatives_is_not_stored() -> None:
    request = "{name: cpus, firstAvailable: [{name: one, deviceClassName: dra.cpu}]}"
    text = claim("c", request) + pod("a", "c")
    assert "DRAPrioritizedList is disabled" in why(planned(text, minor=33))
    assert planned(text, minor=34).pods[0].why is None
