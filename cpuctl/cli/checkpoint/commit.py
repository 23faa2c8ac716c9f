"""The end of every command that changes state files: tell what would change, write it where wanted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cpuctl.cli.app import EXIT_NO
from cpuctl.cli.notes import tell_sources
from cpuctl.cli.output import Document, Style, emit, emit_after_change, remember_all
from cpuctl.operations.checkpoint.words import CommitWords

if TYPE_CHECKING:
    from cpuctl.inputs.sources import Sources
    from cpuctl.operations.checkpoint.changes import FileChange


def commit(
    document: Document,
    changes: Sequence[FileChange],
    words: CommitWords,
    sources: Sources,
    style: Style,
) -> None:
    """Write what has changed unless something was refused, and answer; exit 3 where it was."""
    from cpuctl.cli.answers.checkpoint.change_answer import with_applied, with_kubelets
    from cpuctl.operations.checkpoint.changes import Target, apply_changes, running_kubelets

    target = Target(
        directory=words.write_state,
        force=words.force,
        yes=words.yes,
        force_running=words.force_running,
        root=Path(words.root),
    )
    refused = document["outcome"] == "Refused"
    if not refused and target.writes:
        applied = apply_changes(changes, target)
        if target.directory:
            remember_all({path: applied.backups.get(name) for name, path in applied.paths.items()})
        document = with_applied(document, applied)
    elif not refused:
        document = with_kubelets(document, running_kubelets(changes, target))
    tell_sources(sources, style)
    _answer(document, style)
    if refused or (words.exit_code and document["outcome"] == "Changed" and not document["written"]):
        raise typer.Exit(EXIT_NO)


def _answer(document: Document, style: Style) -> None:
    """Answer; where nobody takes that, at least say what became of the old files."""
    if not document["written"]:
        emit(document, style)
        return
    backups = ", ".join(file["backup"] for file in document["files"] if file["backup"])
    hint = f"the old ones are {backups}" if backups else ""
    emit_after_change(document, style, "the files are written", hint)
