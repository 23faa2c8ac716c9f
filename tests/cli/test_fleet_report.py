"""``cpuctl fleet report``: one page per node, and an index that lists nodes with problems first."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from cpuctl.cli.fleet.report import NodeReporter
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.sources import Sources
from cpuctl.operations.plan_inputs import PlanningInputs, read_pods
from tests.cli.conftest import ROOT, Cpuctl

FAULTY = ROOT / "fixtures/nodes/v2-2-numa/node.tar.xz"
PODS = ROOT / "fixtures/nodes/v2-2-numa/pods.json"
SMALL = "synthetic:1s1n4c2t"
STATIC = ("--kubelet-version", "1.36", "--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0")


@pytest.fixture
def fleet(tmp_path: Path) -> list[str]:
    """Return a node with faults, two similar ones, and one that cannot be read."""
    shutil.copy(FAULTY, tmp_path / "faulty.tar.xz")
    (tmp_path / "broken.tar.xz").write_text("no archive")
    return [str(tmp_path / "faulty.tar.xz"), str(tmp_path / "broken.tar.xz"), SMALL, f"{SMALL},nosmt"]


def answer(cpuctl: Cpuctl, *words: str, code: int = 4) -> dict[str, Any]:
    result = cpuctl("fleet", "report", *words, "-q", "-o", "json")
    assert result.code == code, result
    document: dict[str, Any] = json.loads(result.out)
    return document


def test_nodes_with_problems_come_first(fleet: list[str], cpuctl: Cpuctl) -> None:
    document = answer(cpuctl, *fleet, SMALL.replace("4c", "2c"))
    assert [each["node"] for each in document["nodes"]][:2] == ["broken", "faulty"]
    assert document["summary"]["nodes"] == 5
    assert (document["summary"]["unreadable"], document["summary"]["withProblems"]) == (1, 1)
    assert document["nodes"][1]["summary"]["start"] == "Rejected"
    assert {node for each in document["findings"] for node in each["nodes"]} == {"faulty", f"{SMALL},nosmt"}
    for node in document["nodes"][1:]:
        listed = {each["severity"] for each in document["findings"] if node["node"] in each["nodes"]}
        assert listed == {name for name in ("error", "warning", "note") if node["summary"][name]}
    severities = [each["severity"] for each in document["findings"]]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)


def test_a_node_is_summarized_as_in_its_own_report(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """Also with the pods that the API server has for it, which are found by its name."""
    (name,) = {pod["spec"]["nodeName"] for pod in json.loads(PODS.read_text())["items"]}
    node = str(shutil.copy(FAULTY, tmp_path / f"{name}.tar.xz"))
    for pods in ((), ("--pods", str(PODS))):
        alone = json.loads(cpuctl("report", node, *pods, "-q", "-o", "json").out)
        (row,) = answer(cpuctl, node, *pods, code=3)["nodes"]
        assert (row["node"], row["summary"]) == (name, alone["summary"])


def test_pods_are_planned_on_every_node(cpuctl: Cpuctl) -> None:
    document = answer(cpuctl, SMALL, SMALL.replace("4c", "8c"), *STATIC, "-T", "web=10/10,1Gi", code=3)
    refused = {each["source"]: each["summary"]["notAdmitted"] for each in document["nodes"]}
    assert refused == {SMALL: 1, SMALL.replace("4c", "8c"): 0}
    assert document["nodes"][0]["source"] == SMALL


def test_pages_are_written_next_to_an_index_that_links_to_them(
    fleet: list[str], cpuctl: Cpuctl, tmp_path: Path
) -> None:
    directory = tmp_path / "new" / "pages"
    result = cpuctl("fleet", "report", *fleet, "--html", str(directory), "-q")
    assert result.code == 4
    index = (directory / "index.html").read_text("ascii")
    pages = sorted(path.name for path in directory.iterdir())
    assert len(pages) == 4
    assert sorted(set(re.findall(r'href="([^"#]+)"', index))) == [
        each for each in pages if each != "index.html"
    ]
    faulty = (directory / "faulty.html").read_text("ascii")
    alone = cpuctl("report", fleet[0], "--html", "-", "-q")
    back = '<p class="up"><a href="index.html">All nodes</a></p>'
    assert faulty.count(back) == 1
    assert faulty.replace(back, "") == alone.out
    again = cpuctl("fleet", "report", *fleet, "--html", str(directory), "-q")
    assert (again.code, again.out) == (2, "")
    assert "is not empty" in again.err
    assert cpuctl("fleet", "report", *fleet, "--html", str(directory), "--force", "-q").code == 4
    assert (directory / "index.html").read_text("ascii") == index


def test_other_new_pods_are_another_question() -> None:
    def requested(*templates: str) -> str:
        words = PlanningInputs(templates=list(templates))
        incoming = read_pods(words, Sources(), needed=True) if templates else None
        return NodeReporter(KubeletInputs(), {}, None, incoming, paged=False).asks("node7")

    texts = [requested(), requested("a=1/1"), requested("a=2/2"), requested("a=1/1", "b=1/1")]
    assert len(set(texts)) == 4
    assert requested("a=1/1") == texts[1]


def test_names_of_nodes_are_not_paths_or_markup(cpuctl: Cpuctl, tmp_path: Path) -> None:
    name = "a<b>&..\u202e"
    (tmp_path / name).mkdir()
    shutil.copy(FAULTY, tmp_path / name / f"{name}.tar.xz")
    shutil.copy(FAULTY, tmp_path / "index.tar.xz")
    nodes = [str(tmp_path / name / f"{name}.tar.xz"), str(tmp_path / "index.tar.xz")]
    assert cpuctl("fleet", "report", *nodes, "--html", str(tmp_path / "pages"), "-q").code == 3
    pages = {path.name for path in (tmp_path / "pages").iterdir()}
    assert len(pages) == 3
    assert all(re.fullmatch(r"[a-z0-9.-]+\.html", page) for page in pages)
    index = (tmp_path / "pages/index.html").read_text("ascii")
    assert "<b>&" not in index
    assert "&#8238;" not in index


def test_without_pages_the_index_is_printed(fleet: list[str], cpuctl: Cpuctl) -> None:
    result = cpuctl("fleet", "report", *fleet, columns=200)
    assert result.out.startswith("4 nodes: 1 unreadable, 1 with problems, ")
    assert result.err.endswith("; write a page for every node with --html DIR\n")
    assert cpuctl("fleet", "report", *fleet, "--exit-zero").code == 0


def test_the_command_for_fixes_has_the_running_pods(cpuctl: Cpuctl) -> None:
    """Without them, owners are not named, and containers not compared."""
    fleet = ("--nodes", "fixtures/fleet/nodes.json", "--pods", "fixtures/fleet/pods.json")
    reported = cpuctl("fleet", "report", "fixtures/fleet/recordings", *fleet)
    command = f"cpuctl fleet check fixtures/fleet/recordings {' '.join(fleet)}"
    assert f"note: for fixes, run {command}; " in reported.err
