"""A browser, and the pictures that it displays."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.chromium import Chromium

ROOT = Path(__file__).parents[2]

TWO_NODES = (
    "-m",
    "fixtures/machines/2s-2numa-32cpu.tar.xz",
    "--kubelet-config",
    "fixtures/kubelet/static.yaml",
)
PODS = ("-T", "db=16/16,1Gi x20", "-T", "web=2/2,1Gi x50", "-T", "much-too-large=600/600,1Gi")
LARGE = ("-m", "synthetic:2s8n128c2t,l3=32,offline=255+511,isolated=500-503")
POLICY = ("--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0-7")

FLEET = ("fleet", "list", "--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0-3")

PICTURES = {
    "machine": ("topology", "-m", "synthetic:1s2n8c2t,offline=3+5,isolated=8-9,ecores=6-7"),
    "plan": ("plan", *TWO_NODES, "-f", "fixtures/pods", "-T", "odd=3/3,1Gi"),
    "512 CPUs": ("plan", *LARGE, *POLICY, *PODS),
    "state file": ("checkpoint", "dump", "-m", "fixtures/nodes/v2-2-numa/node.tar.xz"),
    "fleet": (*FLEET, "fixtures/machines", "fixtures/nodes", "synthetic:2s4n4c2t,mem=64Gi", "/no/such/node"),
    "replay": ("replay", "fixtures/timelines/kep-5554-story.yaml"),
    "delay": ("replay", "fixtures/timelines/scenario-3.yaml"),
}

Shown = Callable[..., str]


@pytest.fixture
def browser(tmp_path: Path) -> Chromium:
    """Return a browser."""
    return Chromium(tmp_path)


@pytest.fixture(scope="session")
def shown() -> Shown:
    """Return a function that makes cpuctl draw to stdout."""

    def draw(*words: str, option: str = "--svg") -> str:
        more = () if words[0] in {"topology", "checkpoint"} else ("--exit-zero",)
        done = subprocess.run(
            [sys.executable, "-m", "cpuctl", *words, option, "-", "-q", *more],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env=dict(os.environ),
        )
        return done.stdout

    return draw
