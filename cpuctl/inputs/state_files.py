"""The state files that a command line names: single ones, directories, recordings, standard input."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cpuctl.documents.files import STDIN, read_input, source_name
from cpuctl.errors import CpuctlError, InputError, UsageError, unreadable
from cpuctl.inputs.configuration import LIVE_MACHINE, KubeletInputs
from cpuctl.inputs.sources import Sources
from cpuctl.machine.recording_layout import STATE_DIRECTORY, STATE_FILES
from cpuctl.option_names import NO_STATE
from cpuctl.records import Record, replace
from cpuctl.root_directory import DIRECTORY, HOST, NOT_THERE, Root

if TYPE_CHECKING:
    from cpuctl.answers.checkpoint import StateFileName
    from cpuctl.answers.values import Origin
    from cpuctl.checkpoints.inspection import Inspection
    from cpuctl.checkpoints.store import RunLock
    from cpuctl.machine.sources import MachineSource
    from cpuctl.machine.tree import Tree
    from cpuctl.pods.model import Pod

_USUAL = f"/{STATE_DIRECTORY}"
_ARCHIVES = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")
_TAR, _HEAD = slice(257, 262), 262
NO_STATE_FILES = "the state files are not in the recording"
_COLLECT = "read them on the node, or record it there: sudo cpuctl capture NODE.tar.gz"
_EXPECTED = (
    "expected cpu_manager_state, memory_manager_state or another kubelet state file (see cpuctl checkpoint "
    "--help), the directory that contains them, or a recording"
)


class CheckpointInputs(Record):
    """The state files, their node, and its kubelet's settings; empty for those left out.

    ``memory`` is the memory of a machine recorded without it. ``pod_resources`` is where the running kubelet
    is queried. ``driver_arguments`` are the flags of a driver for CPUs that is to run next to it.
    ``listed`` are the node's pods if they were already read; else ``pods`` may be a file of them.
    ``states`` are the state files if they were already read.
    ``in_place``: they are to be written where they are; ``lock`` keeps others out of there from now on.
    """

    state: str = ""
    machine: str = ""
    kubelet: KubeletInputs = KubeletInputs()
    pods: str = ""
    root: str = "/"
    memory: str = ""
    pod_resources: str = ""
    driver_arguments: str = ""
    in_place: bool = False
    lock: "RunLock | None" = None
    listed: "tuple[Pod, ...] | None" = None
    states: "tuple[StateInput, ...] | None" = None


class StateInput(Record):
    """One state file: its name, its source, its content, and the result of decoding it.

    ``path`` is where it can be written in place, None for standard input and recordings.
    """

    file_name: "StateFileName"
    source: str
    content: bytes
    inspection: "Inspection"
    path: Path | None = None

    @property
    def text(self) -> str:
        """The content as the kubelet reads it: invalid UTF-8 becomes replacement characters."""
        return self.content.decode("utf-8", "replace")


class StatePlace(Record):
    """The place where unnamed state files are searched.

    ``root`` is the root of the node's file tree, ``directory`` the kubelet's root directory in it.
    ``in_place``: they are to be written where they are; ``lock`` keeps others out of there from now on.
    ``read`` are the files that were already read there: a second reading could differ.
    """

    machine: "MachineSource | None" = None
    root: Path = Path("/")
    directory: str = _USUAL
    in_place: bool = False
    lock: "RunLock | None" = None
    read: tuple[StateInput, ...] | None = None


def read_states(name: str, place: StatePlace, sources: Sources) -> tuple[StateInput, ...]:
    """Read what *name* names or, if it is empty, the files of the machine; there may be none.

    Raise InputError for a file that is not a state file, UsageError if no files are specified at all.
    """
    if place.read is not None:
        found = place.read
    else:
        found = tuple(named_states(name, place) if name else _of_machine(place))
    for state in found:
        given = name or place.root != Path("/")
        origin: Origin = "given" if given else "live" if state.path else "capture"
        if name and state.path is None and is_recording(name):
            origin = "capture"
        sources.add(_member(state.file_name), state.source, origin)
    if not found and name:
        if is_recording(name):
            raise InputError(NO_STATE_FILES, where=source_name(name), hint=_COLLECT)
        raise InputError("contains no state file", where=source_name(name), hint=_EXPECTED)
    return found


def _member(file_name: str) -> str:
    """Return a file's name in an answer's sources: ``cpuManagerState``."""
    first, *more = file_name.split("_")
    return first + "".join(word.capitalize() for word in more)


def is_recording(name: str) -> bool:
    """Return whether *name* is a recording of a node: an archive, or a directory that holds sys/."""
    path = Path(name)
    if name in ("", STDIN):
        return False
    if os.path.isdir(path):  # noqa: PTH112  # says False if pathlib raises
        return os.path.isdir(path / "sys")  # noqa: PTH112
    if not os.path.isfile(path):  # noqa: PTH113  # a pipe can be read only once
        return False
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return False
    return head.startswith(_ARCHIVES) or head[_TAR] == b"ustar"


@contextmanager
def as_state(name: str) -> Iterator[None]:
    """Raise an InputError about an archive that is not a recording again, with the other accepted inputs."""
    try:
        yield
    except InputError as error:
        if not is_recording(name) or error.where != source_name(name):
            raise
        hint = f"{_EXPECTED}; {error.hint}" if error.hint else _EXPECTED
        raise InputError(error.message, where=error.where, hint=hint) from None


def named_states(name: str, place: StatePlace) -> Iterator[StateInput]:
    """Yield the state files that *name* means; raise InputError for a file that is not one."""
    path = Path(name)
    if name == NO_STATE and not os.path.exists(path):  # noqa: PTH110
        raise UsageError("expected state files, found none: this command needs some", hint=_EXPECTED)
    if name == STDIN:
        yield _state(read_input(name), source_name(name))
    elif is_recording(name):
        from cpuctl.machine.sources import read_machine

        with as_state(name):
            machine = read_machine(name)
        yield from _of_machine(replace(place, root=Path("/"), machine=machine))
    elif os.path.isdir(name):  # noqa: PTH112
        yield from _in_directory(HOST, path, place)
    elif place.in_place:
        yield _writable(HOST, path, place)
    else:
        yield _state(read_input(name), source_name(name), path)


def _of_machine(place: StatePlace) -> Iterator[StateInput]:
    machine = place.machine
    if place.root != Path("/") or machine is None or machine.origin == LIVE_MACHINE:
        # A node whose kubelet has never run has no such directory yet.
        root = Root(place.root)
        yield from _in_directory(root, Path(root.shown(_directory(place))), place, needed=False)
    elif machine.files is not None:
        yield from _in_tree(machine.files, machine.origin)
    else:
        raise UsageError("no state file specified", hint=f"{machine.origin} has none; {_EXPECTED}")


def own_directory(root_dir: str = _USUAL) -> str:
    """Return where this host's kubelet keeps its state files; *root_dir* is its setting, as far as known."""
    return _directory(StatePlace(directory=root_dir))


def _directory(place: StatePlace) -> str:
    """Return the kubelet's directory: as specified or, on this host, as in the running kubelet's settings."""
    if place.directory != _USUAL or place.root != Path("/"):
        return place.directory
    from cpuctl.capture.kubelet.live import live_kubelet
    from cpuctl.capture.kubelet.running import flag_value
    from cpuctl.machine.tree import DirectoryTree

    running = live_kubelet(DirectoryTree(place.root))
    return flag_value(running.flags or (), "root-dir") or place.directory


def _in_directory(
    root: Root, directory: Path, place: StatePlace, *, needed: bool = True
) -> Iterator[StateInput]:
    below = _below(root, directory)
    try:
        if place.lock:
            place.lock.hold(directory, root, below)
        names = root.names(below)
    except OSError as error:
        if needed or not isinstance(error, NOT_THERE) or _broken_link(root, below):
            raise _unreadable(root, below, error, directory) from None
        return
    if names is None and (needed or _broken_link(root, below)):
        missing = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        raise _unreadable(root, below, missing, directory)
    for name, usual in STATE_FILES.items():
        # One of them is in a directory below, or was copied next to the others.
        if name not in (names or ()) and not _is_below(root, below, usual):
            continue
        path = directory / (name if name in (names or ()) else usual)
        if place.in_place:
            yield _writable(root, path, place)
        else:
            yield _state(_content(root, path), source_name(str(path)), path, name)


def _is_below(root: Root, directory: str, path: str) -> bool:
    """Return whether a file is in a directory further down."""
    parent, _, name = path.rpartition("/")
    if not parent:
        return False
    try:
        return name in (root.names(f"{directory}/{parent}") or ())
    except OSError:
        return False


def _below(root: Root, path: Path) -> str:
    """Return a path relative to a root."""
    return str(path if root is HOST else path.relative_to(root.path))


def _broken_link(root: Root, below: str) -> str:
    found = root.in_the_way(below)
    return "" if found == DIRECTORY else found


def _unreadable(root: Root, below: str, error: OSError, shown: Path) -> CpuctlError:
    if problem := _broken_link(root, below):
        return InputError(problem, where=str(shown), hint=_EXPECTED)
    return unreadable(error, str(shown), hint=_EXPECTED)


def _in_tree(tree: "Tree", origin: str) -> Iterator[StateInput]:
    for name, usual in STATE_FILES.items():
        path = f"{STATE_DIRECTORY}/{usual}"
        text = tree.read(path)
        if text is not None:
            yield _state(text.encode(), f"{origin}: {path}", known=name)
        elif problem := tree.in_the_way(path):
            raise InputError(problem, where=f"{origin}: /{path}")


def _content(root: Root, path: Path) -> bytes:
    """Read a file that was found in a directory, following its links below the root."""
    from cpuctl.golang.json_values import MAX_CHARACTERS

    below = _below(root, path)
    try:
        found = root.read(below, MAX_CHARACTERS)
    except OSError as error:
        raise unreadable(error, str(path)) from None
    if found is None:
        problem = root.in_the_way(below) or "no longer exists"
        raise InputError(problem, where=str(path))
    return found


def _writable(root: Root, path: Path, place: StatePlace) -> StateInput:
    """Read a file that is to be replaced: the target of its links, in the target's directory."""
    from cpuctl.checkpoints.store import read_state_file

    below = _below(root, path)
    try:
        real = root.real(below)
    except OSError as error:
        raise _unreadable(root, below, error, path) from None
    at = path if real == below.strip("/") else Path(root.shown(real))
    if place.lock:
        place.lock.hold(at.parent, root, str(Path(real).parent))
    return _state(read_state_file(at), source_name(str(path)), at, _state_name(path.name))


def _state(
    content: bytes, source: str, path: Path | None = None, known: 'StateFileName | Literal[""]' = ""
) -> StateInput:
    from cpuctl.checkpoints.inspection import inspect_state
    from cpuctl.golang.json_values import within_bounds

    known = known or _name_of(path)
    try:
        inspection = inspect_state(within_bounds(content, "").decode("utf-8", "replace"), known)
    except InputError as error:
        raise error.within(source) from None
    name = known or inspection.file_name
    if not name:
        raise InputError(f"is not a state file: {inspection.problem}", where=source, hint=_EXPECTED)
    return StateInput(file_name=name, source=source, content=content, inspection=inspection, path=path)


def _state_name(name: str) -> 'StateFileName | Literal[""]':
    """Return the name of a file if it is exactly a state file's name."""
    return next((known for known in STATE_FILES if known == name), "")


def _name_of(path: Path | None) -> 'StateFileName | Literal[""]':
    """Identify a state file by its name; backups and copies have suffixes."""
    if path is None:
        return ""
    return next((name for name in STATE_FILES if path.name.startswith(name)), "")
