"""The state files that a command line names: single ones, directories, recordings, standard input."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cpuctl.cli.sources.config_inputs import LIVE_MACHINE
from cpuctl.cli.sources.sources import Sources
from cpuctl.documents.files import STDIN, read_input, source_name
from cpuctl.errors import InputError, UsageError, unreadable
from cpuctl.machine.recording_layout import STATE_DIRECTORY, STATE_FILES
from cpuctl.named_tuple import NamedTuple

if TYPE_CHECKING:
    from cpuctl.checkpoints.inspection import Inspection
    from cpuctl.machine.sources import MachineSource
    from cpuctl.machine.tree import Tree

_USUAL = f"/{STATE_DIRECTORY}"
_ARCHIVES = (b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")
_TAR, _HEAD = slice(257, 262), 262
_EXPECTED = (
    "expected cpu_manager_state, memory_manager_state, allocated_pods_state or actuated_pods_state, the "
    "directory that holds them, or a recording"
)


class StateInput(NamedTuple):
    """One state file: which it is, where it was read, what is in it, what that is.

    ``path`` is where it can be written in place, None for standard input and recordings.
    """

    file_name: str
    source: str
    content: bytes
    inspection: Inspection
    path: Path | None = None

    @property
    def text(self) -> str:
        """The content as a kubelet reads it: what is no UTF-8 becomes replacement characters."""
        return self.content.decode("utf-8", "replace")


class StatePlace(NamedTuple):
    """Where state files are looked for when none is named.

    ``root`` is where the node's file tree stands, ``directory`` the kubelet's root directory in it.
    ``in_place``: they are to be written, so that a link is no state file.
    """

    machine: MachineSource | None = None
    root: Path = Path("/")
    directory: str = _USUAL
    in_place: bool = False


def read_states(name: str, place: StatePlace, sources: Sources) -> tuple[StateInput, ...]:
    """Read what *name* names or, where it is empty, the files of the machine; there may be none.

    Raise InputError for a file that is no state file, UsageError where nothing says which files are meant.
    """
    found = tuple(_named(name, place) if name else _of_machine(place))
    for state in found:
        given = name or place.root != Path("/")
        origin = "given" if given else "live" if state.path else "capture"
        sources.add(_member(state.file_name), state.source, origin)
    if not found and name:
        raise InputError("no state file is in it", where=source_name(name), hint=_EXPECTED)
    return found


def _member(file_name: str) -> str:
    """Name a file in an answer's sources: ``cpuManagerState``."""
    first, *more = file_name.split("_")
    return first + "".join(word.capitalize() for word in more)


def is_recording(name: str) -> bool:
    """Tell whether *name* is a recording of a node: an archive, or a directory that holds sys/."""
    path = Path(name)
    if name in ("", STDIN):
        return False
    if os.path.isdir(path):  # noqa: PTH112  # says False where pathlib raises
        return os.path.isdir(path / "sys")  # noqa: PTH112
    if not os.path.isfile(path):  # noqa: PTH113  # what is taken from a pipe is gone
        return False
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return False
    return head.startswith(_ARCHIVES) or head[_TAR] == b"ustar"


def _named(name: str, place: StatePlace) -> Iterator[StateInput]:
    path = Path(name)
    if name == STDIN:
        yield _state(read_input(name), source_name(name))
    elif is_recording(name):
        from cpuctl.machine.sources import read_machine

        yield from _of_machine(place._replace(root=Path("/"), machine=read_machine(name)))
    elif os.path.isdir(name):  # noqa: PTH112
        yield from _in_directory(path, place)
    else:
        yield _state(_content(path, place), source_name(name), path)


def _of_machine(place: StatePlace) -> Iterator[StateInput]:
    machine = place.machine
    if place.root != Path("/") or machine is None or machine.origin == LIVE_MACHINE:
        # A node whose kubelet has never run has no such directory yet.
        yield from _in_directory(place.root / _directory(place).lstrip("/"), place, needed=False)
    elif machine.files is not None:
        yield from _in_tree(machine.files, machine.origin)
    else:
        raise UsageError("no state file is named", hint=f"{machine.origin} has none; {_EXPECTED}")


def _directory(place: StatePlace) -> str:
    """Return where the kubelet keeps its files: as is said or, on this host, as the one that runs is told."""
    if place.directory != _USUAL or place.root != Path("/"):
        return place.directory
    from cpuctl.capture.kubelet.command import flag_value
    from cpuctl.capture.kubelet.live import live_kubelet
    from cpuctl.machine.tree import DirectoryTree

    running = live_kubelet(DirectoryTree(place.root))
    return flag_value(running.flags or (), "root-dir") or place.directory


def _in_directory(directory: Path, place: StatePlace, *, needed: bool = True) -> Iterator[StateInput]:
    try:
        names = set(os.listdir(directory))  # noqa: PTH208  # the names are all that is wanted
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not needed:
            return
        raise unreadable(error, str(directory), hint=_EXPECTED) from None
    for name in STATE_FILES:
        if name in names:
            path = directory / name
            yield _state(_content(path, place), source_name(str(path)), path)


def _in_tree(tree: Tree, origin: str) -> Iterator[StateInput]:
    for name in STATE_FILES:
        text = tree.read(f"{STATE_DIRECTORY}/{name}")
        if text is not None:
            yield _state(text.encode(), f"{origin}: {STATE_DIRECTORY}/{name}", known=name)


def _content(path: Path, place: StatePlace) -> bytes:
    if not place.in_place:
        return read_input(str(path))
    from cpuctl.checkpoints.store import read_state_file

    return read_state_file(path)


def _state(content: bytes, source: str, path: Path | None = None, known: str = "") -> StateInput:
    from cpuctl.checkpoints.inspection import inspect_state

    try:
        inspection = inspect_state(content.decode("utf-8", "replace"))
    except InputError as error:
        raise error.within(source) from None
    name = known or _name_of(path) or inspection.file_name
    if not name:
        raise InputError(inspection.problem, where=source, hint=_EXPECTED)
    return StateInput(file_name=name, source=source, content=content, inspection=inspection, path=path)


def _name_of(path: Path | None) -> str:
    """Tell which file it is by its name; backups and copies have more behind it."""
    if path is None:
        return ""
    return next((name for name in STATE_FILES if path.name.startswith(name)), "")
