"""Claims on a node: the scheduler's choice of devices, and the resulting CPUs."""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.dra.allocation import Unsatisfied
from cpuctl.dra.driver import DeviceMode, DriverSettings, GroupBy
from cpuctl.engine.outcome import Undetermined
from cpuctl.operations.claims import ClaimsPlan
from tests.dra.claims import claim, cpus, given, gpu_class, gpu_slice, plan, pod, selected, single_cpus

INDIVIDUAL = DriverSettings(mode=DeviceMode.INDIVIDUAL)
NUMA = 'device.attributes["resource.kubernetes.io"].numaNode'


def why(found: ClaimsPlan, place: int = 0) -> str:
    """Return why a pod does not get its claims."""
    match found.pods[place].why:
        case Unsatisfied() as unsatisfied:
            return f"{unsatisfied.claim} {unsatisfied.request}: {unsatisfied.why}"
        case Undetermined() as undetermined:
            return f"undetermined: {undetermined.text}"
        case None:
            return ""


def test_individual_cpus_are_taken_in_the_order_of_slices_with_their_siblings() -> None:
    """hack/examples/pod_with_resource_claim_individual_mode.yaml of the driver: 4 CPUs, then 6."""
    text = claim("c4", single_cpus(4)) + claim("c6", single_cpus(6)) + pod("app", "c4", "c6")
    assert given(plan(text, "16c2t", INDIVIDUAL)) == ["0-1,16-17", "2-4,18-20"]
    reserved = INDIVIDUAL._replace(reserved=CPUSet.parse("0,17"))
    assert given(plan(text, "16c2t", reserved)) == ["1-3,18", "4-6,19-21"]


def test_cpus_of_a_group_come_from_the_first_that_has_enough_left() -> None:
    """hack/examples/pod_with_resource_claim_grouped_mode.yaml of the driver: 10 CPUs of one NUMA node."""
    text = "".join(claim(name, cpus(10)) + pod(name, name) for name in "abc")
    found = plan(text, "2n16c2t")
    assert given(found) == ["0-4,16-20", "8-12,24-28"]
    assert why(found, 2) == (
        "default/c cpus: requests 1 device, 2 match, 0 have enough capacity left "
        "(dra.cpu/cpu: 10 requested, at most 6 left on one device)"
    )
    assert str(found.driver.shared) == "5-7,13-15,21-23,29-31"


def test_two_requests_split_cpus_over_numa_nodes() -> None:
    """docs/user/feature-support.md of the driver, "Distributing CPUs across NUMA nodes"."""
    requests = ", ".join(cpus(10, selected(f"{NUMA} == {node}"), f"numa{node}") for node in (0, 1))
    found = plan(claim("c20", requests) + pod("app", "c20"), "2n16c2t")
    assert given(found) == ["0-4,8-12,16-20,24-28"]
    assert [each.device.name for each in found.pods[0].claims[0].grants] == ["cpudevnuma000", "cpudevnuma001"]


def test_a_claim_without_an_amount_takes_a_whole_group() -> None:
    text = claim("all", "{name: one, exactly: {deviceClassName: dra.cpu}}") + pod("a", "all")
    assert given(plan(text, "2s4n16c2t", DriverSettings(group_by=GroupBy.SOCKET))) == ["0-15,32-47"]


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ('device.attributes["dra.cpu"].coreType == "e-core"', "8-9"),
        ('device.attributes["dra.cpu"].coreType in ["e-core", "other"]', "8-9"),
        ('device.attributes["dra.cpu"].coreType.startsWith("e-")', "8-9"),
        ('device.attributes["dra.cpu"].cpuID >= 5 && device.attributes["dra.cpu"].cpuID < 8', "5-6"),
        ('device.driver == "dra.cpu" && !("gpu.example.com" in device.attributes)', "0-1"),
        ('has(device.attributes["dra.cpu"].numCPUs) || device.attributes["dra.cpu"].coreID == 1', "2-3"),
    ],
)
def test_selectors_choose_cpus_by_their_attributes(expression: str, wanted: str) -> None:
    written = f", selectors: [{{cel: {{expression: {expression!r}}}}}]"
    text = claim("two", single_cpus(2, written)) + pod("a", "two")
    assert given(plan(text, "4p2t+4e1t,near", INDIVIDUAL)) == [wanted]


def test_capacity_is_compared_as_a_quantity() -> None:
    expression = 'device.capacity["dra.cpu"].cpu.compareTo(quantity("14")) > 0'
    text = claim("c", cpus(2, selected(expression))) + pod("a", "c")
    assert given(plan(text, "2n16c2t", DriverSettings(reserved=CPUSet.parse("0-1")))) == ["8,24"]


def test_an_attribute_that_no_device_has_stops_the_scheduler() -> None:
    text = claim("c", cpus(2, selected('device.attributes["nope"].x == 1'))) + pod("a", "c")
    assert why(plan(text, "2n16c2t")).endswith("CEL runtime error: no such key: x")


def test_functions_unknown_to_the_library_are_undetermined() -> None:
    text = claim("c", cpus(2, selected('device.attributes["dra.cpu"].?x.orValue(1) == 1'))) + pod("a", "c")
    assert why(plan(text, "2n16c2t")).startswith("undetermined: cel-python cannot read the selector")


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("(" * 2000 + "true" + ")" * 2000, "cel-python cannot read the selector"),
        ('"a"' + ' + "a"' * 1500 + ' == "b"', "cel-python cannot"),
        ("true || " * 1300 + "true", "the API server rejects selectors longer than 10240 bytes: 'true ||"),
        (
            "".join(f"[1, 2, 3, 4, 5, 6, 7, 8].all({name}, " for name in "abcd") + "true))))",
            "evaluating the selector",
        ),
    ],
    ids=["nested", "a long sum", "too long", "loops in loops"],
)
def test_expressions_that_take_too_long_are_undetermined(expression: str, words: str) -> None:
    text = claim("c", cpus(2, selected(expression))) + pod("a", "c")
    found = why(plan(text, "2n16c2t"))
    assert found.startswith(f"undetermined: {words}")
    assert len(found) < 400, "it is not repeated as a whole"


def test_a_loop_over_a_list_is_evaluated() -> None:
    expression = f"[0, 1].exists(a, [1, 2].exists(b, a == b && {NUMA} == a))"
    text = claim("c", cpus(2, selected(expression))) + pod("a", "c")
    assert given(plan(text, "2n16c2t")) == ["8,24"]


def test_an_endless_search_is_aborted_and_leaves_nothing_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [f"c{number}" for number in range(12)]
    text = "".join(claim(name, cpus(3)) for name in many) + claim("last", cpus(16))
    monkeypatch.setattr("cpuctl.dra.allocation.MOST_TRIED", 500)
    found = plan(text + pod("a", *many) + pod("b", "last"), "2n16c2t")
    assert (
        why(found)
        == "undetermined: too many combinations of devices were tried without success for these claims"
    )
    assert given(found) == ["0-7,16-23"]


def test_without_the_library_selectors_are_undetermined_and_the_hint_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "celpy", None)
    text = claim("c", cpus(2)) + pod("a", "c") + claim("d", cpus(2, selected(f"{NUMA} == 0"))) + pod("b", "d")
    found = plan(text, "2n16c2t")
    assert given(found) == ["0,16"], "a driver's name needs no library"
    assert why(found, 1).endswith(
        "needs a CEL library, which is not installed: pip install '.[dra]' in cpuctl's source directory"
    )


def test_the_first_available_alternative_is_taken() -> None:
    alternatives = ", ".join(
        f"{{name: n{count}, deviceClassName: dra.cpu, capacity: {{requests: {{dra.cpu/cpu: '{count}'}}}}}}"
        for count in (20, 12, 4)
    )
    request = f"{{name: cpus, firstAvailable: [{alternatives}]}}"
    found = plan("".join(claim(n, request) + pod(n, n) for n in "abc"), "2n16c2t")
    assert [pod.claims[0].grants[0].request for pod in found.pods] == ["cpus/n12", "cpus/n12", "cpus/n4"]


def test_all_devices_are_those_that_match_and_none_may_be_missing() -> None:
    on_node = selected(f"{NUMA} == 1")
    request = f"{{name: all, exactly: {{deviceClassName: dra.cpu, allocationMode: All{on_node}}}}}"
    text = claim("all", request) + claim("one", single_cpus(1, selected(f"{NUMA} == 1")))
    assert given(plan(text + pod("a", "all"), "2n8c2t", INDIVIDUAL)) == ["4-7,12-15"]
    found = plan(text + pod("a", "one") + pod("b", "all"), "2n8c2t", INDIVIDUAL)
    assert why(found, 1) == "default/all all: requests 8 devices, 8 match, 7 of these are free"


def test_a_constraint_keeps_devices_on_one_numa_node() -> None:
    constraint = ", constraints: [{matchAttribute: resource.kubernetes.io/numaNode}]"
    text = claim("six", single_cpus(6)) + claim("four", single_cpus(4), constraint)
    found = plan(text + pod("a", "six") + pod("b", "four"), "2n8c2t", INDIVIDUAL)
    assert given(found) == ["0-2,8-10", "4-5,12-13"], "two CPUs are left on node 0"
    five = plan(claim("nine", single_cpus(9), constraint) + pod("a", "nine"), "2n8c2t", INDIVIDUAL)
    assert why(five) == (
        "default/nine cpus: requests 9 devices, 16 match, 8 satisfy the constraint on "
        "resource.kubernetes.io/numaNode"
    )


def test_a_constraint_keeps_devices_on_different_cores() -> None:
    constraint = ", constraints: [{distinctAttribute: dra.cpu/coreID}]"
    text = claim("three", single_cpus(3), constraint) + pod("a", "three")
    assert given(plan(text, "4c2t", INDIVIDUAL)) == ["0-2"]


def gpus(driver: str, *nodes: int) -> str:
    numbered = enumerate(nodes)
    numa = "attributes: {{resource.kubernetes.io/numaNode: {{int: {}}}}}"
    return gpu_class(driver) + gpu_slice(*(f"gpu{at}, {numa.format(node)}" for at, node in numbered))


GPU = "{name: gpu, exactly: {deviceClassName: gpu}}"
ALIGNED = ", constraints: [{matchAttribute: resource.kubernetes.io/numaNode}]"


def test_cpus_come_from_the_numa_node_of_a_gpu() -> None:
    text = gpus("gpu.example.com", 1) + claim("both", f"{cpus(4)}, {GPU}", ALIGNED) + pod("a", "both")
    found = plan(text, "2n16c2t")
    assert given(found) == ["8-9,24-25"]
    assert [each.device.name for each in found.pods[0].claims[0].grants] == ["cpudevnuma001", "gpu0"]


def test_a_gpu_with_too_few_cpus_left_on_its_numa_node_is_not_chosen() -> None:
    text = gpus("gpu.example.com", 1, 1) + claim("c", cpus(14, selected(f"{NUMA} == 1"))) + pod("a", "c")
    found = plan(text + claim("both", f"{GPU}, {cpus(4)}", ALIGNED) + pod("b", "both"), "2n16c2t")
    assert why(found, 1).startswith("default/both cpus: requests 1 device, 2 match")


def test_devices_of_an_unlisted_driver_are_undetermined() -> None:
    text = gpus("fpga.example.com", 1) + claim("both", f"{cpus(4)}, {GPU}", ALIGNED) + pod("a", "both")
    assert why(plan(text, "2n16c2t")) == (
        "undetermined: claim default/both requests devices of class gpu, but no ResourceSlice lists the "
        "devices of its driver fpga.example.com"
    )
    unknown = plan(claim("c", GPU) + pod("a", "c"), "2n16c2t")
    assert why(unknown).endswith(
        "of class gpu, but this DeviceClass is not among the manifests (add it to -f: kubectl get "
        "deviceclass gpu -o yaml)"
    )
    missing = plan(pod("a", "c"), "2n16c2t")
    assert why(missing) == (
        "undetermined: ResourceClaim default/c is not among the manifests (add it to -f: kubectl get "
        "resourceclaim -n default c -o yaml)"
    )


def test_a_claim_of_more_than_32_individual_cpus_is_rejected() -> None:
    text = claim("c33", single_cpus(33)) + pod("a", "c33")
    assert why(plan(text, "2n16c2t", INDIVIDUAL)) == (
        "default/c33 cpus: number of requested devices 33 exceeds the claim limit of 32"
    )


def test_an_unsatisfiable_request_for_32_of_512_cpus_fails_quickly() -> None:
    constraint = ", constraints: [{matchAttribute: dra.cpu/cacheL3ID}]"
    requests = f"{single_cpus(16, name='first')}, {single_cpus(16, name='second')}"
    text = claim("c", requests, constraint) + pod("a", "c")
    assert why(plan(text, "2s8n128c2t,l3=32", INDIVIDUAL)) == (
        "default/c second: requests 16 devices, 512 match, 15 satisfy the constraint on dra.cpu/cacheL3ID"
    )


def test_a_template_makes_a_separate_claim_for_every_pod() -> None:
    text = f"""
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {{name: t}}
spec: {{spec: {{devices: {{requests: [{cpus(4)}]}}}}}}
"""
    pods = "".join(
        f"""
---
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  resourceClaims: [{{name: c, resourceClaimTemplateName: t}}]
  containers: [{{name: main, resources: {{claims: [{{name: c}}]}}}}]
"""
        for name in "ab"
    )
    assert given(plan(text + pods, "2n16c2t")) == ["0-1,16-17", "2-3,18-19"]


def test_a_claim_belongs_to_one_container() -> None:
    found = plan(claim("c", cpus(4)) + pod("a", "c") + pod("b", "c"), "2n16c2t")
    assert given(found) == ["0-1,16-17"] * 2
    assert [each.problem for each in found.pods] == [
        "",
        "claim default/c is already in use by pod default/a: only one container can use a claim",
    ]


SPREAD = ", constraints: [{requests: [cpus], distinctAttribute: resource.kubernetes.io/numaNode}]"


def twice(count: int, more: str = "") -> str:
    """Write a claim for two shares of so many CPUs each."""
    amount = f'capacity: {{requests: {{dra.cpu/cpu: "{count}"}}}}'
    request = f"{{name: cpus, exactly: {{deviceClassName: dra.cpu, count: 2, {amount}}}}}"
    return claim("two", request, more) + pod("a", "two")


def test_a_claim_may_have_several_shares_of_a_device_unless_a_constraint_forbids_it() -> None:
    """docs/user/feature-support.md of the driver, "Distributing CPUs across NUMA nodes"."""
    assert given(plan(twice(8), "2n16c2t")) == ["0-7,16-23"]
    spread = plan(twice(8, SPREAD), "2n16c2t")
    assert given(spread) == ["0-3,8-11,16-19,24-27"]
    assert given(plan(twice(10), "2n16c2t")) == ["0-4,8-12,16-20,24-28"], "one node has too few for two"
    assert why(plan(twice(8, SPREAD), "1n32c2t")) == "default/two cpus: requests 2 devices, 1 matches"
    assert "requests 2 devices" in why(plan(twice(17), "2n16c2t"))
