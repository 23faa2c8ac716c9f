"""Changes to state files: the result for every file, and how it is put in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from cpuctl import option_names
from cpuctl.capture.kubelet.running import RunningKubelet, kubelets_using
from cpuctl.checkpoints.inspection import Inspection, inspect_state
from cpuctl.engine.outcome import KubeletFault, StartRefused, Undetermined
from cpuctl.errors import CpuctlError, NodeAccessError, NotRestoredError, UsageError
from cpuctl.machine.recording_layout import STATE_FILES
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from cpuctl.answers.checkpoint import StateFileName
    from cpuctl.checkpoints.migration import Loss
    from cpuctl.engine.start import NotStarted
    from cpuctl.engine.state_repair import RepairAction
    from cpuctl.inputs.state_files import StateInput


Hold: TypeAlias = Callable[[], AbstractContextManager[object]]
"""Keeps the process alive while files are replaced; yields a value that is true once a stop is requested."""


class StoppedError(NodeAccessError):
    """A stop was requested before everything was written: nothing is changed."""


class Refused(Record):
    """Why there is no new file, and what to do instead."""

    reason: str
    advice: str


def start_notes(outcome: NotStarted, when: str = "") -> str:
    """Say what prevents new files: a kubelet that does not start, or of which this is unknown."""
    match outcome:
        case StartRefused():
            return f"the kubelet would not start{when}: {outcome.error}"
        case KubeletFault():
            return f"the kubelet would crash{when} ({outcome.kind} in {outcome.where}): {outcome.why}"
        case Undetermined():
            return f"whether the kubelet would start{when} is unknown: {outcome.text}"


class FileChange(Record):
    """The result for one file: ``text`` is the new content; ``state`` is None if there was no file."""

    file_name: StateFileName
    state: StateInput | None
    text: str = ""
    actions: tuple[RepairAction, ...] = ()
    losses: tuple[Loss, ...] = ()
    refused: Refused | None = None

    @property
    def changed(self) -> bool:
        """Whether the new file differs from the old one."""
        return self.refused is None and (self.state is None or self.text != self.state.text)

    @cached_property
    def after(self) -> Inspection:
        """The inspection of the resulting file."""
        if self.state is not None and not self.changed:
            return self.state.inspection
        return inspect_state(self.text, self.file_name)

    def as_input(self) -> StateInput:
        """Return the new file as if it had been read."""
        assert self.state is not None
        return replace(self.state, content=self.text.encode(), inspection=self.after)


class Target(Record):
    """Where new files go: into a directory, at once, or in place of the old ones, only with ``yes``."""

    directory: str = ""
    force: bool = False
    yes: bool = False
    force_running: bool = False
    root: Path = Path("/")

    @property
    def writes(self) -> bool:
        """Whether anything is to be written."""
        return bool(self.directory) or self.yes


class Applied:
    """What was written, by file name: the path, and the backup of what was there before."""

    def __init__(self, paths: dict[str, Path], backups: dict[str, Path] | None = None) -> None:
        self.paths = paths
        self.backups = backups or {}


def running_kubelets(changes: Sequence[FileChange], target: Target) -> list[RunningKubelet]:
    """Find the kubelets that use the files that are, or would be, written."""
    own = {
        # A file in a subdirectory belongs to the kubelet of the directory above.
        change.state.path.parents[STATE_FILES[change.file_name].count("/")]
        for change in changes
        if change.state and change.state.path
    }
    directories = {Path(target.directory)} if target.directory else own
    found = {kubelet for each in directories for kubelet in kubelets_using(each, target.root)}
    return sorted(found, key=lambda kubelet: kubelet.pid)


def apply_changes(
    changes: Sequence[FileChange], target: Target, hold: Hold = lambda: nullcontext(False)
) -> Applied:
    """Write what has changed, all or nothing.

    Raise NodeAccessError if a kubelet runs, a file has changed since it was read, or the system refuses;
    StoppedError if a stop is requested: nothing is changed then. Raise NotRestoredError if that is not
    certain.
    """
    todo = [change for change in changes if change.changed or (target.directory and not change.refused)]
    if not target.writes or not todo:
        return Applied({})
    if not target.force_running and (found := running_kubelets(todo, target)):
        raise _runs(found[0])
    if target.directory:
        from cpuctl.operations.state_writing import save_states

        texts = {each.file_name: each.text for each in todo}
        saved = save_states(target.directory, texts, force=target.force)
        backups = {path.name: backup for path, backup in saved.items() if backup is not None}
        return Applied({path.name: path for path in saved}, backups)
    return _replaced(todo, hold)


def _runs(kubelet: RunningKubelet) -> NodeAccessError:
    return NodeAccessError(
        f"{kubelet.name} runs here (process {kubelet.pid}, root directory {kubelet.root_directory}): it "
        "keeps its state in memory and would overwrite this",
        hint="stop it first (systemctl stop kubelet), or add --force-kubelet-running",
    )


def _replaced(changes: Sequence[FileChange], hold: Hold) -> Applied:
    from cpuctl.checkpoints.store import NotSyncedError

    places = list(_places(changes))
    applied = Applied({})
    with hold() as stop:
        try:
            for place in places:
                _replace(place, applied, stop)
        except BaseException as error:
            changed = [place for place in places if place[0] in applied.backups or _is_written(place)]
            _restore(changed, applied, error)
            if isinstance(error, NotSyncedError):
                reason = error.message.rpartition(": ")[2]
                message = (
                    f"cannot be written safely (a power failure could lose it): {reason}; nothing was changed"
                )
                raise NodeAccessError(message, where=error.where) from None
            raise
    _confirm(places)
    return applied


_Place = tuple[str, Path, bytes, bytes]


def _places(changes: Sequence[FileChange]) -> Iterator[_Place]:
    for change in changes:
        if change.state is None or change.state.path is None:
            source = change.state.source if change.state else change.file_name
            raise UsageError(
                f"{source} cannot be written in place",
                where=option_names.YES,
                hint="specify a directory with --write-state",
            )
        yield change.file_name, change.state.path, change.state.content, change.text.encode()


def _replace(place: _Place, applied: Applied, stop: object) -> None:
    from cpuctl.checkpoints.store import NotSyncedError, replace_state_file

    if stop:
        raise StoppedError("stopped; nothing was changed")
    name, path, old, new = place
    try:
        applied.backups[name] = replace_state_file(path, old, new)
    except NotSyncedError as error:
        if error.backup is not None:
            applied.backups[name] = error.backup
        raise
    applied.paths[name] = path


def _is_written(place: _Place) -> bool:
    """Return whether a file is the new one: the last may be, even if something failed after writing it."""
    from cpuctl.checkpoints.store import read_state_file

    _, path, _, new = place
    with suppress(CpuctlError):
        return read_state_file(path) == new
    return False


def _restore(places: Sequence[_Place], applied: Applied, cause: BaseException) -> None:
    """Put back what was replaced before something failed, leaving no backups of it."""
    from cpuctl.checkpoints.store import replace_state_file, take_back

    for name, path, old, new in reversed(places):
        backup = applied.backups.get(name)
        try:
            if backup is not None:
                take_back(path, backup, old, new)
                continue
            second = replace_state_file(path, new, old)
        except CpuctlError as error:
            where = backup or "the backup next to it"
            raise NotRestoredError(
                f"{str(cause) or 'interrupted'}; and {path} is changed and could not be restored: {error}",
                hint=f"its old content is in {where}",
            ) from None
        with suppress(OSError):
            second.unlink()


def _confirm(places: Sequence[_Place]) -> None:
    """Read back what was written; raise NotRestoredError if it differs."""
    from cpuctl.checkpoints.store import read_state_file

    for _, path, _, new in places:
        if read_state_file(path) != new:
            raise NotRestoredError(
                "was written but has changed since: another program writes here",
                where=str(path),
                hint="check whether a kubelet has started in the meantime; the old content is in the backup",
            )
