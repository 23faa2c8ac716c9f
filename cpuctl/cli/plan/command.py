"""``cpuctl plan``: what a kubelet would decide about pods, and why."""

from typing import TYPE_CHECKING, NamedTuple

import typer

from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_words
from cpuctl.cli.notes import tell_sources
from cpuctl.cli.options import (
    AssumeDevicesOption,
    DevicesOption,
    EphemeralStorageOption,
    ExitZeroOption,
    ForceStateOption,
    IncludeCompletedOption,
    MachineOption,
    MemoryOption,
    MetricsOutputOption,
    NoColorOption,
    PodFilesOption,
    QuietOption,
    RunningPodsOption,
    SkipApiServerOption,
    StateOption,
    TemplateOption,
    WriteStateOption,
)
from cpuctl.cli.output import Document, MetricsOutput, Style, complain, emit, remember_all
from cpuctl.cli.pictures import HTML, SVG, MachineSvgOption, Pictures
from cpuctl.cli.plan.options import (
    CapacityOption,
    CompareOption,
    HtmlOption,
    OrderOption,
    RepeatOption,
    read_rounds,
    refuse_clash,
)
from cpuctl.cli.progress import ProgressBar
from cpuctl.engine.pod_order import PodOrder
from cpuctl.operations.plan import Planner, PlanOptions, warn_of_order
from cpuctl.operations.planning import Planning, PlanningInputs, read_planning

if TYPE_CHECKING:
    from cpuctl.engine.start import StartResult
    from cpuctl.operations.plan import Plan

app = command_group()

HELP = """Dry-run pods: which CPUs each container would get, and why.

Pods are admitted one after the other, in the order given or that of --order, on an empty node or, with
--state, on the node as its kubelet left it. Nothing is changed on the node.

--capacity, --repeat and --compare plan further: what else fits, how many copies do, and what moves between
two settings of the kubelet. What they try is bounded, and the answer names the bound.

Examples:

\b
  cpuctl plan -f pods.yaml        # on this host, with its own configuration
  cpuctl plan -m node7.tar.xz --kubelet-config kubelet.yaml -f pods/
  kubectl get pods -A -o json --field-selector spec.nodeName=node7 |
      cpuctl plan -f -
  cpuctl plan -m node7.tar.xz -T 'web=4/4,2Gi x3' -o json
  cpuctl plan --state /var/lib/kubelet --pods running.json -f new.yaml
  cpuctl plan --state /var/lib/kubelet --pods running.json -o prom
  cpuctl plan -m node7.tar.xz -f pods.yaml --devices devices.yaml
  cpuctl plan -m node7.tar.xz -f pods/ --svg cpus.svg --html report.html
  cpuctl plan -f pods.yaml --order largest-first --capacity
  cpuctl plan -f app.yaml --repeat max
  cpuctl plan -f pods.yaml --compare 1.36 1.37
  cpuctl plan -f pods.yaml --compare . restricted,pod,full-pcpus-only
  cpuctl plan -f pods.yaml --compare a.yaml b.yaml

Exit codes: 0 every pod is admitted (with --repeat max once, with --compare on both sides), 3 one is not or
the kubelet would not start (with --exit-zero 0), 2 usage, 4 unusable input, 5 nothing could be
written, 6 files are written, and that could not be said or undone.
"""


@app.command(name="plan", help=HELP, cls=KubeletCommand)
def plan(
    context: typer.Context,
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
    order: OrderOption = PodOrder.GIVEN,
    repeat: RepeatOption = "",
    capacity: CapacityOption = False,
    compare: CompareOption = None,
    svg: MachineSvgOption = "",
    html: HtmlOption = "",
    write_state: WriteStateOption = "",
    force: ForceStateOption = False,
    output: MetricsOutputOption = MetricsOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Read, decide, answer."""
    from cpuctl.operations.state_writing import changing

    style = Style(output, color=not no_color, quiet=quiet)
    pictures = Pictures.asked({SVG: svg, HTML: html}, style, replace=force)
    refuse_clash(compare, {"--write-state": write_state, **pictures.files}, output)
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
    with changing(write_state):
        planning = _read(words, pods_needed=not state, written=bool(write_state))
        rounds = read_rounds(repeat, len(planning.wanted))
        options = PlanOptions(order=order, rounds=rounds, capacity=capacity)
        warn_of_order(planning, order)
        with ProgressBar(style) as progress:
            planned = _planned(Planner(planning, options, progress), compare)
        tell_sources(planning.sources, style)
        _write(write_state, planning, planned, force=force)
    _draw(pictures, planning, planned)
    if not pictures.instead:
        emit(_with_all_metrics(planned.document) if output is MetricsOutput.PROM else planned.document, style)
    if not exit_zero and not _all_admitted(planned.document):
        raise typer.Exit(EXIT_NO)


def _draw(pictures: Pictures, planning: Planning, planned: "Planned") -> None:
    if pictures:
        from cpuctl.cli.plan.pictures import draw

        draw(pictures, planning, planned.document, planned.node)


def _write(directory: str, planning: Planning, planned: "Planned", *, force: bool) -> None:
    from cpuctl.operations.state_writing import write_state

    remember_all(write_state(directory, planned.node, planning.kubelet, force=force))


def _read(words: PlanningInputs, *, pods_needed: bool, written: bool) -> Planning:
    planning = read_planning(words, pods_needed=pods_needed)
    if written:
        planning.sources.require_configuration()
    return planning


class Planned(NamedTuple):
    """An answer, and the node afterwards; None where there is more than one."""

    document: Document
    node: "StartResult | None"


def _planned(planner: Planner, settings: tuple[str, str] | None) -> Planned:
    """Plan on the kubelet that is told of or, with two settings, on both that these make of it."""
    from cpuctl.cli.answers.plan.planned_answer import compared_document, planned_document

    planning = planner.planning
    if settings is not None:
        from cpuctl.operations.comparison import compare

        return Planned(compared_document(planner, compare(planner, settings)), None)
    plan = planner.plan(planning.kubelet, planning.sources)
    document = planned_document(planner, plan, planning.sources)
    return Planned({**document, **_explain(planner, plan)}, plan.node)


def _explain(planner: Planner, plan: "Plan") -> dict[str, str]:
    """Name the command that explains the first pod that is rejected, where it would see the same."""
    from cpuctl.cli.command_lines import planning_command
    from cpuctl.documents.files import STDIN

    inputs, refused = planner.planning.inputs, plan.refused
    again = planner.options.order is PodOrder.GIVEN and planner.options.rounds is None
    read_once = (*inputs.filenames, inputs.kubelet.config, inputs.state, inputs.pods, inputs.devices)
    if refused is None or not again or STDIN in read_once:
        return {}
    alike = [each.pod.uid for each in plan.admissions if each.pod.full_name == refused.full_name]
    name = refused.full_name if len(alike) == 1 else refused.uid
    return {"explain": planning_command(inputs, ("explain", name))}


def _with_all_metrics(document: Document) -> Document:
    """Add metrics; why a kubelet would not start none of them can tell."""
    from cpuctl.cli.answers.plan.metrics import with_room_metrics
    from cpuctl.exports.outcomes import start_sentence

    start = document["start"]
    if start["outcome"] != "Started":
        complain(start_sentence(start, "The kubelet"))
    return with_room_metrics(document)


def _all_admitted(document: Document) -> bool:
    """Tell whether the kubelet starts and admits every pod; of two kubelets, whether both do."""
    sides = ("a", "b") if document["kind"] == "PlanComparison" else ("",)
    starts = [document[side]["start"] if side else document["start"] for side in sides]
    pods = [pod[side] if side else pod for side in sides for pod in document["pods"]]
    started = all(start["outcome"] == "Started" for start in starts)
    return started and all(pod["outcome"] == "Admitted" for pod in pods if pod is not None)
