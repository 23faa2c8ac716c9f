"""Pictures and pages in addition to an answer, or instead of it: where they are written, and when not."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl.cli.output import Style, remember_written
from cpuctl.cli.panels import OUTPUT
from cpuctl.errors import UsageError
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.exports.machine_facts import MachineFacts
    from cpuctl.exports.page import Markup

SVG, HTML = "--svg", "--html"
STDOUT = "-"

MachineSvgOption = Annotated[
    str,
    typer.Option(
        SVG,
        metavar="FILE",
        help="Also draw the machine with its CPUs as SVG; - writes only this to stdout.",
        rich_help_panel=OUTPUT,
    ),
]
HtmlOption = Annotated[
    str,
    typer.Option(
        HTML,
        metavar="FILE",
        help="Also write the answer, the picture and the inputs as one self-contained HTML page; - writes "
        "only this to stdout.",
        rich_help_panel=OUTPUT,
    ),
]


class Pictures(Record):
    """The requested files by option; one may be ``-``, which replaces the answer."""

    files: Mapping[str, str]
    replace: bool

    @classmethod
    def requested(cls, files: Mapping[str, str], style: Style, *, replace: bool) -> Pictures:
        """Check before the work whether the files can be written after it: raise UsageError if not."""
        wanted = {option: name for option, name in files.items() if name}
        if not wanted:
            return cls(wanted, replace)

        from cpuctl.capture.saving import check_target

        shown = [option for option, name in wanted.items() if name == STDOUT]
        if len(shown) > 1:
            hint = "use a file for the others"
            raise UsageError("only one of them can be written to stdout", where=" ".join(shown), hint=hint)
        if shown and style.output.value != "table":
            message = f"- (stdout) replaces the answer and cannot be used with -o {style.output}"
            raise UsageError(message, where=shown[0], hint="write to a file or omit -o")
        paths = [Path(name) for name in wanted.values() if name != STDOUT]
        if len({path.absolute() for path in paths}) < len(paths):
            hint = "use a file for each"
            raise UsageError(
                "expected different files, found the same one twice", where=" ".join(wanted), hint=hint
            )
        for path in paths:
            check_target(path, replace=replace)
        return cls(wanted, replace)

    def __bool__(self) -> bool:
        return bool(self.files)

    @property
    def instead(self) -> bool:
        """Whether a picture goes to stdout, so that the answer is not printed."""
        return STDOUT in self.files.values()

    def write(self, option: str, draw: Callable[[], Markup]) -> None:
        """Draw a picture if its option is given, and write it: a file is written completely or not at all."""
        from cpuctl.exports.page import as_bytes

        name = self.files.get(option)
        if name is None:
            return
        content = as_bytes(draw())
        if name == STDOUT:
            sys.stdout.flush()
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        else:
            self._save(Path(name), content)

    def _save(self, path: Path, content: bytes) -> None:
        from cpuctl.capture.saving import save

        save(path, lambda file: file.write(content), replace=self.replace, mode=0o666 & ~umask())
        remember_written(str(path))

    def write_machine(self, facts: Callable[[], MachineFacts]) -> None:
        """Draw the machine that *facts* describe."""
        from cpuctl.exports.machine_picture import machine_svg

        self.write(SVG, lambda: machine_svg(facts()))


def umask() -> int:
    """Return the process's umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
