"""Run cpuctl in a process that records its system interactions, by Python's audit events (PEP 578)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]

# The hook records files opened for writing, and everything that changes a directory.
_WATCHED = """
import json, os, resource, sys
report, events = sys.argv[1], []
writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
def hook(name, arguments):
    if name == "open":
        if isinstance(arguments[2], int) and arguments[2] & writing:
            events.append(["write", str(arguments[0])])
    elif name.startswith(("subprocess.", "os.", "socket.", "shutil.", "ctypes.", "pty.", "urllib.", "mmap.")):
        if name not in ("os.listdir", "os.scandir", "os.walk", "os.fwalk"):
            events.append([name, *(str(each) for each in arguments[:2])])
from cpuctl.cli.app import run
megabytes, seconds = map(int, sys.argv[2:4])
if megabytes:
    resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
sys.addaudithook(hook)
code = run(sys.argv[4:])
kept = list(events)
with open(report, "w") as file:
    json.dump({"code": code, "events": kept}, file)
"""


@dataclass(frozen=True, slots=True)
class Watched:
    """How a command line ended, what it printed, and the events that change, start or send something."""

    code: int
    out: str
    err: str
    events: list[list[str]]

    @property
    def written(self) -> set[str]:
        """Files opened for writing."""
        return {event[1] for event in self.events if event[0] == "write"}

    @property
    def others(self) -> set[str]:
        """The names of all other events."""
        return {event[0] for event in self.events} - {"write"}


def watched(
    words: list[str], tmp_path: Path, *, cwd: Path = PROJECT, megabytes: int = 0, seconds: int = 120
) -> Watched:
    """Run cpuctl with *words*, within this much memory (if given) and CPU time.

    Its report is next to *tmp_path*, never in it.
    """
    report = tmp_path.parent / f"{tmp_path.name}-report.json"
    done = subprocess.run(
        [sys.executable, "-B", "-P", "-c", _WATCHED, str(report), str(megabytes), str(seconds), *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(PROJECT), "NO_COLOR": "1"},
        timeout=300,
    )
    assert report.exists(), done.stderr
    reported: dict[str, Any] = json.loads(report.read_text())
    return Watched(reported["code"], done.stdout, done.stderr, reported["events"])
