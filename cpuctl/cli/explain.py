"""``cpuctl explain``: why a kubelet decides about a pod as it does, and what would change that."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_words
from cpuctl.cli.notes import tell_sources
from cpuctl.cli.options import (
    AssumeDevicesOption,
    DevicesOption,
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
    StateOption,
    TemplateOption,
)
from cpuctl.cli.output import Document, Output, Style, emit
from cpuctl.errors import UsageError
from cpuctl.inputs.sources import Sources
from cpuctl.operations.planning import Planning, PlanningInputs, read_planning

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cpuctl.engine.admission import Admission
    from cpuctl.engine.explain.scenario import Replay, Runs, Scenario, Starter
    from cpuctl.engine.start import StartResult
    from cpuctl.inputs.pod_choice import PodChoice
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.cadvisor.machine_info import MachineInfo
    from cpuctl.pods.model import StoredPod

app = command_group()

HELP = """Why a pod is admitted or rejected, and what would change that.

POD is NAME, NAMESPACE/NAME or NAMESPACE/NAME/CONTAINER. Without it the first pod that is not admitted is
explained, or the only one. A pod of --pods runs already: it is looked at again as after a restart. Where a
resize of it is pending, its outcome is told, too, with what the reference implementation of KEP-5554 does
instead; cpuctl resize tells it of any other resize.

Shows what every hint provider offered, what was free on each NUMA node, and the rule that decided. For a
pod that is not admitted the engine then tries other requests, settings, an order, and pods removed: what
is printed has been run and admits the pod.

Examples:

\b
  cpuctl explain -f pods.yaml               # the first pod that is rejected
  cpuctl explain shop/database -m node7.tar.xz -f pods/ -o json
  cpuctl explain web -m node7.tar.xz -T 'web=12/12,2Gi'
  cpuctl explain shop/db --state /var/lib/kubelet --pods running.json

Exit codes: 0 the pod is admitted, 3 it is not or the kubelet would not start (with --exit-zero 0),
2 usage, 4 unusable input.
"""

PodArgument = Annotated[str, typer.Argument(metavar="[POD]", help="The pod, and perhaps container.")]


@app.command(name="explain", help=HELP, cls=KubeletCommand)
def explain(
    context: typer.Context,
    pod: PodArgument = "",
    filename: PodFilesOption = [],  # noqa: B006  # typer copies it
    template: TemplateOption = [],  # noqa: B006
    machine: MachineOption = "live",
    state: StateOption = "",
    pods: RunningPodsOption = "",
    devices: DevicesOption = "",
    assume_devices: AssumeDevicesOption = False,
    ephemeral_storage: EphemeralStorageOption = "",
    memory: MemoryOption = "",
    skip_api_server: SkipApiServerOption = False,
    include_completed: IncludeCompletedOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Read, decide, answer."""
    style = Style(output, color=not no_color, quiet=quiet)
    words = PlanningInputs(
        filenames=filename,
        templates=template,
        machine=machine,
        kubelet=kubelet_words(context),
        state=state,
        pods=pods,
        devices=devices,
        ephemeral_storage=ephemeral_storage,
        memory=memory,
        skip_api_server=skip_api_server,
        include_completed=include_completed,
        assume_devices=assume_devices,
    )
    planning = read_planning(words, pods_needed=not (pod and pods))
    document = _explained(planning, pod, style)
    tell_sources(planning.sources, style)
    emit(document, style)
    if not exit_zero and document.get("pod", {}).get("outcome") != "Admitted":
        raise typer.Exit(EXIT_NO)


def _explained(planning: Planning, text: str, style: Style) -> Document:
    from cpuctl.cli.answers.explain.explain_answer import explanation_document, not_started_document
    from cpuctl.cli.answers.plan.mixed_cores import mixed_cores
    from cpuctl.cli.answers.plan.planned_answer import planning_head
    from cpuctl.cli.command_lines import planning_command
    from cpuctl.cli.progress import ProgressBar
    from cpuctl.engine.explain.explanation import explain
    from cpuctl.engine.explain.scenario import REMEMBERED, Replay, Runs, replay_scenario
    from cpuctl.inputs.pod_choice import PodChoice, choose_pod

    last = PodChoice(len(planning.wanted) - 1)
    choice = choose_pod(text, planning.wanted, planning.past.running, planning.ended) if text else last
    with ProgressBar(style) as bar:
        runs = Runs(tick=lambda: bar("trying changes", 0, 0))
        replay = replay_scenario(_scenario(planning, choice), runs, REMEMBERED if text else 1)
        if isinstance(replay, Replay):
            # From here on the scenario is replayed without its warnings, which have been heard.
            quiet = replay.scenario._replace(start=partial(planning.start, sources=Sources()))
            if text:
                replay = replay._replace(scenario=quiet)
            else:
                replay = replay_scenario(quiet._replace(asked=_first_refused(replay.admissions)), runs)
        if not isinstance(replay, Replay):
            return not_started_document(replay, planning_head(planning))
        explanation = explain(replay, runs.tick)
        pages = _more_pages(planning, replay, runs)
    name = _unmistakable(replay.scenario.pod, (*planning.wanted, *planning.past.running))
    ask_with = partial(planning_command, planning.inputs, ("explain", name))
    resize = _pending_resize(planning, replay.scenario.pod.uid) if choice.running else None
    return {
        **explanation_document(explanation, choice.container, ask_with, planning_head(planning)),
        "mixedCores": list(mixed_cores(planning.source.machine, [replay.admission])),
        "resize": resize,
        **pages,
    }


def _pending_resize(planning: Planning, uid: str) -> Document | None:
    """Describe what becomes of the resize that is pending of a pod that runs; None where there is none."""
    from cpuctl.cli.answers.resize.resize_answer import decision_document
    from cpuctl.cli.command_lines import planning_command
    from cpuctl.operations.resize import pending_resize

    pending = pending_resize(planning, uid)
    if pending is None:
        return None
    decision = decision_document(pending.attempted, pending.rules.release)
    return {**decision, "command": planning_command(planning.inputs, ("resize",))}


def _more_pages(planning: Planning, replay: "Replay", runs: "Runs") -> dict[str, Any]:
    """Tell what huge pages would do.

    A kubelet refuses a memory_manager_state that was written with other pages: it starts without the file and
    admits again what runs, which has to be known for that.
    """
    from cpuctl.engine.outcome import Admitted

    past, again = planning.past, replay.scenario.restarted
    stale = past.files.memory is not None and planning.kubelet.config.memory_manager_policy == "Static"
    if isinstance(replay.admission.verdict, Admitted) or (stale and not past.known):
        return {}

    from cpuctl.cli.answers.explain.suggestion_answer import pages_answer
    from cpuctl.engine.explain.searches.huge_pages import more_huge_pages

    def start_on(info: "MachineInfo") -> "Starter":
        source = planning.source._replace(info=info)
        without = past._replace(files=past.files._replace(memory=None))
        changed = planning._replace(source=source, past=without)
        if stale and not again:
            return partial(_with_memory_anew, changed)
        return partial(changed.start, sources=Sources())

    found = more_huge_pages(replay, planning.source.info, start_on, runs)
    return pages_answer(found, without_state=stale)


def _with_memory_anew(planning: Planning, kubelet: "Kubelet") -> "StartResult":
    """Start without a memory state, and give running pods memory again; all must get theirs."""
    from cpuctl.engine.node import Node
    from cpuctl.engine.outcome import Admitted, Undetermined

    node = planning.start(kubelet, Sources())
    if isinstance(node, Node):
        for each in node.readmit(planning.past.granted):
            if not isinstance(each.verdict, Admitted):
                return Undetermined(f"pod {each.pod.full_name}, which runs, is not admitted again")
    return node


def _unmistakable(pod: "StoredPod", pods: "Iterable[StoredPod]") -> str:
    """Name a pod so that it is found again: by its UID where others have its name."""
    same = {each.uid for each in pods if each.full_name == pod.full_name}
    return pod.full_name if len(same) == 1 else pod.uid


def _scenario(planning: Planning, choice: "PodChoice") -> "Scenario":
    from cpuctl.engine.explain.scenario import Scenario

    return Scenario(
        start=partial(planning.start, sources=planning.sources),
        kubelet=planning.kubelet,
        pods=planning.past.granted if choice.running else planning.wanted,
        asked=choice.place,
        restarted=choice.running,
    )


def _first_refused(admissions: "Sequence[Admission]") -> int:
    """Find the first pod that is not admitted, or the only one."""
    from cpuctl.engine.outcome import Admitted
    from cpuctl.inputs.pod_choice import few_names

    refused = (place for place, each in enumerate(admissions) if not isinstance(each.verdict, Admitted))
    place = next(refused, None)
    if place is None and len(admissions) > 1:
        message = f"all {len(admissions)} pods are admitted, and none is named"
        names = few_names(each.pod.full_name for each in admissions)
        raise UsageError(message, hint=f"name the one to explain: {names}")
    return place or 0
