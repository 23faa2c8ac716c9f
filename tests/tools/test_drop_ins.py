"""systemd accepts the drop-ins with which a plan is carried out."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cpuctl.answering.plan.carrying_out import Carried, systemd
from tests.cli.test_carrying_out import PLAN, UID, drop_ins

pytestmark = pytest.mark.tools
APP = Carried("shop", "web", "app", "2-3", "0", own=True, runs=False, uid=UID)


def test_systemd_accepts_the_drop_ins(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    assert analyze, "tests/tools/install-packages"
    units = drop_ins(systemd([APP], PLAN))
    assert len(units) == 4
    for number, lines in enumerate(units.values()):
        # Names of units on this host do not matter: only the settings are read.
        unit = tmp_path / f"some{number}.slice"
        unit.write_text("\n".join(lines).replace("[Scope]", "[Slice]") + "\n")
        words = [analyze, "verify", str(unit)]
        ran = subprocess.run(words, capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stderr) == (0, "")
