"""Plans that start from state files, and the state files that a plan writes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.conftest import Cpuctl, Result

STATIC = "--cpu-manager-policy=static --reserved-cpus=0,4"
NODE = (
    *("plan", "-m", "synthetic:1s1n4c2t,mem=64Gi", "-o", "json"),
    *("--kubelet-args", STATIC),
)


def plan(cpuctl: Cpuctl, *words: str) -> Result:
    return cpuctl(*NODE, *words)


def cpus(result: Result) -> list[str]:
    assert result.out, result.err
    return [container["cpus"] for pod in json.loads(result.out)["pods"] for container in pod["containers"]]


def write_state(tmp_path: Path, default: str, entries: str = "") -> Path:
    text = f'{{"policyName":"static","defaultCpuSet":"{default}"{entries},"checksum":0}}'
    (tmp_path / "cpu_manager_state").write_text(text)
    return tmp_path


def test_a_plan_continues_from_another(cpuctl: Cpuctl, tmp_path: Path) -> None:
    first = plan(cpuctl, "-T", "a=2/2,1Gi", "--write-state", str(tmp_path))
    assert cpus(first) == ["1,5"]
    assert json.loads((tmp_path / "cpu_manager_state").read_text())["defaultCpuSet"] == "0,2-4,6-7"
    assert json.loads((tmp_path / "memory_manager_state").read_text())["checksum"] == 4236770233
    assert cpus(plan(cpuctl, "-T", "b=2/2,1Gi", "--state", str(tmp_path))) == ["2,6"]


def test_files_are_never_replaced_without_force(cpuctl: Cpuctl, tmp_path: Path) -> None:
    write_state(tmp_path, "0-7")
    before = (tmp_path / "cpu_manager_state").read_bytes()
    refused = plan(cpuctl, "-T", "a=2/2,1Gi", "--write-state", str(tmp_path))
    assert (refused.code, refused.out) == (2, "")
    assert (tmp_path / "cpu_manager_state").read_bytes() == before
    assert plan(cpuctl, "-T", "a=2/2,1Gi", "--write-state", str(tmp_path), "--force").code == 0
    assert (tmp_path / "cpu_manager_state").read_bytes() != before


def test_owners_are_running_unless_running_pods_are_given(cpuctl: Cpuctl, tmp_path: Path) -> None:
    state = write_state(tmp_path, "0,2-4,6-7", ',"entries":{"gone":{"c":"1,5"}}')
    assert cpus(plan(cpuctl, "-T", "b=2/2,1Gi", "--state", str(state))) == ["2,6"]
    running = tmp_path / "running.json"
    running.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "here", "uid": "here"},
                "spec": {"containers": [{"name": "c"}]},
            }
        )
    )
    known = plan(cpuctl, "-T", "b=2/2,1Gi", "--state", str(state), "--pods", str(running))
    assert cpus(known) == ["1,5"]
    assert "the state files have pods that are not running here (gone)" in known.err


@pytest.mark.parametrize(("policy", "wanted"), [("Never", "1,5"), ("Always", "2,6")])
def test_a_pod_with_only_terminated_containers_is_not_running(
    policy: str, wanted: str, cpuctl: Cpuctl, tmp_path: Path
) -> None:
    """Its phase may still be Running: as in a kubelet, its statuses and restart policy decide."""
    state = write_state(tmp_path, "0,2-4,6-7", ',"entries":{"job":{"c":"1,5"}}')
    ended = {"name": "c", "state": {"terminated": {"exitCode": 0}}}
    job = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "job", "uid": "job"},
        "spec": {"restartPolicy": policy, "containers": [{"name": "c"}]},
        "status": {"phase": "Running", "containerStatuses": [ended]},
    }
    running = tmp_path / "running.json"
    running.write_text(json.dumps(job))
    result = plan(cpuctl, "-T", "b=2/2,1Gi", "--state", str(state), "--pods", str(running))
    assert cpus(result) == [wanted]


def test_manifests_identify_the_same_pods_every_time(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """Pods without a UID get one derived from their name, so that they own what a plan wrote for them."""
    pod = tmp_path / "pod.yaml"
    pod.write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: "
        "[{name: c, resources: {limits: {cpu: 2, memory: 1Gi}}}]}}"
    )
    plan(cpuctl, "-f", str(pod), "--write-state", str(tmp_path))
    result = plan(cpuctl, "-T", "b=2/2,1Gi", "--state", str(tmp_path), "--pods", str(pod))
    assert cpus(result) == ["2,6"]
    assert "not running here" not in result.err


@pytest.mark.parametrize(
    ("default", "error"),
    [
        ("1-7", 'not all reserved cpus: "0,4" are present in defaultCpuSet: "1-7"'),
        ("0-9", 'current set of available CPUs "0-7" doesn\'t match with CPUs in state "0-9"'),
    ],
)
def test_a_state_file_that_the_kubelet_rejects_is_an_answer(
    default: str, error: str, cpuctl: Cpuctl, tmp_path: Path
) -> None:
    words = ("-T", "a=2/2,1Gi", "--state", str(write_state(tmp_path, default)))
    result = plan(cpuctl, *words, "--kubelet-version", "1.36")
    assert result.code == 3
    refused = {"outcome": "Rejected", "stage": "cpuManagerStart", "error": error}
    assert json.loads(result.out)["start"] == refused
    # The same without a release.
    assert json.loads(plan(cpuctl, *words).out)["start"] == refused


def test_an_empty_directory_is_a_fresh_node(cpuctl: Cpuctl, tmp_path: Path) -> None:
    result = plan(cpuctl, "-T", "a=2/2,1Gi", "--state", str(tmp_path))
    assert cpus(result) == ["1,5"]
    assert "none, as on a fresh node" in json.loads(result.out)["sources"]["state"]["value"]
    assert f"no cpu_manager_state in {tmp_path}: no exclusive CPUs are assigned yet" in result.err


@pytest.mark.parametrize(("version", "member"), [("1.36", "checksum"), ("1.37", "dataChecksum")])
def test_each_release_writes_its_own_format_and_reads_it(
    version: str, member: str, cpuctl: Cpuctl, tmp_path: Path
) -> None:
    release = ("--kubelet-version", version)
    plan(cpuctl, "-T", "a=2/2,1Gi", *release, "--write-state", str(tmp_path))
    files = [json.loads(path.read_text()) for path in sorted(tmp_path.iterdir())]
    assert [list(file)[-1] for file in files] == [member, member]
    assert cpus(plan(cpuctl, "-T", "b=2/2,1Gi", *release, "--state", str(tmp_path))) == ["2,6"]


_ARGUMENTS = (
    "--cpu-manager-policy=static --reserved-cpus=0 --memory-manager-policy=Static "
    "--kube-reserved=memory=1Gi --reserved-memory=0:memory=1Gi"
)
STATIC_MEMORY = (
    *("plan", "-m", "synthetic:2s2n4c2t,mem=64Gi", "-o", "json", "--kubelet-version", "1.36"),
    *("--kubelet-args", _ARGUMENTS),
)


def blocks(result: Result) -> list[str]:
    assert result.out, result.err
    containers = [container for pod in json.loads(result.out)["pods"] for container in pod["containers"]]
    return [container["memory"]["cpusetMems"] for container in containers]


def test_memory_continues_from_another_plan(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """The first pod leaves too little of node 0 for the second one."""
    first = cpuctl(*STATIC_MEMORY, "-T", "a=500m/500m,40Gi", "--write-state", str(tmp_path))
    second = cpuctl(*STATIC_MEMORY, "-T", "b=500m/500m,40Gi", "--state", str(tmp_path))
    assert (blocks(first), blocks(second)) == (["0"], ["1"])


def test_a_single_state_file_can_be_given(cpuctl: Cpuctl, tmp_path: Path) -> None:
    cpuctl(*STATIC_MEMORY, "-T", "a=2/2,40Gi", "--write-state", str(tmp_path))
    result = cpuctl(*STATIC_MEMORY, "-T", "b=2/2,40Gi", "--state", str(tmp_path / "memory_manager_state"))
    assert (cpus(result), blocks(result)) == (["1,9"], ["1"])
    assert set(json.loads(result.out)["sources"]) >= {"state", "memoryState"}


def test_an_unexpected_memory_state_is_an_answer(cpuctl: Cpuctl, tmp_path: Path) -> None:
    cpuctl(*STATIC_MEMORY, "-T", "a=2/2,40Gi", "--write-state", str(tmp_path))
    larger = [word.replace("64Gi", "65Gi") for word in STATIC_MEMORY]
    result = cpuctl(*larger, "-T", "b=2/2,40Gi", "--state", str(tmp_path))
    assert json.loads(result.out)["start"] == {
        "outcome": "Rejected",
        "stage": "memoryManagerStart",
        "error": "[memorymanager] the expected machine state is different from the real one",
    }


def test_a_pod_must_fit_into_the_node(cpuctl: Cpuctl) -> None:
    result = plan(cpuctl, "-T", "a=500m/500m,100Gi")
    (pod,) = json.loads(result.out)["pods"]
    assert result.code == 3
    assert pod["reason"] == "OutOfmemory"
    assert pod["message"].startswith(
        "Node didn't have enough resource: memory, requested: 107374182400, used: 0"
    )


def test_topology_policies_show_their_hints(cpuctl: Cpuctl) -> None:
    result = cpuctl(
        "plan",
        *("-m", "synthetic:2s2n4c2t", "-o", "json", "-T", "a=9/9,1Gi"),
        *(
            "--kubelet-args",
            "--cpu-manager-policy=static --reserved-cpus=0 --topology-manager-policy=restricted",
        ),
    )
    (pod,) = json.loads(result.out)["pods"]
    cpu = {"provider": "cpu", "resource": "cpu", "status": "hints", "preferred": ["0-1"]}
    assert pod["hints"] == [
        {"container": "a", "numaNodes": "0-1", "preferred": True, "admitted": True, "offers": [cpu]}
    ]
    single = cpuctl(
        "plan",
        *("-m", "synthetic:2s2n4c2t", "-o", "json", "-T", "a=9/9,1Gi"),
        *("--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0"),
        *(
            "--kubelet-args",
            "--cpu-manager-policy=static --reserved-cpus=0 --topology-manager-policy=single-numa-node",
        ),
    )
    (refused,) = json.loads(single.out)["pods"]
    assert (refused["reason"], refused["message"]) == (
        "TopologyAffinityError",
        "Resources cannot be allocated with Topology locality",
    )


def kubectl_list(tmp_path: Path, *pods: Mapping[str, object]) -> str:
    """Write pods as ``kubectl get pods -o json`` prints them; each has a container *c*."""
    items = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": pod["uid"], **pod, "annotations": pod.get("annotations")},
            "spec": {"nodeName": pod.get("node"), "containers": [{"name": "c"}]},
            "status": {"phase": pod.get("phase", "Running")},
        }
        for pod in pods
    ]
    path = tmp_path / "running.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


@pytest.mark.parametrize("pods", [(), ({"uid": "gone", "phase": "Succeeded"},)])
def test_without_running_pods_all_cpus_are_free(
    pods: tuple[Mapping[str, object], ...], cpuctl: Cpuctl, tmp_path: Path
) -> None:
    state = write_state(tmp_path, "0,2-4,6-7", ',"entries":{"gone":{"c":"1,5"}}')
    running = kubectl_list(tmp_path, *pods)
    assert cpus(plan(cpuctl, "-T", "b=2/2,1Gi", "--state", str(state), "--pods", running)) == ["1,5"]


def test_a_mirror_pod_owns_the_cpus_of_its_static_pod(cpuctl: Cpuctl, tmp_path: Path) -> None:
    state = write_state(tmp_path, "0,2-4,6-7", ',"entries":{"hash":{"c":"1,5"}}')
    mirror = {"uid": "other", "annotations": {"kubernetes.io/config.mirror": "hash"}}
    running = kubectl_list(tmp_path, mirror)
    result = plan(cpuctl, "-T", "b=2/2,1Gi", "--state", str(state), "--pods", running)
    assert cpus(result) == ["2,6"]
    assert "not running here" not in result.err


def test_running_pods_must_be_those_of_one_node(cpuctl: Cpuctl, tmp_path: Path) -> None:
    state, node = str(write_state(tmp_path, "0-7")), {"node": "n1"}
    several = kubectl_list(tmp_path, {"uid": "a"} | node, {"uid": "b", "node": "n2"})
    refused = plan(cpuctl, "-T", "b=1/1,1Gi", "--state", state, "--pods", several)
    assert refused.code == 2
    assert "expected the pods of one node, found those of n1, n2" in refused.err
    waiting = kubectl_list(tmp_path, {"uid": "a"} | node, {"uid": "b", "phase": "Pending"})
    assert plan(cpuctl, "-T", "b=1/1,1Gi", "--state", state, "--pods", waiting).code == 0


def test_a_corrupt_memory_file_is_an_answer(cpuctl: Cpuctl, tmp_path: Path) -> None:
    (tmp_path / "memory_manager_state").write_text('{"policyName":"Static","machineState":{},"checksum":1}')
    start = json.loads(cpuctl(*STATIC_MEMORY, "-T", "b=2/2,1Gi", "--state", str(tmp_path)).out)["start"]
    assert (start["outcome"], start["stage"]) == ("Rejected", "memoryManagerStart")
    assert "checkpoint is corrupted, please drain this node and delete the memory manager" in start["error"]


def test_running_pods_use_what_they_are_granted(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """A pending resize does not count."""
    status = {"name": "c", "allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}}
    (tmp_path / "running.json").write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "here", "uid": "here"},
                "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "7"}}}]},
                "status": {"conditions": [{"type": "PodResizePending"}], "containerStatuses": [status]},
            }
        )
    )
    result = plan(cpuctl, "-T", "b=4/4,1Gi", "--pods", str(tmp_path / "running.json"))
    assert result.code == 0, result.out


def listed(*pods: tuple[str, str, str]) -> bytes:
    """Write pods as ``kubectl get pods -o json`` does: name, node, phase."""
    items = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"nodeName": node, "containers": [{"name": "c"}]},
            "status": {"phase": phase},
        }
        for name, node, phase in pods
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()


def test_plans_warn_of_pods_of_several_nodes_or_that_have_ended(cpuctl: Cpuctl) -> None:
    one = listed(("a", "n1", "Running"), ("b", "n1", "Running"))
    assert "warning" not in cpuctl(*NODE, "-f", "-", stdin=one).err
    both = listed(("a", "n1", "Running"), ("b", "n2", "Running"), ("old", "n1", "Succeeded"))
    result = cpuctl(*NODE, "-f", "-", stdin=both)
    assert (result.code, len(json.loads(result.out)["pods"])) == (0, 2)
    assert (
        "warning: the pods run on 2 nodes (n1, n2), but are planned as if all ran on this node" in result.err
    )
    assert "warning: 1 pod that has ended is not planned: default/old (--include-completed)" in result.err
    requested = cpuctl(*NODE, "--include-completed", "-f", "-", stdin=both)
    assert (len(json.loads(requested.out)["pods"]), "ended" in requested.err) == (3, False)
    only = listed(("old", "n1", "Succeeded"), ("older", "n1", "Failed"))
    refused = cpuctl(*NODE, "-f", "-", stdin=only)
    assert refused.code == 2
    assert refused.err == (
        "error: all pods have ended: default/old, default/older\n"
        "hint: to treat them as new pods, use --include-completed\n"
    )


def test_pods_of_templates_come_after_those_of_manifests(cpuctl: Cpuctl) -> None:
    """As the help says, whatever comes first on the command line."""
    result = cpuctl(*NODE, "-T", "first", "-f", "-", stdin=listed(("last", "n1", "Pending")))
    assert [each["name"] for each in json.loads(result.out)["pods"]] == ["last", "first"]
    assert "These pods come after those of -f." in cpuctl("plan", "--help", columns=400).out


def test_objects_that_a_plan_skips_are_reported_by_kind(cpuctl: Cpuctl, tmp_path: Path) -> None:
    container = {"name": "main", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}
    template = {"spec": {"containers": [container]}}
    objects = [
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "b"}, "spec": {}},
        {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "w"}, "spec": {}},
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Rollout",
            "metadata": {"name": "web"},
            "spec": {"replicas": 2, "template": template},
        },
    ]
    file = tmp_path / "objects.yaml"
    file.write_text("\n---\n".join(map(json.dumps, objects)))
    words = ("plan", "-m", "synthetic:4c,mem=8Gi", "-f", str(file))
    shown = cpuctl(*words)
    assert "note: skipped (no pod template): 2 Service, 1 Workflow" in shown.err
    assert (
        "warning: the pods of Rollout.argoproj.io/web are created from pod templates: their names "
        "and number are a guess"
    ) in shown.err
    document = json.loads(cpuctl(*words, "-o", "json").out)
    assert [pod["name"] for pod in document["pods"]] == ["web-0", "web-1"]
    assert document["sources"]["skippedObjects"] == {"value": "2 Service, 1 Workflow", "from": "given"}


def test_commands_that_skip_unreadable_pods_report_them(cpuctl: Cpuctl, tmp_path: Path) -> None:
    broken = {"name": "main", "resources": {"limits": {"cpu": "2x"}}}
    objects = [
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Rollout",
            "metadata": {"name": "web"},
            "spec": {"template": {"spec": {"containers": [broken]}}},
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a"},
            "spec": {"containers": [{"name": "a"}]},
        },
    ]
    file = tmp_path / "objects.yaml"
    file.write_text("\n---\n".join(map(json.dumps, objects)))
    why = f"{file}:1: spec.template.spec.containers[0].resources.limits.cpu: expected a quantity"
    machine = ("-m", "synthetic:4c,mem=8Gi")
    for command in (("plan", *machine), ("explain", *machine), ("pods", "show"), ("pods", "diff")):
        words = (str(file), str(file)) if command[1] == "diff" else ("-f", str(file))
        shown = cpuctl(*command, *words)
        assert f"warning: the pods of a Rollout are skipped: {why}" in shown.err, command


RECORDED = "fixtures/nodes/v2-2-numa/node.tar.xz"
SHORT = "synthetic:1s1n4c2t,mem=64Gi", "--kubelet-version", "1.36"


def test_a_plan_names_the_check_of_a_state_file_that_stops_the_kubelet(
    cpuctl: Cpuctl, tmp_path: Path
) -> None:
    """With the same inputs, but without those that the check does not need."""
    (tmp_path / "state").mkdir()
    state = write_state(tmp_path / "state", "0-3")
    running = tmp_path / "running.json"
    running.write_text('{"apiVersion": "v1", "kind": "PodList", "items": []}')
    same = ("-m", *SHORT, "--kubelet-args", NODE[-1], "--pods", str(running))
    words = (*same, "--state", str(state), "--ephemeral-storage", "9Gi", "-T", "a=2/2,1Gi")
    document = json.loads(cpuctl("plan", *words, "-o", "json").out)
    name, *command = shlex.split(document["next"])
    assert (name, *command[:3]) == ("cpuctl", "checkpoint", "verify", str(state))
    assert set(same) <= set(command)
    assert "9Gi" not in command
    verified = json.loads(cpuctl(*command, "-o", "json").out)
    assert verified["start"]["error"] == document["start"]["error"]


def test_outputs_for_tools_name_the_check_of_the_state_files(cpuctl: Cpuctl) -> None:
    recorded = cpuctl("topology", "-m", RECORDED, "-o", "nrt", "-q")
    assert recorded.err.endswith(f"hint: cpuctl checkpoint verify -m {RECORDED}\n")


def test_a_start_that_depends_on_unknown_flags_is_not_blamed_on_a_state_file(
    cpuctl: Cpuctl, tmp_path: Path
) -> None:
    """``config check`` names the option that decides it."""
    (tmp_path / "cpu_manager_state").write_text('{"policyName":"none","defaultCpuSet":"","checksum":0}')
    words = ("-m", RECORDED, "--state", str(tmp_path), "-T", "a=2/2,1Gi")
    document = json.loads(cpuctl("plan", *words, "-o", "json").out)
    assert document["start"]["outcome"] == "Undetermined"
    assert document["next"].startswith("cpuctl config check ")


def test_a_recording_can_be_planned_as_an_empty_node(cpuctl: Cpuctl) -> None:
    """What a node would do once it is drained and its state files are deleted."""
    recording = ("plan", "-m", "fixtures/nodes/v2-2-numa/node.tar.xz", "-T", "web=2/2,10Mi")
    assert "The kubelet would not start" in cpuctl(*recording).out
    empty = cpuctl(*recording, "--state", "none", "-o", "json")
    assert empty.code == 0
    assert json.loads(empty.out)["sources"]["state"] == {
        "value": "none, as on a fresh node",
        "from": "given",
    }
