"""The last step of every command that changes state files: report the changes and write them if requested."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cpuctl.cli.app import EXIT_NO
from cpuctl.cli.notes import print_sources
from cpuctl.cli.output import Style, emit, emit_after_change, remember_all
from cpuctl.errors import UsageError
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.answers.checkpoint import CheckpointChange
    from cpuctl.inputs.sources import Sources
    from cpuctl.operations.checkpoint.changes import Applied, FileChange, Target


class CommitOptions(Record):
    """Whether, and where, this command line writes files; ``in_place``: in-place writes are allowed."""

    write_state: str = ""
    force: bool = False
    yes: bool = False
    force_running: bool = False
    root: str = "/"
    exit_code: bool = False
    in_place: bool = True

    @property
    def writes(self) -> bool:
        """Whether any file is to be written."""
        return bool(self.yes or self.write_state)

    def check(self) -> None:
        """Raise UsageError for options that contradict each other."""
        if self.write_state and self.yes:
            hint = "--yes overwrites the files that were read, --write-state writes to another directory"
            raise UsageError("cannot be used together", where="--yes and --write-state", hint=hint)
        if self.force and not self.write_state:
            hint = "--yes overwrites files in place and keeps a backup" if self.in_place else ""
            raise UsageError("requires --write-state", where="--force", hint=hint)


def commit(
    document: CheckpointChange,
    changes: Sequence[FileChange],
    options: CommitOptions,
    sources: Sources,
    style: Style,
) -> None:
    """Write the changes and print the answer; write nothing and exit with 3 if something was rejected."""
    from cpuctl.answering.checkpoint.change_answer import add_applied, add_kubelets
    from cpuctl.operations.checkpoint.changes import Target, running_kubelets

    target = Target(
        directory=options.write_state,
        force=options.force,
        yes=options.yes,
        force_running=options.force_running,
        root=Path(options.root),
    )
    rejected = document["outcome"] == "Rejected"
    if not rejected and target.writes:
        add_applied(document, _applied(changes, target))
    elif not rejected:
        add_kubelets(document, running_kubelets(changes, target))
    print_sources(sources, style)
    _answer(document, style)
    if rejected or (options.exit_code and document["outcome"] == "Changed" and not document["written"]):
        raise typer.Exit(EXIT_NO)


@contextmanager
def answering_unloaded(sources: Sources, style: Style) -> Iterator[None]:
    """Print the answer for a kubelet that cannot load its configuration: none of its files is written."""
    from cpuctl.answering.checkpoint.change_answer import unloaded_document
    from cpuctl.kubelet.configuration.refusal import ConfigRefusedError

    try:
        yield
    except ConfigRefusedError as refused:
        print_sources(sources, style)
        emit(unloaded_document(refused, sources.entries), style)
        raise typer.Exit(EXIT_NO) from None


def _applied(changes: Sequence[FileChange], target: Target) -> Applied:
    """Write the files; a signal during this time ends the process after everything is restored."""
    from cpuctl.cli.process import StopSignal, held_back
    from cpuctl.operations.checkpoint.changes import StoppedError, apply_changes

    stop = StopSignal()
    try:
        applied = apply_changes(changes, target, partial(held_back, stop))
    except StoppedError:
        raise typer.Exit(stop.exit_code) from None
    if target.directory:
        remember_all({path: applied.backups.get(name) for name, path in applied.paths.items()})
    return applied


def _answer(document: CheckpointChange, style: Style) -> None:
    """Print the answer; if that fails, report at least what happened to the old files."""
    if not document["written"]:
        emit(document, style)
        return
    backups = ", ".join(file["backup"] for file in document["files"] if file["backup"])
    hint = f"backups: {backups}" if backups else ""
    emit_after_change(document, style, "files were written", hint)
