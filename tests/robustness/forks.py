"""Run cpuctl many times in children of one process that has loaded all of it: as other users, on other disks.

This also works for users who may not read the interpreter's files, because everything is already imported.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]
NONE = 65534

_PARENT = """
import gzip, importlib, importlib.metadata, importlib.readers, inspect, json, lzma, mmap, os
import pkgutil, resource, sys
import cpuctl
from cpuctl.cli.app import run
for each in pkgutil.walk_packages(cpuctl.__path__, "cpuctl."):
    if not each.name.endswith("__main__"):
        importlib.import_module(each.name)
out, silent = os.dup(1), os.open(os.devnull, os.O_WRONLY)
os.dup2(silent, 1), os.dup2(silent, 2)
for line in ("topology -m synthetic:1s1n2c1t", "config versions -o yaml", "pods lint -f fixtures/pods"):
    run(line.split())  # what is imported where it is used
sys.stdout.flush()

def child(job, stdout, stderr):
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(job["stdout"], os.O_WRONLY) if job["stdout"] else stdout, 1)
    os.dup2(stderr, 2)
    if job["largest_file"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["largest_file"],) * 2)
    if job["user"] is not None and os.geteuid() == 0:
        os.setgroups([])
        os.setgid(job["user"])
        os.setuid(job["user"])
    sys.argv = ["cpuctl", *job["words"]]
    from cpuctl.__main__ import main
    main()

def held(handle):
    with os.fdopen(handle, "rb") as file:
        return file.read().decode("utf-8", "backslashreplace")

def tree(directory):
    found = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, directory)] = file.read().decode("latin-1")
    return found

for line in sys.stdin:
    job = json.loads(line)
    if "shell" in job:
        answer = {"code": os.waitstatus_to_exitcode(os.system(job["shell"]))}
    elif "tree" in job:
        answer = {"files": tree(job["tree"])}
    else:
        # No pipe for answers, which can be longer than one holds; no file for errors, which may not grow.
        stdout, (reading, writing) = os.memfd_create("stdout"), os.pipe()
        if not (process := os.fork()):
            child(job, stdout, writing)
            sys.exit(0)
        os.close(writing)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        os.lseek(stdout, 0, os.SEEK_SET)
        answer = {"code": code, "out": held(stdout), "err": held(reading)}
    os.write(out, json.dumps(answer).encode() + b"\\n")
"""

OWN_MOUNTS = ("unshare", "--mount", "--propagation", "private")


def without_mounts(directory: Path) -> str:
    """Return why nothing can be mounted at *directory* here; empty if it can."""
    words = [*OWN_MOUNTS, "mount", "-t", "tmpfs", "none", str(directory)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        return str(error)
    return "" if done.returncode == 0 else f"nothing can be mounted here: {done.stderr.strip()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """The user and limits of a command; *stdout* is a file to use instead."""

    user: int | None = None
    stdout: str = ""
    largest_file: int | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command line ended."""

    code: int
    out: str
    err: str


class Forks:
    """A process that runs command lines one after the other, each in a new child."""

    def __init__(self, *before: str) -> None:
        """Start it with the command prefix *before*, such as one that gives it its own mounts."""
        self._process = subprocess.Popen(
            [*before, sys.executable, "-c", _PARENT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=PROJECT,
        )

    def run(self, words: Sequence[str], circumstances: Circumstances | None = None) -> Ended:
        """Run cpuctl with *words*."""
        answer = self._ask({"words": list(words)} | asdict(circumstances or Circumstances()))
        return Ended(answer["code"], answer["out"], answer["err"])

    def shell(self, command: str) -> None:
        """Run a shell command, which must succeed, in the same environment."""
        code = self._ask({"shell": command})["code"]
        assert code == 0, command

    def files(self, directory: Path) -> dict[str, str]:
        """Return the content of every file below a directory there, by path."""
        found: dict[str, str] = self._ask({"tree": str(directory)})["files"]
        return found

    def end(self) -> None:
        """End the process, and wait for it."""
        self._process.communicate()

    def _ask(self, job: dict[str, object]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the process has ended"
        answer: dict[str, Any] = json.loads(line)
        return answer
