"""The words of commands that look at a node as it is."""

from typing import Annotated

import typer

NodeMachineOption = Annotated[
    str,
    typer.Option(
        "-m", "--machine", metavar="SOURCE", help="The node: live, a directory that holds sys/, a recording."
    ),
]
RootOption = Annotated[
    str,
    typer.Option("--root", metavar="DIR", help="The node whose file system is mounted at DIR, not this one."),
]
NodeStateOption = Annotated[
    str,
    typer.Option(
        "--state", metavar="DIR|FILE", help="The kubelet's state files; else those of the node itself."
    ),
]
