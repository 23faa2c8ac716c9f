"""The words of commands that look at a node as it is."""

from typing import Annotated

import typer

from cpuctl.cli.panels import INPUT

NodeMachineOption = Annotated[
    str,
    typer.Option(
        "-m",
        "--machine",
        metavar="SOURCE",
        help="The node: live, a directory that holds sys/, a recording.",
        rich_help_panel=INPUT,
    ),
]
RootOption = Annotated[
    str,
    typer.Option(
        "--root",
        metavar="DIR",
        help="The node whose file system is mounted at DIR, not this one.",
        rich_help_panel=INPUT,
    ),
]
NodeStateOption = Annotated[
    str,
    typer.Option(
        "--state",
        metavar="DIR|FILE",
        help="The kubelet's state files; else those of the node itself.",
        rich_help_panel=INPUT,
    ),
]
