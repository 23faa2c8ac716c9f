"""Mutants of code that runs on import: each needs a process that has not imported cpuctl yet.

Such a process is forked first, after loading the libraries that tests need, and forks for every mutant.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tests.mutation.other_process.sitecustomize import install
from tests.mutation.trials import Ended, Judge, allow, forked

_LIBRARIES = ("hypothesis.stateful", "jsonschema", "psutil", "rich.table", "syrupy", "typer.testing", "yaml")
_COLLECTING = 60.0
"""Seconds of processor time in which test files are imported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Do these tests, in this order, notice this text of a module?"""

    module: str
    path: Path
    source: bytes
    tests: tuple[str, ...]
    seconds: dict[str, float]


class FreshProcess:
    """The process that answers questions; ``by`` of an answer is an index into the question's tests."""

    def __init__(self, options: Sequence[str]) -> None:
        self._ours, theirs = Pipe()
        self._child = os.fork()
        if self._child == 0:
            try:
                self._ours.close()
                _answer(theirs, options)
            finally:
                os._exit(0)
        theirs.close()

    def ask(self, question: Question) -> Ended:
        """Return the answer."""
        self._ours.send(question)
        ended = self._ours.recv()
        assert isinstance(ended, Ended)
        return ended

    def close(self) -> None:
        """End the process."""
        self._ours.close()
        os.waitpid(self._child, 0)


def _answer(questions: Connection, options: Sequence[str]) -> None:
    for name in _LIBRARIES:
        import_module(name)
    assert "cpuctl" not in sys.modules
    while True:
        try:
            question = questions.recv()
        except EOFError:
            return
        judge = Judge(question.seconds)
        questions.send(forked(_Trial(question, judge, options).run, judge))


class _Trial:
    """The work of the forked child; also a pytest plugin."""

    def __init__(self, question: Question, judge: Judge, options: Sequence[str]) -> None:
        self.question = question
        self.judge = judge
        self.options = options

    def run(self) -> None:
        """Return if no test has failed."""
        allow(_COLLECTING)
        install(self.question.module, str(self.question.path), self.question.source)
        files = dict.fromkeys(name.partition("::")[0] for name in self.question.tests)
        code = pytest.main([*self.options, *files], plugins=[self])
        if code != pytest.ExitCode.OK:
            raise RuntimeError("not collected")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the requested tests, and those that have other names under this mutant."""
        if session.testsfailed:
            raise RuntimeError("not collected")
        wanted = {name: number for number, name in enumerate(self.question.tests)}
        known = self.question.seconds
        items = [
            (wanted.get(item.nodeid, len(wanted)), item)
            for item in session.items
            if item.nodeid in wanted or item.nodeid not in known
        ]
        self.judge.run(sorted(items, key=lambda each: each[0]))
        return True
