"""The words of ``cpuctl pods`` that other commands do not have."""

from typing import Annotated

import typer

from cpuctl.cli.panels import INPUT
from cpuctl.inputs import option_names

MachineOrNoneOption = Annotated[
    str,
    typer.Option(
        "-m",
        "--machine",
        metavar="SOURCE",
        help="The node, as for other commands; OOM scores depend on its memory. Without it none is known.",
        rich_help_panel=INPUT,
    ),
]
MemoryOption = Annotated[
    str,
    typer.Option(
        option_names.MEMORY,
        metavar="AMOUNT",
        help="The node's memory, where no machine is named.",
        rich_help_panel=INPUT,
    ),
]
UsageOption = Annotated[
    str,
    typer.Option(
        "--usage",
        metavar="FILE",
        help="Memory that pods use, for their order of eviction: a mapping of [NAMESPACE/]NAME to an amount, "
        "or what kubectl get podmetrics -A -o json prints.",
        rich_help_panel=INPUT,
    ),
]
ToVersionOption = Annotated[
    str,
    typer.Option("--to-kubelet-version", metavar="VERSION", help="Compare with this minor of the kubelet."),
]
ToGatesOption = Annotated[
    str,
    typer.Option(
        "--to-feature-gates", metavar="A=true,B=false", help="Compare with these gates of the kubelet."
    ),
]
