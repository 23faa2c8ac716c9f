"""Interrupts from procfs, live or recorded (*Documentation/core-api/irq/irq-affinity.rst*).

The settings of irqbalance are described in its manual page, *irqbalance(1)*.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from cpuctl.audit.snapshot import Interrupt, Interrupts, Irqbalance
from cpuctl.capture.collected import Progress
from cpuctl.capture.node.files import NodeFiles
from cpuctl.capture.node.interrupts import (
    COUNTS,
    DEFAULT_AFFINITY,
    INTERRUPTS,
    MAX_INTERRUPTS,
    WORKQUEUES,
    action_names,
)
from cpuctl.cpuset import CPUSet
from cpuctl.machine.kernel_text import parse_cpu_list, parse_cpu_map
from cpuctl.machine.recording_layout import IRQBALANCE_FILES

_HEADING = re.compile(r"CPU([0-9]{1,5})(?![0-9])", re.ASCII)
_TRIGGER = re.compile(r"(?:^|[\s-])(?:edge|level|fasteoi)(?=\s|$)", re.ASCII | re.IGNORECASE)
_BANNED = r"IRQBALANCE_BANNED_CPU(S|LIST)=[\"']?([0-9a-fA-F,-]*)"
_HEX_GROUP = 8


def read_interrupts(files: NodeFiles, progress: Progress, *, exclusive: CPUSet, balanced: bool) -> Interrupts:
    """Read every interrupt that has a handler; *balanced*: irqbalance runs.

    A file with invalid content is recorded as unreadable.
    """
    counts = files.read(COUNTS) or ""
    return Interrupts(
        known=tuple(_interrupts(files, progress, fired_on(counts, exclusive), listed_actions(counts))),
        default=_map(files, DEFAULT_AFFINITY),
        workqueues=_map(files, WORKQUEUES),
        balancer=_balancer(files) if balanced else None,
    )


def _interrupts(
    files: NodeFiles, progress: Progress, fired: Mapping[int, int], listed: Mapping[int, tuple[str, ...]]
) -> Iterator[Interrupt]:
    numbers = sorted({*files.numbers(INTERRUPTS), *listed})[:MAX_INTERRUPTS]
    named = {number: action_names(files.names(f"{INTERRUPTS}/{number}")) for number in numbers}
    # Collections of files, such as must-gather's, have no empty directories.
    waiting = named if any(named.values()) else listed
    for done, number in enumerate(numbers):
        progress("interrupts", done, len(numbers))
        directory = f"{INTERRUPTS}/{number}"
        if actions := waiting.get(number):
            yield Interrupt(
                number=number,
                actions=actions,
                allowed=_list(files, f"{directory}/smp_affinity_list"),
                effective=_list(files, f"{directory}/effective_affinity_list"),
                fired=fired.get(number, 0),
            )


def fired_on(text: str, cpus: CPUSet) -> dict[int, int]:
    """Count from /proc/interrupts how often each numbered interrupt arrived on some CPUs since boot."""
    heading, *lines = text.splitlines() or [""]
    columns = [place for place, cpu in enumerate(_HEADING.findall(heading)) if int(cpu) in cpus]
    found = {}
    for line in lines if columns else ():
        number, _, rest = line.partition(":")
        counts = rest.split(maxsplit=columns[-1] + 1)
        if number.strip().isdecimal() and len(counts) > columns[-1]:
            found[int(number)] = sum(int(counts[at]) for at in columns if counts[at].isdecimal())
    return found


def listed_actions(text: str) -> dict[int, tuple[str, ...]]:
    """Read from /proc/interrupts the handlers of each numbered interrupt.

    The counts are followed by the controller, its own number with the trigger, and the actions.
    """
    heading, *lines = text.splitlines() or [""]
    columns = len(_HEADING.findall(heading))
    found = {}
    for line in lines if columns else ():
        number, _, rest = line.partition(":")
        columns_text = rest.split(maxsplit=columns)
        if number.strip().isdecimal() and len(columns_text) > columns:
            trigger = _TRIGGER.search(columns_text[columns])
            names = (
                columns_text[columns][trigger.end() :]
                if trigger
                else columns_text[columns].rpartition("  ")[2]
            )
            if actions := tuple(name.strip() for name in names.split(",") if name.strip()):
                found[int(number)] = actions
    return found


def _balancer(files: NodeFiles) -> Irqbalance:
    """Read the settings of irqbalance from the distribution's file."""
    texts = {path: files.read(path) for path in IRQBALANCE_FILES}
    path = next((path for path, text in texts.items() if text is not None), IRQBALANCE_FILES[0])
    try:
        return Irqbalance(file=f"/{path}", banned=banned_cpus(texts[path] or ""))
    except ValueError as error:
        files.refuse(path, str(error))
        return Irqbalance(file=f"/{path}", banned=None)


def banned_cpus(text: str) -> CPUSet | None:
    """Read irqbalance's banned CPUs; a list takes precedence over a mask; None if neither is set.

    Raise ValueError for any other value.
    """
    active = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    banned = {found[1]: found[2] for line in active if (found := re.search(_BANNED, line)) and found[2]}
    if "LIST" in banned:
        return parse_cpu_list(banned["LIST"])
    return _loose_map(banned["S"]) if "S" in banned else None


def _loose_map(text: str) -> CPUSet:
    """Read a mask whose groups may be shorter than eight digits, as users write them."""
    first, *groups = text.split(",")
    return parse_cpu_map(",".join((first, *(group.rjust(_HEX_GROUP, "0") for group in groups))))


def _map(files: NodeFiles, path: str) -> CPUSet | None:
    text = files.read(path)
    try:
        return None if text is None else _loose_map(text.strip())
    except ValueError as error:
        files.refuse(path, str(error))
        return None


def _list(files: NodeFiles, path: str) -> CPUSet | None:
    text = files.read(path)
    try:
        return None if text is None else parse_cpu_list(text)
    except ValueError as error:
        files.refuse(path, str(error))
        return None
