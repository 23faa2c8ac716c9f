"""The options that all verbs of ``cpuctl fleet`` have: which nodes, how many at a time, what to resume."""

from enum import StrEnum
from typing import Annotated

import typer

from cpuctl import option_names
from cpuctl.cli.panels import INPUT, OUTPUT

NAMED_AFTER_NODE = "Name each recording after its node: node7.tar.xz, or any name in a directory node7."
"""How a recording and a Node are matched."""
RecordingsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="RECORDINGS...",
        help="Recordings, directories of recordings, patterns, @FILE for a list, or - for a list on "
        "stdin, one per line or separated as by find -print0.",
        show_default=False,
    ),
]
MaybeRecordingsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="[RECORDINGS]...",
        help="Recordings, directories of recordings, patterns, @FILE for a list, or - for "
        "a list on stdin. Optional with --nrt and --nodes.",
        show_default=False,
    ),
]
NodesOption = Annotated[
    str,
    typer.Option(
        option_names.NODES,
        metavar="FILE",
        help="Nodes (kubectl get nodes -o json), for kubelet versions that recordings do not have. "
        f"{NAMED_AFTER_NODE}",
        rich_help_panel=INPUT,
    ),
]
JobsOption = Annotated[
    int,
    typer.Option(
        "-j",
        "--jobs",
        metavar="N",
        help="Number of processes. Default: one per CPU.",
        min=0,
        show_default=False,
    ),
]
ResumeOption = Annotated[
    str,
    typer.Option(
        "--resume",
        metavar="FILE",
        help="Reuse the answers in FILE, written by an earlier run with -o jsonl, and process only the rest.",
        rich_help_panel=INPUT,
    ),
]
TopologiesOption = Annotated[
    str,
    typer.Option(
        "--nrt",
        metavar="FILE",
        help="NodeResourceTopologies (kubectl get noderesourcetopologies -o json).",
        rich_help_panel=INPUT,
    ),
]
FleetPodsOption = Annotated[
    str,
    typer.Option(
        option_names.PODS,
        metavar="FILE",
        help="The pods running on the nodes (kubectl get pods -A -o json); those without a node are ignored.",
        rich_help_panel=INPUT,
    ),
]
SchedulerOption = Annotated[
    str,
    typer.Option(
        option_names.DASK_SCHEDULER,
        metavar="ADDRESS",
        help="Use the workers of a Dask scheduler, e.g. tcp://host:8786, or local for workers on this "
        "machine (pip install '.[fleet]' in cpuctl's source directory).",
    ),
]


class FleetOutput(StrEnum):
    """The forms of an answer about many nodes, including one node per line and Prometheus' text format."""

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
        help="Output format; jsonl is one node per line, written as soon as it is ready.",
        rich_help_panel=OUTPUT,
    ),
]
