"""``cpuctl policies show``: what a policy says of itself, and its text."""

from typing import Annotated

import typer

from cpuctl.cli.app import command_group
from cpuctl.cli.options import NoColorOption, OutputOption, QuietOption
from cpuctl.cli.output import Output, Style, emit

app = command_group()

HELP = """Show a policy: what it does, its source, steps, options and text.

Examples:

\b
  cpuctl policies show koordinator
  cpuctl policies show ./mine.py:Mine -o json

Exit codes: 0 shown, 2 usage, 4 the policy cannot be loaded.
"""

PolicyArgument = Annotated[
    str, typer.Argument(metavar="POLICY", help="Its name, or FILE.py:CLASS.", show_default=False)
]


@app.command(name="show", help=HELP)
def show(
    policy: PolicyArgument,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Load the policy in a process of its own, and answer."""
    from cpuctl.answering.policies_answer import description_document
    from cpuctl.operations.policies import choose_policy

    style = Style(output, color=not no_color, quiet=quiet, layout="policies", view="description_blocks")
    emit(description_document(choose_policy(policy)), style)
