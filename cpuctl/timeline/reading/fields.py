"""Common fields of timelines: durations, names of pods and containers; and a check for unknown ones.

Every reader raises InputError with file, line, path, and the expected and found values.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from cpuctl.cpuset import CPUSet
from cpuctl.documents.cursor import Cursor
from cpuctl.documents.numbers import PrefixedInt
from cpuctl.documents.text_errors import describe
from cpuctl.errors import InputError
from cpuctl.golang.durations import HOUR, parse_duration
from cpuctl.machine.model import Machine
from cpuctl.machine.set_names import parse_cpu_names
from cpuctl.timeline.model import TimelinePod

LONGEST = 31 * 24 * HOUR
"""The maximum of all times and durations: a bound against mistakes, beyond any legitimate timeline."""
_PART_OF_A_LIST = re.compile(r"[0-9]+(-[0-9]+)?", re.ASCII)
"""A remnant of ``{cpus: 0,2-7}`` without quotes: a member called ``2-7``."""
_DURATION = "a duration from 0s to 744h, such as 5s, 500ms or 1m30s"


def refuse_others(mapping: Cursor, known: Collection[str]) -> None:
    """Refuse members with other names, which a list without quotes may produce."""
    mapping.refuse_others(
        known,
        because=lambda key: "put a CPU list with commas in quotes" if _PART_OF_A_LIST.fullmatch(key) else "",
    )


def duration(cursor: Cursor) -> int:
    """Read a duration in Go's notation, as nanoseconds."""
    text = "0" if cursor.value == 0 and not isinstance(cursor.value, bool) else cursor.value
    try:
        nanoseconds = parse_duration(text) if isinstance(text, str) else -1
    except ValueError:
        nanoseconds = -1
    if not 0 <= nanoseconds <= LONGEST:
        raise cursor.expected(_DURATION)
    return nanoseconds


def cpu_list(cursor: Cursor, machine: Machine) -> CPUSet:
    """Read a CPU list or mask; parts of the machine may be named (``node:1``)."""
    # A single CPU needs no quotes, and neither does a mask.
    number = cursor.value
    if isinstance(number, PrefixedInt):
        text = number.written
    else:
        text = str(number) if isinstance(number, int) and not isinstance(number, bool) else cursor.text()
    try:
        return parse_cpu_names(text, machine)
    except InputError as error:
        raise cursor.error(error.message, hint=error.hint) from None


def full_name(cursor: Cursor, text: str, pods: Mapping[str, TimelinePod]) -> str:
    """Resolve ``web`` or ``shop/web`` to the full name of a pod that the timeline has."""
    name = text if "/" in text else f"default/{text}"
    if name not in pods:
        known = ", ".join(list(pods)[:5]) or "none"
        raise cursor.error(f"there is no pod {_quoted(text)}", hint=f"pods lists {known}")
    return name


def pod_name(cursor: Cursor, pods: Mapping[str, TimelinePod]) -> str:
    """Read the name of a pod."""
    return full_name(cursor, cursor.text(), pods)


def container_of(cursor: Cursor, text: str, pods: Mapping[str, TimelinePod]) -> tuple[str, str]:
    """Resolve ``web/app`` or ``shop/web/app`` to a pod's full name and a container."""
    pod, slash, container = text.rpartition("/")
    if not slash:
        raise cursor.error(f"expected POD/CONTAINER, found {_quoted(text)}")
    name = full_name(cursor, pod, pods)
    require_container(cursor, pods[name], container)
    return name, container


def require_container(cursor: Cursor, pod: TimelinePod, container: str) -> None:
    """Raise InputError unless the pod has this container."""
    names = [each.name for each in pod.pod.all_containers]
    if container not in names:
        hint = f"its containers are {', '.join(names[:5])}"
        raise cursor.error(f"pod {pod.pod.full_name} has no container {_quoted(container)}", hint=hint)


def _quoted(text: str) -> str:
    """Quote a name, or the beginning of a long one."""
    return describe(text).removeprefix("the string ")
