"""``cpuctl policies new``: a commented start for a policy of one's own."""

from typing import Annotated

import typer

from cpuctl.cli.app import command_group
from cpuctl.cli.options import ForceOption
from cpuctl.cli.output import remember_written

app = command_group()

HELP = """Create a Python file with a policy of your own, with every step.

The new policy chooses what the kubelet would until you change a step. docs/policies.md explains the input and
output of each step.

Examples:

\b
  cpuctl policies new mine.py
  cpuctl plan -f pods.yaml --policy ./mine.py:Mine

Exit codes: 0 written, 2 usage, 4 the file is there already, 5 it cannot be written.
"""

FileArgument = Annotated[
    str, typer.Argument(metavar="FILE", help="The Python file to write.", show_default=False)
]


@app.command(name="new", help=HELP)
def new(file: FileArgument, force: ForceOption = False) -> None:
    """Write the file."""
    from cpuctl.operations.policies import write_start

    remember_written(write_start(file, force=force))
    typer.echo(f"{file}: try it with cpuctl plan --policy {file}:Mine")
