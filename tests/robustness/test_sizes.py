"""Large machines and many pods in bounded memory; ``python -m tests.benchmarks`` measures times."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from cpuctl.cli.app import run
from cpuctl.cli.output import Output, Style
from cpuctl.cli.render import as_json, as_yaml
from tests.robustness import large
from tests.robustness.measured import cost

Captured = pytest.CaptureFixture[str]


def answer(capsys: Captured, *words: str, code: int = 0) -> Any:
    """Return what cpuctl prints as JSON."""
    assert run([*words, "-q", "-o", "json"]) == code
    return json.loads(capsys.readouterr().out)


def test_4096_cpus_on_64_numa_nodes_are_counted(capsys: Captured) -> None:
    summary = answer(capsys, "topology", "-m", large.MACHINE)["summary"]
    assert (summary["cpus"], summary["numaNodes"], summary["sockets"]) == (4096, 64, 8)


def test_64_nodes_without_cpus_or_without_memory_are_reported(capsys: Captured) -> None:
    """As with memory expanders: every other node has only memory, the rest only CPUs."""
    nodes = "/".join(f"{number}:{number // 2 if number % 2 == 0 else ''}" for number in range(64))
    memory = "/".join("0" if number % 2 == 0 else "64Gi" for number in range(64))
    uneven = f"synthetic:1s64n32c1t,l3=1,nodes={nodes},mem={memory}"
    read = answer(capsys, "topology", "-m", uneven)
    assert (read["summary"]["cpus"], read["summary"]["numaNodes"]) == (32, 64)
    assert [node["cpus"] for node in read["numaNodes"][:3]] == ["0", "", "1"]
    assert read["summary"]["memoryBytes"] == 32 * (64 << 30)


@pytest.mark.parametrize("form", ["table", "json"])
def test_a_plan_of_110_pods_takes_less_than_60_mib(form: str, tmp_path: Path) -> None:
    """110 is the kubelet's default limit of pods."""
    done = cost(plan(tmp_path, 110, form))
    assert done.code == 0
    assert done.mebibytes < 60


def plan(directory: Path, count: int, form: str) -> Sequence[str]:
    """Write the inputs of a plan on the largest machine, and return the command line."""
    kubelet = large.write_kubelet(directory / "kubelet.json")
    manifests = large.write_pods(directory / "pods.json", count)
    words = ("plan", "-q", "-m", large.MACHINE, "--kubelet-config", str(kubelet), "-f", str(manifests))
    return (*words, "-o", form)


DOCUMENT = {
    "apiVersion": "cpuctl/v1alpha1",
    "none": [],
    "texts": ["a", "null", "", "ü\n#"],
    "pods": [{"name": "a", "cpus": [1, 2], "nothing": {}}, {"name": "b " * 60, "of": None}],
    "summary": {"lists": [[1], [2, [3]]], "yes": True},
}


@pytest.mark.parametrize("document", [DOCUMENT, {"kind": "A"}, {"items": [{"a": 1}] * 3}])
def test_answers_written_in_pieces_are_the_same(
    document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = yaml.dump(
        json.loads(json.dumps(document)),
        Dumper=yaml.CSafeDumper,
        sort_keys=False,
        explicit_start=True,
        allow_unicode=True,
        default_flow_style=False,
    )
    assert written(as_yaml, document, monkeypatch) == whole
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    assert written(as_json, document, monkeypatch) == text


def written(renderer: Any, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> str:
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr("sys.stdout", stdout)
    renderer.write(document, Style(Output.JSON))
    stdout.seek(0)
    return stdout.read()


def test_yaml_is_written_item_by_item(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML needs ten times the memory of its input: 870 MB for 5,000 pods."""
    given: list[int] = []
    monkeypatch.setattr(yaml, "dump", lambda piece, *_, **__: given.append(len(json.dumps(piece))))
    written(as_yaml, {"pods": [{"name": "a" * 100}] * 50}, monkeypatch)
    assert len(given) == 50
    assert max(given) < 200
