"""Fleets: thousands of recordings listed and planned, compared with the alternatives.

A kind of node is a shipped recording, or a machine as ``synthetic:`` describes it with all files that its
kernel would show. Nodes of a kind are copies; *unlike* ones differ in a file each, as captures do, so that
every one has to be unpacked. Ratios are of runs side by side: others may use the machine, too. The seconds of
CPUs are those of all processes together.
"""

from __future__ import annotations

import gzip
import json
import lzma
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from io import BytesIO
from itertools import islice
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

from tests.machine.sysfs_writer import small_machine

FIXTURES = Path(__file__).parents[2] / "fixtures"
_SHIPPED = ("nodes/*/node.tar.xz", "machines/*.tar.xz")
_END = bytes(1024)
_KUBELET = ("--kubelet-args=--cpu-manager-policy=static --kube-reserved=cpu=1", "-q", "-o", "json")
_PODS = ("-T", "web=2/2,1Gi x1000")
_ROUNDS = 3
_ONE_BY_ONE = 20
_RUNNING = ("500m", "1", "250m", "2")
"""CPUs that the running pods request."""


class Taken(NamedTuple):
    """The cost of a command: seconds, CPU seconds, and the peak MiB of one of its processes."""

    seconds: float
    cpu: float
    mib: int


def report() -> Iterator[str]:
    """Write seconds, memory and ratios."""
    with TemporaryDirectory() as name:
        yield from _report(Path(name))


def _report(directory: Path) -> Iterator[str]:
    yield f"{'fleets':64}{'s':>8}{'CPU s':>8}{'MiB':>6}"
    for kinds in (20, 200, 2000):
        fleet = write_fleet(directory / f"{kinds}-kinds", 10_000, kinds)
        yield _line(f"list 10,000 nodes of {kinds:,} kinds", _run("list", fleet))
        planned = _run("plan", fleet, *_PODS)
        yield _line(f"plan 1,000 pods on 10,000 nodes of {kinds:,} kinds", planned)
    yield from _busy(write_fleet(directory / "busy", 1000, 20), directory / "pods.json")
    yield from _unlike(write_fleet(directory / "unlike", 1000, 20, unlike=True))
    unlike = write_fleet(directory / "all-unlike", 10_000, 20, unlike=True)
    yield _line("plan 1,000 pods on 10,000 distinct nodes", _run("plan", unlike, *_PODS))


def _busy(fleet: Path, pods: Path) -> Iterator[str]:
    """Plan on nodes with distinct names and ten running pods each."""
    pods.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(_running(1000, 10))}))
    planned = _run("plan", fleet, "-T", "web=2/2,1Gi x100", "--pods", str(pods))
    yield _line("plan 100 pods on 1,000 nodes with 10,000 running pods", planned)


def _running(nodes: int, each: int) -> Iterator[dict[str, object]]:
    for number in range(nodes * each):
        node = number // each
        amounts = {"cpu": _RUNNING[(node % 5 + number) % len(_RUNNING)], "memory": "256Mi"}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"pod-{number}", "namespace": "shop", "uid": f"{number:032x}"},
            "spec": {
                "nodeName": f"node-{node:05}",
                "containers": [{"name": "c", "resources": {"requests": amounts, "limits": amounts}}],
            },
            "status": {"phase": "Running", "qosClass": "Guaranteed"},
        }


def _unlike(fleet: Path) -> Iterator[str]:
    alone, together, on_dask, loops = [], [], [], []
    for _ in range(_ROUNDS):
        alone.append(_run("list", fleet, "--jobs", "1"))
        together.append(_run("list", fleet, "--jobs", "2"))
        if find_spec("distributed"):
            on_dask.append(_run("list", fleet, "--jobs", "2", "--dask-scheduler", "local"))
        loops.append(_loop_seconds(sorted(fleet.iterdir())))
    planned = _run("plan", fleet, *_PODS)
    yield _line("list 1,000 distinct nodes, one process", alone[-1])
    yield _line("list 1,000 distinct nodes, two processes", together[-1])
    yield f"  {_ratio(alone, together)} times as fast as with one"
    if on_dask:
        yield _line("list 1,000 distinct nodes, two local Dask workers", on_dask[-1])
        yield f"  {_ratio(on_dask, together)} times the time of two processes"
    else:
        yield "  Dask is not installed: pip install '.[fleet]' in cpuctl's source directory"
    yield _line("plan 1,000 pods on 1,000 distinct nodes", planned)
    yield f"  {median(loops) / planned.seconds:.0f} times as fast as one cpuctl plan per node in a shell loop"


def _ratio(slow: Sequence[Taken], fast: Sequence[Taken]) -> str:
    ratios = [one.seconds / other.seconds for one, other in zip(slow, fast, strict=True)]
    return f"{median(ratios):.2f} ({min(ratios):.2f}..{max(ratios):.2f})"


def _line(what: str, taken: Taken) -> str:
    return f"{what:64}{taken.seconds:>8.1f}{taken.cpu:>8.1f}{taken.mib:>6}"


def _run(verb: str, fleet: Path, *words: str) -> Taken:
    began, before = perf_counter(), _cpu_seconds()
    process = subprocess.Popen(
        [sys.executable, "-m", "cpuctl", "fleet", verb, str(fleet), *_KUBELET, *words],
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 3), process.args
    return Taken(perf_counter() - began, _cpu_seconds() - before, usage.ru_maxrss >> 10)


def _cpu_seconds() -> float:
    """Return the CPU time of all ended processes and the children that they waited for."""
    usage = getrusage(RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _loop_seconds(recordings: Sequence[Path]) -> float:
    """Plan some nodes one by one, and extrapolate the time for all."""
    began = perf_counter()
    for path in recordings[:_ONE_BY_ONE]:
        words = ("plan", "-m", str(path), *_KUBELET, *_PODS)
        subprocess.run([sys.executable, "-m", "cpuctl", *words], stdout=subprocess.DEVNULL, check=False)
    return (perf_counter() - began) / _ONE_BY_ONE * len(recordings)


def write_fleet(directory: Path, nodes: int, kinds: int, *, unlike: bool = False) -> Path:
    """Write recordings of that many nodes, alternating between the kinds, into a new directory; return it."""
    directory.mkdir(parents=True)
    contents = [gzip.compress(tar, compresslevel=1, mtime=0) for tar in islice(_kinds(), kinds)]
    end = gzip.compress(_END, mtime=0)
    for number in range(nodes):
        name = f"node-{number:05}"
        own = gzip.compress(_member("proc/sys/kernel/hostname", name) + _END, mtime=0) if unlike else end
        (directory / f"{name}.tar.gz").write_bytes(contents[number % kinds] + own)
    return directory


def _kinds() -> Iterator[bytes]:
    """Yield archives without their ends, one per kind."""
    for path in sorted(path for pattern in _SHIPPED for path in FIXTURES.glob(pattern)):
        with lzma.open(path) as file:
            yield _without_end(file.read())
    for gib in range(64, 1 << 20, 64):
        for shape in ("1s1n16c2t", "2s2n8c2t,l3=8", "2s8n4c2t,l3=4", "1s4n8c1t"):
            files = small_machine(f"{shape},mem={gib}Gi")
            yield b"".join(_member(name, text) for name, text in files.items())


def _without_end(archive: bytes) -> bytes:
    with tarfile.open(fileobj=BytesIO(archive)) as opened:
        *_, last = opened
    return archive[: last.offset_data + -(-last.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE]


def _member(name: str, text: str) -> bytes:
    content, member = text.encode(), tarfile.TarInfo(name)
    member.size = len(content)
    return member.tobuf() + content + bytes(-len(content) % tarfile.BLOCKSIZE)
