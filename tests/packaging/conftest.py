"""The published files, built once for all tests that install or run them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MACHINE = "fixtures/machines/2s-2numa-32cpu.tar.xz"
PLAN = ["plan", "-m", MACHINE, "--kubelet-config", "fixtures/kubelet/static.yaml", "-f", "fixtures/pods"]
COMMANDS = {
    "help": ["--help"],
    "table": ["topology", "-m", MACHINE],
    "json": [*PLAN, "-o", "json"],
    "yaml": [*PLAN, "-o", "yaml"],
    "prom": [*PLAN, "-o", "prom"],
    "schemas": ["schema", "plan"],
    "validation": ["pods", "lint", "-f", "fixtures/pods"],
    "picture": ["topology", "-m", MACHINE, "--svg", "-"],
    "no": [*PLAN, "-T", "huge=99/99"],
    "usage": ["plan", "--no-such-option"],
}


@dataclass(frozen=True, slots=True)
class Python:
    """An interpreter on this machine that cpuctl supports."""

    release: str
    program: str


@pytest.fixture(scope="session")
def pythons() -> list[Python]:
    """Find the interpreters that contrib/pythons finds, the oldest release first."""
    done = subprocess.run([ROOT / "contrib" / "pythons"], check=True, capture_output=True, text=True)
    return [Python(*line.split(" ", 1)) for line in done.stdout.splitlines()]


def run(*words: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "COLUMNS": "100"}
    return subprocess.run(words, check=False, capture_output=True, text=True, cwd=cwd, env=environment)


def stated(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    """Return the exit code and output of a run, without the program's name."""
    return done.returncode, done.stdout, done.stderr.replace("cpuctl.pyz", "cpuctl")


@pytest.fixture(scope="session")
def installed() -> dict[str, tuple[int, str, str]]:
    """The answers of cpuctl with its published dependencies, including compiled ones."""
    return {name: stated(run(sys.executable, "-m", "cpuctl", *words)) for name, words in COMMANDS.items()}


def build_zipapp(target: Path, pythons: list[Python]) -> Path:
    words = [word for python in pythons for word in ("--python", python.program)]
    script = ROOT / "contrib" / "zipapp" / "build.py"
    subprocess.run([sys.executable, script, target, *words], check=True, capture_output=True)
    return target


@pytest.fixture(scope="session")
def zipapp(tmp_path_factory: pytest.TempPathFactory, pythons: list[Python]) -> Path:
    """Build cpuctl.pyz like ``make zipapp``."""
    return build_zipapp(tmp_path_factory.mktemp("zipapp") / "cpuctl.pyz", pythons)


def build_distributions(target: Path, source: Path = ROOT) -> dict[str, Path]:
    """Build a wheel from an sdist of *source*; return both by suffix."""
    words: list[str | Path] = [sys.executable, "-m", "build", "--outdir", target, source]
    subprocess.run(words, check=True, capture_output=True)
    return {"".join(file.suffixes[-1:]): file for file in target.iterdir()}


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return build_distributions(tmp_path_factory.mktemp("dist"))
