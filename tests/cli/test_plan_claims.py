"""Pods with resource claims in ``plan`` and ``explain``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.inputs.dra import read_driver_arguments
from tests.capture import node_texts
from tests.cli.conftest import Cpuctl
from tests.dra.claims import allocated, claim, cpus, gpu_class, gpu_slice, pod, single_cpus
from tests.machine.sysfs_writer import small_machine
from tests.support.schemas import follow_schema

MACHINE = ("-m", "synthetic:2n16c2t")
BIG = "claim default/big, request cpus: requests 1 device, 2 match, 0 have enough capacity left"


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    return written(
        tmp_path, claim("four", cpus(4)) + claim("big", cpus(14)) + pod("web", "four") + pod("large", "big")
    )


def written(directory: Path, text: str) -> str:
    file = directory / "pods.yaml"
    file.write_text(text)
    return str(file)


def answer(cpuctl: Cpuctl, *words: str, schema: str = "plan") -> dict[str, Any]:
    document: dict[str, Any] = json.loads(cpuctl(*words, "-o", "json").out)
    follow_schema(document, schema)
    return document


def test_cpus_of_claims_are_shown_next_to_the_kubelets(cpuctl: Cpuctl, manifest: str) -> None:
    result = cpuctl("plan", "-f", manifest, *MACHINE, "-q")
    lines = [line.split() for line in result.out.splitlines()]
    assert ["default/web", "four", "claim:", "0-1,16-17"] in lines
    assert ["default/web", "four", "four", "cpudevnuma000(4)", "0-1,16-17", "4", "0"] in lines
    assert "CPUs of containers without a claim: 2-7,15,18-23,31" in result.out
    assert "2 pods: 2 admitted" in result.out
    document = answer(cpuctl, "plan", "-f", manifest, *MACHINE)
    assert document["driver"] == {
        "node": "node",
        "available": "0-31",
        "shared": "2-7,15,18-23,31",
        "reserved": "",
    }
    assert [each["cpus"] for each in document["pods"][0]["claims"]] == ["0-1,16-17"]


def test_a_claim_that_cannot_be_satisfied_leaves_its_pod_pending(cpuctl: Cpuctl, manifest: str) -> None:
    words = ("plan", "-f", manifest, *MACHINE, "--driver-args", "--reserved-cpus=8-10,24-26")
    assert cpuctl(*words).code == 3
    document = answer(cpuctl, *words)
    assert document["summary"]["pending"] == 1
    large = document["pods"][1]
    assert large["outcome"] == "Pending"
    assert large["message"].startswith(BIG)
    assert document["driver"]["reserved"] == "8-10,24-26"


def test_explain_shows_what_is_missing_and_which_claims_hold_it(cpuctl: Cpuctl, manifest: str) -> None:
    words = ("explain", "large", "-f", manifest, *MACHINE, "--driver-args", "--reserved-cpus 8-10,24-26")
    result = cpuctl(*words, "-q")
    assert result.code == 3
    lines = [line.split() for line in result.out.splitlines()]
    assert [
        "default/big",
        "cpus",
        "0",
        "dra.cpu",
        "1",
        "1",
        "1",
        "14",
        "12",
        "of",
        "16",
        "default/four",
    ] in lines
    assert ["default/big", "cpus", "1", "dra.cpu", "1", "1", "1", "14", "10", "of", "10", "-"] in lines
    document = answer(cpuctl, *words, schema="explanation")
    assert document["decision"]["rule"] == "resourceClaims"
    assert document["decision"]["why"].startswith(BIG)
    assert [each["heldBy"] for each in document["claimDevices"]] == [["default/four"], []]
    assert "remove default/web" in [each["text"] for each in document["suggestions"]]


@pytest.mark.parametrize("running", [(), ("--pods", "fixtures/resize/running.json")], ids=["alone", "beside"])
def test_the_next_command_shows_what_the_driver_offers(running: tuple[str, ...], cpuctl: Cpuctl) -> None:
    """``dra allocate`` does not know what running pods hold, and proposes this explanation."""
    node = ("-m", "synthetic:2s2n16c2t,mem=64Gi")
    words = ("-f", "tests/cli/next_steps/claim.yaml", *running)
    stated = cpuctl("explain", *node, *words, "-q", columns=80)
    last = stated.out.splitlines()[-1]
    assert last == "Next, to see what claims can request: cpuctl dra slices -m synthetic:2s2n16c2t,mem=64Gi"
    assert cpuctl("dra", "slices", *node).code == 0


def test_the_devices_fit_a_narrow_terminal(cpuctl: Cpuctl) -> None:
    words = ("explain", "training", "-q", "-f", "fixtures/dra/claims.yaml", "-m", "synthetic:1s1n2c2t")
    lines = cpuctl(*words, columns=80).out.splitlines()
    assert [line for line in lines if len(line) > 80 and not line.startswith("Next, ")] == []
    assert [line.split() for line in lines if line.startswith("CLAIM ")] == [
        ["CLAIM", "REQUEST", "NODE", "DRIVER", "DEVICES", "MATCH", "FREE"],
        ["CLAIM", "REQUEST", "NODE", "PER", "DEVICE", "LEFT", "HELD", "BY"],
    ]


def test_individual_cpus_follow_the_drivers_flags(cpuctl: Cpuctl, tmp_path: Path) -> None:
    manifest = written(tmp_path, claim("c", single_cpus(3)) + pod("a", "c"))
    flags = "--cpu-device-mode=individual --reserved-cpus 0,16"
    document = answer(cpuctl, "plan", "-f", manifest, *MACHINE, "--driver-args", flags)
    assert document["pods"][0]["claims"][0]["cpus"] == "1-2,17"
    assert document["sources"]["driverArguments"] == {"value": flags, "from": "given"}


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--cpu-device-mod=individual", "unknown flag --cpu-device-mod"),
        ("--group-by=core", "--group-by: expected numanode or socket or machine, found 'core'"),
        ("--reserved-cpus", "flag needs an argument: --reserved-cpus"),
        ("--expose-pcie-roots=yes", "--expose-pcie-roots: expected true or false"),
        ("--expose-pcie-roots=tRUE", "--expose-pcie-roots: expected true or false"),
        ("'", "expected the flags of the driver"),
    ],
)
def test_invalid_driver_flags_are_rejected(cpuctl: Cpuctl, manifest: str, flags: str, words: str) -> None:
    result = cpuctl("plan", "-f", manifest, *MACHINE, "--driver-args", flags)
    assert result.code == 2
    assert words in result.err


def test_switches_are_read_as_go_reads_them() -> None:
    switch = "--expose-pcie-roots"
    for word in ("", "=1", "=t", "=T", "=TRUE", "=True", "=true"):
        assert read_driver_arguments(switch + word).expose_pcie_roots, word
    for word in ("=0", "=f", "=F", "=FALSE", "=False", "=false", "=1 --expose-pcie-roots=0"):
        assert not read_driver_arguments(switch + word).expose_pcie_roots, word


def test_a_driver_without_resource_slices_is_named(cpuctl: Cpuctl, tmp_path: Path) -> None:
    request = "{name: gpu, exactly: {deviceClassName: gpu}}"
    both = gpu_class() + claim("g", f"{cpus(2)}, {request}") + pod("a", "g")
    document = answer(cpuctl, "plan", "-f", written(tmp_path, both), *MACHINE)
    assert document["pods"][0]["outcome"] == "Undetermined"
    assert document["pods"][0]["why"].endswith(
        "no ResourceSlice lists the devices of its driver gpu.example.com"
    )
    reported = written(tmp_path, both + gpu_slice("gpu0"))
    words = ("plan", "-f", reported, *MACHINE, "--driver-args", "--hostname-override node-a")
    assert answer(cpuctl, *words)["pods"][0]["outcome"] == "Admitted"
    assert answer(cpuctl, "plan", "-f", reported, *MACHINE)["sources"]["nodeName"]["value"] == "node-a"


def test_a_pod_that_is_admitted_but_does_not_start_exits_with_3(cpuctl: Cpuctl, tmp_path: Path) -> None:
    manifest = written(tmp_path, claim("c", cpus(4)) + pod("a", "c") + pod("b", "c"))
    result = cpuctl("plan", "-f", manifest, *MACHINE)
    assert result.code == 3
    problem = "claim default/c is already in use by pod default/a: only one container can use a claim"
    assert f"warning: pod default/b is admitted but does not start: {problem}" in result.out
    explained = answer(cpuctl, "explain", "b", "-f", manifest, *MACHINE, schema="explanation")
    assert explained["pod"]["claimProblem"] == problem


def test_conflicts_between_kubelet_and_driver_are_reported(cpuctl: Cpuctl, manifest: str) -> None:
    kubelet = ("--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0,16")
    result = cpuctl("plan", "-f", manifest, *MACHINE, *kubelet)
    assert "the CPU Manager and the driver do not know about each other" in result.err
    assert "the kubelet reserves CPUs 0,16, the driver reserves none" in result.err
    without = cpuctl("plan", "-T", "web=2/2,1Gi", *MACHINE, *kubelet)
    assert "driver" not in without.err


def test_an_api_server_without_claims_drops_them(cpuctl: Cpuctl, manifest: str) -> None:
    result = cpuctl("plan", "-f", manifest, *MACHINE, "--kubelet-version", "1.33")
    assert result.code == 0
    assert (
        "DynamicResourceAllocation is disabled: the API server drops resource claims of new pods"
        in result.err
    )
    assert "claim:" not in result.out


def test_a_running_pods_claim_counts(cpuctl: Cpuctl, tmp_path: Path) -> None:
    running = tmp_path / "running.json"
    spec = {
        "resourceClaims": [{"name": "c", "resourceClaimName": "old"}],
        "containers": [{"name": "c", "resources": {"claims": [{"name": "c"}]}}],
        "nodeName": "node",
    }
    metadata = {"name": "p", "namespace": "default", "uid": "u"}
    item = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": "Running"},
    }
    running.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [item]}))
    new = claim("c", cpus(16)) + pod("a", "c")
    words = (*MACHINE, "--pods", str(running))
    unknown = answer(cpuctl, "plan", "-f", written(tmp_path, new), *words)
    assert unknown["pods"][0]["why"].startswith(
        "pod default/p is running: ResourceClaim default/old is not among the manifests (add it to -f: "
    )
    old = allocated("old", "cpudevnuma000", consumed=4, users="u", pool="node")
    known = answer(cpuctl, "plan", "-f", written(tmp_path, new + old), *words)
    (taken,) = known["pods"][0]["claims"]
    assert [each["device"] for each in taken["devices"]] == ["cpudevnuma001"]
    assert taken["whyUnknown"].startswith("the CPUs of claim default/old are unknown")
    for command in ("plan", "explain"):
        assert cpuctl(command, "-f", written(tmp_path, new + old), *words).code == 3
    assert cpuctl("dra", "allocate", written(tmp_path, new + old), *MACHINE).code == 3


def test_cpus_of_claims_count_as_the_nodes_if_mapped(cpuctl: Cpuctl, tmp_path: Path) -> None:
    web = """
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: main, resources: {requests: {cpu: 23}}}]}
"""
    manifest = written(tmp_path, claim("ten", cpus(10)) + pod("a", "ten") + web)
    counting = (
        *("--kubelet-version", "1.37", "--feature-gates", "DRANodeAllocatableResources=true"),
        *("--driver-args", "--publish-node-allocatable-resource-mapping"),
    )
    document = answer(cpuctl, "plan", "-f", manifest, *MACHINE, *counting)
    claimed, other = document["pods"]
    assert (claimed["accounting"]["claims"], claimed["accounting"]["footprint"]) == ("10", "10")
    assert (other["outcome"], other["reason"]) == ("Rejected", "OutOfcpu")
    assert other["details"] == {"requested": 23000, "used": 10000, "capacity": 32000}
    reported = cpuctl("plan", "-f", manifest, *MACHINE, *counting, "-q").out
    assert "default/a uses 10 CPUs in total, 10 of them from its claims" in reported
    without = answer(cpuctl, "plan", "-f", manifest, *MACHINE)
    assert [each["outcome"] for each in without["pods"]] == ["Admitted", "Admitted"]
    assert "accounting" not in without["pods"][0]


def test_a_capture_has_the_cpus_of_prepared_claims(cpuctl: Cpuctl, tmp_path: Path) -> None:
    uid = "5f0c9a6e-3d5b-4a57-9d0e-6f2b8f1f7a01"
    device = {"name": f"claim-{uid}", "containerEdits": {"env": [f"DRA_CPUSET_{uid}=1,5"]}}
    files = {
        **small_machine(),
        "run/cdi/dra.cpu.json": json.dumps({"kind": "dra.k8s.io/cpu", "devices": [device]}),
    }
    root = str(node_texts.written(files, tmp_path / "root"))
    archive = str(tmp_path / "node.tar.gz")
    cpuctl("capture", "--root", root, archive)
    old = allocated("old", "cpudevnuma000", consumed=2, users="u").replace("old-uid", uid)
    manifest = written(tmp_path, old + claim("new", cpus(2)) + pod("a", "new"))
    for machine in (archive, root):
        document = answer(cpuctl, "plan", "-f", manifest, "-m", machine)
        (new,) = document["pods"][0]["claims"]
        assert (new["cpus"], document["driver"]["node"]) == ("0,4", "node-a")
        reported = answer(cpuctl, "audit", "-m", machine, "--exit-zero", schema="audit")
        assert [(each["uid"], each["cpus"]) for each in reported["claims"]] == [(uid, "1,5")]


def test_a_comparison_shows_which_claims_move(cpuctl: Cpuctl, tmp_path: Path) -> None:
    large = pod("a", "one").replace("claims: [", "requests: {cpu: 30}, claims: [")
    text = claim("one", cpus(4)) + claim("two", cpus(4)) + large + pod("b", "two")
    words = ("plan", "-f", written(tmp_path, text), *MACHINE, "--compare", ".", "kubeReserved.cpu=8")
    document = answer(cpuctl, *words, schema="plancomparison")
    rejected, moved = document["pods"]
    (lost,), (gained,) = rejected["claims"], moved["claims"]
    assert (lost["a"]["cpus"], lost["b"], lost["onlyA"]) == ("0-1,16-17", None, "0-1,16-17")
    assert (gained["a"]["cpus"], gained["b"]["cpus"]) == ("2-3,18-19", "0-1,16-17")
    assert (gained["moves"], gained["onlyA"], gained["onlyB"]) == (True, "2-3,18-19", "0-1,16-17")
    assert (document["summary"]["claims"], moved["changed"], moved["verdictDiffers"]) == (2, True, False)
    reported = cpuctl(*words, "-q").out
    assert ["claim", "two", "2-3,18-19", "0-1,16-17", "2-3,18-19", "0-1,16-17"] in map(
        str.split, reported.splitlines()
    )
    assert "Pods that differ: 2 of 2 (1 admitted on one side only, resources of 2 claims)" in reported
    same = answer(cpuctl, *words[:-2], ".", "maxPods=50", schema="plancomparison")
    assert (same["summary"]["claims"], same["summary"]["changed"]) == (0, 0)


def test_a_comparison_with_a_pod_that_does_not_start_exits_with_3(cpuctl: Cpuctl, tmp_path: Path) -> None:
    manifest = written(tmp_path, claim("c", cpus(4)) + pod("a", "c") + pod("b", "c"))
    result = cpuctl("plan", "-f", manifest, *MACHINE, "--compare", ".", ".")
    assert result.code == 3
    assert "A: default/b: claim default/c is already in use by pod default/a" in result.out


def test_a_pod_with_a_claim_entry_without_a_claim_is_rejected(cpuctl: Cpuctl, tmp_path: Path) -> None:
    text = pod("a", "c").replace(", resourceClaimName: c", "")
    document = answer(cpuctl, "plan", "-f", written(tmp_path, text), *MACHINE)
    assert document["pods"][0]["outcome"] == "Forbidden"
    assert "must specify one of: `resourceClaimName`" in document["pods"][0]["message"]


RESERVED = ("--driver-args", "--reserved-cpus 8-10,24-26")


def test_a_resize_considers_the_driver_first(cpuctl: Cpuctl, tmp_path: Path) -> None:
    large = pod("large", "big").replace("claims: [", "requests: {cpu: 1}, claims: [")
    manifest = written(tmp_path, claim("four", cpus(4)) + claim("big", cpus(14)) + pod("web", "four") + large)
    words = ("resize", "-f", manifest, *MACHINE, "--set", "large:cpu=2")
    assert cpuctl(*words).code == 0
    result = cpuctl(*words, *RESERVED)
    assert result.code == 4
    assert f"error: default/large is not admitted ({BIG}" in result.err


def test_pods_in_state_files_hold_their_claims(cpuctl: Cpuctl, tmp_path: Path) -> None:
    one = pod("a", "c").replace("claims: [", "requests: {cpu: 1}, claims: [")
    words = ("--kubelet-version", "1.37", "--feature-gates", "DRANodeAllocatableResources=true")
    driver = ("--driver-args", "--publish-node-allocatable-resource-mapping")
    manifest = written(tmp_path, allocated("c", "cpudevnuma000", consumed=20, pool="node") + one)
    state = str(tmp_path / "state")
    assert cpuctl("checkpoint", "new", "-f", manifest, *MACHINE, *words, "--write-state", state).code == 0
    resize = ("resize", "-f", manifest, *MACHINE, *words, *driver, "--state", state)
    assert cpuctl(*resize, "--set", "a:cpu=12").code == 0
    (granted,) = answer(cpuctl, *resize, "--set", "a:cpu=12", schema="resize")["pods"]
    assert [granted["cgroup"][when]["cpuShares"] for when in ("before", "after")] == [21 << 10, 32 << 10]
    assert granted["scheduler"]["after"]["cpu"] == "32"
    result = cpuctl(*resize, "--set", "a:cpu=13")
    assert result.code == 3, "20 of 32 CPUs are the claim's"
    assert "default/a: deferred" in result.out


def test_new_state_files_require_that_pods_get_their_claims(cpuctl: Cpuctl, manifest: str) -> None:
    words = ("checkpoint", "new", "--kubelet-version", "1.36", "-f", manifest, *MACHINE)
    assert cpuctl(*words).code == 0
    result = cpuctl(*words, *RESERVED)
    assert result.code == 3
    assert f"not created: default/large is not admitted: {BIG}" in result.out


def test_a_fleet_plan_allocates_claims(cpuctl: Cpuctl, tmp_path: Path) -> None:
    manifest = written(tmp_path, claim("c", cpus(4)) + pod("a", "c"))
    words = ("fleet", "plan", "fixtures/machines/2s-2numa-32cpu.tar.xz", "--jobs", "2", "-f", manifest)
    assert cpuctl(*words).code == 0
    document = answer(cpuctl, *words, schema="fleetplan")
    (cpus_of,) = document["pods"][0]["claims"].values()
    assert len(CPUSet.parse(cpus_of)) == 4
    assert f"claim c: {cpus_of}" in cpuctl(*words).out
    reserved = answer(cpuctl, *words, "--driver-args", f"--reserved-cpus {cpus_of}", schema="fleetplan")
    assert CPUSet.parse(reserved["pods"][0]["claims"]["c"]).isdisjoint(CPUSet.parse(cpus_of))
    twice = written(tmp_path, claim("c", cpus(4)) + pod("a", "c") + pod("b", "c"))
    result = cpuctl(*words[:-1], twice)
    assert result.code == 3
    assert "does not start" in result.out


@pytest.mark.parametrize("rounds", ["max", "3"])
def test_a_copy_that_does_not_start_does_not_fit(cpuctl: Cpuctl, tmp_path: Path, rounds: str) -> None:
    manifest = written(tmp_path, claim("c", cpus(4)) + pod("a", "c"))
    words = ("plan", "-f", manifest, *MACHINE)
    found = answer(cpuctl, *words, "--repeat", rounds)["repeat"]
    problem = "claim default/c is already in use by pod default/a: only one container can use a claim"
    assert (found["fitted"], found["stop"]["pod"]) == (1, "default/a-2")
    assert found["stop"]["message"] == f"it is admitted but does not start: {problem}"
    assert problem in cpuctl(*words, "--repeat", rounds, "-q").out


def test_pods_with_different_claims_are_not_copies(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """Pods that use different claims are not copies, even if the pods give the claims the same name."""
    shared = pod("a", "c") + pod("b", "c").replace("resourceClaimName: c", "resourceClaimName: d")
    manifest = written(tmp_path, claim("c", cpus(4)) + claim("d", cpus(4)) + shared)
    copies = answer(cpuctl, "plan", "-f", manifest, *MACHINE, "--capacity")["capacity"]["copies"]
    assert [(each["pods"], each["fits"]) for each in copies] == [(["default/a"], 0), (["default/b"], 0)]


def test_a_static_pod_with_claims_stays_pending(cpuctl: Cpuctl, tmp_path: Path) -> None:
    static = pod("a", "c").replace("{name: a}", "{name: a, annotations: {kubernetes.io/config.source: file}}")
    document = answer(cpuctl, "plan", "-f", written(tmp_path, claim("c", cpus(2)) + static), *MACHINE)
    refusal = "the kubelet rejects the static pod: static pods may not reference resourceclaims"
    (found,) = document["pods"]
    assert (found["outcome"], found["message"]) == ("Pending", f"claim default/c: {refusal}")
    assert "claims" not in found


STATIC = ("--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0,1")
TEN = ("-f", "fixtures/dra/examples/grouped.yaml")


def test_no_static_policy_is_advised_beside_the_driver(cpuctl: Cpuctl) -> None:
    """The CPU Manager and the driver do not know about each other."""
    advised = answer(cpuctl, "advise", *MACHINE, *TEN, "-T", "a=2/2,1Gi", "-q", schema="advice")
    assert {each["settings"]["cpuManagerPolicy"] for each in advised["proposals"]} <= {"none"}
    assert [each["setting"] for each in advised["skipped"]].count("cpuManagerPolicy=static") == 1
    shown = cpuctl("advise", *MACHINE, *TEN, "-T", "a=2/2,1Gi", "-q").out
    assert "not tried: cpuManagerPolicy=static: pods have claims for CPUs" in shown
    alone = answer(cpuctl, "advise", *MACHINE, "-T", "a=2/2,1Gi", "-q", schema="advice")
    assert "static" in {each["settings"]["cpuManagerPolicy"] for each in alone["proposals"]}


def test_beside_the_driver_exclusive_cpus_need_a_claim(cpuctl: Cpuctl) -> None:
    shown = cpuctl("plan", *MACHINE, *TEN, "-T", "a=2/2,1Gi", "-q").out
    assert "\n  exclusive CPUs need a resource claim: the dra.cpu driver assigns them\n" in shown
    assert "cpuManagerPolicy: static" not in shown


def test_cpus_of_both_the_cpu_manager_and_a_claim_are_shown(cpuctl: Cpuctl) -> None:
    shown = cpuctl("plan", *MACHINE, *STATIC, *TEN, "-q")
    (pod,) = answer(cpuctl, "plan", *MACHINE, *STATIC, *TEN, "-q")["pods"]
    assert pod["containers"][0]["exclusive"]
    assert f" {pod['containers'][0]['cpus']}, claim: {pod['claims'][0]['cpus']} " in shown.out


def test_a_lint_does_not_allocate_claims(cpuctl: Cpuctl) -> None:
    linted = cpuctl("pods", "lint", *TEN, *MACHINE, "-q").out
    assert "is unknown: it has resource claims (use cpuctl plan, which allocates them)\n" in linted


def test_devices_are_shown_only_if_they_do_not_match(cpuctl: Cpuctl) -> None:
    """A claim that another pod uses has its devices."""
    words = ("dra", "allocate", *MACHINE, *TEN, "-f", "fixtures/dra/examples/node-allocatable.yaml", "-q")
    shown = cpuctl(*words).out
    assert shown.count("is already in use by pod default/grouped") == 1
    assert "Next" not in shown


GPU = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: g, namespace: default}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec:
  resourceClaims: [{name: g, resourceClaimName: g}]
  containers: [{name: c, resources: {limits: {cpu: 4, memory: 1Gi}, claims: [{name: g}]}}]
"""


def test_claims_without_cpus_do_not_rule_out_the_cpu_manager(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """A GPU comes from another driver."""
    file = written(tmp_path, GPU + gpu_class() + gpu_slice("one", where="allNodes: true"))
    advised = answer(cpuctl, "advise", *MACHINE, "-f", file, "-q", schema="advice")
    assert "static" in {each["settings"]["cpuManagerPolicy"] for each in advised["proposals"]}
    shown = cpuctl("plan", *MACHINE, "-f", file, "-q").out
    assert "\n  exclusive CPUs need cpuManagerPolicy: static\n" in shown


def test_no_settings_are_proposed_if_no_container_requests_whole_cpus(cpuctl: Cpuctl) -> None:
    words = (*MACHINE, "-q", "-T", "a=500m/500m,1Gi")
    shown = cpuctl("plan", *words).out
    assert "default/a a: shared, because its cpu request 500m is not a whole number of CPUs\n" in shown
    assert "exclusive CPUs need" not in shown
    for command in ("plan", "explain"):
        assert "Next" not in cpuctl(command, *words).out
    assert (
        "Next, to get settings with exclusive CPUs: cpuctl advise"
        in cpuctl("plan", *words, "-T", "b=2/2,1Gi", columns=300).out
    )


def test_what_helps_against_the_policy_follows_its_sentence(cpuctl: Cpuctl) -> None:
    half, whole = ("-T", "a=500m/500m,1Gi"), ("-T", "b=2/2,1Gi")
    for pods in ((*half, *whole), (*whole, *half)):
        assert (
            "default/b b: shared, because the CPU Manager policy is none\n"
            "  exclusive CPUs need cpuManagerPolicy: static\n"
        ) in cpuctl("plan", *MACHINE, "-q", *pods).out


def test_nothing_is_said_about_pods_that_have_their_claims(cpuctl: Cpuctl) -> None:
    assert "exclusive CPUs need" not in cpuctl("plan", *MACHINE, *TEN, "-q").out
