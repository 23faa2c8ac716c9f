"""``cpuctl policies list``: the policies that have names."""

from cpuctl.cli.app import command_group
from cpuctl.cli.options import NoColorOption, OutputOption, QuietOption
from cpuctl.cli.output import Output, Style, emit

app = command_group()

HELP = """List the policies that have names, shipped and installed ones.

Shipped policies come with cpuctl; installed ones, with other packages.

Packages register policies as entry points in the group cpuctl.policies. A policy in a file needs no name: use
FILE.py:CLASS.

Examples:

\b
  cpuctl policies list
  cpuctl policies list -o json | jq -r '.policies[].name'

Exit codes: 0 listed, 2 usage.
"""


@app.command(name="list", help=HELP)
def list_policies(
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Load every policy in a process of its own, and answer."""
    from cpuctl.answering.policies_answer import policies_document
    from cpuctl.operations.policies import known_policies

    emit(policies_document(known_policies()), Style(output, color=not no_color, quiet=quiet))
