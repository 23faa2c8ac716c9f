"""The words of ``cpuctl pods`` that other commands do not have."""

from typing import Annotated

import typer

from cpuctl.cli.output import ListOutput
from cpuctl.cli.panels import INPUT, KUBELET, OUTPUT

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
        "--memory",
        metavar="AMOUNT",
        help="The node's memory, where no machine is named.",
        rich_help_panel=INPUT,
    ),
]
ServerVersionOption = Annotated[
    str,
    typer.Option(
        "--apiserver-version",
        metavar="VERSION",
        help="The API server's minor; else the kubelet's.",
        rich_help_panel=KUBELET,
    ),
]
ServerGatesOption = Annotated[
    str,
    typer.Option(
        "--apiserver-feature-gates",
        metavar="A=true,B=false",
        help="The API server's; else the kubelet's.",
        rich_help_panel=KUBELET,
    ),
]
RuntimeOption = Annotated[
    str,
    typer.Option(
        "--oci-runtime",
        metavar="NAME-VERSION",
        help="runc-1.2.6, crun-1.23, ...: the weights of containers depend on it.",
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
ExitCodeOption = Annotated[
    bool, typer.Option("--exit-code", help="Exit 3 where something differs.", rich_help_panel=OUTPUT)
]
PodsOutputOption = Annotated[
    ListOutput,
    typer.Option(
        "-o", "--output", help="The form of the answer; jsonl is one pod a line.", rich_help_panel=OUTPUT
    ),
]
