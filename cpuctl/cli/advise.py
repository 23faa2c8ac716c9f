"""``cpuctl advise``: the kubelet settings that serve pods best, or the pods to move on a node."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, cast

import typer

from cpuctl import option_names
from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.notes import print_sources, warn_of_flags
from cpuctl.cli.options import (
    ExitZeroOption,
    NoColorOption,
    OutputOption,
    QuietOption,
)
from cpuctl.cli.output import Document, Output, Style, complain, emit
from cpuctl.cli.planning_options import PlanningCommand, planning_inputs
from cpuctl.cli.process import StopSignal, noted
from cpuctl.cli.subjects import Subject, about
from cpuctl.errors import UsageError
from cpuctl.exports.outcomes import failure_text
from cpuctl.inputs.sources import Sources
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.operations.plan_inputs import Planning, read_planning

if TYPE_CHECKING:
    from cpuctl.answers.advice import (
        AdvisedSettings,
        FoundMoves,
        ProposedSettings,
        UnloadedAdvice,
        UnstartedDefragmentation,
    )

app = command_group()

HELP = """Recommend kubelet settings for these pods on this machine.

Tries combinations that this kubelet would start with: CPU Manager policy and options, Topology Manager
policy, scope and options, the Memory Manager with the reservation that it needs, and several choices of
reserved CPUs: as many as now, or one core. Each combination is planned as cpuctl plan does: running pods
(--pods) first, then new ones (-f before -T) in the order given, on a node without state files. Drain the node
before you change its settings.

Shows all combinations that no other one beats; each has its own advantages. They are compared by pods
admitted, containers on one NUMA node, those that also have their memory there, cores that are not shared, and
pods with exclusive CPUs that are reserved or held by two pods. Combinations that admit the same number of
pods are also compared by L3 caches crossed, size of the shared pool, and the largest container that would
still be admitted. If several combinations have equal results, the one with the fewest changes is shown.

With --defragment, pods are moved instead: evicted and admitted again on the same node, until one more pod
fits. Shows the plan with the fewest moves; the whole plan is simulated. Static and critical pods are never
moved. Only this uses state files (--state or the node's own).

Examples:

\b
  cpuctl advise -f pods.yaml      # on this host, with its own configuration
  cpuctl advise -m node7.tar.xz -f pods/ --budget 500
  cpuctl advise -f pods.yaml --keep full-pcpus-only --keep reservedSystemCPUs
  cpuctl advise -m node7.tar.xz -f pods/ --snippet 1 > 90-advised.conf
  cpuctl advise -m synthetic:2s4n32c2t -T 'web=4/4,2Gi x20' -o json
  cpuctl advise -f pods.yaml --what-if    # include what-if policies
  cpuctl advise --defragment -m node7.tar.xz --pods running.json -f new.yaml

Exit codes: 0 advice found, 3 no settings admit a pod or no moves make room (with --exit-zero 0), 2 usage, 4
unusable input, 130 interrupted (shows what was found so far).
"""

DefragmentOption = Annotated[
    bool,
    typer.Option(
        "--defragment",
        help="Find the fewest pod moves on this node that make room for the given pod or, without "
        "one, for the largest possible container.",
    ),
]
BudgetOption = Annotated[
    int | None,
    typer.Option(
        "--budget",
        metavar="N",
        min=1,
        help="Try at most N combinations (default 2000) or, with --defragment, steps (default 20000).",
    ),
]
WhatIfOption = Annotated[
    bool,
    typer.Option(
        "--what-if",
        help="Also try the what-if policies that come with cpuctl (see cpuctl "
        "policies list). Reserved CPUs and full-pcpus-only stay unchanged for these.",
    ),
]
KeepOption = Annotated[
    list[str],
    typer.Option(
        option_names.KEEP,
        metavar="SETTING",
        help="Keep this setting: a configuration field, such as cpuManagerPolicy, or a policy option, "
        "such as full-pcpus-only.",
    ),
]
SnippetOption = Annotated[
    int | None,
    typer.Option(
        "--snippet",
        metavar="N",
        min=1,
        help="Print only the settings of row N, as a KubeletConfiguration: a file for --config-dir, unless a "
        "warning says otherwise.",
    ),
]


@app.command(name="advise", help=HELP, cls=about(Subject.PODS, PlanningCommand))
def advise(
    context: typer.Context,
    defragment: DefragmentOption = False,
    budget: BudgetOption = None,
    what_if: WhatIfOption = False,
    keep: KeepOption = [],  # noqa: B006
    snippet: SnippetOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Read the inputs, search for proposals and print the answer."""
    inputs = planning_inputs(context)
    _refuse_clash(
        defragment,
        inputs.state,
        {"--what-if": what_if, option_names.KEEP: bool(keep), "--snippet": bool(snippet)},
    )
    layout, view = "defragmentation" if defragment else "advice", "snippet_blocks" if snippet else "blocks"
    style, sources = Style(output, color=not no_color, quiet=quiet, layout=layout, view=view), Sources()
    find = _Moves(budget) if defragment else _Settings(budget, keep, what_if=what_if)
    stop = StopSignal()
    try:
        needed = not (inputs.pods or defragment)
        planning = read_planning(inputs, pods_needed=needed, sources=sources, fresh=not defragment)
    except ConfigRefusedError as refused:
        document: Document = find.unloaded(refused, sources)
    else:
        with noted(stop):
            document = find.found(planning, style, stop)
    print_sources(sources, style)
    _emit(document, style, snippet)
    if stop:
        raise typer.Exit(stop.exit_code)
    if not exit_zero and not _helps(document):
        raise typer.Exit(EXIT_NO)


def _refuse_clash(defragment: bool, state: str, others: Mapping[str, bool]) -> None:
    """Raise UsageError if options of one search are combined with the other search."""
    if not defragment and state not in ("", option_names.NO_STATE):
        hint = "use --pods for running pods: they are admitted first"
        message = "requires --defragment: changing settings requires a node without state files"
        raise UsageError(message, where=f"{option_names.STATE} {state}", hint=hint)
    if defragment and (name := next((name for name, given in others.items() if given), "")):
        message = "applies to settings and cannot be used with --defragment"
        raise UsageError(message, where=name, hint="use one of them")


class _Settings:
    """The search for settings."""

    def __init__(self, budget: int | None, keep: list[str], *, what_if: bool) -> None:
        from cpuctl.operations.advice import BUDGET, AdviceOptions, read_kept

        self._options = AdviceOptions(budget or BUDGET, what_if, read_kept(keep))

    def unloaded(self, refused: ConfigRefusedError, sources: Sources) -> "UnloadedAdvice":
        """Say why the kubelet cannot load its configuration."""
        from cpuctl.answering.advice_answer import unloaded_document
        from cpuctl.answering.config.parts import unloaded_header

        return unloaded_document(refused.whole_refusal, unloaded_header(sources))

    def found(self, planning: Planning, style: Style, stop: StopSignal) -> "AdvisedSettings":
        """Search for settings."""
        from cpuctl.answering.advice_answer import advice_document
        from cpuctl.cli.progress import ProgressBar
        from cpuctl.operations.advice import advise as advised

        with ProgressBar(style) as progress:
            found = advised(planning, self._options, progress, lambda: bool(stop))
        return advice_document(planning, found, self._options)


class _Moves:
    """The search for moves of pods."""

    def __init__(self, budget: int | None) -> None:
        from cpuctl.operations.defragmentation import BUDGET

        self._budget = budget or BUDGET

    def unloaded(self, refused: ConfigRefusedError, sources: Sources) -> "UnstartedDefragmentation":
        """Say why the kubelet cannot load its configuration."""
        from cpuctl.answering.advice_answer import unstarted_document
        from cpuctl.answering.config.parts import unloaded_header

        return unstarted_document(refused.whole_refusal, unloaded_header(sources))

    def found(
        self, planning: Planning, style: Style, stop: StopSignal
    ) -> "FoundMoves | UnstartedDefragmentation":
        """Search for moves."""
        from cpuctl.answering.advice_answer import defragmentation_document, unstarted_document
        from cpuctl.answering.plan.plan_document import planning_header
        from cpuctl.cli.progress import ProgressBar
        from cpuctl.operations.defragmentation import Defragmentation, defragment

        with ProgressBar(style) as progress:
            done = defragment(planning, self._budget, progress, lambda: bool(stop))
        if isinstance(done, Defragmentation):
            return defragmentation_document(planning, done, self._budget)
        from cpuctl.operations.command_lines import check_command

        return unstarted_document(done, {**planning_header(planning)}, check_command(planning, done))


def _emit(document: Document, style: Style, snippet: int | None) -> None:
    """Print the whole answer or, for people, the one proposal that was selected."""
    if snippet is None:
        emit(document, style)
        return
    if "proposals" not in document and style.for_people:
        # Nothing is written to stdout: sentences are not a configuration.
        complain(f"error: {failure_text(document['start'])}")
        return
    proposals = document.get("proposals", [])
    if "proposals" in document and snippet > len(proposals):
        there = f"1 to {len(proposals)}" if proposals else "none"
        hint = "" if proposals else "run without --snippet to see why"
        raise UsageError(f"row {snippet} does not exist; rows: {there}", where="--snippet", hint=hint)
    if style.for_people:
        _warn(proposals[snippet - 1])
    emit(proposals[snippet - 1] if style.for_people else document, style)


def _warn(proposal: "ProposedSettings") -> None:
    """Warn if the settings do not take effect as a drop-in file alone, or need more than that."""
    from cpuctl.exports.answer_text import state_files_text

    warn_of_flags(proposal["flags"])
    if not (proposal["flags"] or proposal["dropIn"]):
        complain(
            "warning: a drop-in file is not enough, because it cannot remove settings of the main file; "
            "change the main file"
        )
    if files := proposal["stateFiles"]:
        complain(f"warning: {state_files_text(files)}")


def _helps(document: Document) -> bool:
    """Return whether any settings may admit a pod, or whether the pod fits after a move."""
    if document["kind"] == "Defragmentation":
        return document.get("moves") is not None or document.get("largest") is not None
    if "proposals" not in document:
        return False
    from cpuctl.exports.outcomes import settings_admit

    return settings_admit(cast("AdvisedSettings", document))
