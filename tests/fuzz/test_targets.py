"""The seeds of every fuzzed parser, and all previous fuzzing findings, are read without a failure."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from cpuctl.cli.render import layouts as layouts_package
from tests.fuzz.registry import TARGETS
from tests.fuzz.target import FINDINGS


@pytest.mark.parametrize("name", TARGETS)
def test_every_seed_and_finding_is_read(name: str) -> None:
    seeds = list(TARGETS[name].seeds())
    assert seeds
    findings = [path.read_bytes() for path in sorted((FINDINGS / name).glob("*"))]
    for sample in (*seeds, *findings):
        TARGETS[name].run(sample)


def test_every_layout_shows_anything_its_schema_allows() -> None:
    """PCI devices and slices have no schema: programs get other answers; headroom is part of a plan."""
    others = {"topology.devices_blocks", "dra_slices.blocks", "plan.headroom_blocks"}
    layouts = {
        f"{path.stem}.{view}"
        for path in Path(layouts_package.__file__).parent.glob("[a-z]*.py")
        for view, value in vars(import_module(f"{layouts_package.__name__}.{path.stem}")).items()
        if view[0] != "_" and [*getattr(value, "__annotations__", ())][:2] == ["document", "wide"]
    }
    assert {f"answer-{name}" for name in layouts - others} <= TARGETS.keys()


def test_findings_belong_to_targets() -> None:
    assert {path.name for path in FINDINGS.glob("*")} <= TARGETS.keys()
