"""``cpuctl fleet plan``: where the scheduler sends pods, and what the kubelets there decide about them."""

from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl import option_names
from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.fleet.common import FleetSelection, ask_fleet, fleet_inputs, note_assumed
from cpuctl.cli.fleet.options import (
    NAMED_AFTER_NODE,
    FleetPodsOption,
    JobsOption,
    MaybeRecordingsArgument,
    SchedulerOption,
    TopologiesOption,
)
from cpuctl.cli.kubelet_options import KubeletCommand
from cpuctl.cli.notes import print_sources
from cpuctl.cli.options import (
    DevicesOption,
    DriverArgsOption,
    ExitZeroOption,
    NoColorOption,
    PodFilesOption,
    PolicyOption,
    QuietOption,
    SkipApiServerOption,
    TemplateOption,
)
from cpuctl.cli.output import ListOutput, Style, emit, note
from cpuctl.cli.panels import INPUT, OUTPUT
from cpuctl.cli.progress import ProgressBar
from cpuctl.errors import InputError, UsageError
from cpuctl.inputs.pods import read_rounds
from cpuctl.inputs.sources import Sources
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.answers.fleet_plan import FleetPlan, FleetPod
    from cpuctl.fleet.plan_inputs import FleetPlanInputs
    from cpuctl.fleet.plan_nodes import FleetInputs
    from cpuctl.fleet.rejected_pod import ExplainingCommand
    from cpuctl.operations.policies import ChosenPolicy

app = command_group()

HELP = """Dry-run pods on a fleet: where they go, and which nodes reject them.

Shows for each pod which node the scheduler chooses, and whether the kubelet there admits it. The default
scheduler uses Node objects (--nodes): allocatable resources, taints and labels; without them, what the
kubelet of each recording would report, without taints and labels. Node objects also provide the kubelet
version if a recording does not have it. Running pods come from --pods; without it, only those in state files
are considered.

Pods that a kubelet rejects are listed first: why, what happens next, and which nodes would have admitted
them. A DaemonSet adds a pod to every node that it selects and tolerates, before other pods of the same
priority, unless one already runs there. Pods with a nodeName go straight to that node's kubelet. Replicas are
spread over nodes and zones, as the scheduler does by default. Not considered: affinity to other pods,
topology spread constraints, Services that spread pods without a controller, host ports, volumes, images and
preemption. Pods with resource claims go to nodes on which these can be allocated: -f also takes
ResourceClaims, DeviceClasses and ResourceSlices; --driver-args are the flags of the dra.cpu driver.

--scheduler-plugin adds NodeResourceTopologyMatch, which filters and scores nodes by their
NodeResourceTopologies (--nrt); without these, by what the resource topology exporter would publish, updated
after every pod. Pods that the plugin keeps off a node whose kubelet would admit them, or allows on one whose
kubelet rejects them, are then listed first. Options follow the name, separated by commas:
strategy=LeastAllocated (the default), MostAllocated, BalancedAllocation or LeastNUMANodes; weights such as
cpu=3; cache=reserve for the reserve cache, which subtracts a pod's requests from every zone of its node. With
--nrt and --nodes but no recordings, only the scheduler decides.

With --policy, a policy (plugin) chooses CPUs instead of the kubelets of all nodes. The scheduler sets the
order of pods; policies that evict pods are not supported.

A plan covers all nodes together: an interrupted plan cannot be resumed.

Examples:

\b
  cpuctl fleet plan recordings/ -f pods.yaml
  cpuctl fleet plan recordings/ -T 'db=8/8,32Gi' --repeat max
  kubectl get nodes -o json > nodes.json
  kubectl get pods -A -o json > pods.json
  cpuctl fleet plan recordings/ --nodes nodes.json --pods pods.json -f new/
  cpuctl fleet plan recordings/ --nodes nodes.json --pods pods.json \\
      --drain node7
  cpuctl fleet plan recordings/ -f pods.yaml -o jsonl | jq -r .outcome
  cpuctl fleet plan recordings/ -f pods.yaml \\
      --scheduler-plugin noderesourcetopologymatch
  kubectl get noderesourcetopologies -o json > nrt.json
  cpuctl fleet plan --nodes nodes.json --nrt nrt.json -f pods.yaml \\
      --scheduler-plugin noderesourcetopologymatch,strategy=MostAllocated

Exit codes: 0 every pod is admitted (scheduled), 3 a pod is not (with --exit-zero 0), 2 usage, 4 a recording
or another input cannot be used (all others are planned; with --exit-zero 0 for recordings), 130 interrupted.
"""

PlanNodesOption = Annotated[
    str,
    typer.Option(
        option_names.NODES,
        metavar="FILE",
        help="Nodes (kubectl get nodes -o json), for allocatable resources, taints, labels, and kubelet "
        f"versions that recordings do not have. {NAMED_AFTER_NODE}",
        rich_help_panel=INPUT,
    ),
]
DrainOption = Annotated[
    list[str],
    typer.Option(
        "--drain",
        metavar="NODE",
        help="Drain this node: its pods, except static and DaemonSet pods, are planned on other nodes first.",
    ),
]
WithoutOption = Annotated[
    list[str],
    typer.Option("--without", metavar="NODE", help="Ignore this node and everything that runs on it."),
]
CopiesOption = Annotated[
    str,
    typer.Option(
        option_names.REPEAT,
        metavar="N|max",
        help="Plan the pods N times; max: as many times as all of them fit. DaemonSets are planned once.",
    ),
]

PlanOutputOption = Annotated[
    ListOutput,
    typer.Option("-o", "--output", help="Output format; jsonl is one pod per line.", rich_help_panel=OUTPUT),
]


PluginOption = Annotated[
    str,
    typer.Option(
        "--scheduler-plugin",
        metavar="NAME[,...]",
        help="Add a scheduler plugin, noderesourcetopologymatch, with its options.",
    ),
]


@app.command(name="plan", help=HELP, cls=KubeletCommand)
def plan(
    context: typer.Context,
    recordings: MaybeRecordingsArgument = [],  # noqa: B006  # typer copies it
    filename: PodFilesOption = [],  # noqa: B006  # typer copies it
    template: TemplateOption = [],  # noqa: B006
    nodes: PlanNodesOption = "",
    pods: FleetPodsOption = "",
    nrt: TopologiesOption = "",
    devices: DevicesOption = "",
    driver_args: DriverArgsOption = "",
    scheduler_plugin: PluginOption = "",
    drain: DrainOption = [],  # noqa: B006
    without: WithoutOption = [],  # noqa: B006
    repeat: CopiesOption = "",
    skip_api_server: SkipApiServerOption = False,
    policy: PolicyOption = "",
    jobs: JobsOption = 0,
    scheduler: SchedulerOption = "",
    output: PlanOutputOption = ListOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Survey the nodes, plan the pods and print the answer."""
    from cpuctl.fleet.plan_inputs import FleetPlanInputs
    from cpuctl.fleet.topology_plugin import PluginOptions

    _refuse_unknown_nodes(recordings, nodes=nodes, nrt=nrt, plugin=scheduler_plugin)
    inputs = FleetPlanInputs(
        kubelet=fleet_inputs(context, *recordings, *filename, nodes, pods, nrt, devices),
        filenames=filename,
        templates=template,
        nodes=nodes,
        pods=pods,
        devices=devices,
        drained=drain,
        without=without,
        rounds=read_rounds(repeat),
        asks_server=not skip_api_server,
        plugin=PluginOptions.parse(scheduler_plugin) if scheduler_plugin else None,
        topologies=nrt,
        driver_arguments=driver_args,
        policy=_policy(policy),
    )
    style, sources = Style(output, color=not no_color, quiet=quiet), Sources()
    document, surveyed = _planned(
        inputs, FleetSelection(recordings, jobs, scheduler=scheduler), style, sources
    )
    _add_next(document, _next(document, recordings, inputs, surveyed))
    print_sources(sources, style)
    _note_policy(document, style)
    emit(document, style)
    if document["summary"]["unreadable"] and not exit_zero:
        raise typer.Exit(InputError.exit_code)
    summary = document["summary"]
    served = all(map(_is_served, document["pods"]))
    if not exit_zero and not (served and summary["admitted"] + summary["scheduled"] == summary["pods"]):
        raise typer.Exit(EXIT_NO)


def _add_next(document: "FleetPlan", following: "ExplainingCommand | None") -> None:
    if following is not None:
        document["next"] = following.command
        if following.also_plans:
            document["nextAlsoPlans"] = list(following.also_plans)
        if following.leaves_out:
            document["nextLeavesOut"] = list(following.leaves_out)


def _next(
    document: "FleetPlan", recordings: list[str], inputs: "FleetPlanInputs", surveyed: "FleetInputs"
) -> "ExplainingCommand | None":
    """Return the command that explains what keeps pods from the nodes, None without one."""
    from cpuctl.fleet.rejected_pod import ExplainingCommand, explaining_command
    from cpuctl.operations.command_lines import STARTS, fleet_command

    summary = document["summary"]
    if summary["wouldNotStart"] or summary["startUndetermined"]:
        return ExplainingCommand(fleet_command(STARTS, recordings, inputs.kubelet, inputs.nodes))
    if summary["rejected"] and (command := explaining_command(document, inputs, surveyed)):
        return command
    if recordings and (summary["pending"] or summary["rejected"]):
        return ExplainingCommand(fleet_command(("list",), recordings, inputs.kubelet, inputs.nodes))
    return None


def _is_served(pod: "FleetPod") -> bool:
    """Return whether a pod starts with its resource claims, and its CPUs are known."""
    return "claimProblem" not in pod and None not in pod.get("claims", {}).values()


def _policy(text: str) -> "ChosenPolicy | None":
    if not text:
        return None

    from cpuctl.operations.policies import choose_for_many

    return choose_for_many(text)


def _note_policy(document: "FleetPlan", style: Style) -> None:
    """Report that a policy decides, if the form of the answer has no field for it."""
    if style.output is ListOutput.JSONL and "policy" in document:
        from cpuctl.exports.outcomes import what_if_sentence

        note(what_if_sentence(document["policy"]), style)


def _refuse_unknown_nodes(recordings: list[str], *, nodes: str, nrt: str, plugin: str) -> None:
    """Raise UsageError if no nodes are named, or if objects are given that nothing reads."""
    if nrt and not plugin:
        hint = "add --scheduler-plugin noderesourcetopologymatch"
        raise UsageError("requires --scheduler-plugin", where="--nrt", hint=hint)
    if not recordings and not (nrt and nodes):
        hint = (
            "specify recordings (cpuctl capture FILE records a node), or use --nodes, --nrt and "
            "--scheduler-plugin noderesourcetopologymatch"
        )
        raise UsageError("no recordings specified", where="RECORDINGS", hint=hint)


def _planned(
    inputs: "FleetPlanInputs", fleet: FleetSelection, style: Style, sources: Sources
) -> "tuple[FleetPlan, FleetInputs]":
    """Plan the pods; also return the inputs with which the nodes were evaluated."""
    from cpuctl.fleet.plan_answer import fleet_plan_document
    from cpuctl.fleet.plan_inputs import given_pods, load_cluster
    from cpuctl.fleet.plan_nodes import NodeSurveyor

    cluster, given = load_cluster(inputs, sources), given_pods(inputs, sources)
    surveyed = cluster.fleet_inputs(inputs, given.pods)
    surveyor = NodeSurveyor(surveyed)
    rows = []
    if fleet.recordings:
        answers = ask_fleet(fleet, surveyor, replace(style, output=ListOutput.JSON))
        if answers.stopped:
            raise typer.Exit(answers.stopped)
        rows = answers.rows
        note_assumed(rows, style)
    with ProgressBar(style) as progress:
        document = fleet_plan_document(
            inputs, given, cluster, rows, sources, lambda done, total: progress("planning pods", done, total)
        )
    return document, surveyed
