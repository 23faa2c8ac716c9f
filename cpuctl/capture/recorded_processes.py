"""The processes of a recording, as ``cpuctl.capture.node.processes`` wrote them: one a line, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from cpuctl.capture.collected import Process, Thread
from cpuctl.errors import InputError
from cpuctl.machine.recording_layout import PROCESSES


def recorded_processes(text: str) -> Iterator[Process]:
    """Yield every process; raise InputError with the line that nobody can have written."""
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            yield _process(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InputError(
                "this is no process as cpuctl capture records one", where=f"{PROCESSES}:{number}"
            ) from None


def _process(told: Any) -> Process:  # noqa: ANN401  # any JSON
    return Process(
        pid=_number(told["pid"]),
        cgroup=_text(told["cgroup"]),
        kernel=bool(told.get("kernel")),
        user=None,
        nested=False,
        threads=tuple(_thread(each) for each in told["threads"]),
        started=_number(told["started"]) if "started" in told else None,
        fixed=bool(told.get("fixed")),
        memory=_memory(told["memory"]) if "memory" in told else None,
    )


def _thread(told: Any) -> Thread:  # noqa: ANN401
    cpus, mems = told["cpus"], told["mems"]
    return Thread(
        tid=_number(told["tid"]),
        comm=_text(told["comm"]),
        cpus=None if cpus is None else _text(cpus),
        mems=None if mems is None else _text(mems),
    )


def _memory(told: Any) -> dict[int, int]:  # noqa: ANN401
    return {int(node[:4]): _number(amount) for node, amount in told.items()}


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
