"""Programs of the host: their paths and their output."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.guest.harness.errors import GuestError


def installed(name: str) -> Path:
    """Return the path of a program; raise GuestError if it is not installed."""
    found = shutil.which(name)
    if found is None:
        raise GuestError(f"{name} is not installed: run tests/guest/install-packages")
    return Path(found)


def tool_output(words: Sequence[str | Path], *, cwd: Path | None = None, hint: str = "") -> str:
    """Return a program's output; raise GuestError with its last output if it fails."""
    program, *rest = words
    try:
        done = subprocess.run(
            [installed(str(program)), *rest], cwd=cwd, check=True, capture_output=True, text=True
        )
    except subprocess.CalledProcessError as error:
        begun = " ".join(map(str, words[:4]))
        reported = "\n".join((error.stderr or error.stdout).splitlines()[-10:])
        raise GuestError(
            f"{begun} ... ended with {error.returncode} {hint and f'({hint})'}\n{reported}"
        ) from None
    return done.stdout
