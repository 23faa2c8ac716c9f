"""A plugin that serves a fake runtime in a thread, and its log."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cpuctl.answers.nri import NRIOutcome
from cpuctl.cpuset import CPUSet
from cpuctl.nri.model import Answer, Placer
from cpuctl.nri.planned import CarriedPlan, PlannedContainer, PlannedPod
from cpuctl.nri.plugin import Identity, Level, Plugin
from cpuctl.nri.reconciler import Reconciler
from cpuctl.operations.nri import Connecting, serve
from tests.nri.runtime import FakeRuntime, in_background


def _soon(holds: Callable[[], bool], seconds: float = 5) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


@dataclass
class PluginLog:
    """The log and events of a plugin."""

    lines: list[tuple[Level, str]] = field(default_factory=list)
    events: list[tuple[str, Answer, NRIOutcome]] = field(default_factory=list)

    def say(self, level: Level, text: str) -> None:
        self.lines.append((level, text))

    def event(self, name: str, answer: Answer, outcome: NRIOutcome) -> None:
        self.events.append((name, answer, outcome))

    def says(self, text: str) -> bool:
        """Return whether a line with *text* is in the log, or soon is: it is written after the answer."""
        return _soon(lambda: any(text in line for _, line in self.lines))

    def reported(self, number: int) -> list[tuple[str, Answer, NRIOutcome]]:
        """Wait for a number of events, and return all of them."""
        _soon(lambda: len(self.events) >= number)
        return self.events


@dataclass
class Scene:
    """A runtime with its plugin."""

    runtime: FakeRuntime
    log: PluginLog
    plugin: Plugin


Play = Callable[..., Scene]


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    """Start plugins, each with a new or an existing runtime, and end them."""
    with ExitStack() as stack:

        def start(placer: Placer, runtime: FakeRuntime | None = None, **settings: Any) -> Scene:
            if runtime is None:
                runtime = FakeRuntime(tmp_path / f"nri-{threading.active_count()}.sock")
            stack.callback(runtime.stop)
            log = PluginLog()
            plugin = Plugin(Reconciler(placer), log, Identity(version="1"), **settings)
            stack.callback(plugin.close)
            connecting = Connecting(str(runtime.path), longest_pause=0.2)
            stack.enter_context(in_background(lambda: serve(plugin, log, connecting), plugin.stop))
            runtime.accept()
            return Scene(runtime, log, plugin)

        yield start


def cpus(text: str) -> CPUSet:
    return CPUSet.parse(text)


def own(text: str, mems: str = "") -> PlannedContainer:
    return PlannedContainer(cpus(text), mems)


SHARED = PlannedContainer(None)
PLAN = CarriedPlan(
    pods={
        ("shop", "web"): PlannedPod({"app": own("2-5", "0"), "log": SHARED}),
        ("shop", "db"): PlannedPod(
            {"init": PlannedContainer(cpus("6-9"), "1", init=True), "app": own("6-7", "1")}
        ),
    },
    pool=cpus("0-1,10-15"),
    nodes={0: cpus("0-7"), 1: cpus("8-15")},
)
"""Two pods on 16 CPUs, the first with a container in the pool."""
