"""The command that a plan for a fleet proposes next: it explains a rejected pod as it is on its node."""

from __future__ import annotations

import copy
import json
from pathlib import Path

from tests.audit.node_tree import PODS, clean_node, with_kubelet_files
from tests.capture.node_texts import written
from tests.cli.conftest import Cpuctl
from tests.cli.test_fleet import STATIC
from tests.support.manifests import exclusive_manifest
from tests.support.state_files import write_pods


def test_the_next_command_plans_what_is_on_the_node(tmp_path: Path, cpuctl: Cpuctl) -> None:
    nodes = [f"fixtures/fleet/recordings/worker-{number}.tar.xz" for number in (1, 2)]
    pods = ("-T", "a=20/20,1Gi", "-T", "odd=9/9,1Gi")
    result = cpuctl("fleet", "plan", *nodes, *STATIC, *pods)
    command = result.out.splitlines()[-1].partition("help: ")[2]
    assert command.endswith("-T odd=9/9,1Gi")
    assert "-T a=20/20,1Gi" not in command
    manifests = (exclusive_manifest(name, cpus, "1Gi") for name, cpus in (("a", 20), ("odd", 9)))
    both = write_pods(tmp_path / "both.json", *manifests)
    lines = cpuctl("fleet", "plan", *nodes, *STATIC, "-f", str(both)).out.splitlines()
    assert lines[-1] == "That command also includes pods that this plan does not have on worker-2: default/a"


def test_the_next_command_is_only_proposed_if_it_works(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """It names a pod by its name; objects other than pods stay, whatever pods are in their file."""
    nodes = [f"fixtures/fleet/recordings/worker-{number}.tar.xz" for number in (1, 2)]
    result = cpuctl("fleet", "plan", *nodes, *STATIC, "-T", "a=20/20,1Gi", "-T", "a=9/9,1Gi")
    assert "cpuctl fleet list " in result.out.splitlines()[-1]
    ranges = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "r", "namespace": "default"},
        "spec": {"limits": [{"type": "Container", "default": {"memory": "1Gi"}}]},
    }
    file = write_pods(tmp_path / "both.json", ranges, exclusive_manifest("a", 20, "1Gi"))
    lines = cpuctl("fleet", "plan", *nodes, *STATIC, "-f", str(file), "-T", "odd=9/9,1Gi").out.splitlines()
    assert f"-f {file}" in lines[-2]
    assert lines[-1] == "That command also includes pods that this plan does not have on worker-2: default/a"


def test_the_next_command_says_which_pods_it_leaves_out(cpuctl: Cpuctl) -> None:
    """Pods from drained nodes are not given, and running ones need not be for the same reason."""
    fleet = ("--nodes", "fixtures/fleet/nodes.json", "--pods", "fixtures/fleet/pods.json")
    words = ("fleet", "plan", "fixtures/fleet/recordings", *STATIC, *fleet, "-T", "odd=9/9,1Gi")
    running = "monitoring/log-0"
    last = cpuctl(*words).out.splitlines()[-1]
    assert last == f"That command does not include pods that this plan has on dense-1: {running}"
    drained = (*words, "--drain", "worker-1", "--drain", "worker-2")
    moved = [f"shop/{name}" for name in ("cache-0", "api-6c8d-x1", "api-6c8d-x2")]
    last = cpuctl(*drained).out.splitlines()[-1]
    assert (
        last
        == f"That command does not include pods that this plan has on dense-1: {', '.join(moved)} and 1 more"
    )
    assert json.loads(cpuctl(*drained, "-o", "json").out)["nextLeavesOut"] == [*moved, running]


def test_the_next_command_knows_running_pods_from_the_state_files(tmp_path: Path, cpuctl: Cpuctl) -> None:
    tree = clean_node()
    tree.memory = None
    node = written(with_kubelet_files(tree).files, tmp_path / "node")
    pods = copy.deepcopy(PODS)
    for pod in pods["items"]:
        pod["spec"]["nodeName"] = "node"
    (tmp_path / "pods.json").write_text(json.dumps(pods))
    words = ("--kubelet-version", "1.36", "--pods", str(tmp_path / "pods.json"), "-T", "odd=1/1,1Mi")
    lines = cpuctl("fleet", "plan", str(node), *words).out.splitlines()
    assert lines[-1] == "That command does not include pods that this plan has on node: shop/web-0"


def test_a_plan_says_why_pods_share_cpus(cpuctl: Cpuctl) -> None:
    """A dash would look like that of a pod that runs nowhere."""
    words = ("fleet", "plan", "-q", "fixtures/fleet/recordings", "-T", "web=8/8,2Gi", "-T", "x=1500m/2,1Gi")
    kubelet = ("--kubelet-config", "fixtures/kubelet/none.yaml")
    lines = cpuctl(*words, *kubelet).out.splitlines()
    assert [line.split()[-1] for line in lines[1:3]] == ["shared", "shared"]
    assert "default/web, default/x: shared, because the CPU Manager policy is none" in lines
    exclusive = cpuctl(*words, *STATIC, "-o", "json")
    web, other = json.loads(exclusive.out)["pods"]
    assert (bool(web["cpus"]["web"]), web["shared"]) == (True, {})
    assert (other["cpus"], list(other["shared"])) == ({}, ["x"])
