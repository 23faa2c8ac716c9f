"""Audits of nodes recorded in guests, with files of a real kernel and one fault of each kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cpuctl
from tests.support.planted_faults import by_code, check_planted

NODES = Path(__file__).parents[2] / "fixtures" / "nodes"
FOLDERS = sorted(folder for folder in NODES.iterdir() if folder.is_dir())


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def folder(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def reported(folder: Path, cpuctl: Cpuctl, *words: str) -> dict[str, Any]:
    result = cpuctl(*words, "-m", str(folder / "node.tar.xz"), "-q", "-o", "json")
    assert result.code in (0, 3), result
    document: dict[str, Any] = json.loads(result.out)
    return document


def test_every_planted_fault_is_found_and_nothing_else(folder: Path, cpuctl: Cpuctl) -> None:
    found = by_code(reported(folder, cpuctl, "audit", "--pods", str(folder / "pods.json")))
    check_planted(found, json.loads((folder / "planted.json").read_text()))


def test_without_names_the_audit_finds_all_it_can(folder: Path, cpuctl: Cpuctl) -> None:
    """It is unknown which container of the pod has the wrong set, and so which NUMA nodes it should have."""
    planted = json.loads((folder / "planted.json").read_text())
    found = by_code(reported(folder, cpuctl, "audit"))
    assert found.keys() == planted.keys() - {"escaped", "mems-differ"}


def test_groups_are_shown_with_differences(folder: Path, cpuctl: Cpuctl) -> None:
    shown = reported(folder, cpuctl, "cgroups", "show", "--pods", str(folder / "pods.json"))
    containers = [each for each in shown["groups"] if each["level"] == "container"]
    assert {each["owner"]["container"] for each in containers} == {"server", "forwarder", "front", None}
    differing = {
        each["owner"]["container"]
        for each in containers
        if any(each["files"][name]["differs"] for name in ("cpuset.cpus", "cpuset.mems"))
    }
    assert differing == {"server"}


def test_the_plan_repairs_the_one_container(folder: Path, cpuctl: Cpuctl) -> None:
    result = cpuctl(
        "audit", "-m", str(folder / "node.tar.xz"), "--pods", str(folder / "pods.json"), "-q", "-o", "plan"
    )
    (group,) = json.loads(result.out)["groups"]
    assert (group["owner"]["container"], group["cpus"]["desired"], group["mems"]["desired"]) == (
        "server",
        "2-3",
        "0",
    )
