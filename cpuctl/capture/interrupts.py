"""Interrupts and the CPUs that may handle them (*Documentation/core-api/irq/irq-affinity.rst*)."""

from __future__ import annotations

from cpuctl.capture.collected import Area, Directory
from cpuctl.capture.node_files import NodeFiles
from cpuctl.capture.progress import Progress

MAX_INTERRUPTS = 20_000

_DIRECTORY = "proc/irq"
_WANTED = frozenset({"effective_affinity_list", "smp_affinity_list"})
_OTHER_FILES = frozenset({"affinity_hint", "effective_affinity", "node", "smp_affinity", "spurious"})


def record_interrupts(files: NodeFiles, progress: Progress) -> Area:
    """Record every interrupt's affinity and the names of its actions."""
    before = len(files.members)
    files.copy(f"{_DIRECTORY}/default_smp_affinity")
    numbers = files.numbers(_DIRECTORY)
    for done, number in enumerate(numbers[:MAX_INTERRUPTS]):
        progress("interrupts", done, len(numbers))
        _record_interrupt(files, f"{_DIRECTORY}/{number}")
    return Area(
        name="interrupts",
        entries=len(files.members) - before,
        counts={"interrupts": min(len(numbers), MAX_INTERRUPTS)},
        notes=_notes(len(numbers)),
    )


def _record_interrupt(files: NodeFiles, directory: str) -> None:
    for name in files.names(directory):
        if name in _WANTED:
            files.copy(f"{directory}/{name}")
        elif (
            name not in _OTHER_FILES
        ):  # procfs has a directory for every action, named as the driver named it
            files.keep(f"{directory}/{name}", Directory())


def _notes(found: int) -> tuple[str, ...]:
    if found <= MAX_INTERRUPTS:
        return ()
    return (f"only the first {MAX_INTERRUPTS} of {found} interrupts are recorded",)
