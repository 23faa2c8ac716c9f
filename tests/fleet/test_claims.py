"""Resource claims on a fleet: the scheduler sends pods where their claims can be allocated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cpuctl.fleet.asking import ask, in_this_process
from cpuctl.fleet.collection import Recording
from cpuctl.fleet.plan_answer import fleet_plan_document
from cpuctl.fleet.plan_inputs import FleetPlanInputs, given_pods, load_cluster
from cpuctl.fleet.plan_nodes import NodeSurveyor
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.sources import Sources
from tests.dra.claims import allocated, claim, cpus, gpu_class, gpu_slice, pod
from tests.fleet.test_plan import no_progress, where
from tests.support.schemas import follow_schema

WHY = "default/c on small: claim default/c-t, request cpus: requests 1 device"
SMALL, LARGE = "synthetic:2n4c2t", "synthetic:2n16c2t"


def planned(directory: Path, text: str, fleet: dict[str, str], **words: Any) -> tuple[Any, list[str]]:
    file = directory / "pods.yaml"
    file.write_text(text)
    kubelet = words.pop("kubelet", KubeletInputs(version="1.36"))
    inputs = FleetPlanInputs(kubelet, [str(file)], **words)
    sources = Sources()
    cluster, given = load_cluster(inputs, sources), given_pods(inputs, sources)
    surveyor = NodeSurveyor(cluster.fleet_inputs(inputs, given.pods))
    recordings = [Recording(name, source) for name, source in fleet.items()]
    rows: Any = list(ask(surveyor, recordings, in_this_process, no_progress))
    answer = fleet_plan_document(inputs, given, cluster, rows, sources, no_progress)
    follow_schema(answer, "fleetplan")
    return answer, sources.warnings


def template(name: str, request: str) -> str:
    return f"""
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {{name: {name}}}
spec: {{spec: {{devices: {{requests: [{request}]}}}}}}
"""


def from_template(*names: str) -> str:
    return "".join(pod(name, "t").replace("resourceClaimName", "resourceClaimTemplateName") for name in names)


def test_pods_go_where_their_claims_can_be_allocated(tmp_path: Path) -> None:
    fleet = {"small": SMALL, "large": LARGE}
    answer, warnings = planned(tmp_path, template("t", cpus(12)) + from_template("a", "b", "c"), fleet)
    assert where(answer) == {
        "a": ("large", "Admitted"),
        "b": ("large", "Admitted"),
        "c": (None, "Pending"),
    }
    assert [each.get("claims") for each in answer["pods"]] == [
        {"t": "0-5,16-21"},
        {"t": "8-13,24-29"},
        None,
    ]
    assert answer["pods"][2]["message"] == "0/2 nodes are available: 2 cannot allocate all claims."
    assert [each for each in warnings if each.startswith(WHY)], warnings


def test_equal_nodes_take_one_pod_each(tmp_path: Path) -> None:
    fleet = {f"n{number}": SMALL for number in range(3)}
    text = template("t", cpus(3)) + from_template(*"abcdefg")
    answer, _ = planned(tmp_path, text, fleet)
    nodes = [each["node"] for each in answer["pods"]]
    assert sorted(nodes[:6], key=str) == ["n0", "n0", "n1", "n1", "n2", "n2"], "two groups of 4 CPUs a node"
    assert nodes[6] is None
    assert {each["claims"]["t"] for each in answer["pods"][:6]} == {"0-1,4", "2-3,6"}


def test_a_claim_keeps_its_pods_on_the_node_where_it_is(tmp_path: Path) -> None:
    fleet = {"n1": LARGE, "n2": LARGE}
    wanted = pod("b", "shared").replace("claims: [", "requests: {cpu: 31}, claims: [")
    first = pod("a", "shared").replace("claims: [", "requests: {cpu: 2}, claims: [")
    answer, _ = planned(tmp_path, claim("shared", cpus(4)) + first + wanted, fleet)
    assert where(answer) == {"a": ("n1", "Admitted"), "b": (None, "Pending")}
    assert answer["pods"][1]["message"] == (
        "0/2 nodes are available: 1 Insufficient cpu, 1 resourceclaim not available on the node."
    )


def test_a_claim_that_has_been_allocated_is_on_one_node(tmp_path: Path) -> None:
    fleet = {"n1": LARGE, "n2": LARGE}
    text = allocated("mine", "cpudevnuma001", consumed=4, pool="n2") + pod("a", "mine")
    answer, _ = planned(tmp_path, text, fleet)
    assert where(answer) == {"a": ("n2", "Admitted")}
    assert answer["pods"][0]["claims"] == {"mine": "8-9,24-25"}


def test_devices_of_other_drivers_belong_to_their_nodes(tmp_path: Path) -> None:
    fleet = {"n1": LARGE, "n2": LARGE}
    aligned = ", constraints: [{matchAttribute: resource.kubernetes.io/numaNode}]"
    gpu = "gpu0, attributes: {resource.kubernetes.io/numaNode: {int: 1}}"
    both = claim("both", f"{{name: gpu, exactly: {{deviceClassName: gpu}}}}, {cpus(4)}", aligned)
    text = gpu_class() + gpu_slice(gpu, where="nodeName: n2") + both + pod("a", "both")
    answer, _ = planned(tmp_path, text, fleet)
    assert where(answer) == {"a": ("n2", "Admitted")}
    assert answer["pods"][0]["claims"] == {"both": "8-9,24-25"}


def test_an_unlisted_driver_is_undetermined(tmp_path: Path) -> None:
    text = gpu_class() + claim("g", "{name: gpu, exactly: {deviceClassName: gpu}}") + pod("a", "g")
    answer, _ = planned(tmp_path, text, {"n1": LARGE})
    (a,) = answer["pods"]
    assert a["outcome"] == "Undetermined"
    assert "no ResourceSlice lists the devices of its driver gpu.example.com" in a["why"]


def test_the_flags_of_the_driver_apply_to_all_nodes(tmp_path: Path) -> None:
    text = claim("c", cpus(4)) + pod("a", "c")
    flags = "--reserved-cpus 0-1,8-9"
    answer, _ = planned(tmp_path, text, {"n1": SMALL, "n2": LARGE}, driver_arguments=flags)
    assert answer["pods"][0]["claims"] in ({"c": "4-5,12-13"}, {"c": "2-3,18-19"})


def test_a_copy_that_does_not_start_does_not_fit(tmp_path: Path) -> None:
    text = claim("one", cpus(2)) + pod("a", "one")
    answer, _ = planned(tmp_path, text, {"n1": LARGE}, rounds="max")
    assert answer["repeat"]["copies"] == 1
    stop = answer["repeat"]["stop"]
    assert (stop["outcome"], stop["claimProblem"]) == (
        "Admitted",
        "claim default/one is already in use by pod default/a: only one container can use a claim",
    )
    own = template("t", cpus(8)) + from_template("a")
    answer, _ = planned(tmp_path, own, {"n1": LARGE}, rounds="max")
    assert answer["repeat"]["copies"] == 4, "two groups of 16 CPUs"


COUNTING = KubeletInputs(version="1.37", gates="DRANodeAllocatableResources=true")
MAPPED = "--publish-node-allocatable-resource-mapping"
PLAIN = """
---
apiVersion: v1
kind: Pod
metadata: {name: plain}
spec: {containers: [{name: main, resources: {requests: {cpu: 24}}}]}
"""


def test_the_scheduler_counts_the_cpus_of_claims_when_it_checks_for_free_cpus(tmp_path: Path) -> None:
    claimed = template("t", cpus(12)) + from_template("a")
    words = {"kubelet": COUNTING, "driver_arguments": MAPPED}
    short = "0/1 nodes are available: 1 Insufficient cpu."
    for text, (placed, waiting) in (
        (claimed + PLAIN, ["a", "plain"]),
        (PLAIN + claimed, ["plain", "a"]),
    ):
        answer, warnings = planned(tmp_path, text, {"n1": LARGE}, **words)
        assert where(answer) == {placed: ("n1", "Admitted"), waiting: (None, "Pending")}
        assert next(each["message"] for each in answer["pods"] if each["name"] == waiting).startswith(short)
        assert not [each for each in warnings if "DRANodeAllocatable" in each]
        answer, _ = planned(tmp_path, text, {"n1": LARGE, "n2": LARGE}, **words)
        assert where(answer) == {placed: ("n1", "Admitted"), waiting: ("n2", "Admitted")}
    answer, _ = planned(tmp_path, claimed + PLAIN, {"n1": LARGE}, kubelet=COUNTING)
    assert where(answer) == {"a": ("n1", "Admitted"), "plain": ("n1", "Admitted")}, "nothing is mapped"


def test_the_scheduler_has_its_own_message_for_claims_that_count(tmp_path: Path) -> None:
    text = claim("c", cpus(4)) + pod("a", "c") + pod("b", "c")
    answer, _ = planned(tmp_path, text, {"n1": LARGE}, kubelet=COUNTING, driver_arguments=MAPPED)
    assert where(answer) == {"a": ("n1", "Admitted"), "b": (None, "Pending")}
    why = "node allocatable resource claim c has a mapped device and cannot be shared across pods"
    assert f"1 {why}." in answer["pods"][1]["message"]


def test_nodes_with_the_first_alternative_are_preferred(tmp_path: Path) -> None:
    """``computeScore`` of ``dynamicresources``, from 1.35 on."""
    slow = (
        gpu_class() + gpu_slice("g0", where="nodeName: n1") + gpu_slice("g0", where="nodeName: n2", name="t")
    )
    slow = slow.replace("name: gpus", "name: slow", 1)
    fast = (gpu_class("fast.example.com") + gpu_slice("f0", where="nodeName: n2")).replace(
        "name: gpu}", "name: fast}"
    )
    wanted = (
        "{name: r, firstAvailable: [{name: one, deviceClassName: fast}, {name: two, deviceClassName: gpu}]}"
    )
    text = slow + fast.replace("gpu.example.com", "fast.example.com") + claim("c", wanted) + pod("a", "c")
    for version, chosen in (("1.34", "n1"), ("1.35", "n2")):
        gates = "DynamicResourceAllocation=true,DRAPrioritizedList=true"
        kubelet = KubeletInputs(version=version, gates=gates)
        answer, warnings = planned(tmp_path, text, {"n1": LARGE, "n2": LARGE}, kubelet=kubelet)
        assert where(answer) == {"a": (chosen, "Admitted")}
        assert not [each for each in warnings if "firstAvailable" in each]
