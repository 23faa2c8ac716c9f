"""The options and arguments that only ``cpuctl checkpoint`` has."""

from enum import StrEnum
from typing import Annotated

import typer

from cpuctl import option_names
from cpuctl.cli.panels import INPUT, OUTPUT
from cpuctl.errors import UsageError
from cpuctl.kubelet.version import RELEASES

StateArgument = Annotated[
    str,
    typer.Argument(
        metavar="[STATE]",
        help="A state file, a directory of state files, a recording, or - for stdin. Default: the state "
        "files of the recording (-m) or of this host.",
    ),
]
StateAsOption = Annotated[
    str,
    typer.Option(
        option_names.STATE,
        metavar="STATE",
        help="State files (same as the argument STATE).",
        rich_help_panel=INPUT,
    ),
]
MachineOrNoneOption = Annotated[
    str,
    typer.Option(
        "-m",
        "--machine",
        metavar="SOURCE",
        help="The machine, as for other commands, on which the result is verified. Default: none.",
        rich_help_panel=INPUT,
    ),
]
MapOption = Annotated[bool, typer.Option("--map", help="Draw the machine with the owner of each CPU.")]


class MetricsOutput(StrEnum):
    """The forms of an answer with metrics: those of every answer, and Prometheus' text format."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    PROM = "prom"


MetricsOutputOption = Annotated[
    MetricsOutput,
    typer.Option(
        "-o", "--output", help="Output format; prom is metrics for node_exporter.", rich_help_panel=OUTPUT
    ),
]
YesOption = Annotated[
    bool,
    typer.Option(
        "-y",
        option_names.YES,
        help="Write in place, with a backup; without this, only show what would change.",
    ),
]
ExitCodeOption = Annotated[
    bool,
    typer.Option("--exit-code", help="Exit 3 if anything would change.", rich_help_panel=OUTPUT),
]
RootOption = Annotated[
    str,
    typer.Option(
        option_names.ROOT,
        metavar="DIR",
        help="Root of the node's file system, e.g. /host in a debugging pod, or a mounted disk: its "
        "machine, kubelet configuration and state files are used.",
        rich_help_panel=INPUT,
    ),
]
StateRootOption = Annotated[
    str,
    typer.Option(
        option_names.ROOT,
        metavar="DIR",
        help="Root of the node's file system, e.g. /host in a debugging pod, or a mounted disk: its state "
        "files are used and, with kubelet options but no -m, its machine.",
        rich_help_panel=INPUT,
    ),
]
ForceRunningOption = Annotated[
    bool,
    typer.Option(
        "--force-kubelet-running",
        help="Write even if a kubelet is using these files; it may overwrite the changes.",
    ),
]
WriteStateOption = Annotated[
    str,
    typer.Option(
        "--write-state",
        metavar="DIR",
        help="Write the new state files to DIR; --yes is not needed.",
        rich_help_panel=OUTPUT,
    ),
]
ToKubeletOption = Annotated[
    str,
    typer.Option(
        option_names.TO,
        metavar="VERSION",
        help=f"The kubelet version that will read the files, {RELEASES}.",
    ),
]


def named_state(argument: str, option: str) -> str:
    """Return the name from the argument or the option; raise UsageError if both are given."""
    if argument and option and argument != option:
        raise UsageError(
            f"expected one state, found {argument} and {option}", where="--state", hint="use one of them"
        )
    return argument or option
