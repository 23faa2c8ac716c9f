"""``cpuctl advise``: which settings of the kubelet serve pods best on a machine."""

from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_inputs
from cpuctl.cli.notes import print_sources
from cpuctl.cli.options import (
    AssumeDevicesOption,
    DevicesOption,
    DriverArgsOption,
    EphemeralStorageOption,
    ExitZeroOption,
    IncludeCompletedOption,
    MachineOption,
    MemoryOption,
    NoColorOption,
    OutputOption,
    PodFilesOption,
    QuietOption,
    RunningPodsOption,
    SkipApiServerOption,
    TemplateOption,
)
from cpuctl.cli.output import Output, Style, emit
from cpuctl.cli.stop_signals import noted
from cpuctl.cli.subjects import Subject, about
from cpuctl.errors import UsageError
from cpuctl.inputs.sources import Sources
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.operations.plan_inputs import NodeWords, Planning, PlanningInputs, read_planning

if TYPE_CHECKING:
    from cpuctl.answers.advice import AdvisedSettings, UnloadedAdvice
    from cpuctl.cli.stop_signals import StopSignal
    from cpuctl.operations.advice import AdviceOptions

app = command_group()

HELP = """Which settings of the kubelet serve these pods best on this machine.

Tries policy and options of the CPU Manager, policy, scope and options of the Topology Manager, the Memory
Manager with the reservation that it needs, and several choices of reserved CPUs: whatever this kubelet
starts with. Each is decided by the engine, as by cpuctl plan: the pods come in the order given, those of
--pods first, to a node without state files, for other settings take a drained node.

Shown are the few that no other beats: by pods admitted, containers on one NUMA node, with their memory, and
cores that nobody shares; then, where as many pods are admitted, by L3 caches crossed, the size of the shared
pool, and the largest container that still is admissible. Of several that come to the same it is the one that
changes least.

Examples:

\b
  cpuctl advise -f pods.yaml      # on this host, with its own configuration
  cpuctl advise -m node7.tar.xz -f pods/ --budget 500
  cpuctl advise -f pods.yaml --keep full-pcpus-only --keep reservedSystemCPUs
  cpuctl advise -m node7.tar.xz -f pods/ --snippet 1 > 90-advised.conf
  cpuctl advise -m synthetic:2s4n32c2t -T 'web=4/4,2Gi x20' -o json
  cpuctl advise -f pods.yaml --what-if    # policies that no kubelet has, too

Exit codes: 0 there is advice, 3 nothing that was tried starts (with --exit-zero 0), 2 usage, 4 unusable
input, 130 interrupted: what was found until then is shown.
"""

BudgetOption = Annotated[
    int, typer.Option("--budget", metavar="N", min=1, help="Settings to try on the engine, at most.")
]
WhatIfOption = Annotated[
    bool,
    typer.Option(
        "--what-if",
        help="Also try the policies (plug-ins) that come with cpuctl, which no kubelet has: cpuctl policies "
        "list. They are tried with the reserved CPUs as they are.",
    ),
]
KeepOption = Annotated[
    list[str],
    typer.Option(
        "--keep",
        metavar="SETTING",
        help="Leave a setting as it is: a field of the configuration, such as cpuManagerPolicy, or an option "
        "of a policy, such as full-pcpus-only. May be given several times.",
    ),
]
SnippetOption = Annotated[
    int | None,
    typer.Option(
        "--snippet",
        metavar="N",
        min=1,
        help="Only a KubeletConfiguration with the settings of row N, to paste.",
    ),
]


@app.command(name="advise", help=HELP, cls=about(Subject.PODS, KubeletCommand))
def advise(
    context: typer.Context,
    filename: PodFilesOption = [],  # noqa: B006  # typer copies it
    template: TemplateOption = [],  # noqa: B006
    machine: MachineOption = "live",
    pods: RunningPodsOption = "",
    devices: DevicesOption = "",
    assume_devices: AssumeDevicesOption = False,
    driver_args: DriverArgsOption = "",
    ephemeral_storage: EphemeralStorageOption = "",
    memory: MemoryOption = "",
    skip_api_server: SkipApiServerOption = False,
    include_completed: IncludeCompletedOption = False,
    budget: BudgetOption = 2000,
    what_if: WhatIfOption = False,
    keep: KeepOption = [],  # noqa: B006
    snippet: SnippetOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Read, try, answer."""
    from cpuctl.operations.advice import AdviceOptions, read_kept

    options = AdviceOptions(budget, what_if, read_kept(keep))
    layout = "advice_snippet" if snippet else "advice"
    style, sources = Style(output, color=not no_color, quiet=quiet, layout=layout), Sources()
    words = PlanningInputs(
        filenames=filename,
        templates=template,
        machine=machine,
        kubelet=kubelet_inputs(context),
        pods=pods,
        devices=devices,
        ephemeral_storage=ephemeral_storage,
        memory=memory,
        skip_api_server=skip_api_server,
        include_completed=include_completed,
        node=NodeWords(assume_devices, driver_args),
    )
    try:
        planning = read_planning(words, pods_needed=not pods, sources=sources)
    except ConfigRefusedError as refused:
        document: AdvisedSettings | UnloadedAdvice = _unloaded(refused, sources)
        stop = None
    else:
        with noted() as stop:
            document = _advised(planning, style, options, stop)
    print_sources(sources, style)
    _emit(document, style, snippet)
    if stop:
        raise typer.Exit(stop.exit_code)
    if not exit_zero and not _starts(document):
        raise typer.Exit(EXIT_NO)


def _unloaded(refused: ConfigRefusedError, sources: Sources) -> "UnloadedAdvice":
    from cpuctl.answering.advice_answer import unloaded_document
    from cpuctl.answering.config.parts import unloaded_head

    return unloaded_document(refused.whole_refusal, unloaded_head(sources))


def _advised(
    planning: Planning, style: Style, options: "AdviceOptions", stop: "StopSignal"
) -> "AdvisedSettings":
    from cpuctl.answering.advice_answer import advice_document
    from cpuctl.cli.progress import ProgressBar
    from cpuctl.operations.advice import advise as advised

    with ProgressBar(style) as progress:
        found = advised(planning, options, progress, lambda: bool(stop))
    return advice_document(planning, found, options.budget)


def _emit(document: "AdvisedSettings | UnloadedAdvice", style: Style, snippet: int | None) -> None:
    """Write the answer, or of its proposals the one that is asked for."""
    if snippet is None or not style.for_people:
        emit(document, style)
        return
    proposals = [] if "start" in document else document["proposals"]
    if snippet > len(proposals):
        there = f"1 to {len(proposals)}" if proposals else "none"
        raise UsageError(f"there is no row {snippet}: there are {there}", where="--snippet")
    emit(proposals[snippet - 1], style)


def _starts(document: "AdvisedSettings | UnloadedAdvice") -> bool:
    """Tell whether a kubelet starts with any of what was tried."""
    if "start" in document:
        return False
    return "service" in document["current"] or bool(document["proposals"])
