"""The functions of cpuctl that each test runs, and its duration; kept between runs, by test file."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType

import pytest

_LONGEST = 60
"""Seconds of processor time; a test that takes more is not used."""


@dataclass(slots=True)
class Traced:
    """A test: its seconds under the tracer, or None if it failed, and the functions that it ran."""

    seconds: float | None
    functions: frozenset[str]


@dataclass(slots=True)
class Traces:
    """All tests by id; *on_import* are the functions that run before any test."""

    tests: dict[str, Traced] = field(default_factory=dict)
    on_import: frozenset[str] = frozenset()

    def by_function(self) -> dict[str, list[str]]:
        """Return the tests that run each function, the fastest first."""
        found: dict[str, list[str]] = {}
        usable = [(test.seconds, name) for name, test in self.tests.items() if test.seconds is not None]
        for _, name in sorted(usable):
            for function in self.tests[name].functions:
                found.setdefault(function, []).append(name)
        return found

    def seconds(self) -> dict[str, float]:
        """Return the seconds of the passing tests."""
        return {name: test.seconds for name, test in self.tests.items() if test.seconds is not None}


class Recorder:
    """Records the names of called functions of cpuctl."""

    def __init__(self, root: Path) -> None:
        self._below = f"{root / 'cpuctl'}{os.sep}"
        self._root = root
        self._codes: set[CodeType] = set()

    def start(self) -> None:
        """Start recording, which slows down every call."""
        self._codes = set()
        threading.setprofile(self._called)
        sys.setprofile(self._called)

    def stop(self) -> frozenset[str]:
        """Stop, and return the names."""
        sys.setprofile(None)
        threading.setprofile(None)
        return frozenset(name for code in self._codes if (name := self._name(code)))

    def _called(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            self._codes.add(frame.f_code)

    def _name(self, code: CodeType) -> str:
        if not code.co_filename.startswith(self._below):
            return ""
        module = (
            code.co_filename.removeprefix(f"{self._root}{os.sep}").removesuffix(".py").replace(os.sep, ".")
        )
        outer, _, _ = code.co_qualname.partition(".<locals>")
        return f"{module}:{outer}"


def trace(items: list[pytest.Item], on_import: frozenset[str], recorder: Recorder, kept: Path) -> Traces:
    """Run every test once, except those of unchanged test files in *kept*.

    Each runs in its own child, so that its time and functions include those of shared fixtures.
    """
    traces = Traces(_kept(kept, items), on_import)
    missing = [item for item in items if item.nodeid not in traces.tests]
    for number, item in enumerate(missing):
        if number % 100 == 0:
            say(f"tracing tests: {number} of {len(missing)}")
            _keep(kept, traces, items)
        traces.tests[item.nodeid] = _traced(item, recorder)
    if missing:
        _keep(kept, traces, items)
    return traces


def say(text: str) -> None:
    """Show the progress."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _traced(item: pytest.Item, recorder: Recorder) -> Traced:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nothing, stream)
            resource.setrlimit(resource.RLIMIT_CPU, (_LONGEST, _LONGEST))
            with os.fdopen(writing, "w", encoding="utf-8") as answer:
                json.dump(_run(item, recorder), answer)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as answer:
        text = answer.read()
    os.waitpid(child, 0)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    seconds, functions = json.loads(text) if text else (None, [])
    return Traced(seconds, frozenset(functions))


def _run(item: pytest.Item, recorder: Recorder) -> tuple[float | None, list[str]]:
    outcomes = Outcomes()
    item.config.pluginmanager.register(outcomes)
    before = _processor_time()
    recorder.start()
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
    functions = recorder.stop()
    seconds = _processor_time() - before
    return round(seconds, 4) if outcomes.passed else None, sorted(functions)


def _processor_time() -> float:
    """Return the CPU seconds of this process and of ended children."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Outcomes:
    """A pytest plugin that sees whether a test passes."""

    def __init__(self) -> None:
        self.passed = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note every failure and every skip."""
        self.passed = self.passed and report.passed


def _kept(kept: Path, items: Iterable[pytest.Item]) -> dict[str, Traced]:
    if not kept.exists():
        return {}
    files = json.loads(kept.read_text())
    found = {}
    for item in items:
        old = files.get(item.nodeid.partition("::")[0])
        if old and old["sum"] == _sum(item.path) and item.nodeid in old["tests"]:
            seconds, functions = old["tests"][item.nodeid]
            found[item.nodeid] = Traced(seconds, frozenset(functions))
    return found


def _keep(kept: Path, traces: Traces, items: Iterable[pytest.Item]) -> None:
    files: dict[str, dict[str, object]] = json.loads(kept.read_text()) if kept.exists() else {}
    tests: dict[str, dict[str, object]] = {}
    for item in items:
        name = item.nodeid.partition("::")[0]
        test = traces.tests.get(item.nodeid)
        if test is None:
            continue
        tests.setdefault(name, {})[item.nodeid] = (test.seconds, sorted(test.functions))
        files[name] = {"sum": _sum(item.path), "tests": tests[name]}
    kept.parent.mkdir(parents=True, exist_ok=True)
    new = kept.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(files))
    new.rename(kept)


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
