"""Answers leave here: plain documents become text in the form that was asked for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from importlib import import_module
from typing import Any

from cpuctl.errors import NotRestoredError, os_reason
from cpuctl.named_tuple import NamedTuple
from cpuctl.visible_text import printable

API_VERSION = "cpuctl/v1alpha1"
"""The version of every published answer; its schemas are printed by ``cpuctl schema``."""

Document = Mapping[str, Any]
"""A plain answer: JSON types only, with ``apiVersion`` and ``kind``."""


class Output(StrEnum):
    """The forms an answer can take."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


class ListOutput(StrEnum):
    """The forms that an answer of many items can take: those of every answer, and one item a line."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    JSONL = "jsonl"


class MetricsOutput(StrEnum):
    """The forms of an answer with metrics: those of every answer, and Prometheus' text format."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    PROM = "prom"


class Style(NamedTuple):
    """How an answer is written: its form, colour and diagnostics wanted or not.

    ``layout`` names the picture for people where the answer's kind has more than one.
    """

    output: Output | ListOutput | MetricsOutput
    color: bool = True
    quiet: bool = False
    layout: str = ""

    @property
    def for_people(self) -> bool:
        """Whether a person reads it, so that origins and warnings go to stderr."""
        return self.output in (Output.TABLE, Output.WIDE)


def emit(document: Document, style: Style) -> None:
    """Write one answer to stdout."""
    name = "table" if style.for_people else style.output.value
    # Chosen by name: rich and yaml are loaded only for the forms that need them.
    import_module(f"cpuctl.cli.render.as_{name}").write(document, style)


def emit_after_change(document: Document, style: Style, changed: str, hint: str = "") -> None:
    """Write an answer; where nobody takes it, at least say what was *changed*, and in a *hint* what to know.

    Raise NotRestoredError then: any other error would say that nothing was changed.
    """
    try:
        emit(document, style)
        sys.stdout.flush()
    except (OSError, SystemExit) as error:
        with suppress(OSError):
            sys.stdout.close()  # what is left in it would fail once more when the process ends
        # rich ends the process by itself where a reader has gone and SIGPIPE is ignored.
        reason = os_reason(error) if isinstance(error, OSError) else "its reader has gone"
        message = f"{changed}, but the answer cannot be written: {reason}"
        raise NotRestoredError(message, where="stdout", hint=hint) from None


def note(text: str, style: Style) -> None:
    """Tell the reader something that is not the answer."""
    if not style.quiet:
        sys.stderr.write(f"{printable(text)}\n")


def takes_every_character() -> bool:
    """Tell whether stdout is UTF-8; other encodings get escapes where an answer's form has some."""
    return (sys.stdout.encoding or "").lower() in ("utf-8", "utf8")
