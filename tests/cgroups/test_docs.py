"""What ``cgroups apply`` refuses, and what its log says, is in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

from cpuctl.cgroups.applying import Step
from cpuctl.cgroups.objections import Force

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "apply.md").read_text()


def test_every_objection_is_told_with_what_overrules_it() -> None:
    source = (ROOT / "cpuctl" / "cgroups" / "objections.py").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \|.*\| *(?:`--force-([a-z]+)` )?\|$", TEXT, re.MULTILINE)
    assert sorted(code for code, _ in rows) == sorted(re.findall(r'code="([a-z-]+)"', source))
    assert [force for _, force in rows if force] == list(Force)


def test_every_step_is_told() -> None:
    assert [step for step in Step if f"`{step}`" not in TEXT] == []
