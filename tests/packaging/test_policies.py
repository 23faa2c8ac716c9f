"""A policy written from the documentation alone, in a separate package next to an installed cpuctl."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.packaging.conftest import ROOT

pytestmark = pytest.mark.packaging

PAGE = ROOT / "docs" / "policies.md"
PROJECT = """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "my-policies"
version = "1.2"
dependencies = ["cpuctl"]

"""
NODE = ("-q", "-m", "synthetic:2s2n8c2t,mem=64Gi", "--kubelet-args")
STATIC = "--cpu-manager-policy=static --reserved-cpus=0-1"


def written(folder: Path) -> Path:
    """Write the page's example: the class into a module, the entry point into a separate project."""
    page = PAGE.read_text()
    text, entry = (re.findall(f"```{kind}\n(.*?)```", page, re.DOTALL)[0] for kind in ("python", "toml"))
    folder.mkdir()
    (folder / "my_policies.py").write_text(text)
    modules = '\n[tool.setuptools]\npy-modules = ["my_policies"]\n'
    (folder / "pyproject.toml").write_text(PROJECT + entry + modules)
    return folder


def test_a_policy_is_found_by_name_and_by_file(distributions: dict[str, Path], tmp_path: Path) -> None:
    project = written(tmp_path / "my-policies")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    for packages in ((distributions[".whl"],), (project,)):
        pip = (tmp_path / "venv/bin/python", "-m", "pip", "install", "--quiet", *packages)
        subprocess.run(pip, check=True, capture_output=True)

    def answer(*words: str) -> Any:
        done = subprocess.run(
            [tmp_path / "venv/bin/cpuctl", *words, "-o", "json"],
            check=True,
            capture_output=True,
            cwd=tmp_path,
        )
        return json.loads(done.stdout)

    listed = {each["name"]: each for each in answer("policies", "list")["policies"]}
    found = listed["high-numbers"]
    assert (found["origin"], found["error"]) == ("installed", None)
    assert found["where"] == "my_policies:HighNumbers (my-policies 1.2)"
    for policy in ("high-numbers", "./my-policies/my_policies.py:HighNumbers"):
        planned = answer("plan", *NODE, STATIC, "-T", "web=4/4,2Gi", "--policy", policy)
        assert planned["kubelet"]["policy"]["name"] == policy
        assert planned["pods"][0]["containers"][0]["cpus"] == "28-31"
