"""The guest of a session: its machine, and the files that it gets."""

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
"""The extra of cpuctl top, and what it needs in addition to cpuctl's own dependencies."""
FILES = (
    "live_node.py",
    "live_observer.py",
    "watch_node.py",
    "audit_node.py",
    "audit-kubelet.yaml",
    "audit-pods.yaml",
)
_STARTING = 900.0
"""Seconds, on a busy host, for everything but the session itself."""


def library(name: str) -> Path:
    """Return the path of a library that the guest gets."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin)
    return path.parent if path.name == "__init__.py" else path


def play(out: Path, minutes: float) -> GuestResult:
    """Boot the node, play a session of the given minutes, and copy its output to *out*."""
    share = [ROOT / "cpuctl", *(HERE / name for name in FILES), *map(library, LIBRARIES)]
    return run_in_guest(
        f"python3 live_node.py {minutes}", MACHINE, out, share=share, timeout=minutes * 60 + _STARTING
    )
