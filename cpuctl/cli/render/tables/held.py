"""What rejected pods keep until the kubelet cleans up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet
from cpuctl.exports.answer_text import full_name
from cpuctl.phrases import all_of, byte_text, counted, named

if TYPE_CHECKING:
    from cpuctl.answers.plan import HeldByRejected, HeldPart


def kept_by_rejected(after: HeldPart, text: Callable[[HeldByRejected], str]) -> Iterator[str]:
    """Say why something that no container in the table has is not free; *text* is empty for nothing."""
    for each in after.get("heldByRejected", ()):
        if what := text(each):
            yield f"The rejected pod {full_name(each)} keeps {what}"


def kept_cpus(held: HeldByRejected) -> str:
    """Return its exclusive CPUs, and until when it keeps them."""
    return f"{named(CPUSet.parse(held['cpus']))} {held['until']}" if held["cpus"] else ""


def kept_memory(held: HeldByRejected) -> str:
    """Return its memory and huge pages, and until when it keeps them."""
    amounts = [
        f"{byte_text(each['bytes'])} of {each['resource']} (node {each['numaNodes']})"
        for each in held.get("memory", ())
    ]
    return f"{all_of(amounts)} {held.get('othersUntil', '')}".rstrip() if amounts else ""


def kept_devices(held: HeldByRejected) -> str:
    """Return its devices, and until when it keeps them."""
    counts: Counter[str] = Counter()
    for each in held.get("devices", ()):
        counts[each["resource"]] += each["count"]
    amounts = [f"{counted(count, 'device')} of {resource}" for resource, count in counts.items()]
    return f"{all_of(amounts)} {held.get('othersUntil', '')}".rstrip() if amounts else ""
