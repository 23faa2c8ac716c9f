"""The zoo of broken inputs: one folder a failure, with the message and the exit code it must give.

A folder's ``case.json`` holds the words after ``cpuctl`` (run inside the folder), the exit code and stderr.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Cpuctl

ZOO = ROOT / "fixtures" / "broken"
FOLDERS = sorted(folder for folder in ZOO.iterdir() if folder.is_dir())
USAGE, INPUT = 2, 4


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_broken_input_is_explained(folder: Path, cpuctl: Cpuctl) -> None:
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    stdin = folder / "stdin"
    result = cpuctl(*case["words"], cwd=folder, stdin=stdin.read_bytes() if stdin.exists() else b"")
    assert result.err.splitlines() == case["stderr"]
    assert (result.code, result.out) == (case["exit"], "")
    assert result.code == (USAGE if folder.name.startswith("usage-") else INPUT)
