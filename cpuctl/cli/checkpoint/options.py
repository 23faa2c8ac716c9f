"""The words of ``cpuctl checkpoint`` that other commands do not have."""

from enum import StrEnum
from typing import Annotated

import typer

from cpuctl.cli.panels import INPUT, OUTPUT
from cpuctl.errors import UsageError
from cpuctl.inputs import option_names
from cpuctl.kubelet.version import RELEASES

StateArgument = Annotated[
    str,
    typer.Argument(
        metavar="[STATE]",
        help="A state file, the directory that holds some, a recording, or -; without it the recording's "
        "own, or those of this host.",
    ),
]
StateAsOption = Annotated[
    str,
    typer.Option(
        option_names.STATE,
        metavar="DIR|FILE",
        help="The same as STATE, as other commands call it.",
        rich_help_panel=INPUT,
    ),
]
MachineOrNoneOption = Annotated[
    str,
    typer.Option(
        "-m",
        "--machine",
        metavar="SOURCE",
        help="The node, as for other commands; the result is proven on it. Without it none is known.",
        rich_help_panel=INPUT,
    ),
]
MapOption = Annotated[bool, typer.Option("--map", help="Draw the machine with who holds which CPU.")]


class MetricsOutput(StrEnum):
    """The forms of an answer with metrics: those of every answer, and Prometheus' text format."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    PROM = "prom"


MetricsOutputOption = Annotated[
    MetricsOutput, typer.Option("-o", "--output", help="Output format.", rich_help_panel=OUTPUT)
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Exit 3 also where there are warnings.")]
YesOption = Annotated[
    bool,
    typer.Option(
        option_names.YES, help="Write in place, with a backup; without it only tell what would change."
    ),
]
ExitCodeOption = Annotated[
    bool,
    typer.Option(
        "--exit-code", help="Exit 3 where something would change, or differs.", rich_help_panel=OUTPUT
    ),
]
RootOption = Annotated[
    str,
    typer.Option(
        option_names.ROOT,
        metavar="DIR",
        help="Where the node's file tree stands, with its proc: /host in a container, a mounted disk. Its "
        "machine, kubelet configuration and state files are taken from there.",
        rich_help_panel=INPUT,
    ),
]
StateRootOption = Annotated[
    str,
    typer.Option(
        option_names.ROOT,
        metavar="DIR",
        help="Where the node's file tree stands, with its proc: /host in a container, a mounted disk. Its "
        "state files are taken from there; with options of the kubelet and without -m, its machine, too.",
        rich_help_panel=INPUT,
    ),
]
ForceRunningOption = Annotated[
    bool,
    typer.Option(
        "--force-kubelet-running",
        help="Write although a kubelet runs that uses these files: it may write its own over them.",
    ),
]
WriteStateOption = Annotated[
    str,
    typer.Option(
        "--write-state",
        metavar="DIR",
        help="Write the new files into DIR instead, at once.",
        rich_help_panel=OUTPUT,
    ),
]
ToKubeletOption = Annotated[
    str,
    typer.Option("--to-kubelet", metavar="VERSION", help=f"The minor that is to read the files, {RELEASES}."),
]


def named_state(argument: str, option: str) -> str:
    """Take the name from where it stands; raise UsageError where two names do."""
    if argument and option and argument != option:
        raise UsageError(f"two names: {argument} and {option}", where="--state", hint="give one of them")
    return argument or option
