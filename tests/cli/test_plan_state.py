"""Plans that start from a state file, and the files that a plan leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cpuctl, Result

NODE = (
    *("plan", "-m", "synthetic:1s1n4c2t,mem=64Gi", "-o", "json"),
    *("--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0,4"),
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


def test_a_plan_goes_on_where_another_ended(cpuctl: Cpuctl, tmp_path: Path) -> None:
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


def test_owners_count_as_running_unless_somebody_says_who_runs(cpuctl: Cpuctl, tmp_path: Path) -> None:
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
    assert "the state names pods that do not run here (gone)" in known.err


def test_manifests_name_the_same_pods_every_time(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """Pods without a UID get one from their name, so that they own what a plan wrote for them."""
    pod = tmp_path / "pod.yaml"
    pod.write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: "
        "[{name: c, resources: {limits: {cpu: 2, memory: 1Gi}}}]}}"
    )
    plan(cpuctl, "-f", str(pod), "--write-state", str(tmp_path))
    result = plan(cpuctl, "-T", "b=2/2,1Gi", "--state", str(tmp_path), "--pods", str(pod))
    assert cpus(result) == ["2,6"]
    assert "do not run here" not in result.err


@pytest.mark.parametrize(
    ("default", "error"),
    [
        ("1-7", 'not all reserved cpus: "0,4" are present in defaultCpuSet: "1-7"'),
        ("0-9", 'current set of available CPUs "0-7" doesn\'t match with CPUs in state "0-9"'),
    ],
)
def test_a_state_that_a_kubelet_refuses_is_the_answer(
    default: str, error: str, cpuctl: Cpuctl, tmp_path: Path
) -> None:
    result = plan(cpuctl, "-T", "a=2/2,1Gi", "--state", str(write_state(tmp_path, default)))
    assert result.code == 3
    assert json.loads(result.out)["start"] == {
        "outcome": "Refused",
        "stage": "cpuManagerStart",
        "error": error,
    }


def test_an_empty_directory_is_a_fresh_node(cpuctl: Cpuctl, tmp_path: Path) -> None:
    result = plan(cpuctl, "-T", "a=2/2,1Gi", "--state", str(tmp_path))
    assert cpus(result) == ["1,5"]
    assert "as a fresh node" in json.loads(result.out)["sources"]["state"]["value"]


def test_a_release_with_another_format_is_not_written(cpuctl: Cpuctl, tmp_path: Path) -> None:
    result = plan(cpuctl, "-T", "a=2/2", "--kubelet-version", "1.37", "--write-state", str(tmp_path))
    assert result.code == 2
    assert list(tmp_path.iterdir()) == []


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
    assert pod["hints"] == [{"container": "a", "numaNodes": "0-1", "preferred": True, "admitted": True}]
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
