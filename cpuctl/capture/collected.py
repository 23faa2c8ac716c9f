"""What is recorded of a node, as frozen values, before it is written to an archive; also the progress."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from cpuctl.machine.recording_layout import CONFIG, STATE_DIRECTORY
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.answers.capture import AreaName, Counted


Progress: TypeAlias = Callable[[str, int, int], None]
"""Called often with what is being recorded and how much of the total is done (0 of 0: unknown)."""


def no_progress(_area: str, _done: int, _total: int) -> None:
    """Report nothing."""


class Link(Record):
    """A symbolic link inside the recorded tree."""

    target: str


Content: TypeAlias = "str | Link | None"
"""A file's text, a link, or None: a directory whose name alone is informative, such as a CPU's."""


class Unreadable(Record):
    """A file that exists but could not be recorded, and why."""

    path: str
    reason: str


class Area(NamedTuple):
    """One part of a capture: how many entries it has, what they describe, and notes for the reader."""

    name: "AreaName"
    entries: int
    counts: Mapping["Counted", int] = {}
    notes: tuple[str, ...] = ()


class Thread(NamedTuple):
    """A thread and where it may run; a list is None if the kernel does not report it."""

    tid: int
    comm: str
    cpus: str | None
    mems: str | None


class Process(NamedTuple):
    """A process and its threads; ``cgroup`` is the one that determines its CPUs.

    ``user`` is its real user id. ``nested`` means that it runs in its own PID namespace, so the paths on its
    command line may belong to another file tree. ``started`` is its start time in clock ticks since boot.
    ``fixed``: the kernel does not allow moving it to other CPUs. ``memory`` is its memory in bytes by NUMA
    node, None if not read.
    """

    pid: int
    cgroup: str
    kernel: bool
    user: int | None
    nested: bool
    threads: tuple[Thread, ...]
    started: int | None = None
    fixed: bool = False
    memory: Mapping[int, int] | None = None


class FileState(StrEnum):
    """The result of recording a file that a kubelet reads."""

    RECORDED = "recorded"
    ABSENT = "absent"
    UNREADABLE = "unreadable"


class KubeletFacts(NamedTuple):
    """What is known about the kubelet apart from its files.

    ``flags`` are those of the running kubelet that concern its resource managers, None if no kubelet is
    running. ``unit_flags`` are those that a stopped kubelet would be started with, None if ``unit_files`` do
    not show them; ``flags_gap`` says why some may be missing. ``other_flags`` are the names of all other
    flags. Paths are the node's own. ``drop_ins_used`` is False if it is unknown whether the kubelet reads
    them, ``drop_ins_complete`` is False if some could not be recorded.
    """

    version: str = ""
    version_source: str = ""
    flags: tuple[str, ...] | None = None
    unit_flags: tuple[str, ...] | None = None
    unit_files: tuple[str, ...] = ()
    unit_places: Mapping[str, str] = {}
    flags_gap: str = ""
    other_flags: tuple[str, ...] = ()
    root_directory: str = f"/{STATE_DIRECTORY}"
    config_path: str = f"/{CONFIG}"
    config_state: FileState = FileState.ABSENT
    drop_in_directory: str = ""
    drop_ins_used: bool = False
    drop_ins_complete: bool = True


class Collected(NamedTuple):
    """Everything recorded: files by path in the archive, processes, and what is missing."""

    live: bool
    members: Mapping[str, Content]
    processes: tuple[Process, ...]
    kubelet: KubeletFacts
    areas: tuple[Area, ...]
    unreadable: tuple[Unreadable, ...]
    anonymized: bool = False
