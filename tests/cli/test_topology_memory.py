"""``cpuctl topology show --numa-memory``: NUMA nodes as the kubelet's Memory Manager counts them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import Cpuctl, Result
from tests.cli.test_golden import drawn_lines
from tests.support.schemas import follow_schema

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
RECORDED = ("-m", "fixtures/machines/2s-8numa-64cpu.tar.xz")
PAGES = ("-m", "synthetic:2s2n4c2t,mem=4Gi,hugepages-2Mi=512/0,hugepages-1Gi=1")


def config(directory: Path, *limits: tuple[int, str]) -> tuple[str, ...]:
    """Write a configuration that reserves memory of some nodes, and no other memory."""
    total = sum(int(amount.removesuffix("Mi")) for _, amount in limits)
    items = "".join(f"- {{numaNode: {node}, limits: {{memory: {amount}}}}}\n" for node, amount in limits)
    path = directory / "kubelet.yaml"
    path.write_text(
        f"{HEAD}memoryManagerPolicy: Static\nkubeReserved: {{memory: {total}Mi}}\n"
        f"evictionHard: {{memory.available: 0%}}\nreservedMemory:\n{items}"
    )
    return ("--kubelet-config", str(path), "-q")


def memory(result: Result) -> Any:
    document = json.loads(result.out)
    follow_schema(document, "topology")
    return document["memory"]


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("limits", [((0, "1024Mi"),), ((0, "512Mi"), (1, "4000Mi"))], ids=["fits", "wraps"])
def test_tables(
    limits: tuple[tuple[int, str], ...],
    width: int,
    cpuctl: Cpuctl,
    tmp_path: Path,
    snapshot: SnapshotAssertion,
) -> None:
    result = cpuctl(
        "topology", "show", "--numa-memory", *PAGES, *config(tmp_path, *limits), columns=width, cwd=tmp_path
    )
    assert result.code == 0
    assert str(result) == snapshot
    assert [line for line in drawn_lines(result.out) if len(line) > width] == []


def test_every_node_is_counted_as_the_kubelet_does(cpuctl: Cpuctl, tmp_path: Path) -> None:
    found = memory(
        cpuctl(
            "topology", "--numa-memory", *PAGES, *config(tmp_path, (0, "1024Mi")), "-o", "json", cwd=tmp_path
        )
    )
    assert (found["policy"], found["start"]) == ("Static", {"outcome": "Started"})
    names = ("numaNode", "resource", "total", "reserved", "hugePages", "allocatable", "overcommitted")
    assert [tuple(line[name] for name in names) for line in found["amounts"]] == [
        (0, "memory", 4 << 30, 1 << 30, 2 << 30, 1 << 30, 0),
        (0, "hugepages-2Mi", 1 << 30, 0, 0, 1 << 30, 0),
        (0, "hugepages-1Gi", 1 << 30, 0, 0, 1 << 30, 0),
        (1, "memory", 4 << 30, 0, 1 << 30, 3 << 30, 0),
        (1, "hugepages-2Mi", 0, 0, 0, 0, 0),
        (1, "hugepages-1Gi", 1 << 30, 0, 0, 1 << 30, 0),
    ]


def test_numbers_that_wrap_around_are_reported(cpuctl: Cpuctl, tmp_path: Path) -> None:
    words = ("topology", "--numa-memory", *PAGES, *config(tmp_path, (1, "4000Mi")), "-o", "json")
    found = memory(cpuctl(*words, cwd=tmp_path))
    line = next(line for line in found["amounts"] if line["reserved"])
    assert (line["allocatable"], line["overcommitted"]) == (None, (4000 - 3072) << 20)
    assert found["start"]["outcome"] == "Started"


def test_mismatching_sums_are_reported(cpuctl: Cpuctl, tmp_path: Path) -> None:
    words = ("topology", "--numa-memory", *PAGES, *config(tmp_path, (1, "500Mi")))
    flag = ("--kubelet-args", "--kube-reserved=memory=1Gi")
    result = cpuctl(*words, *flag, cwd=tmp_path)
    assert 'would not start: the total amount "500Mi" of type "memory"' in result.out


def test_what_is_free_now_is_the_kernels_figure(cpuctl: Cpuctl) -> None:
    plain = json.loads(cpuctl("topology", *RECORDED, "-o", "json").out)
    lines = memory(cpuctl("topology", "--numa-memory", *RECORDED, "-o", "json"))["amounts"]
    free = {line["numaNode"]: line["free"] for line in lines if line["resource"] == "memory"}
    assert free == {node["id"]: node["freeBytes"] for node in plain["numaNodes"]}
    assert "memory" not in plain


def test_yaml_is_the_same_answer(cpuctl: Cpuctl) -> None:
    words = ("topology", "--numa-memory", *RECORDED)
    assert yaml.safe_load(cpuctl(*words, "-o", "yaml").out) == json.loads(cpuctl(*words, "-o", "json").out)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--kubelet-config", "x"), "--kubelet-config: requires --numa-memory"),
        (("--config-dir", "x"), "--config-dir: requires --numa-memory"),
        (("--kubelet-args=--v=2",), "--kubelet-args: requires --numa-memory"),
        (("--kubelet-version", "1.36"), "--kubelet-version: requires --numa-memory"),
        (("--numa-memory", "--columns", "cpu"), "--columns: shows only CPUs"),
    ],
)
def test_misuse(words: tuple[str, ...], message: str, cpuctl: Cpuctl) -> None:
    result = cpuctl("topology", "show", *RECORDED, *words)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
