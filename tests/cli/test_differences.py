"""Every release difference that no recording shows: what an answer contains before the change, and after."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from cpuctl.checkpoints import cpu_state
from cpuctl.checkpoints.cpu_state import cpu_document, write_cpu_state
from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.checkpoints.reader import StateReader
from cpuctl.cpuset import CPUSet
from cpuctl.kubelet.releases import behaviours as table
from cpuctl.kubelet.releases.difference import Difference
from cpuctl.kubelet.releases.differences import DIFFERENCES
from tests.checkpoints.test_other_files import flat_devices
from tests.cli.conftest import ROOT, Cpuctl
from tests.cli.test_plan_readmission import KUBELET as DIVIDING
from tests.machine.sysfs_writer import CPU_DIR, small_machine

RECORDED = {
    each["name"]: each["text"]
    for each in json.loads((ROOT / "fixtures/state_files/recorded.json").read_text())
}
NODE = ("-m", "synthetic:1s1n8c1t,mem=16Gi")
STATIC = "--cpu-manager-policy=static --reserved-cpus=0"
STATIC_MEMORY = "--memory-manager-policy=Static --system-reserved=memory=1Gi --reserved-memory=0:memory=1Gi"
RESIZES = ("--feature-gates", "InPlacePodVerticalScaling=true")
POD_LEVEL = ("--feature-gates", "PodLevelResources=true")
EXCLUSIVE = ("--feature-gates", "InPlacePodVerticalScalingExclusiveCPUs=true")
ONE = ("-T", "a=1/1,1Gi")
HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
VERSION = "THE_RELEASE"
COUNTING = ("--feature-gates", "DRANodeAllocatableResources=true")
COUNTED = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: device.driver == "gpu.example.com"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: gpu.example.com
  allNodes: true
  pool: {name: gpus, generation: 1, resourceSliceCount: 1}
  devices:
  - name: gpu0
    nodeAllocatableResourceMappings: {cpu: {allocationMultiplier: "2"}}
    nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "2"}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: g}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  resourceClaims: [{name: g, resourceClaimName: g}]
  containers:
  - {name: a, image: x, resources: {claims: [{name: g}], requests: {cpu: 1}, limits: {cpu: 2}}}
"""
"""A claim that counts as two CPUs, in the device fields that 1.36 reads and in those of later releases."""
DROP_IN = ("--kubelet-config", "k.yaml", "--config-dir", "d")


def pod(level: str, *containers: str) -> str:
    written = "".join(
        f"  - {{name: {name}, image: x{each}}}\n" for name, each in zip("ab", containers, strict=False)
    )
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n{level}  containers:\n{written}"


def of(cpu: str, memory: str, side: str = "requests") -> str:
    return f'{side}: {{cpu: "{cpu}", memory: {memory}}}'


SMALL = f", resources: {{{of('1', '1Gi')}}}"
BOTH = f", resources: {{{of('1', '1Gi')}, {of('2', '2Gi', 'limits')}}}"
EXACT = f"{{{of('1', '1Gi')}, {of('1', '1Gi', 'limits')}}}"
LEVEL = f"  resources: {{{of('2', '2Gi')}, {of('2', '2Gi', 'limits')}}}\n"
PAGES = LEVEL.replace("memory: 2Gi", "memory: 2Gi, hugepages-2Mi: 4Mi")
SIDECAR = f"  initContainers:\n  - {{name: s, image: x, restartPolicy: Always, resources: {EXACT}}}\n"
INIT = SIDECAR.replace(", restartPolicy: Always", "")
RANGE = (
    "apiVersion: v1\nkind: LimitRange\nmetadata: {name: l}\nspec:\n  limits:\n  - type: Container\n"
    '    default: {cpu: "3", memory: 3Gi}\n    defaultRequest: {cpu: "2", memory: 2Gi}\n---\n'
)
LEVEL_LIMITS = f"  resources: {{{of('8', '8Gi', 'limits')}}}\n"
LEVEL_REQUESTS = f"  resources: {{{of('2', '2Gi')}}}\n"


class Shown(NamedTuple):
    """A command that runs for the releases before and after; the text of one answer is not in the other."""

    words: tuple[str, ...]
    before: str
    after: str
    files: Mapping[str, str] = {}
    first: tuple[str, ...] = ()
    """A command that runs first, such as one that writes state files."""


def config(stated: str, **files: str) -> Mapping[str, str]:
    return {"k.yaml": HEAD + stated, **{f"d/{name}.conf": text for name, text in files.items()}}


def check(stated: str, before: str, after: str, *words: str, **drop_ins: str) -> Shown:
    named = DROP_IN if drop_ins else DROP_IN[:2]
    return Shown(("config", "check", *NODE, *named, *words), before, after, config(stated, **drop_ins))


def show(before: str, after: str, stated: str = "", **drop_ins: str) -> Shown:
    named = DROP_IN if drop_ins else DROP_IN[:2]
    return Shown(("config", "show", *NODE, *named, "-o", "wide"), before, after, config(stated, **drop_ins))


def facts(text: str, before: str, after: str, *words: str) -> Shown:
    return Shown(("pods", "show", "-f", "p.yaml", *words), before, after, {"p.yaml": text})


def resize(to: str, before: str, after: str, *words: str, text: str = "") -> Shown:
    selected = ("-f", "p.yaml") if text else ONE
    return Shown(
        ("resize", *NODE, *selected, "--set", to, *words), before, after, {"p.yaml": text} if text else {}
    )


def state(name: str, text: str, before: str, after: str, *words: str) -> Shown:
    words = ("checkpoint", "verify", "s", *NODE, *words)
    return Shown(words, before, after, {f"s/{name}": text})


CPUS = CPUStateFile("static", CPUSet.parse("0,2-7"), {"u": {"c": CPUSet.parse("1")}})
CPUS_V1 = cpu_state.V1.write(cpu_document(CPUS) | {"entries": {"cid": "1"}})
CPUS_V3 = write_cpu_state(CPUS, StateReader(minor=36, pod_level_managers=True))
RUNNING = (
    "status:\n  phase: Running\n  qosClass: Guaranteed\n  containerStatuses:\n"
    "  - {name: a, state: {running: {}}}\n"
)
FIVE, THREE, TWO = (
    f"requests: {each}, limits: {each}"
    for each in ("{cpu: '5', memory: 5Gi}", "{cpu: '3', memory: 3Gi}", "{cpu: '2', memory: 2Gi}")
)


def divided(*containers: str) -> Mapping[str, str]:
    """Return the files for a pod of 5 CPUs and 5 GiB that is divided among its containers."""
    text = pod(f"  resources: {{{FIVE}}}\n", *(f", resources: {{{each}}}" for each in containers))
    return {"k.yaml": DIVIDING, "p.yaml": text.replace("name: p}", "name: p, uid: u1}")}


TIMELINE = f"""apiVersion: cpuctl/v1alpha1
kind: Timeline
machine: synthetic:1s1n10c2t
kubelet:
  version: "{VERSION}"
  config:
    cpuManagerPolicy: static
    reservedSystemCPUs: 0,10
    cpuManagerPolicyOptions: {{scale-delay-time: 5s}}
    featureGates: {{CPUManagerPolicyAlphaOptions: true, InPlacePodVerticalScalingExclusiveCPUs: true}}
pods: ["a=2/2,1Gi"]
events:
- {{at: 0s, admit: a}}
- {{at: 1s, resize: {{pod: a, cpu: 4}}}}
- {{at: 12s, resize: {{pod: a, cpu: 3}}}}
"""
AGAIN = ("-m", "synthetic:2s2n8c1t,mem=16Gi", "--kubelet-config", "k.yaml")
ONCE = ("plan", *AGAIN, "-f", "p.yaml", "--write-state", "s", "--force", "--kubelet-version", VERSION)
PLANNED_AGAIN = ("plan", *AGAIN, "-f", "p.yaml", "--state", "s")
STARTS, STARTS_NOT = "would start.", "would not start"
DONE, INFEASIBLE, FORBIDDEN = "accepted", ": infeasible", "rejected by the API server"


def machine_of_books() -> Mapping[str, str]:
    """Return the files of an s390x machine with four CPUs, whose core IDs repeat in its two books."""
    files = small_machine("1s1n4c1t")
    for cpu in range(4):
        place = f"{CPU_DIR}/cpu{cpu}/topology"
        files |= {f"{place}/core_id": f"{cpu % 2}\n", f"{place}/book_id": f"{cpu // 2}\n"}
        files[f"{place}/drawer_id"] = "4\n"
    return {f"m/{path}": text for path, text in files.items()}


SHOWN: Mapping[str, Shown] = {
    "knows_books": Shown(
        ("plan", "-m", "m", "-T", "a=2/2,1Gi", "--kubelet-args", STATIC),
        "default/a a 1,3 ",
        "default/a a 1-2 ",
        machine_of_books(),
    ),
    "drop_ins": check("", "unknown flag: --config-dir", STARTS, a=HEAD),
    "drop_ins_without_variable": check("", "KUBELET_CONFIG_DROPIN_DIR_ALPHA", "0 warnings", a=HEAD),
    "merges_drop_ins_as_text": show(
        "failSwapOn true default", "failSwapOn false d/a.conf:3", a=HEAD + "failSwapOn: false"
    ),
    "defaults_after_drop_ins": check("", STARTS, "unknown apiVersion/kind", a="kind: Anything"),
    "default_inode_threshold_of_images": show("", 'evictionHard["imagefs.inodesFree"] 5% default'),
    "knows_no_swap": check(
        "memorySwap: {swapBehavior: NoSwap}\nfeatureGates: {NodeSwap: true}\n", STARTS_NOT, STARTS
    ),
    "checks_each_enforcement": check(
        "cgroupsPerQOS: false\nenforceNodeAllocatable: [none]\n", "is not supported unless", STARTS
    ),
    "collects_locked_gates": check(
        "", ": cannot set", ": [cannot set", "--feature-gates", "CPUManager=false,APIListChunking=false"
    ),
    "enforces_compressible": check(
        "enforceNodeAllocatable: [pods, system-reserved-compressible]\nsystemReservedCgroup: /s\n",
        'option "system-reserved-compressible"',
        STARTS,
    ),
    "knows_best_effort_memory": check(
        "memoryManagerPolicy: BestEffort\n", 'unknown policy: "BestEffort"', 'platform "linux"'
    ),
    "rejects_cgroup_v1_by_default": check("", STARTS, "cgroup v1 support", "--cgroup-version", "1"),
    "takes_cfs_periods": check(
        "cpuCFSQuotaPeriod: 50ms\n", "requires feature gate CustomCPUCFSQuotaPeriod", STARTS
    ),
    "memory_throttling_is_opt_in": show("memoryThrottlingFactor 0.9 default", ""),
    "protects_memory_by_class": facts(pod("", SMALL), "memory.min", "", "--feature-gates", "MemoryQoS=true"),
    "lifts_quota_of_exclusive_cpus": facts(
        pod("", f", resources: {EXACT}"), "100000 100000", "max 100000", "--kubelet-args", STATIC
    ),
    "admits_sidecars": Shown(
        ("plan", *NODE, "-f", "p.yaml"),
        "InitContainerRestartPolicyForbidden",
        "1 admitted",
        {"p.yaml": pod(SIDECAR, f", resources: {EXACT}")},
    ),
    "enables_pod_level_resources": facts(
        pod(LEVEL, SMALL), "dropped by the API server", "QoS class Guaranteed"
    ),
    "shows_pod_level_limits_inside": facts(
        pod(LEVEL, SMALL),
        "downward API a limits.cpu 8",
        "downward API a limits.cpu 2",
        *(*NODE, *POD_LEVEL, "-o", "wide"),
    ),
    "pod_level_hugepages": facts(
        pod(PAGES, SMALL), "Unsupported value", "hugetlb.2MB.max", *NODE, *POD_LEVEL
    ),
    "empty_pod_level_resources_do_not_count": facts(
        pod("  resources: {}\n", SMALL), "QoS class BestEffort", "QoS class Burstable"
    ),
    "defaults_pod_level_last": facts(
        RANGE + pod(LEVEL_LIMITS, ""), "from the pod-level limit", "the sum of the containers' requests"
    ),
    "defaults_pod_level_limits": facts(
        pod(LEVEL_REQUESTS, BOTH), "spec.resources has no cpu limit", "QoS class Guaranteed"
    ),
    "counts_sidecars_for_replicas": facts(
        pod(SIDECAR, f", resources: {EXACT}"),
        "HPA cpu request 1 ",
        "HPA cpu request 2 ",
        *("-o", "wide", "--feature-gates", "SidecarContainers=true"),
    ),
    "counts_pod_level_requests_for_new_nodes": facts(
        pod(LEVEL, SMALL),
        "cluster autoscaler cpu request 1 ",
        "cluster autoscaler cpu request 2 ",
        *(*POD_LEVEL, "-o", "wide"),
    ),
    "counts_pod_level_requests_for_replicas": facts(
        pod(LEVEL, SMALL, ""),
        "HPA cpu request error: missing request",
        "HPA cpu request 2 ",
        *POD_LEVEL,
        "-o",
        "wide",
    ),
    "resizes_by_default": resize("a:cpu=2", FORBIDDEN, DONE),
    "has_resize_subresource": resize("a:cpu=2", "allow changing resources of pods", "serve pods/resize"),
    "managers_reject_resizes": resize(
        "a:cpu=2", "accepted, without effect", "CPU Manager static policy", *RESIZES, "--kubelet-args", STATIC
    ),
    "reports_resizes_in_conditions": resize("a:cpu=20", "status.resize:", "Condition PodResize", *RESIZES),
    "resizes_sidecars": resize(
        "p/s:cpu=2", FORBIDDEN, DONE, *RESIZES, text=pod(SIDECAR, f", resources: {EXACT}")
    ),
    "rejects_resizes_with_swap": resize(
        "p/a:memory=1500Mi/2Gi",
        DONE,
        "containers with swap",
        *("--feature-gates", "InPlacePodVerticalScaling=true,NodeSwap=true", "--kubelet-config", "k.yaml"),
        text=pod("", BOTH),
    ),
    "restarts_for_memory_requests": resize(
        "p/a:memory=1500Mi/2Gi",
        "Gi -> 1500Mi/2Gi no",
        "Gi -> 1500Mi/2Gi yes",
        *RESIZES,
        text=pod("", BOTH + ", resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}]"),
    ),
    "restarts_for_lower_memory_limits": resize(
        "p/a:memory=1Gi/1500Mi", DONE, "memory limits cannot be decreased", *RESIZES, text=pod("", BOTH)
    ),
    "lowers_memory_limits": resize(
        "p/a:memory=1Gi/1500Mi", "memory limits cannot be decreased", DONE, text=pod("", BOTH)
    ),
    "managers_reject_by_resource": resize("a:memory=2Gi", INFEASIBLE, DONE, "--kubelet-args", STATIC),
    "has_gate_of_exclusive_memory": resize(
        "a:memory=2Gi", DONE, INFEASIBLE, *EXCLUSIVE, "--kubelet-args", STATIC_MEMORY
    ),
    "rejects_memory_resizes_with_static_manager": resize(
        "a:memory=2Gi", DONE, INFEASIBLE, *RESIZES, "--kubelet-args", STATIC_MEMORY
    ),
    "compares_resizes_with_absolute_allocatable": resize(
        "a:memory=14500Mi",
        INFEASIBLE,
        ": deferred",
        *("--kubelet-args", "--system-reserved=memory=1Gi --eviction-hard=memory.available<1Gi"),
    ),
    "managers_read_requests": Shown(
        ("explain", "p", *NODE, "--pods", "p.yaml", "--kubelet-args", STATIC),
        "its status has no allocatedResources for cpu",
        "HOW a 1 ",
        {"p.yaml": f"{pod('', f', resources: {EXACT}')}{RUNNING}"},
    ),
    "ignores_missing_devices_of_inits": Shown(
        ("plan", *NODE, "-f", "p.yaml"),
        "(use --devices); if the node has none, this kubelet rejects the pod (OutOfvendor/device)",
        "",
        {"p.yaml": pod(INIT.replace('cpu: "1"', 'vendor/device: "1", cpu: "1"'), f", resources: {EXACT}")},
    ),
    "names_gate_of_pod_level_resizes": resize(
        "p:cpu=3",
        "with pod-level resources cannot be resized",
        "VerticalScalingEnabled feature gate",
        text=pod(LEVEL, SMALL),
    ),
    "resizes_pod_level_resources": resize("p:cpu=3", FORBIDDEN, DONE, text=pod(LEVEL, SMALL)),
    "forbids_whole_containers": resize(
        "p/s:cpu=2",
        "initContainers[0].resources: Forbidden",
        "initContainers[0]: Forbidden",
        *("--apiserver-feature-gates", "InPlacePodVerticalScalingInitContainers=false"),
        text=pod(INIT, f", resources: {EXACT}"),
    ),
    "leaves_resize_capacity_to_server": resize(
        "p/a:cpu=20", "enough capacity", "enough allocatable", text=pod("", SMALL)
    ),
    "resizes_exclusive_cpus": resize(
        "a:cpu=2", "accepted, without effect", f"{DONE} CONTAINER", *EXCLUSIVE, "--kubelet-args", STATIC
    ),
    "writes_cpu_checkpoint_v4": Shown(
        ("checkpoint", "new", *NODE, *ONE, "--kubelet-args", STATIC), "format V2", "format V4"
    ),
    "writes_memory_checkpoint_v3": Shown(
        ("checkpoint", "new", *NODE, *ONE, "--kubelet-args", STATIC_MEMORY),
        "memory_manager_state: format V1",
        "memory_manager_state: format V3",
    ),
    "writes_pod_status_as_string": state(
        "pod_status_manager_state", RECORDED["status-1.32"], "would fail", STARTS, *RESIZES
    ),
    "keeps_allocated_pods": state(
        "allocated_pods_state", '{"data":"{}","checksum":1}', STARTS, "would fail", *RESIZES
    ),
    "returns_actuated_error": state(
        "actuated_pods_state", '{"data":"{}","checksum":1}', "would fail", STARTS_NOT
    ),
    "drops_flat_device_state": state("kubelet_internal_checkpoint", flat_devices(), "accepted", "skipped"),
    "rejects_cpu_checkpoint_v1": state(
        "cpu_manager_state", CPUS_V1, "failed to migrate", "cannot unmarshal", "--kubelet-args", STATIC
    ),
    "tolerates_pod_level_cpu_state": state(
        "cpu_manager_state", CPUS_V3, STARTS_NOT, STARTS, "--kubelet-args", STATIC
    ),
    "keeps_baselines": resize(
        "a:cpu=2",
        "does not record what was guaranteed",
        "",
        "--preview",
        *EXCLUSIVE,
        "--kubelet-args",
        STATIC,
    ),
    "counts_claims_in_cgroups": Shown(
        ("plan", "-f", "p.yaml", "-o", "json", *COUNTING, *NODE),
        '"shares": 1024, "quota": 200000',
        '"shares": 3072, "quota": 400000',
        {"p.yaml": COUNTED},
    ),
    "resizes_pods_with_counted_claims": Shown(
        ("resize", "-f", "p.yaml", "--set", "p/a:cpu=1/3", *COUNTING, *NODE),
        "pods with node allocatable resource claims cannot be resized",
        "default/p: accepted",
        {"p.yaml": COUNTED},
    ),
    "orders_pending_resizes": resize("a:cpu=3", "", "Retry order", "-T", "b=6/6,1Gi", *RESIZES),
    "delays_scale_down": Shown(("replay", "t.yaml"), "", "10s a - resize is complete", {"t.yaml": TIMELINE}),
    "restores_pod_level_memory": Shown(
        PLANNED_AGAIN, "5Gi of memory (NUMA node 0) are then lost", "", divided(FIVE), ONCE
    ),
    "pod_scope_memory_hints_after_restart": Shown(
        ("explain", "p", *AGAIN, "--state", "s", "--pods", "p.yaml"),
        "memory memory no preference",
        "memory memory 5Gi {0}",
        divided(THREE, TWO),
        ONCE,
    ),
    "writes_claims_as_string": state(
        "dra_manager_state",
        RECORDED["claim-1.30"],
        STARTS,
        STARTS_NOT,
        *("--feature-gates", "DynamicResourceAllocation=true"),
    ),
}


@pytest.fixture
def run_for(tmp_path: Path, cpuctl: Cpuctl) -> Callable[[Shown, int], str]:
    """Return a function that runs a command for a release, and returns the answer without column spacing."""

    def answer(shown: Shown, minor: int) -> str:
        for name, text in shown.files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text.replace(VERSION, f"1.{minor}"))
        if "k.yaml" in shown.words and "k.yaml" not in shown.files:
            (tmp_path / "k.yaml").write_text(HEAD + "memorySwap: {swapBehavior: LimitedSwap}\n")
        words = [each.replace(VERSION, f"1.{minor}") for each in shown.words]
        if shown.first:
            (tmp_path / "s").mkdir(exist_ok=True)
            cpuctl(*(each.replace(VERSION, f"1.{minor}") for each in shown.first), "-q", cwd=tmp_path)
        release = () if shown.words[0] == "replay" else ("--kubelet-version", f"1.{minor}")
        reported = cpuctl(*words, "-q", *release, cwd=tmp_path, columns=300)
        assert reported.code in (0, 3), reported
        return " ".join(reported.out.split())

    return answer


def has_only(answer: str, wanted: str, other: str) -> bool:
    return wanted in answer and not (other and other in answer)


@pytest.mark.parametrize("name", SHOWN)
def test_the_release_decides(name: str, run_for: Callable[[Shown, int], str]) -> None:
    shown, since = SHOWN[name], DIFFERENCES[name].since
    before, after = run_for(shown, since - 1), run_for(shown, since)
    assert has_only(before, shown.before, shown.after), before
    assert has_only(after, shown.after, shown.before), after


@pytest.mark.parametrize("name", sorted(SHOWN.keys() & set(table.Behaviours._fields)))
def test_this_difference_alone_decides(
    name: str, run_for: Callable[[Shown, int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, difference = SHOWN[name], DIFFERENCES[name]
    with monkeypatch.context() as patch:
        patch.setitem(DIFFERENCES, name, difference._replace(since=99))
        table.behaviours.cache_clear()
        reported = run_for(shown, difference.since)
    table.behaviours.cache_clear()
    assert has_only(reported, shown.before, shown.after), reported


def shown_elsewhere(name: str, difference: Difference) -> bool:
    from tests.conformance.test_differences import DEMONSTRATED

    return bool(difference.cases) or name in DEMONSTRATED


def test_every_difference_is_shown_by_an_answer() -> None:
    silent = {name for name, each in DIFFERENCES.items() if not shown_elsewhere(name, each)}
    assert silent - SHOWN.keys() == set()


def test_a_kubelet_that_is_left_needs_no_change(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """What the new kubelet accepts is not to be corrected for the old one."""
    config = tmp_path / "gate.yaml"
    config.write_text(f"{HEAD}featureGates: {{DisableCPUQuotaWithExclusiveCPUs: false}}\n")
    node = ("-m", "synthetic:1s1n4c1t,mem=8Gi", "--kubelet-config", str(config))
    words = ("config", "versions", *node, "--from", "1.32", "--to", "1.33")
    shown, known = cpuctl(*words).out.splitlines(), cpuctl(*words, "--state", "none").out.splitlines()
    assert "Kubelet 1.33 would start." in shown
    verify = "sudo cpuctl checkpoint verify --kubelet-version 1.33"
    assert shown[-1] == f"Next, to check the state files on the node: {verify}"
    check = f"cpuctl config check {' '.join(node)} --kubelet-version 1.32"
    assert known[-1] == f"Next, to see why kubelet 1.32 would not start: {check}"
