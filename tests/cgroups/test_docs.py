"""Objections of ``cgroups apply`` and steps in its log are documented."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cpuctl.cgroups.applying import WriteResult
from cpuctl.cgroups.objections import Override

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "apply.md").read_text()


def test_every_objection_is_documented_with_its_override() -> None:
    source = (ROOT / "cpuctl" / "cgroups" / "objections.py").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \|.*\| *(?:`--force-([a-z]+)` )?\|$", TEXT, re.MULTILINE)
    assert sorted(code for code, _ in rows) == sorted(re.findall(r'code="([a-z-]+)"', source))
    assert [force for _, force in rows if force] == list(Override)


@pytest.mark.skipif(shutil.which("jq") is None, reason="there is no jq here to run the recipe with")
def test_the_recipe_that_undoes_a_log_handles_any_name(tmp_path: Path) -> None:
    """Containers may choose the names of cgroups below their own, and root's shell reads them."""
    (recipe,) = re.findall(r"^    (tac writes\.jsonl \| (?:.+\n)+)", TEXT, re.MULTILINE)
    group = "/a'$(touch hacked);touch hacked #"
    (tmp_path / group[1:]).mkdir()
    steps = [
        {"step": step, "group": group, "file": "cpuset.cpus", "before": before, "after": "7"}
        for before in ("0-3", "")
        for step in ("writing", "written")
    ]
    (tmp_path / "writes.jsonl").write_text("".join(f"{json.dumps(step)}\n" for step in steps))
    command = f"({recipe.replace('/sys/fs/cgroup', '.')}) | tee commands | sh"
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    assert (tmp_path / group[1:] / "cpuset.cpus").read_text() == "0-3\n"
    assert len((tmp_path / "commands").read_text().splitlines()) == 2
    assert not list(tmp_path.rglob("hacked"))


def test_every_step_is_documented() -> None:
    assert [step for step in WriteResult if f"`{step}`" not in TEXT] == []
