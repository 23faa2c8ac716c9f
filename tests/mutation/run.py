"""One run: tests are collected and traced once, then every mutant of the groups is tried."""

from __future__ import annotations

import gc
import re
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import CodeType
from typing import NamedTuple

import pytest

from tests.mutation.explanations import explanations
from tests.mutation.importing import FreshProcess, Question
from tests.mutation.mutants import ModuleGroup, Mutant, module_name
from tests.mutation.results import Result, Results
from tests.mutation.swapping import LiveFunctions
from tests.mutation.tracing import Recorder, Traces, say, trace
from tests.mutation.trials import Ended, Judge, forked, hand_down

_FIRST = 30
"""So many tests are tried first on a mutant that needs an import: collecting test files takes long."""


IN_OTHER_PROCESSES = {"cpuctl.checkpoints.store": ("tests/checkpoints/test_store_kill.py",)}
"""Tests that run a module in processes that they start: no tracer sees it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The parameters of a run: *budget* is seconds of tests for one mutant; *again* tries survivors again."""

    groups: Sequence[ModuleGroup]
    folder: Path
    budget: float
    again: bool = False
    one_in: int = 1


@dataclass(slots=True)
class Choice:
    """The tests for a mutant in order, and the number of those that do not fit into the budget."""

    tests: list[str]
    left: int

    def summed_up(self) -> str:
        """Return a checksum of the tests and their files."""
        files = sorted({name.partition("::")[0] for name in self.tests})
        return sha256("\n".join([*sorted(self.tests), *map(_sum, files)]).encode()).hexdigest()[:16]


@cache
def _text(file: str) -> str:
    return Path(file).read_text(encoding="utf-8")


@cache
def _sum(file: str) -> str:
    return sha256(Path(file).read_bytes()).hexdigest()


@dataclass(slots=True, eq=False)  # pytest hashes its plugins
class Run:
    """A pytest plugin that tries mutants instead of running the tests."""

    options: RunOptions
    fresh: FreshProcess
    recorder: Recorder
    traces: Traces = field(default_factory=Traces)
    reached_by: dict[str, list[str]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    items: dict[str, tuple[int, pytest.Item]] = field(default_factory=dict)
    killers: dict[str, Counter[str]] = field(default_factory=dict)
    about_module: dict[str, list[str]] = field(default_factory=dict)

    def pytest_sessionstart(self) -> None:
        """Record the functions that importing the tests runs."""
        self.recorder.start()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Name test files that cannot be imported; they are not used."""
        if report.failed:
            say(f"left out, cannot be collected: {report.nodeid}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try every mutant of every group."""
        on_import = self.recorder.stop()
        live = LiveFunctions()
        gc.collect()
        gc.freeze()  # children collect only their own garbage, and share the rest
        self.traces = trace(session.items, on_import, self.recorder, self.options.folder / "traces.json")
        for name, test in self.traces.tests.items():
            if test.seconds is None:
                say(f"left out, does not pass alone: {name}")
        self.reached_by, self.seconds = self.traces.by_function(), self.traces.seconds()
        self.items = {item.nodeid: (number, item) for number, item in enumerate(session.items)}
        for group in self.options.groups:
            self._group(group, live)
        self.fresh.close()
        return True

    def _group(self, group: ModuleGroup, live: LiveFunctions) -> None:
        results = Results(self.options.folder, group)
        explained = explanations(group)
        begun, tried = time.monotonic(), 0
        mutants = sorted(mutants_of_interest(group, self.options.one_in), key=lambda mutant: mutant.imported)
        for number, mutant in enumerate(mutants):
            old = results.of(mutant)
            choice = self._chosen(mutant)
            requested = choice.summed_up() if old is None or old.survived else ""
            if (
                old
                and not (old.survived and self.options.again)
                and (not old.survived or mutant.change in explained or old.requested == requested)
            ):
                continue
            before = time.monotonic()
            ended = self._tried(mutant, choice, live)
            by = choice.tests[ended.by] if ended.by is not None and ended.by < len(choice.tests) else ""
            if by:
                self.killers.setdefault(mutant.change.function, Counter())[by] += 1
            took = round(time.monotonic() - before, 3)
            results.add(
                Result(
                    key=mutant.key,
                    outcome=ended.outcome,
                    by=by,
                    requested=requested,
                    left=choice.left,
                    seconds=took,
                )
            )
            tried += 1
            if tried % 100 == 0:
                rate = 60 * tried / (time.monotonic() - begun)
                say(
                    f"{group.name}: {number + 1} mutants, {rate:.0f} per minute, now {mutant.change.function}"
                )
        if tried:
            say(f"{group.name}: tried {tried} in {time.monotonic() - begun:.0f} s")

    # Which tests

    def _chosen(self, mutant: Mutant) -> Choice:
        """Choose tests that killed others of the function first, then the fastest, within the budget."""
        function = mutant.change.function
        if self._needs_import(mutant):
            if mutant.module not in self.about_module:
                self.about_module[mutant.module] = self._about_module(mutant.module)
            names = self.about_module[mutant.module]
        else:
            names = [*self.reached_by.get(function, ()), *self._in_other_processes(mutant.module)]
        killers = self.killers.get(function, Counter())
        first = [name for name, _ in killers.most_common() if name in self.seconds]
        chosen: list[str] = []
        spent = 0.0
        every = list(dict.fromkeys([*first, *names]))
        for name in every:
            if spent + self.seconds[name] <= self.options.budget or not chosen:
                chosen.append(name)
                spent += self.seconds[name]
        return Choice(chosen, len(every) - len(chosen))

    def _in_other_processes(self, module: str) -> list[str]:
        return [name for name in self.seconds if _file(name) in IN_OTHER_PROCESSES.get(module, ())]

    def _needs_import(self, mutant: Mutant) -> bool:
        """Return whether only the import of a module runs it, and no test."""
        function = mutant.change.function
        return mutant.imported or (function in self.traces.on_import and function not in self.reached_by)

    def _about_module(self, module: str) -> list[str]:
        """Find the tests that run or import any part of a module, then those of modules that import it."""
        parent, _, last = module.rpartition(".")
        imports = re.compile(
            rf"\b{re.escape(module)}\b|^\s*from {re.escape(parent)} import .*\b{last}\b", re.MULTILINE
        )
        importers = {name for name, text in self._sources() if imports.search(text)}
        naming = [name for name in self.seconds if imports.search(_text(_file(name)))]
        return list(dict.fromkeys([*self._running({module}), *naming, *self._running(importers)]))

    def _running(self, modules: set[str]) -> list[str]:
        reached = {
            name
            for function, names in self.reached_by.items()
            if function.partition(":")[0] in modules
            for name in names
        }
        return sorted(reached, key=lambda name: self.seconds[name])

    def _sources(self) -> Iterator[tuple[str, str]]:
        for path in sorted(Path("cpuctl").rglob("*.py")):
            yield module_name(path.resolve(), Path.cwd()), path.read_text(encoding="utf-8")

    # Trying

    def _tried(self, mutant: Mutant, choice: Choice, live: LiveFunctions) -> Ended:
        original = _original(mutant.path)
        try:
            mutated = _compiled(mutant.edit.applied(original.source), mutant.path)
        except SyntaxError:
            return Ended("same", None)
        if original.code == mutated:
            return Ended("same", None)
        if not choice.tests:
            return Ended("survived", None)
        if self._needs_import(mutant):
            return self._imported(mutant, choice)
        if not live.is_of(str(mutant.path), original.code):
            raise pytest.UsageError(f"{mutant.path} has changed since it was imported: start again")
        ended = self._swapped(mutant, mutated, choice, live)
        if ended.outcome == "survived" and mutant.change.function in self.traces.on_import:
            return self._imported(mutant, choice)
        return ended

    def _swapped(self, mutant: Mutant, mutated: CodeType, choice: Choice, live: LiveFunctions) -> Ended:
        judge = Judge(self.seconds)
        items = [(place, self.items[name][1]) for place, name in enumerate(choice.tests)]

        def work() -> None:
            if mutant.module in IN_OTHER_PROCESSES:
                hand_down(mutant.module, mutant.path, mutant.edit.applied(_original(mutant.path).source))
            if live.swap(str(mutant.path), mutated):
                judge.run(items)

        return forked(work, judge)

    def _imported(self, mutant: Mutant, choice: Choice) -> Ended:
        ended, by = Ended("survived", None), ""
        first = _of_few_files(choice.tests)
        for tests in (first, [name for name in choice.tests if name not in set(first)]):
            if tests and ended.outcome == "survived":
                question = Question(
                    module=mutant.module,
                    path=mutant.path,
                    source=mutant.edit.applied(_original(mutant.path).source),
                    tests=tuple(tests),
                    seconds=self.seconds,
                )
                ended = self.fresh.ask(question)
                by = tests[ended.by] if ended.by is not None and ended.by < len(tests) else ""
        return Ended(ended.outcome, choice.tests.index(by) if by else None)


def _of_few_files(tests: list[str]) -> list[str]:
    """Choose the first test's file and the one with the most tests: collecting more takes longer."""
    files = Counter(_file(name) for name in tests)
    wanted = {_file(tests[0]), files.most_common(1)[0][0]}
    return [name for name in tests if _file(name) in wanted][:_FIRST]


def _file(test: str) -> str:
    return test.partition("::")[0]


def mutants_of_interest(group: ModuleGroup, one_in: int) -> Iterator[Mutant]:
    """Yield the mutants of a group, or a fixed sample of them."""
    for mutant in group.mutants():
        if int(sha256(mutant.key.encode()).hexdigest(), 16) % one_in == 0:
            yield mutant


class _Original(NamedTuple):
    source: bytes
    code: CodeType


@cache
def _original(path: Path) -> _Original:
    source = path.read_bytes()
    return _Original(source, _compiled(source, path))


def _compiled(source: bytes, path: Path) -> CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(source, str(path), "exec", dont_inherit=True)
