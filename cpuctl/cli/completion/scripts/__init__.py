"""The scripts for shells: templates, filled in from the command table."""

from __future__ import annotations

from importlib.resources import files

from cpuctl.cli.completion.command_tree import command_tree
from cpuctl.cli.completion.shell_tables import fill_bash, fill_fish, fill_zsh

_FILL = {"bash": fill_bash, "zsh": fill_zsh, "fish": fill_fish}


def completion_script(shell: str) -> str:
    """Return the script for ``bash``, ``zsh`` or ``fish``."""
    template = files(__name__).joinpath(f"cpuctl.{shell}").read_text(encoding="utf-8")
    return _FILL[shell](template, command_tree())
