"""The options that only ``cpuctl plan`` has."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl.cli.panels import OUTPUT
from cpuctl.engine.ordering import PodOrder
from cpuctl.errors import UsageError

if TYPE_CHECKING:
    from cpuctl.operations.plan import Rounds

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
        "pods to move for those that were rejected.",
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


def refuse_clash(settings: tuple[str, str] | None, files: Mapping[str, str], output: str) -> None:
    """Raise UsageError where two nodes are compared, and what only one has is asked for.

    *files* are what is to be written, by option.
    """
    if settings is not None and output == "prom":
        message = "cannot be used with --compare, which leaves two nodes"
        raise UsageError(message, where="-o prom", hint="plan again with the settings that you choose")
    option = next((option for option, name in files.items() if name), "")
    if settings is not None and option:
        raise UsageError(
            "cannot be used with --compare, which leaves two nodes",
            where=option,
            hint="plan again with the settings that you choose",
        )


def read_rounds(text: str, pods: int) -> "Rounds | None":
    """Read ``--repeat`` for a number of pods; None where nothing is said.

    Raise UsageError for what is neither ``max`` nor a number within bounds, and where there are no pods.
    """
    if not text:
        return None

    from cpuctl.engine.capacity.repetition import MAX_PODS

    if not pods:
        raise UsageError("there are no pods to repeat", where="--repeat", hint="name some with -f or -T")
    if text == "max":
        return "max"
    most = max(MAX_PODS // pods, 1)
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= most):
        raise UsageError(f"expected 1 to {most}, or max, found {text!r}", where="--repeat")
    return int(text)
