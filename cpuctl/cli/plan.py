"""``cpuctl plan``: what a kubelet would decide about pods, and why."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl import option_names
from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.notes import print_sources, report_failed_start
from cpuctl.cli.options import (
    ExitZeroOption,
    ForceStateOption,
    NoColorOption,
    PolicyOption,
    QuietOption,
    WriteStateOption,
)
from cpuctl.cli.output import Style, emit, note, report_written
from cpuctl.cli.panels import OUTPUT
from cpuctl.cli.pictures import HTML, SVG, HtmlOption, MachineSvgOption, Pictures
from cpuctl.cli.planning_options import PlanningCommand, planning_inputs
from cpuctl.cli.progress import ProgressBar
from cpuctl.cli.publishing import PublisherOption, emit_topology, refuse_publisher
from cpuctl.cli.subjects import Subject, about
from cpuctl.engine.ordering import PodOrder
from cpuctl.errors import UsageError
from cpuctl.inputs.sources import Sources
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.operations.plan import Planner, PlanOptions, warn_of_order
from cpuctl.operations.plan_inputs import Planning, PlanningInputs, read_planning
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from cpuctl.answers.plan import ComparedPod, NotStartedPlan, PlanComparison, StartedPlan
    from cpuctl.answers.values import Metrics
    from cpuctl.engine.start import StartResult
    from cpuctl.operations.plan import Rounds


class PlanOutput(StrEnum):
    """The forms of a plan: those of an answer with metrics, and forms for other programs.

    The latter are the resulting NodeResourceTopology, answers to a container runtime (NRI), and what programs
    need to carry out the plan.
    """

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    PROM = "prom"
    NRT = "nrt"
    NRI = "nri"
    MEMORY_QOS = "memory-qos"
    BALLOONS = "balloons"
    CRICTL = "crictl"
    SYSTEMD = "systemd"


FOR_RUNTIMES = frozenset(
    {
        PlanOutput.NRI,
        PlanOutput.MEMORY_QOS,
        PlanOutput.BALLOONS,
        PlanOutput.CRICTL,
        PlanOutput.SYSTEMD,
    }
)
"""The forms with which other programs carry out a plan."""
_WRITERS: Mapping[str, str] = {
    PlanOutput.NRI: "the plugin",
    PlanOutput.MEMORY_QOS: "the plugin",
    PlanOutput.BALLOONS: "the plugin",
    PlanOutput.CRICTL: "such a script",
}
"""The forms whose readers write CPU sets, as the kubelet's static policy does."""

PlanOutputOption = Annotated[
    PlanOutput,
    typer.Option(
        "-o",
        "--output",
        metavar="FORMAT",
        help="Output format: table, wide, json, yaml; prom: the kubelet's metrics; nrt: the "
        "NodeResourceTopology that an exporter would publish; nri: what an NRI plugin would answer the "
        "container runtime. To apply the plan: memory-qos and balloons (for NRI plugins), crictl (a "
        "script), systemd (drop-ins).",
        rich_help_panel=OUTPUT,
    ),
]
OrderOption = Annotated[
    PodOrder,
    typer.Option(
        "--order",
        metavar="ORDER",
        help="Order of the pods: given, priority (highest first), qos (Guaranteed, Burstable, BestEffort), "
        "or largest-first (by exclusive CPUs, then memory).",
    ),
]
RepeatOption = Annotated[
    str,
    typer.Option(
        option_names.REPEAT,
        metavar="N|max",
        help="Plan the pods N times; copies are named NAME-2, NAME-3, ... max: as many times as all of "
        "them fit.",
    ),
]
CapacityOption = Annotated[
    bool,
    typer.Option(
        option_names.CAPACITY,
        help="Also show what else fits: copies, the largest requests, how fragmented the free CPUs are, and "
        "which pods to move to make room for rejected ones.",
    ),
]
CompareOption = Annotated[
    tuple[str, str] | None,
    typer.Option(
        option_names.COMPARE,
        metavar="A B",
        help="Compare two kubelets side by side. Each is a list of changes to the configuration, such as "
        "restricted,pod,1.37 or full-pcpus-only=false,kubeReserved.cpu=2; a configuration file, "
        "optionally with such a list; a policy (as --policy); or . for unchanged.",
    ),
]


_OF_TWO = frozenset({PlanOutput.TABLE, PlanOutput.WIDE, PlanOutput.JSON, PlanOutput.YAML})
"""The forms of a comparison."""


def _refuse_clash(
    settings: tuple[str, str] | None, files: Mapping[str, str], output: str, policy: str = ""
) -> None:
    """Raise UsageError for options that a comparison of two nodes does not support.

    Also if a *policy* decides and the form would be mistaken for a kubelet's answer. *files* are the files to
    be written, by option.
    """
    kubelets_own = output in (PlanOutput.PROM, PlanOutput.NRT)
    if policy and (kubelets_own or files["--write-state"]):
        where = f"-o {output}" if kubelets_own else "--write-state"
        message = "cannot be used with --policy: no kubelet decides like a policy"
        raise UsageError(message, where=where, hint="omit one of them")
    options = [option for option, name in files.items() if name]
    if settings is not None and (output not in _OF_TWO or options):
        raise UsageError(
            "cannot be used with --compare, which makes two plans",
            where=options[0] if output in _OF_TWO else f"-o {output}",
            hint="run cpuctl plan again with the settings you choose",
        )


app = command_group()

HELP = """Dry-run pods: which CPUs each container would get, and why.

Pods are admitted one after the other, those of -f and then those of -T in the order given (or --order), on
the node as its kubelet left it (--state): on this host, or in a recording that has state files. Otherwise, or
with --state none, the node is empty. Nothing is changed on the node.

CORE shows whether a container has all CPUs of its cores; L3, NUMA and SOCKET whether all its CPUs are in one
L3 cache, NUMA node and socket, as the kubelet counts them (cpuctl topology shows where the kernel differs).

--capacity shows what else fits, even without pods; --repeat shows how many copies fit, --compare what changes
between two kubelets. The number of attempts is limited; the output shows whether the limit was reached.

If a pod is rejected, run cpuctl explain POD with the same input and kubelet options next.

Examples:

\b
  sudo cpuctl plan -f pods.yaml   # on this host, as its kubelet left it
  cpuctl plan -m node7.tar.xz --kubelet-config kubelet.yaml -f pods/
  kubectl get pods -A -o json --field-selector spec.nodeName=node7 |
      sudo cpuctl plan --state none -f -
  cpuctl plan -m node7.tar.xz -T 'web=4/4,2Gi x3' -o json
  sudo cpuctl plan --pods running.json -f new.yaml
  sudo cpuctl plan --state /var/lib/kubelet --pods running.json -o prom
  cpuctl plan -m node7.tar.xz -f pods.yaml -o nrt
  cpuctl plan -m node7.tar.xz -f pods.yaml --policy koordinator -o nri
  cpuctl plan -m node7.tar.xz -f pods.yaml -o crictl > move.sh
  cpuctl plan -m node7.tar.xz -f pods.yaml --devices devices.yaml
  cpuctl plan -m node7.tar.xz -f pods/ --svg cpus.svg --html report.html
  sudo cpuctl plan -f pods.yaml --order largest-first --capacity
  sudo cpuctl plan -f app.yaml --repeat max
  sudo cpuctl plan -f pods.yaml --compare 1.36 1.37
  sudo cpuctl plan -f pods.yaml --compare . restricted,pod,full-pcpus-only
  sudo cpuctl plan -f pods.yaml --compare a.yaml b.yaml
  cpuctl plan -m node7.tar.xz -f pods.yaml --policy koordinator,bind=spread
  cpuctl plan -m node7.tar.xz -f pods.yaml --compare . ./mine.py:Mine

Exit codes: 0 every pod is admitted (with --repeat max: at least once; with --compare: on both sides), 3 a pod
is not admitted or does not start with its resource claims, their CPUs are unknown, or the kubelet would not
start (with --exit-zero 0), 2 usage, 4 unusable input, 5 permission denied or files could not be
written, 6 files were written, but printing the answer or undoing the change failed.
"""


@app.command(name="plan", help=HELP, cls=about(Subject.PODS, PlanningCommand))
def plan(
    context: typer.Context,
    policy: PolicyOption = "",
    order: OrderOption = PodOrder.GIVEN,
    repeat: RepeatOption = "",
    capacity: CapacityOption = False,
    compare: CompareOption = None,
    svg: MachineSvgOption = "",
    html: HtmlOption = "",
    write_state: WriteStateOption = "",
    force: ForceStateOption = False,
    publisher: PublisherOption = "rte",
    output: PlanOutputOption = PlanOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Read the inputs, decide and print the answer."""
    from cpuctl.operations.state_writing import changing

    style, sources = Style(output, color=not no_color, quiet=quiet), Sources()
    refuse_publisher(publisher, style)
    pictures = Pictures.requested({SVG: svg, HTML: html}, style, replace=force)
    _refuse_clash(compare, {"--write-state": write_state, **pictures.files}, output, policy)
    inputs = planning_inputs(context, policy)
    planner_of = partial(_planner, order=order, repeat=repeat, capacity=capacity)
    with changing(write_state):
        with _answering_unloaded(inputs, sources, compare, planner_of, style, exit_zero=exit_zero):
            needed = not (inputs.state or (capacity and compare is None))
            planning = _read(inputs, sources, pods_needed=needed, written=bool(write_state))
        planned = _planned(planner_of(planning), compare, style)
        print_sources(planning.sources, style)
        _write(write_state, planning, planned, style, force=force)
    _answer(planning, planned, pictures, publisher, style)
    if not exit_zero and not _all_admitted(planned.document):
        raise typer.Exit(EXIT_NO)


def _planner(planning: Planning, *, order: PodOrder, repeat: str, capacity: bool) -> Planner:
    return Planner(planning, PlanOptions(order, _rounds(repeat, len(planning.incoming)), capacity))


def _rounds(text: str, pods: int) -> "Rounds | None":
    """Parse ``--repeat`` as a number of pods."""
    if not text:
        return None

    from cpuctl.engine.capacity.repetition import MAX_PODS
    from cpuctl.inputs.pods import read_rounds

    if not pods:
        hint = "add pods with -f or -T"
        raise UsageError("found no pods to repeat", where=option_names.REPEAT, hint=hint)
    return read_rounds(text, max(MAX_PODS // pods, 1))


def _answer(planning: Planning, planned: "Planned", pictures: Pictures, publisher: str, style: Style) -> None:
    """Draw the pictures, and write the answer or the object of *publisher*, unless a picture replaces it."""
    _draw(pictures, planning, planned)
    if pictures.instead:
        return
    if style.output is PlanOutput.NRT:
        emit_topology(planning, planned.node, publisher, style)
        _name_others(planned, style)
    elif style.output in FOR_RUNTIMES:
        _emit_for_runtime(planned.document, planned.node, style)
        _name_others(planned, style)
    else:
        _emit(planned.document, style)


def _emit_for_runtime(
    plan: "StartedPlan | NotStartedPlan | PlanComparison", node: "StartResult | None", style: Style
) -> None:
    """Write the form that carries out a plan; report other writers of CPU sets, or why there is no plan."""
    from cpuctl.answering.plan.nri_answer import nri_document, written_by_kubelet
    from cpuctl.engine.node import Node

    assert plan["kind"] == "Plan", "two sides are refused before"
    if written_by_kubelet(plan) and (who := _WRITERS.get(style.output)):
        note(f"note: the kubelet's static policy also writes CPU sets: use it or {who}, not both", style)
    unused = "policy" in plan["kubelet"]  # a warning has said so, and what to do
    if "after" in plan and plan["kubelet"]["cpuManagerPolicy"] == "none" and not unused:
        from cpuctl.operations.policies import AS_STATIC, NO_EXCLUSIVE_CPUS

        note(f"warning: {NO_EXCLUSIVE_CPUS}: {AS_STATIC}", style)
    answers = nri_document(plan, node if isinstance(node, Node) else None)
    if style.output == PlanOutput.NRI:
        emit(answers, style)
        return
    if "after" not in plan:
        report_failed_start(plan["start"], plan.get("next", ""))
        return

    from cpuctl.answering.plan.carrying_out import WAYS, carried

    sys.stdout.write(WAYS[style.output](carried(answers, plan), plan))


def _name_others(planned: "Planned", style: Style) -> None:
    """List the pods that an answer for other programs leaves out: they are why the exit code is 3."""
    from cpuctl.exports.answer_text import full_name
    from cpuctl.exports.outcomes import rejection_text

    for pod in planned.document["pods"] if planned.document["kind"] == "Plan" else []:
        if pod["outcome"] != "Admitted":
            note(f"warning: {full_name(pod)} is omitted: {rejection_text(pod)}", style)


def _draw(pictures: Pictures, planning: Planning, planned: "Planned") -> None:
    if pictures and planned.document["kind"] == "Plan":
        from cpuctl.cli.plan_page import draw

        draw(pictures, planning, planned.document, planned.node)


def _write(directory: str, planning: Planning, planned: "Planned", style: Style, *, force: bool) -> None:
    from cpuctl.operations.state_writing import write_state

    report_written(write_state(directory, planned.node, planning.kubelet, force=force), style)


def _emit(document: "StartedPlan | NotStartedPlan | PlanComparison", style: Style) -> None:
    if style.output is PlanOutput.NRT and document["kind"] != "PlanComparison":
        report_failed_start(document["start"], document.get("next", "") if "after" not in document else "")
        return
    if style.output in FOR_RUNTIMES:
        _emit_for_runtime(document, None, style)
        return
    emit(_metrics(document) if style.output is PlanOutput.PROM else document, style)


@contextmanager
def _answering_unloaded(
    inputs: PlanningInputs,
    sources: Sources,
    compared: tuple[str, str] | None,
    planner_of: Callable[[Planning], Planner],
    style: Style,
    *,
    exit_zero: bool,
) -> Iterator[None]:
    """Print the answer for a kubelet that cannot load its configuration: nothing to write or to draw."""
    try:
        yield
    except ConfigRefusedError as refused:
        document = _unloaded(refused, inputs, sources, compared, planner_of)
        print_sources(sources, style)
        _emit(document, style)
        raise typer.Exit(0 if exit_zero else EXIT_NO) from None


def _unloaded(
    refused: ConfigRefusedError,
    inputs: PlanningInputs,
    sources: Sources,
    compared: tuple[str, str] | None,
    planner_of: Callable[[Planning], Planner],
) -> "NotStartedPlan | PlanComparison":
    """Report a kubelet that cannot load its configuration: nothing is planned for it or written."""
    from cpuctl.answering.config.parts import unloaded_header
    from cpuctl.answering.plan.plan_answer import not_started_document
    from cpuctl.answering.plan.plan_document import unloaded_comparison
    from cpuctl.operations.comparison import compare_unloaded

    if compared is not None:
        needed = not inputs.state
        sides = compare_unloaded(inputs, compared, sources, planner_of, pods_needed=needed)
        return unloaded_comparison(sides, sources)
    header = unloaded_header(sources)
    return not_started_document(
        refused.whole_refusal, {"sources": header["sources"], "kubelet": header["kubelet"]}
    )


def _read(inputs: PlanningInputs, sources: Sources, *, pods_needed: bool, written: bool) -> Planning:
    planning = read_planning(inputs, pods_needed=pods_needed, sources=sources)
    if written:
        planning.sources.require_configuration()
    return planning


class Planned(Record):
    """An answer, and the resulting node; None if there is more than one."""

    document: "StartedPlan | NotStartedPlan | PlanComparison"
    node: "StartResult | None"


def _planned(planner: Planner, settings: tuple[str, str] | None, style: Style) -> Planned:
    """Plan on the described kubelet or, with two settings, on both kubelets that result from them."""
    from cpuctl.answering.plan.plan_document import compared_document, planned_document
    from cpuctl.operations.command_lines import explain_command

    planning = planner.planning
    warn_of_order(planning, planner.options.order)
    with ProgressBar(style) as progress:
        planner = replace(planner, progress=progress)
        if settings is not None:
            from cpuctl.operations.comparison import compare

            return Planned(compared_document(planner, compare(planner, settings)), None)
        plan = planner.plan(planning.kubelet, planning.sources)
        explain = explain_command(planner, plan, planning.inputs)
        return Planned(planned_document(planner, plan, planning.sources, explain), plan.node)


def _metrics(document: "StartedPlan | NotStartedPlan | PlanComparison") -> "Metrics":
    """List the metrics of a plan; no metric shows why a kubelet would not start."""
    from cpuctl.answering.metrics import plan_metrics

    if document["kind"] == "PlanComparison":
        return {"metrics": []}
    if document["start"]["outcome"] != "Started":
        report_failed_start(document["start"], document.get("next", ""))
    return {"metrics": list(plan_metrics(document))}


def _served_twice(pod: "ComparedPod") -> bool:
    """Return whether a pod is admitted on every side, and the CPUs of its claims are known."""
    verdicts = (verdict for verdict in (pod["a"], pod["b"]) if verdict)
    claims = (each for claim in pod.get("claims", ()) for each in (claim["a"], claim["b"]) if each)
    unknown = "claimProblems" in pod or any("whyUnknown" in claim for claim in claims)
    return not unknown and all(verdict["outcome"] == "Admitted" for verdict in verdicts)


def _all_admitted(document: "StartedPlan | NotStartedPlan | PlanComparison") -> bool:
    """Return whether the kubelet starts and admits every pod; with two kubelets, whether both do."""
    from cpuctl.exports.outcomes import is_served

    if document["kind"] == "PlanComparison":
        sides = (document["a"], document["b"])
        started = all(side["start"]["outcome"] == "Started" for side in sides)
        return started and all(map(_served_twice, document["pods"]))
    started = document["start"]["outcome"] == "Started"
    return started and all(map(is_served, document["pods"]))
