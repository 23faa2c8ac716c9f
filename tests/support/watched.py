"""A watch in its own process, and the events that it has written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

from tests.support.schemas import follow_schema

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
"""Seconds for what takes one or two on an idle machine."""

Event = dict[str, Any]


class Watched:
    """The events of a watch as they arrive; each of them follows the schema."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.events: list[Event] = []
        self._lines: Queue[str | None] = Queue()
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def until(self, wanted: Callable[[Event], bool]) -> Event:
        """Wait for an event; earlier ones are kept, too."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except Empty:
                raise AssertionError(f"nothing but {self.reported}") from None
            assert line is not None, f"ended after {self.reported}: {self.errors}"
            event: Event = json.loads(line)
            follow_schema(event)
            self.events.append(event)
            if wanted(event):
                return event

    def named(self, name: str) -> Event:
        """Wait for an event of this name."""
        return self.until(lambda event: event["event"] == name)

    def found(self, code: str, name: str = "Found") -> Event:
        """Wait for a finding with this code."""
        return self.until(
            lambda event: (event["event"], (event.get("finding") or {}).get("code")) == (name, code)
        )

    def end(self, signal: int) -> int:
        """End the watch, and read its remaining output."""
        self.process.send_signal(signal)
        return self.ended()

    def ended(self) -> int:
        """Wait for its end; return its exit code."""
        code = self.process.wait(PATIENCE)
        while (line := self._lines.get(timeout=PATIENCE)) is not None:
            self.events.append(json.loads(line))
        return code

    @property
    def reported(self) -> list[str]:
        """The events in short form."""
        return [
            f"{each['event']} {(each.get('finding') or {}).get('code', '')}".strip() for each in self.events
        ]

    @property
    def errors(self) -> str:
        """The content of stderr; the watch must have ended."""
        assert self.process.stderr is not None
        return self.process.stderr.read()


@contextmanager
def watching(*words: str, before: tuple[str, ...] = (), **environment: str) -> Iterator[Watched]:
    """Run a watch; *before* are words in front of the command."""
    process = subprocess.Popen(
        [*before, sys.executable, "-m", "cpuctl", "watch", "-o", "jsonl", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
    )
    try:
        yield Watched(process)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            stream.close()
