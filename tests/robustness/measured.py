"""The cost of a command as a process: CPU seconds and peak memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from tests.robustness.forks import PROJECT

# Not from wait4, for which a process starts as large as the one that it was forked from.
_PROGRAM = """
import json, sys, time
from cpuctl.__main__ import main
try:
    main()
except SystemExit as ended:
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    sys.stdout.flush()
    sys.stderr.write("\\n" + json.dumps([ended.code, time.process_time(), peak / 1024]))
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """How a process ended, its CPU seconds, and its peak memory in MiB."""

    code: int
    seconds: float
    mebibytes: float


def cost(words: Sequence[str]) -> Cost:
    """Run cpuctl with *words*, and discard its output."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
        cwd=PROJECT,
    )
    return Cost(*json.loads(done.stderr.splitlines()[-1]))
