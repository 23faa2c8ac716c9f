"""``cpuctl capture``: a node as one file, to be examined elsewhere and later."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl import option_names
from cpuctl.cli.app import command_group
from cpuctl.cli.notes import print_unreadable
from cpuctl.cli.options import NoColorOption, OutputOption, QuietOption
from cpuctl.cli.output import Output, Style, emit, remember_written
from cpuctl.cli.panels import INPUT, OUTPUT
from cpuctl.errors import UsageError

if TYPE_CHECKING:
    from cpuctl.capture.archive import Capture

app = command_group()

STDOUT = "-"

HELP = """Record a node in one archive that other commands can read (-m FILE).

Records the topology, the kubelet's configuration, version and state files, the cgroups of its pods, the CPUs
that containers see in downward API volumes, the CPUs of resource claims, and the CPU affinity of processes
and interrupts. Command lines, environments and settings that may contain secrets are left out. What cannot be
read is listed in MANIFEST.json in the archive.

Examples:

\b
  sudo cpuctl capture node7.tar.gz
  sudo cpuctl capture --anonymize node7.tar.xz    # names and UIDs replaced
  ssh node7 sudo cpuctl capture - > node7.tar.gz
  cpuctl capture --root /mnt/node7 node7.tar.gz    # a mounted image
  cpuctl plan -m node7.tar.gz -f pods.yaml         # with its configuration

Exit codes: 0 recorded, 2 usage (for example, the file exists), 4 unusable input, 5 the file cannot be
written, 6 the file was replaced, but printing the answer or undoing the change failed.
"""

FileArgument = Annotated[
    str,
    typer.Argument(metavar="FILE", help="The new archive: .tar, .tar.gz or .tar.xz; - is stdout (.tar.gz)."),
]
RootOption = Annotated[
    str,
    typer.Option(
        option_names.ROOT,
        metavar="DIR",
        help="Root of the node's file system, e.g. /host in a debugging pod, or a mounted disk.",
        rich_help_panel=INPUT,
    ),
]
AnonymizeOption = Annotated[
    bool,
    typer.Option(
        "--anonymize", help="Replace names of hosts, pods, containers and programs with stable pseudonyms."
    ),
]
TimestampOption = Annotated[
    bool,
    typer.Option(
        "--timestamp", help="Record the time; without it, archives of an unchanged node are identical."
    ),
]
ForceOption = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Overwrite FILE if it exists; the old file is backed up.",
        rich_help_panel=OUTPUT,
    ),
]


@app.command(name="capture", help=HELP)
def capture(
    file: FileArgument,
    root: RootOption = "/",
    anonymize: AnonymizeOption = False,
    timestamp: TimestampOption = False,
    force: ForceOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Record the node, write the file and print the answer."""
    style = Style(output, color=not no_color, quiet=quiet)
    save = _to_stdout(style) if file == STDOUT else _to_file(file, replace=force)
    recording = _record(root, style, anonymize=anonymize, recorded_at=_now() if timestamp else "")
    save(recording)
    _note_unreadable(recording, style)
    if file != STDOUT:
        from cpuctl.answering.capture_answer import capture_document

        document = capture_document(file, recording.manifest)
        if style.quiet and style.for_people:
            del document["next"]
        emit(document, style)


def _to_stdout(style: Style) -> "Callable[[Capture], None]":
    from cpuctl.capture.archive import Compression, write_members

    if style.output is not Output.TABLE:
        raise UsageError(
            "the archive itself goes to stdout", where="--output", hint="write to a file or omit --output"
        )
    if sys.stdout.isatty():
        raise UsageError("stdout is a terminal", where="-", hint="redirect it to a file: > node.tar.gz")
    return lambda recording: write_members(recording.members, sys.stdout.buffer, Compression.GZIP)


def _to_file(name: str, *, replace: bool) -> "Callable[[Capture], None]":
    """Reject a file that cannot be the target before the work starts, not after it."""
    from cpuctl.capture.archive import compression_of, write_members
    from cpuctl.capture.saving import check_target, save

    try:
        compression = compression_of(name)
    except ValueError as error:
        raise UsageError(str(error), where=name) from None
    path = Path(name)
    check_target(path, replace=replace)

    def write(recording: "Capture") -> None:
        members = recording.members
        old = save(path, lambda file: write_members(members, file, compression), replace=replace, backup=True)
        remember_written(str(path), str(old or ""))

    return write


def _record(root: str, style: Style, *, anonymize: bool, recorded_at: str) -> "Capture":
    from cpuctl.answering.capture_answer import machine_description
    from cpuctl.cli.progress import ProgressBar
    from cpuctl.operations.capture import CaptureInputs, capture_node

    inputs = CaptureInputs(Path(root), anonymize=anonymize, recorded_at=recorded_at)
    with ProgressBar(style) as progress:
        return capture_node(inputs, machine_description, progress)


def _now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).isoformat(timespec="seconds")


def _note_unreadable(recording: "Capture", style: Style) -> None:
    if count := len(recording.manifest["unreadable"]):
        print_unreadable(
            count, "run as root to read them all" if os.geteuid() else "see MANIFEST.json", style
        )
