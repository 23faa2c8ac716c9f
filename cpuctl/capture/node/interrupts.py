"""Interrupts and the CPUs that may handle them (*Documentation/core-api/irq/irq-affinity.rst*)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cpuctl.capture.collected import Area, Progress
from cpuctl.capture.node.files import NodeFiles
from cpuctl.machine.recording_layout import IRQBALANCE_FILES

MAX_INTERRUPTS = 20_000

INTERRUPTS = "proc/irq"
COUNTS = "proc/interrupts"
DEFAULT_AFFINITY = f"{INTERRUPTS}/default_smp_affinity"
WORKQUEUES = "sys/devices/virtual/workqueue/cpumask"
"""The CPUs for kernel work that is not bound to a CPU (*Documentation/core-api/workqueue.rst*)."""

_WANTED = frozenset({"effective_affinity_list", "smp_affinity_list"})
_OTHER_FILES = frozenset({"affinity_hint", "effective_affinity", "node", "smp_affinity", "spurious"})
_BANNED = r"^[ \t]*(?:export[ \t]+)?IRQBALANCE_BANNED_CPU(?:S|LIST)=[\"'0-9a-fA-F,-]*"


def record_interrupts(files: NodeFiles, progress: Progress) -> Area:
    """Record every interrupt's affinity, count and actions, and which CPUs irqbalance avoids."""
    before = len(files.members)
    for path in (DEFAULT_AFFINITY, COUNTS, WORKQUEUES):
        files.copy(path)
    for path in IRQBALANCE_FILES:
        _record_irqbalance(files, path)
    numbers = files.numbers(INTERRUPTS)
    for done, number in enumerate(numbers[:MAX_INTERRUPTS]):
        progress("interrupts", done, len(numbers))
        _record_interrupt(files, f"{INTERRUPTS}/{number}")
    return Area(
        name="interrupts",
        entries=len(files.members) - before,
        counts={"interrupts": min(len(numbers), MAX_INTERRUPTS)},
        notes=_notes(len(numbers)),
    )


def action_names(names: Iterable[str]) -> tuple[str, ...]:
    """Select the names that are directories in procfs: an interrupt's actions, as named by their drivers."""
    return tuple(name for name in names if name not in _WANTED and name not in _OTHER_FILES)


def _record_interrupt(files: NodeFiles, directory: str) -> None:
    names = files.names(directory)
    for name in names:
        if name in _WANTED:
            files.copy(f"{directory}/{name}")
    for name in action_names(names):
        files.keep(f"{directory}/{name}", None)


def _record_irqbalance(files: NodeFiles, path: str) -> None:
    """Keep the lines that name CPUs: the file's other settings are not recorded."""
    text = files.read(path)
    if text is not None:
        files.keep(path, "".join(f"{line}\n" for line in re.findall(_BANNED, text, re.MULTILINE)))


def _notes(found: int) -> tuple[str, ...]:
    if found <= MAX_INTERRUPTS:
        return ()
    return (f"only the first {MAX_INTERRUPTS} of {found} interrupts are recorded",)
