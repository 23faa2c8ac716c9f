"""The options that only ``cpuctl plan`` has."""

from typing import Annotated

import typer

from cpuctl.cli.panels import OUTPUT
from cpuctl.engine.pod_order import PodOrder

OrderOption = Annotated[
    PodOrder,
    typer.Option(
        "--order",
        metavar="ORDER",
        help="Which pod comes first: given, priority (the highest), qos (Guaranteed, Burstable, BestEffort), "
        "or largest-first (exclusive CPUs, then memory).",
    ),
]
RepeatOption = Annotated[
    str,
    typer.Option(
        "--repeat",
        metavar="N|max",
        help="Plan the pods N times over, copies being called NAME-2 and so on; max: as often as all of them "
        "fit.",
    ),
]
CapacityOption = Annotated[
    bool,
    typer.Option(
        "--capacity",
        help="Also tell what else fits: copies, the largest requests, how scattered free CPUs are, and which "
        "pods to move for those that were refused.",
    ),
]
HtmlOption = Annotated[
    str,
    typer.Option(
        "--html",
        metavar="FILE",
        help="Also write a page with the answer, the picture and the inputs: one file that needs no network; "
        "- is stdout, with no answer.",
        rich_help_panel=OUTPUT,
    ),
]
CompareOption = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--compare",
        metavar="A B",
        help="Plan with two settings of the kubelet side by side. Each is a list on top of the "
        "configuration, such as restricted,pod,1.37 or full-pcpus-only=false,kubeReserved.cpu=2, or a "
        "configuration file in place of it, and a list behind that; a dot is no change.",
    ),
]
