"""Plans with the Static memory policy: which memory containers get, what is left, what is rejected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import Cpuctl
from tests.cli.test_schemas import check

KUBELET = (
    "--cpu-manager-policy=static --reserved-cpus=0 --memory-manager-policy=Static "
    "--kube-reserved=memory=1Gi --reserved-memory=0:memory=1Gi"
)
ON = ("plan", "-q", "-m", "synthetic:2s2n4c2t,mem=64Gi")
PODS = ("-T", "near=2/2,20Gi", "-T", "wide=4/4,90Gi", "-T", "small=500m/1,1Gi", "-T", "full=2/2,80Gi")


def answer(cpuctl: Cpuctl, *words: str, kubelet: str = KUBELET) -> dict[str, Any]:
    result = cpuctl(*ON, "--kubelet-args", kubelet, "-o", "json", *words)
    assert result.out, result.err
    document: dict[str, Any] = json.loads(result.out)
    check(document)
    return document


@pytest.mark.parametrize("columns", [80, 160])
@pytest.mark.parametrize("form", ["table", "wide"])
def test_tables_of_memory(cpuctl: Cpuctl, form: str, columns: int, snapshot: SnapshotAssertion) -> None:
    words = ("--kubelet-args", f"{KUBELET} --topology-manager-policy=best-effort", *PODS)
    assert str(cpuctl(*ON, *words, "-o", form, columns=columns)) == snapshot


def test_what_containers_get(cpuctl: Cpuctl) -> None:
    document = answer(cpuctl, *PODS)
    memory = {pod["name"]: [each["memory"] for each in pod["containers"]] for pod in document["pods"]}
    assert memory["near"] == [
        {"cpusetMems": "0", "blocks": [{"resource": "memory", "bytes": 20 << 30, "numaNodes": "0"}]}
    ]
    (none,) = memory["small"]
    assert (none["cpusetMems"], none["blocks"]) == ("", [])
    assert none["whyNone"].startswith("the pod is Burstable, not Guaranteed")


def test_what_is_left(cpuctl: Cpuctl) -> None:
    """A pod that needs both nodes turns them into a group."""
    left = answer(cpuctl, "-T", "wide=4/4,90Gi")["after"]["memory"]
    assert [(node["numaNode"], node["group"], node["assignments"]) for node in left] == [
        (0, "0-1", 1),
        (1, "0-1", 1),
    ]
    assert [node["resources"][0]["free"] >> 30 for node in left] == [0, 37]


def test_without_a_memory_policy_the_answer_has_no_memory(cpuctl: Cpuctl) -> None:
    document = answer(cpuctl, "-T", "a=2/2,1Gi", kubelet="--cpu-manager-policy=static --reserved-cpus=0")
    assert "memory" not in document["after"]
    assert "memory" not in document["pods"][0]["containers"][0]


def test_memory_hints_are_shown(cpuctl: Cpuctl) -> None:
    restricted = f"{KUBELET} --topology-manager-policy=restricted"
    (round_,) = answer(cpuctl, "-T", "a=2/2,90Gi", kubelet=restricted)["pods"][0]["hints"]
    assert round_["offers"] == [
        {"provider": "cpu", "resource": "cpu", "status": "hints", "preferred": ["0", "1"]},
        {"provider": "memory", "resource": "memory", "status": "hints", "preferred": ["0-1"]},
    ]
    assert (round_["admitted"], round_["preferred"]) == (False, False)


def test_a_kubelet_that_would_crash_does_not_admit_the_pod(cpuctl: Cpuctl, tmp_path: Path) -> None:
    pod = tmp_path / "pod.yaml"
    pod.write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: "
        "[{name: c, resources: {limits: {cpu: 2, memory: 1Gi, hugepages-1Gi: 1Gi}}}]}}"
    )
    (refused,) = answer(cpuctl, "-f", str(pod))["pods"]
    assert (refused["outcome"], refused["fault"]) == ("KubeletFault", "crash")
    assert refused["where"] == (
        "Memory Manager, looking up hugepages-1Gi of NUMA node 0, which has no such huge pages"
    )


@pytest.mark.parametrize(
    ("metadata", "outcome"),
    [
        ("{name: x}", "Admitted"),
        ("{name: x, annotations: {kubernetes.io/config.source: file}}", "Rejected"),
    ],
    ids=["from the API server", "static"],
)
def test_a_fraction_matters_in_static_pods_only(
    cpuctl: Cpuctl, tmp_path: Path, metadata: str, outcome: str
) -> None:
    """The API server rewrites 1.5Gi as 1536Mi; a kubelet uses its own file unchanged."""
    pod = tmp_path / "pod.yaml"
    pod.write_text(
        f"{{apiVersion: v1, kind: Pod, metadata: {metadata}, spec: {{containers: "
        "[{name: c, resources: {limits: {cpu: 2, memory: 1.5Gi}}}]}}"
    )
    (decided,) = answer(cpuctl, "-f", str(pod))["pods"]
    assert decided["outcome"] == outcome
    if outcome == "Rejected":
        assert "failed to represent quantity as int64" in decided["message"]


HUGE_PAGES = ("plan", "-q", "-m", "synthetic:2s2n4c2t,mem=4Gi,hugepages-2Mi=20")
RESERVED = "{cpu: %s, memory: 100Mi, hugepages-2Mi: 20Mi}"


def with_huge_pages(directory: Path, burstable: int) -> tuple[str, ...]:
    """Write the pods of kubernetes issue 134395: one Guaranteed, the others Burstable, each with 20Mi."""
    files = []
    for number in range(burstable + 1):
        name, cpu = (f"burst{number}", "1") if number < burstable else ("guar", "2")
        resources = f"limits: {RESERVED % cpu}" + (", requests: {cpu: 500m}" if number < burstable else "")
        file = directory / f"{name}.yaml"
        file.write_text(
            f"{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{containers: "
            f"[{{name: c, resources: {{{resources}}}}}]}}}}"
        )
        files += ["-f", str(file)]
    return tuple(files)


def test_guaranteed_huge_pages_can_be_taken_by_burstable_pods(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """Kubernetes issue 134395: Burstable pods are not tracked, and take pages from any node."""
    args = ("--kubelet-args", KUBELET, "-o", "json")

    def warned(burstable: int) -> Any:
        result = cpuctl(*HUGE_PAGES, *with_huge_pages(tmp_path, burstable), *args)
        document = json.loads(result.out)
        assert {pod["outcome"] for pod in document["pods"]} == {"Admitted"}
        check(document)
        return document["warnings"]

    # In addition to the promised 20Mi there are 20Mi more on the node.
    assert warned(0) == warned(1) == []
    (warning,) = warned(2)
    assert warning["hugePages"] == {
        "resource": "hugepages-2Mi",
        "numaNodes": "0",
        "allocatable": 40 << 20,
        "guaranteed": 20 << 20,
        "usableByOthers": 40 << 20,
        "missing": 20 << 20,
    }
    assert warning["message"] == (
        "20Mi of hugepages-2Mi on NUMA node 0 are guaranteed to default/guar, but 20Mi of them may be "
        "unavailable when needed: default/burst0, default/burst1, which the Memory Manager does not "
        "track, may "
        "take 40Mi from any NUMA node, and only 20Mi there are not guaranteed to anyone (kubernetes issue "
        "134395)"
    )
