"""Wheel and sdist: their contents, and that users can install, build and test from them."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, build_distributions

pytestmark = pytest.mark.packaging


def files_of(folder: str) -> set[str]:
    found = (
        file for file in (ROOT / folder).rglob("*") if file.is_file() and "__pycache__" not in file.parts
    )
    return {file.relative_to(ROOT).as_posix() for file in found}


def test_the_wheel_contains_only_the_package(distributions: dict[str, Path]) -> None:
    with zipfile.ZipFile(distributions[".whl"]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name and ".data/" not in name}
    assert names == files_of("cpuctl")
    assert distributions[".whl"].name.endswith("-py3-none-any.whl")


def test_the_wheel_installs_manual_pages_and_completions_in_standard_paths(
    distributions: dict[str, Path],
) -> None:
    with zipfile.ZipFile(distributions[".whl"]) as wheel:
        placed = {name.partition(".data/data/")[2] for name in wheel.namelist() if ".data/data/" in name}
    pages = {f"share/man/man1/{Path(name).name}" for name in files_of("man")}
    assert placed == pages | {
        "share/bash-completion/completions/cpuctl",
        "share/fish/vendor_completions.d/cpuctl.fish",
        "share/zsh/site-functions/_cpuctl",
    }


def test_the_sdist_contains_everything_that_its_tests_need(distributions: dict[str, Path]) -> None:
    with tarfile.open(distributions[".gz"]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    folders = ("cpuctl", "tests", "fixtures", "docs", "contrib", "constraints", "man", "completions")
    wanted = set().union(*(files_of(folder) for folder in folders))
    assert wanted <= names, wanted - names
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "Makefile"} <= names


def test_an_unpacked_sdist_builds_and_passes_its_tests(
    distributions: dict[str, Path], tmp_path: Path
) -> None:
    """The wheel has the same bytes, built from nothing but the sdist's content; a few tests represent all."""
    with tarfile.open(distributions[".gz"]) as sdist:
        sdist.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    built = build_distributions(tmp_path / "built", source)
    assert {suffix for suffix, file in built.items() if _same(file, distributions[suffix])} == {".whl", ".gz"}
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/startup", "tests/test_cpuset.py"]
    done = subprocess.run([sys.executable, *words], check=False, capture_output=True, text=True, cwd=source)
    assert done.returncode == 0, done.stdout


def _same(one: Path, other: Path) -> bool:
    return one.read_bytes() == other.read_bytes()


def test_the_wheel_installs_and_runs(distributions: dict[str, Path], tmp_path: Path) -> None:
    """As with pipx: into a separate environment, with a program on the path."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", distributions[".whl"]], check=True, capture_output=True
    )
    for words in (["--version"], ["schema", "plan"], ["topology", "-m", "synthetic:2s2n4c2t"]):
        done = subprocess.run(
            [tmp_path / "venv/bin/cpuctl", *words], check=True, capture_output=True, cwd=tmp_path
        )
        assert done.stdout
    assert (tmp_path / "venv/share/man/man1/cpuctl.1").exists()
