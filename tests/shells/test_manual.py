"""The manual pages and completions, checked by strict tools."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.shells

ROOT = Path(__file__).parents[2]
SCRIPTS = ("completions/cpuctl.bash", "tests/shells/install-packages", "contrib/fleet/collect")
PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "man").glob("*.1"))


def complaints(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    return done.stderr if command[0] == "groff" else done.stdout + done.stderr


def test_groff_has_no_warning() -> None:
    assert len(PAGES) > 20
    assert "".join(complaints("groff", "-ww", "-man", "-Tutf8", page) for page in PAGES) == ""


def test_mandoc_has_no_warning() -> None:
    assert complaints("mandoc", "-T", "lint", *PAGES) == ""


def test_every_page_names_itself_for_apropos() -> None:
    for page in PAGES:
        done = subprocess.run(
            ["mandoc", "-T", "ascii", page], capture_output=True, text=True, cwd=ROOT, check=True
        )
        assert f"{Path(page).stem} - " in done.stdout.replace("  ", " ")


def test_shellcheck_has_no_warning() -> None:
    assert complaints("shellcheck", *SCRIPTS) == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_are_syntactically_right(shell: str) -> None:
    assert complaints(shell, "-n", f"completions/cpuctl.{shell}") == ""
