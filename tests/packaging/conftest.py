"""What is published, built once for all tests that install or run it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Python:
    """An interpreter of this machine that cpuctl is for."""

    release: str
    program: str


@pytest.fixture(scope="session")
def pythons() -> list[Python]:
    """Find what contrib/pythons finds, the oldest release first."""
    done = subprocess.run([ROOT / "contrib" / "pythons"], check=True, capture_output=True, text=True)
    return [Python(*line.split(" ", 1)) for line in done.stdout.splitlines()]


def build_zipapp(target: Path, pythons: list[Python]) -> Path:
    words = [word for python in pythons for word in ("--python", python.program)]
    script = ROOT / "contrib" / "zipapp" / "build.py"
    subprocess.run([sys.executable, script, target, *words], check=True, capture_output=True)
    return target


@pytest.fixture(scope="session")
def zipapp(tmp_path_factory: pytest.TempPathFactory, pythons: list[Python]) -> Path:
    """Build cpuctl.pyz as make zipapp does."""
    return build_zipapp(tmp_path_factory.mktemp("zipapp") / "cpuctl.pyz", pythons)


def build_distributions(target: Path, source: Path = ROOT) -> dict[str, Path]:
    """Build a wheel from an sdist of *source*; return both by their suffix."""
    words: list[str | Path] = [sys.executable, "-m", "build", "--outdir", target, source]
    subprocess.run(words, check=True, capture_output=True)
    return {"".join(file.suffixes[-1:]): file for file in target.iterdir()}


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return build_distributions(tmp_path_factory.mktemp("dist"))
