"""``cpuctl policies``: policies that can replace the kubelet's in a plan."""

from typing import Annotated

import typer

from cpuctl.cli.app import verb_group
from cpuctl.cli.options import ForceOption, NoColorOption, OutputOption, QuietOption
from cpuctl.cli.output import Output, Style, emit, remember_written

HELP = """What-if policies (plugins) that choose CPUs instead of the kubelet.

Try one with cpuctl plan -f PODS --policy NAME. No kubelet has these policies, except static."""

app = verb_group("policies", HELP)

LIST_HELP = """List the named policies, shipped and installed.

Shipped policies come with cpuctl, installed ones with other packages.

Packages register policies as entry points in the group cpuctl.policies. A policy in a file needs no name: use
FILE.py:CLASS.

Examples:

\b
  cpuctl policies list
  cpuctl policies list -o json | jq -r '.policies[].name'

Exit codes: 0 listed, 2 usage.
"""


@app.command(name="list", help=LIST_HELP)
def list_policies(
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Load every policy in its own process, and print the answer."""
    from cpuctl.answering.policies_answer import policies_document
    from cpuctl.operations.policies import known_policies

    emit(policies_document(known_policies()), Style(output, color=not no_color, quiet=quiet))


SHOW_HELP = """Show a policy: what it does, its origin, steps, options and code.

Examples:

\b
  cpuctl policies show koordinator
  cpuctl policies show ./mine.py:Mine -o json

Exit codes: 0 shown, 2 usage, 4 the policy cannot be loaded.
"""

PolicyArgument = Annotated[
    str, typer.Argument(metavar="POLICY", help="The policy's name, or FILE.py:CLASS.", show_default=False)
]


@app.command(name="show", help=SHOW_HELP)
def show(
    policy: PolicyArgument,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Load the policy in its own process, and print the answer."""
    from cpuctl.answering.policies_answer import description_document
    from cpuctl.operations.policies import choose_policy

    style = Style(output, color=not no_color, quiet=quiet, layout="policies", view="description_blocks")
    emit(description_document(choose_policy(policy, "POLICY")), style)


NEW_HELP = """Create a Python file with a template for your own policy.

The new policy chooses what the kubelet would until you change a step. docs/policies.md explains the input and
output of each step.

Examples:

\b
  cpuctl policies new mine.py
  cpuctl plan -m node7.tar.xz -f pods.yaml --policy ./mine.py:Mine

Exit codes: 0 written, 2 usage (for example, the file exists), 5 the file cannot be written.
"""

FileArgument = Annotated[
    str, typer.Argument(metavar="FILE", help="The Python file to write.", show_default=False)
]


@app.command(name="new", help=NEW_HELP)
def new(file: FileArgument, force: ForceOption = False) -> None:
    """Write the file."""
    from cpuctl.operations.policies import write_start

    remember_written(write_start(file, force=force))
    typer.echo(f"{file}: try it with cpuctl plan -f PODS --policy {file}:Mine")
