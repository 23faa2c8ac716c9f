"""With the substitute for psutil's compiled part in ``cpuctl.pyz``, the same kubelets are found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STAND_IN = ROOT / "contrib" / "zipapp" / "psutil_linux.py"
PROBE = """
import sys
from importlib.metadata import version
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

if sys.argv[1]:
    spec = spec_from_file_location("psutil._psutil_linux", sys.argv[1])
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.version = int(version("psutil").replace(".", ""))  # whichever the tests run with

from cpuctl.capture.kubelet.running import kubelets_using

print(kubelets_using(Path(sys.argv[2], "var/lib/kubelet"), Path(sys.argv[2])))
import psutil
assert bool(sys.argv[1]) is not hasattr(psutil._psplatform.cext, "users")
"""


def test_the_stand_in_is_for_the_pinned_release() -> None:
    pins = (ROOT / "constraints" / "zipapp.txt").read_text(encoding="utf-8").splitlines()
    pinned = next(line.split()[0].partition("==")[2] for line in pins if line.startswith("psutil=="))
    assert f"\nversion = {pinned.replace('.', '')}\n" in STAND_IN.read_text(encoding="utf-8")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a node's files: a kubelet, one that overwrote its command line, a zombie, and another process."""
    commands = {70: "kubelet\0--v=2\0", 71: "/bin/k3s server", 72: "kubelet\0", 73: "sh\0-c\0kubelet\0"}
    for pid, command in commands.items():
        process = tmp_path / "proc" / str(pid)
        process.mkdir(parents=True)
        (process / "stat").write_text(f"{pid} (any) {'Z' if pid == 72 else 'S'} {'1 ' * 49}")
        (process / "cmdline").write_text(command)
    (tmp_path / "proc" / "stat").write_text("btime 1\n")
    (tmp_path / "var" / "lib" / "kubelet").mkdir(parents=True)
    return tmp_path


def test_kubelets_are_found_with_either(root: Path) -> None:
    theirs, ours = (
        subprocess.run(
            [sys.executable, "-c", PROBE, part, str(root)],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=True,
        ).stdout
        for part in ("", str(STAND_IN))
    )
    assert theirs == ours
    assert [f"pid={pid}" in ours for pid in (70, 71, 72, 73)] == [True, True, False, False]
