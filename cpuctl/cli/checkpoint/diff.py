"""``cpuctl checkpoint diff``: what has changed between two states."""

from typing import Annotated

import typer

from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.notes import print_sources
from cpuctl.cli.options import ExitCodeOption, NoColorOption, OutputOption, QuietOption, RunningPodsOption
from cpuctl.cli.output import Output, Style, emit
from cpuctl.inputs.sources import Sources, refuse_stdin_twice

app = command_group()

HELP = """Show which containers gained or lost CPUs or memory.

A and B are state files, directories of state files, or recordings. If both are directories, all state files
in them are compared. Differences in file format and checksums are ignored.

Examples:

\b
  cpuctl checkpoint diff cpu_manager_state.bak cpu_manager_state
  cpuctl checkpoint diff before.tar.xz after.tar.xz --pods running.json
  sudo cpuctl checkpoint diff old/ /var/lib/kubelet --exit-code -q

Exit codes: 0 compared, 3 something differs (with --exit-code), 2 usage, 4 unusable input, 5
permission denied.
"""

OldArgument = Annotated[
    str, typer.Argument(metavar="A", help="A state file, a directory, a recording, or -.")
]
NewArgument = Annotated[str, typer.Argument(metavar="B", help="The state to compare with A.")]


@app.command(name="diff", help=HELP)
def diff(
    a: OldArgument,
    b: NewArgument,
    pods: RunningPodsOption = "",
    exit_code: ExitCodeOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Read both sides, compare them and print the answer."""
    from cpuctl.answering.checkpoint.diff_answer import diff_document
    from cpuctl.operations.checkpoint.reading import read_pairs
    from cpuctl.operations.checkpoint.states import load_owners
    from cpuctl.pods.rules import PodRules

    refuse_stdin_twice(a, b, pods)
    style, sources = Style(output, color=not no_color, quiet=quiet), Sources()
    pairs = read_pairs(a, b, sources)
    document = diff_document(pairs, load_owners(pods, PodRules(), sources), sources.entries)
    print_sources(sources, style)
    emit(document, style)
    if exit_code and not all(file["equal"] for file in document["files"]):
        raise typer.Exit(EXIT_NO)
