"""What all verbs of ``cpuctl fleet`` take: which nodes, how many at a time, where to go on."""

from enum import StrEnum
from typing import Annotated

import typer

from cpuctl.cli.panels import INPUT, OUTPUT
from cpuctl.inputs import option_names

RecordingsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="RECORDINGS...",
        help="Recordings, directories that hold some, patterns, @FILE for a list of them, or - for a list "
        "on stdin, one a line or as find -print0 writes them.",
        show_default=False,
    ),
]
MaybeRecordingsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="[RECORDINGS]...",
        help="Recordings, directories that hold some, patterns, @FILE for a list of them, or - for a list "
        "on stdin; none where --nrt and --nodes are all that is known.",
        show_default=False,
    ),
]
NodesOption = Annotated[
    str,
    typer.Option(
        "--nodes",
        metavar="FILE",
        help="Nodes, as kubectl get nodes -o json prints them: they tell the release of kubelets whose "
        "recordings do not. Each recording is called as its node: node7.tar.xz, or any name in a directory "
        "node7.",
        rich_help_panel=INPUT,
    ),
]
JobsOption = Annotated[
    int,
    typer.Option(
        "-j",
        "--jobs",
        metavar="N",
        help="Use N processes; by default one for each CPU.",
        min=0,
        show_default=False,
    ),
]
ResumeOption = Annotated[
    str,
    typer.Option(
        "--resume",
        metavar="FILE",
        help="Take over the answers in FILE, which an earlier run wrote with -o jsonl, and ask the rest.",
        rich_help_panel=INPUT,
    ),
]
TopologiesOption = Annotated[
    str,
    typer.Option(
        "--nrt",
        metavar="FILE",
        help="NodeResourceTopologies, as kubectl get noderesourcetopologies -o json prints them.",
        rich_help_panel=INPUT,
    ),
]
FleetPodsOption = Annotated[
    str,
    typer.Option(
        option_names.PODS,
        metavar="FILE",
        help="The pods that run on the nodes, as kubectl get pods -A -o json prints them; those without a "
        "node do not count.",
        rich_help_panel=INPUT,
    ),
]
SchedulerOption = Annotated[
    str,
    typer.Option(
        option_names.DASK_SCHEDULER,
        metavar="ADDRESS",
        help="Let the workers of a Dask scheduler do it, as tcp://host:8786, or local for workers on this "
        "machine (pip install 'cpuctl[fleet]').",
    ),
]


class FleetOutput(StrEnum):
    """The forms of an answer about many nodes: one node a line, too, and Prometheus' text format."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    JSONL = "jsonl"
    PROM = "prom"


FleetOutputOption = Annotated[
    FleetOutput,
    typer.Option(
        "-o",
        "--output",
        help="Output format; jsonl is one node a line, written as it is answered.",
        rich_help_panel=OUTPUT,
    ),
]
