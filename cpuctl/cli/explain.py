"""``cpuctl explain``: why a kubelet decides about a pod as it does, and what would change that."""

import os
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl import option_names
from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.notes import print_sources
from cpuctl.cli.options import (
    ExitZeroOption,
    NoColorOption,
    OutputOption,
    PolicyOption,
    QuietOption,
)
from cpuctl.cli.output import Output, Style, emit, note
from cpuctl.cli.panels import INPUT
from cpuctl.cli.planning_options import ExplainingCommand, planning_inputs
from cpuctl.errors import UsageError
from cpuctl.inputs.sources import Sources
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.operations.plan_inputs import Planning, PlanningInputs, read_planning
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.answers.explanation import Explanation, Messages
    from cpuctl.operations.messages import MessageOccurrence, MessageSearch
    from cpuctl.pods.model import Pod

app = command_group()

HELP = """Explain why a pod is admitted or rejected, and what would help.

POD is NAME, NAMESPACE/NAME or NAMESPACE/NAME/CONTAINER. Default: the only pod, or the first that is not
admitted; with --events, the pod that a kubelet rejected last, with the kubelet's message. A running pod from
--pods is admitted again, as after a kubelet restart; one that has ended, from -f or --pods, is explained as
a new pod. If a running pod has a pending resize, the outcome is shown, and what the reference implementation
of KEP-5554 would do; see cpuctl resize for other resizes.

Shows the topology hints of each provider, what was free on each NUMA node, and the rule that decided. If the
pod is not admitted, also tries other requests, kubelet settings, another order, and removing pods. Each
change is simulated, and RESULT shows the outcome.

With --message, explains a line from an event, a pod status, or a kubelet or runtime log: what it means, which
releases print it, and what to do. With manifests, also explains the pod that the line names.

Examples:

\b
  sudo cpuctl explain -f pods.yaml          # the first pod that is rejected
  cpuctl explain shop/database -m node7.tar.xz -f pods/ -o json
  cpuctl explain web -m node7.tar.xz -T 'web=12/12,2Gi'
  sudo cpuctl explain shop/db --pods running.json
  cpuctl explain -m node7.tar.xz --events events.json -f failed.json
  cpuctl explain --message 'default cpuset cannot be empty'
  journalctl -u kubelet | cpuctl explain --message -

Exit codes: 0 the pod is admitted or the message is recognized, 3 it is not, the pod does not start with its
resource claims, their CPUs are unknown, or the kubelet would not start (with --exit-zero 0), 2 usage, 4
unusable input, 5 permission denied.
"""

MessageOption = Annotated[
    list[str],
    typer.Option(
        "--message",
        metavar="TEXT",
        help="Explain a line of an event, status or log; - for lines on stdin.",
        rich_help_panel=INPUT,
    ),
]
PodArgument = Annotated[str, typer.Argument(metavar="[POD]", help="The pod, or one of its containers.")]


@app.command(name="explain", help=HELP, cls=ExplainingCommand)
def explain(
    context: typer.Context,
    pod: PodArgument = "",
    message: MessageOption = [],  # noqa: B006  # typer copies it
    policy: PolicyOption = "",
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Read the inputs, decide and print the answer."""
    from cpuctl.exports.outcomes import is_served

    style = Style(output, color=not no_color, quiet=quiet)
    inputs = planning_inputs(context, policy)
    if message and inputs.events:
        raise UsageError("cannot be used with --message", where="--events", hint="use one of them")
    if message:
        found = _found_messages(message, inputs, pod, style)
        emit(found, style)
        if not exit_zero and not found["messages"]:
            raise typer.Exit(EXIT_NO)
        return
    needed = not (inputs.pods and (pod or inputs.events))
    if needed and not inputs.filenames and not inputs.templates:
        raise _without_manifests(inputs, pod)
    document = _explanation(inputs, lambda _planning: pod, style, pods_needed=needed)
    emit(document, style)
    if not exit_zero and not ("pod" in document and is_served(document["pod"])):
        raise typer.Exit(EXIT_NO)


def _without_manifests(inputs: PlanningInputs, pod: str) -> UsageError:
    """Report that the pod's manifest is missing, and how to get it; a sentence in its place is a message."""
    from cpuctl.operations.command_lines import planning_command

    if any(map(str.isspace, pod)) or pod != pod.lower():
        hint = shlex.join(["cpuctl", "explain", "--message", pod])
        return UsageError("expected a pod's name, found a message", where="POD", hint=f"use {hint}")
    if not pod:
        new = "specify manifests with -f PODS, or pods with -T web=4/4,1Gi"
        listed = f"{_listed_pods(inputs)}, or " if inputs.pods else ""
        return UsageError("no pods to explain", hint=f"{listed}{new}")
    namespace, name = pod.split("/")[:2] if "/" in pod else ("", pod)
    events = (option_names.EVENTS, inputs.events) if inputs.events else ()
    words = ["kubectl", "get", "pod", *(["-n", namespace] if namespace else []), name]
    command = planning_command(inputs, ("explain", pod, *events))
    return UsageError(
        "no pods to explain", hint=f"specify its manifest: {shlex.join(words)} -o yaml | {command} -f -"
    )


def _listed_pods(inputs: PlanningInputs) -> str:
    """Say how to explain one of the pods of the node, and which of them the kubelet rejected."""
    from cpuctl.documents.files import source_name
    from cpuctl.inputs.pods import few_names, rejected_names

    rejected = rejected_names(inputs.pods)
    which = f"; the kubelet rejected {few_names(rejected)}" if rejected else ""
    example = shlex.quote(rejected[0]) if rejected else "NAME"
    return f"specify a pod of {source_name(inputs.pods)} (cpuctl explain {example} ...{which})"


def _found_messages(texts: "list[str]", inputs: PlanningInputs, pod: str, style: Style) -> "Messages":
    """Find messages; if manifests are given, also explain the pod that the messages name."""
    from cpuctl.answering.explain.messages_answer import messages_document, reported_rejection
    from cpuctl.exports.answer_text import full_name
    from cpuctl.inputs.sources import refuse_stdin_twice
    from cpuctl.kubelet.version import KubeletVersion
    from cpuctl.operations.message_commands import explains_again, message_command
    from cpuctl.operations.messages import choice_of_pod, find_messages, message_lines, messages_about

    kubelet = inputs.kubelet
    refuse_stdin_twice(*texts, *inputs.filenames, inputs.machine, kubelet.config, inputs.state, inputs.pods)
    try:
        version = KubeletVersion.parse(kubelet.version) if kubelet.version else None
    except ValueError as error:
        raise UsageError(str(error), where=kubelet.version_option) from None
    search = find_messages(message_lines(texts))
    if not search.found and len(texts) == 1 and os.path.isfile(texts[0]):  # noqa: PTH113  # any text
        note(f"note: to read the file: cpuctl explain --message - < {shlex.quote(texts[0])}", style)
    explanation = None
    given: list[Pod] = []
    if search.found and (inputs.filenames or inputs.templates or inputs.pods):
        explanation = _pod_of_messages(search, inputs, pod, given, style)
    about: list[MessageOccurrence] = []
    name_of_pod = full_name(explanation["pod"]) if explanation and "pod" in explanation else ""
    if explanation and "pod" in explanation and (pod or not choice_of_pod(search, given)):
        about = messages_about(search, name_of_pod)
        explanation = {**explanation, **reported_rejection(about, explanation["pod"])}
    others = replace(inputs, filenames=(), templates=(), pods="") if given else inputs

    def commands_of(found: "MessageOccurrence") -> list[str]:
        named, templates = found.recognized.pod, found.recognized.message.commands
        known = not named or any(named in (each.name, each.full_name) for each in given)
        explained = any(found is each for each in about)
        return [
            message_command(each, named or (name_of_pod if explained else ""), inputs if known else others)
            for each in templates
            if not (explained and explains_again(each, inputs))
        ]

    return messages_document(search, version, commands_of, explanation)


def _pod_of_messages(
    search: "MessageSearch", inputs: PlanningInputs, pod: str, given: "list[Pod]", style: Style
) -> "Explanation | None":
    """Explain the pod that the command line or the messages name; without one, say which is explained.

    Add the pods of the inputs to *given*.
    """
    from cpuctl.operations.explain import NothingToExplainError
    from cpuctl.operations.messages import choice_of_pod, has_named, messages_about, named_pod

    def requested(planning: Planning) -> str:
        given.extend((*planning.incoming, *planning.initial.running))
        if has_named(search):
            ended = (*planning.past.ended, *planning.initial.ended)
            given.extend(each for each in ended if messages_about(search, each.full_name))
        return pod or named_pod(search, given)

    try:
        explanation = _explanation(inputs, requested, style, pods_needed=not inputs.pods)
    except NothingToExplainError as error:
        unknown = choice_of_pod(search, given) if not pod and has_named(search) else ""
        note(f"note: {unknown or error.message}; {error.hint}", style)
        return None
    if "pod" in explanation and not pod and (unnamed := choice_of_pod(search, given)):
        explained = explanation["pod"]
        note(f"note: {unnamed}: explaining {explained['namespace']}/{explained['name']}", style)
    return explanation


def _explanation(
    inputs: PlanningInputs,
    requested: Callable[[Planning], str],
    style: Style,
    *,
    pods_needed: bool,
) -> "Explanation":
    """Explain the selected pod, or report that its kubelet cannot load its configuration."""
    from cpuctl.operations.explain import NothingToExplainError

    sources = Sources()
    try:
        planning = read_planning(inputs, pods_needed=pods_needed, sources=sources, ended_too=True)
    except ConfigRefusedError as refused:
        from cpuctl.answering.config.parts import unloaded_header
        from cpuctl.answering.explain.explain_answer import not_started_document

        document: Explanation = not_started_document(refused.whole_refusal, unloaded_header(sources))
    else:
        try:
            document = _explained(planning, requested(planning), style)
        except NothingToExplainError:
            print_sources(sources, style)
            raise
    print_sources(sources, style)
    return document


def _explained(planning: Planning, text: str, style: Style) -> "Explanation":
    from cpuctl.answering.explain.explain_answer import explained_document, not_started_document
    from cpuctl.answering.plan.plan_document import planning_header
    from cpuctl.cli.progress import ProgressBar
    from cpuctl.operations.command_lines import check_command
    from cpuctl.operations.explain import Explained, choose_explained, explain_pod, with_ended_pod

    planning = with_ended_pod(planning, text)
    choice = choose_explained(planning, text)
    with ProgressBar(style) as progress:
        found = explain_pod(planning, choice, progress)
    if not isinstance(found, Explained):
        return not_started_document(found, {**planning_header(planning)}, check_command(planning, found))
    return explained_document(planning, found)
