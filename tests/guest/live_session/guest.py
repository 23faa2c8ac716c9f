"""The guest of a session: which machine it is, and what is brought there."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from tests.guest.conftest import HERE, ROOT
from tests.guest.harness.guest import GuestResult, run_in_guest
from tests.guest.harness.machine import GuestMachine, GuestNode

MACHINE = GuestMachine(
    sockets=2,
    dies=2,
    cores=2,
    threads=2,
    # One that is soon full: its neighbours have to help out.
    nodes=tuple(GuestNode(f"{4 * node}-{4 * node + 3}", 192 if node == 2 else 384) for node in range(4)),
    parameters="psi=1",
)
LIBRARIES = ("textual", "mdit_py_plugins", "linkify_it", "platformdirs", "typing_extensions")
"""The extra of cpuctl top, and what it needs beside cpuctl's own dependencies."""
FILES = (
    "live_node.py",
    "live_observer.py",
    "watch_node.py",
    "audit_node.py",
    "audit-kubelet.yaml",
    "audit-pods.yaml",
)
_STARTING = 900.0
"""Seconds, on a busy host, for what is not the session itself."""


def library(name: str) -> Path:
    """Return where a library lies that is brought along."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin)
    return path.parent if path.name == "__init__.py" else path


def play(out: Path, minutes: float) -> GuestResult:
    """Boot the node, play a session of so many minutes, and bring back what was written to *out*."""
    share = [ROOT / "cpuctl", *(HERE / name for name in FILES), *map(library, LIBRARIES)]
    return run_in_guest(
        f"python3 live_node.py {minutes}", MACHINE, out, share=share, timeout=minutes * 60 + _STARTING
    )
