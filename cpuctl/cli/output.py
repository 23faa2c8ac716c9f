"""Output of answers: plain documents become text in the requested form."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any

from cpuctl.errors import CpuctlError, NodeAccessError, NotRestoredError, os_reason
from cpuctl.records import Record
from cpuctl.visible_text import printable

Document = Mapping[str, Any]
"""A plain answer: JSON types only, with ``apiVersion`` and ``kind``."""


class Output(StrEnum):
    """The forms an answer can take."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


class ListOutput(StrEnum):
    """The forms of an answer with many items: those of every answer, and one item per line."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    JSONL = "jsonl"


class Style(Record):
    """How an answer is written: its form, and whether colour and diagnostics are wanted.

    ``output`` is one of the forms above, or a form that only one command has. ``layout`` names the
    module of ``render/layouts`` that lays an answer out for people, if its kind does not; ``view``, the
    function there, if one answer is shown in several ways.
    """

    output: StrEnum
    color: bool = True
    quiet: bool = False
    layout: str = ""
    view: str = "blocks"

    @property
    def for_people(self) -> bool:
        """Whether a person reads it, so that origins and warnings go to stderr."""
        return self.output in (Output.TABLE, Output.WIDE)


def emit(document: Document, style: Style) -> None:
    """Write one answer to stdout."""
    name = "table" if style.for_people else style.output.value
    # Imported by name, so that rich and yaml are loaded only for the forms that need them.
    import_module(f"cpuctl.cli.render.as_{name}").write(document, style)


_written: dict[str, str] = {}
"""The files that this run has written, each with the backup of the file that it replaced."""


def remember_written(path: str, backup: str = "") -> None:
    """Remember that a file was written, so that it is reported even if the answer cannot be.

    From now on, a closed pipe does not end the process silently.
    """
    _written[path] = backup
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def remember_all(written: Mapping[Path, Path | None]) -> None:
    """Remember files that were written, each with the backup of the file that it replaced."""
    for path, backup in written.items():
        remember_written(str(path), str(backup or ""))


def report_written(written: Mapping[Path, Path | None], style: Style) -> None:
    """Remember files that were written, and name them."""
    remember_all(written)
    for path, backup in written.items() if style.for_people else ():
        note(f"note: written: {path}{f' (backup {backup})' if backup else ''}", style)


def forget_written() -> None:
    """Forget the files of an earlier run."""
    _written.clear()


def unanswered(error: OSError | SystemExit) -> CpuctlError:
    """Make the error for an answer that cannot be written; it names the files that were written before."""
    with suppress(OSError):
        sys.stdout.close()  # data left in the buffer would fail again when the process ends
    # rich ends the process itself if a reader has closed the pipe and SIGPIPE is ignored.
    reason = os_reason(error) if isinstance(error, OSError) else "the reader closed it"
    if not _written:
        return NodeAccessError(f"the answer cannot be written: {reason}", where="stdout")
    backups = ", ".join(filter(None, _written.values()))
    hint = f"backups: {backups}" if backups else f"check {', '.join(_written)}"
    message = f"files were written, but the answer cannot be written: {reason}"
    return NotRestoredError(message, where="stdout", hint=hint)


def emit_after_change(document: Document, style: Style, changed: str, hint: str = "") -> None:
    """Write an answer; if that fails, report at least what was *changed*, and a *hint* about what to know.

    In that case, raise NotRestoredError: any other error would imply that nothing was changed.
    """
    try:
        with _readers_may_go():
            emit(document, style)
            sys.stdout.flush()
    except (OSError, SystemExit) as error:
        message = f"{changed}, but {unanswered(error).message.removeprefix('files were written, but ')}"
        raise NotRestoredError(message, where="stdout", hint=hint) from None


@contextmanager
def _readers_may_go() -> Iterator[None]:
    """Turn a closed pipe into an OSError, which does not end the process."""
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGPIPE, before)


def note(text: str, style: Style) -> None:
    """Print a note that is not part of the answer."""
    if not style.quiet:
        complain(text)


def complain(text: str) -> None:
    """Write a line to stderr; a failure affects neither the answer nor the exit code."""
    if sys.stderr is None:
        return
    with suppress(OSError, ValueError), _readers_may_go():
        try:
            sys.stderr.write(f"{printable(text)}\n")
            sys.stderr.flush()
        except BrokenPipeError:
            # Data left in the stream would end the process later, when Python writes it again.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stderr.fileno())
            os.close(nowhere)


def takes_every_character() -> bool:
    """Return whether stdout is UTF-8; other encodings get escapes if the form has them."""
    return (sys.stdout.encoding or "").lower() in ("utf-8", "utf8")
