"""The options that only ``cpuctl pods`` has."""

from typing import Annotated

import typer

from cpuctl import option_names
from cpuctl.cli.panels import INPUT

MachineOrNoneOption = Annotated[
    str,
    typer.Option(
        "-m",
        "--machine",
        metavar="SOURCE",
        help="The machine, as for other commands; OOM scores depend on its memory. Default: none.",
        rich_help_panel=INPUT,
    ),
]
MemoryOption = Annotated[
    str,
    typer.Option(
        option_names.MEMORY,
        metavar="QUANTITY",
        help="The node's memory, if no machine is given.",
        rich_help_panel=INPUT,
    ),
]
UsageOption = Annotated[
    str,
    typer.Option(
        "--usage",
        metavar="FILE",
        help="Memory that pods use, for the order of eviction: a mapping of [NAMESPACE/]NAME to a "
        "quantity, or the output of kubectl get podmetrics -A -o json.",
        rich_help_panel=INPUT,
    ),
]
ToVersionOption = Annotated[
    str,
    typer.Option(option_names.TO, metavar="VERSION", help="Compare with this kubelet version."),
]
ToGatesOption = Annotated[
    str,
    typer.Option(
        option_names.TO_FEATURE_GATES,
        metavar="A=true,B=false",
        help="Compare with these feature gates of the kubelet.",
    ),
]
