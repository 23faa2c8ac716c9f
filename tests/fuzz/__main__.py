"""Fuzz the parsers: ``python -m tests.fuzz [TARGET ...] [--seconds 600] [--jobs 2]``.

Failing inputs are kept in ``findings/TARGET``, which the default tests run; exit 1 if there were any.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.registry import TARGETS
from tests.fuzz.target import FINDINGS

_LONGEST_INPUT = 1 << 15
_LONGEST_RUN = 20  # seconds; a finding, as is more memory than this
_MOST_MEMORY = 2048  # MiB
_COVERED = re.compile(r"cov: (\d+) ft: (\d+)")
_EXECUTED = re.compile(r"stat::number_of_executed_units: *(\d+)")


@dataclass(frozen=True, slots=True)
class Run:
    """The outcome for one target; ``log`` is the fuzzer's output."""

    target: str
    code: int
    log: str

    @property
    def row(self) -> str:
        covered = _COVERED.findall(self.log)
        executed = _EXECUTED.findall(self.log)
        edges, features = covered[-1] if covered else ("?", "?")
        verdict = "clean" if self.code == 0 else "FAILED"
        return f"{self.target:12} {executed[-1] if executed else '?':>10} {edges:>7} {features:>9}  {verdict}"


def fuzz(target: str, seconds: int) -> Run:
    """Fuzz a target from its seeds for some seconds."""
    findings = FINDINGS / target
    findings.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as corpus:
        for number, seed in enumerate(TARGETS[target].seeds()):
            (Path(corpus) / f"seed-{number}").write_bytes(seed)
        words = [
            f"-max_total_time={seconds}",
            f"-max_len={_LONGEST_INPUT}",
            f"-timeout={_LONGEST_RUN}",
            f"-rss_limit_mb={_MOST_MEMORY}",
            f"-artifact_prefix={findings}/",
            "-print_final_stats=1",
            corpus,
        ]
        command = [sys.executable, "-m", "tests.fuzz.one", target, *words]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if not any(findings.iterdir()):
        findings.rmdir()
    return Run(target, done.returncode, done.stdout + done.stderr)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _last_lines(log: str) -> str:
    kept = [line for line in log.splitlines() if not line.startswith(("#", "stat::", "INFO:"))]
    return "\n".join(f"    {line}" for line in kept[-25:])


def main(words: Iterable[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"default: all of {', '.join(TARGETS)}")
    parser.add_argument("--seconds", type=int, default=600, help="for each target (default: 600)")
    parser.add_argument("--jobs", type=int, default=2, help="targets at a time (default: 2)")
    requested = parser.parse_args(list(words))
    if unknown := set(requested.targets) - TARGETS.keys():
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    failed = False
    _say(f"{'target':12} {'inputs':>10} {'edges':>7} {'features':>9}")
    with ThreadPoolExecutor(requested.jobs) as pool:
        for run in pool.map(partial(fuzz, seconds=requested.seconds), requested.targets or TARGETS):
            _say(run.row)
            if run.code != 0:
                failed = True
                _say(_last_lines(run.log))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
