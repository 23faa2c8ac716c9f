"""``cpuctl resize``: what happens to a running pod whose resources change."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl import option_names
from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.notes import print_sources
from cpuctl.cli.options import (
    ExitZeroOption,
    ForceStateOption,
    NoColorOption,
    OutputOption,
    PolicyOption,
    QuietOption,
    ServerGatesOption,
    ServerVersionOption,
    WriteStateOption,
)
from cpuctl.cli.output import Output, Style, emit, report_written
from cpuctl.cli.planning_options import ResizingCommand, planning_inputs
from cpuctl.cli.subjects import Subject, about
from cpuctl.engine.resize.semantics import Semantics
from cpuctl.errors import UsageError
from cpuctl.inputs.configuration import ServerInputs
from cpuctl.inputs.sources import Sources
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.kubelet.version import NEWEST
from cpuctl.operations.plan_inputs import Planning, PlanningInputs, read_planning
from cpuctl.operations.resize import Resizes, gate_options, resize_pods
from cpuctl.operations.resize_inputs import ResizeInputs, parse_set

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpuctl.answers.resize import Resize
    from cpuctl.engine.resize.missing_gates import MissingGate
    from cpuctl.engine.start import NotStarted

app = command_group()

HELP = f"""Dry-run an in-place resize: verdict, CPUs before and after, and the pod's status.

Running pods come from --pods, -f and -T. With state files (--state, or the node's own), they have the CPUs in
these; otherwise they are admitted first, in this order. Nothing is changed on the node.

No kubelet release resizes exclusive CPUs yet. The allocator that KEP-5554 proposes can be previewed with the
gate InPlacePodVerticalScalingExclusiveCPUs and kubelet 1.{NEWEST}, or an older one with --preview. If the
reference implementation differs from the KEP, the KEP is followed and the difference is shown.

With --policy, a policy (plugin) chooses the CPUs of pods that are admitted first. It does not take part in
resizes: if exclusive CPUs would have to change, that is an error.

Examples:

\b
  sudo cpuctl resize --pods running.json \\
    --set shop/database/server:cpu=6,memory=8Gi
  cpuctl resize -m node7.tar.gz --pods running.json --edited edited.yaml
  cpuctl resize -m node7.tar.gz --pods running.json      # what is pending
  cpuctl resize --state none -T db=4/4,8Gi --set db:cpu=6 \\
    --kubelet-version 1.{NEWEST} \\
    --feature-gates InPlacePodVerticalScalingExclusiveCPUs=true

Exit codes: 0 done, 3 rejected, deferred or without effect, or the kubelet would not start (with --exit-zero
0), 2 usage, 4 unusable input, 5 a file could not be written.
"""

SetOption = Annotated[
    list[str],
    typer.Option(
        option_names.SET,
        metavar="POD[/CONTAINER]:cpu=N",
        help="New resources, also memory=N; N sets request and limit, N/M sets a different limit M.",
    ),
]
EditedOption = Annotated[
    list[str],
    typer.Option(option_names.EDITED, metavar="PODS", help="Manifests of running pods with new resources."),
]
SemanticsOption = Annotated[
    Semantics,
    typer.Option(
        "--resize-semantics",
        help="Resize exclusive CPUs as KEP-5554 says, or as its reference implementation does.",
    ),
]
PreviewOption = Annotated[
    bool,
    typer.Option(
        "--preview", help="Use the allocator of KEP-5554 with an older kubelet, too, if the gate is on."
    ),
]


@app.command(name="resize", help=HELP, cls=about(Subject.PODS, ResizingCommand))
def resize(
    context: typer.Context,
    amounts: SetOption = [],  # noqa: B006  # typer copies it
    edited: EditedOption = [],  # noqa: B006
    apiserver_version: ServerVersionOption = "",
    apiserver_feature_gates: ServerGatesOption = "",
    policy: PolicyOption = "",
    resize_semantics: SemanticsOption = Semantics.KEP,
    preview: PreviewOption = False,
    write_state: WriteStateOption = "",
    force: ForceStateOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Read the inputs, decide and print the answer."""
    from cpuctl.operations.state_writing import changing
    from cpuctl.operations.state_writing import write_state as write

    style, sources = Style(output, color=not no_color, quiet=quiet), Sources()
    _refuse_clash(policy, write_state)
    inputs = planning_inputs(context, policy)
    server = ServerInputs(apiserver_version, apiserver_feature_gates)
    requested = ResizeInputs(tuple(map(parse_set, amounts)), edited, preview, server)
    with changing(write_state):
        with _answering_unloaded(sources, style, exit_zero=exit_zero):
            planning = read_resizing(inputs, requested, sources)
        _require_configuration(planning, write_state)
        resizes = resize_pods(planning, requested, resize_semantics)
        print_sources(planning.sources, style)
        if isinstance(resizes, Resizes):
            report_written(write(write_state, resizes.node, planning.kubelet, force=force), style)
    document = _answer(planning, requested, resizes)
    emit(document, style)
    if not exit_zero and not _done(document):
        raise typer.Exit(EXIT_NO)


def _refuse_clash(policy: str, write_state: str) -> None:
    if policy and write_state:
        message = "cannot be used with --policy: no kubelet decides like a policy"
        raise UsageError(message, where="--write-state", hint="omit one of them")


def _require_configuration(planning: Planning, write_state: str) -> None:
    if write_state:
        planning.sources.require_configuration()


def _answer(planning: Planning, requested: ResizeInputs, resizes: "Resizes | NotStarted") -> "Resize":
    from cpuctl.answering.plan.plan_document import planning_header
    from cpuctl.answering.resize_answer import not_started_document, resize_document
    from cpuctl.operations.command_lines import check_command, planning_command

    header = planning_header(planning)
    if not isinstance(resizes, Resizes):
        return not_started_document(resizes, {**header}, check_command(planning, resizes))
    capacity = planning_command(planning.inputs, ("plan", option_names.CAPACITY))
    return resize_document(resizes, header, partial(_fix, planning, requested), capacity)


@contextmanager
def _answering_unloaded(sources: Sources, style: Style, *, exit_zero: bool) -> Iterator[None]:
    """Print the answer for a kubelet that cannot load its configuration."""
    try:
        yield
    except ConfigRefusedError as refused:
        print_sources(sources, style)
        emit(_unloaded(refused, sources), style)
        raise typer.Exit(0 if exit_zero else EXIT_NO) from None


def _unloaded(refused: ConfigRefusedError, sources: Sources) -> "Resize":
    from cpuctl.answering.config.parts import unloaded_header
    from cpuctl.answering.resize_answer import not_started_document

    return not_started_document(refused.whole_refusal, unloaded_header(sources))


def read_resizing(inputs: PlanningInputs, requested: ResizeInputs, sources: Sources) -> Planning:
    """Read the running pods; without pods there is nothing to resize.

    Raise UsageError in that case, and if standard input is named twice.
    """
    from cpuctl.inputs.sources import refuse_stdin_twice

    if not (inputs.filenames or inputs.templates or inputs.pods):
        hint = "add running pods with --pods or -f, or describe them with -T db=4/4,1Gi"
        raise UsageError("found no pods to resize", hint=hint)
    refuse_stdin_twice(
        inputs.kubelet.config,
        inputs.state,
        inputs.pods,
        inputs.node.devices,
        *inputs.filenames,
        *requested.edited,
    )
    return read_planning(inputs, pods_needed=False, sources=sources)


def _fix(planning: Planning, requested: ResizeInputs, missing: "Sequence[MissingGate]") -> str:
    """Write the options that enable what a resize lacks; empty if it lacks nothing."""
    options = gate_options(planning, requested, missing)
    return shlex.join(word for option in options.items() for word in option)


def _done(document: "Resize") -> bool:
    """Return whether the kubelet starts and every resize is done, or there was nothing to do."""
    outcomes = {pod["outcome"] for pod in document["pods"]}
    return document["start"]["outcome"] == "Started" and outcomes <= {"Admitted", "Unchanged"}
