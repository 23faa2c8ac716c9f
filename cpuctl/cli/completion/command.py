"""``cpuctl completion``: the completion scripts for bash, zsh and fish."""

from enum import StrEnum
from typing import Annotated

import typer

from cpuctl.cli.app import command_group

app = command_group()

HELP = """Print the tab completion script for your shell.

Completes commands, options and their values, and pods, containers and CPU sets from the files on the command
line. Files are only read; names that the API server would reject are never offered.

Examples:

\b
  source <(cpuctl completion bash)                    # in this shell
  cpuctl completion bash > /usr/share/bash-completion/completions/cpuctl
  cpuctl completion zsh > /usr/local/share/zsh/site-functions/_cpuctl
  mkdir -p ~/.config/fish/completions
  cpuctl completion fish > ~/.config/fish/completions/cpuctl.fish

Exit codes: 0 printed, 2 usage.
"""


class Shell(StrEnum):
    """The shells that have a completion script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


ShellArgument = Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")]


@app.command(name="completion", help=HELP)
def completion(shell: ShellArgument) -> None:
    """Make the script from the command table and print it."""
    from cpuctl.cli.completion.scripts import completion_script

    typer.echo(completion_script(shell.value), nl=False)
