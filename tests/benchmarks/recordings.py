"""Reading recorded machines: unpacking, the sysfs reader and the kubelet's view of the result."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from cpuctl.machine.sources import read_machine
from tests.benchmarks.timing import Run, Timing, measure
from tests.machine.sysfs_writer import small_machine

MACHINES = Path(__file__).parents[2] / "fixtures" / "machines"


def report() -> Iterator[str]:
    """Write a table of the shipped recordings: milliseconds to read each."""
    yield f"{'recording':40}{'ms':>10}{'min..max':>20}"
    for path in sorted(MACHINES.glob("*.tar.*")):
        yield _line(path.name, measure(partial(_reading, path), seconds=1))
    with TemporaryDirectory() as directory:
        large = _large_recording(Path(directory))
        yield _line(large.name, measure(partial(_reading, large), seconds=1))


def _large_recording(directory: Path) -> Path:
    """Write a recording of a machine with 512 CPUs and every file that a kernel would show."""
    path = directory / "synthetic-2s-8numa-512cpu.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in small_machine("2s8n128c2t,l3=64").items():
            content = text.encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, BytesIO(content))
    return path


def _reading(path: Path) -> Run:
    return partial(read_machine, str(path))


def _line(name: str, timing: Timing) -> str:
    spread = f"{min(timing.runs) / 1000:.1f}..{max(timing.runs) / 1000:.1f}"
    return f"{name:40}{timing.median / 1000:>10.1f}{spread:>20}"
