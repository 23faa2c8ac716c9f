"""``cpuctl checkpoint versions``: which kubelet writes which format, and which reads it."""

from cpuctl.cli.app import command_group
from cpuctl.cli.options import NoColorOption, OutputOption, QuietOption
from cpuctl.cli.output import Output, Style, emit

app = command_group()

HELP = """List state file formats, and which kubelets write and read them.

These formats are not a stable interface of Kubernetes. Each row is tested: a state is written in the format,
then read as each kubelet reads it.

Examples:

\b
  cpuctl checkpoint versions
  cpuctl checkpoint versions -o json | jq '.formats[].writtenBy'
"""


@app.command(name="versions", help=HELP)
def versions(
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compute the table of formats and print it."""
    from cpuctl.answering.checkpoint.versions_answer import versions_document

    emit(versions_document(), Style(output, color=not no_color, quiet=quiet))
