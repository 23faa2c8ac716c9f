"""``cpuctl cgroups``: the kubelet's control groups on a node."""

from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from cpuctl import option_names
from cpuctl.cli.app import EXIT_NO, verb_group
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_inputs
from cpuctl.cli.notes import observe, print_doubts, print_sources
from cpuctl.cli.options import (
    ExitCodeOption,
    NoColorOption,
    NodeMachineOption,
    NodeStateOption,
    OutputOption,
    QuietOption,
    RootOption,
    RunningPodsOption,
    RuntimeOption,
)
from cpuctl.cli.output import ListOutput, Output, Style, emit, emit_after_change
from cpuctl.cli.panels import INPUT, OUTPUT
from cpuctl.cli.progress import ProgressBar
from cpuctl.cli.subjects import Subject, about
from cpuctl.inputs.sources import Sources, refuse_stdin_twice

if TYPE_CHECKING:
    from cpuctl.answers.cgroups import CgroupsApply
    from cpuctl.cgroups.applying import Outcome
    from cpuctl.operations.cgroups.preparation import ApplyInputs, Preparation

HELP = """Show the kubelet's cgroups, and correct their CPU sets."""

app = verb_group("cgroups", HELP)


SHOW_HELP = """Show the tree of kubepods, with expected and actual values.

Shows CPUs, NUMA nodes, weights and quotas. Expected CPUs come from the kubelet's state; other values come
from the pods' resources (--pods; see cpuctl pods show) and, for kubepods and QoS classes, from the kubelet's
reservations. Differences are listed below the tree; -o wide also lists memory and huge pages. Without --pods,
pods are shown by UID, and containers by ID or by the name in the kubelet's log links.

Examples:

\b
  sudo cpuctl cgroups show
  sudo cpuctl cgroups show --pods running.json --oci-runtime runc-1.2.6
  cpuctl cgroups show -m node7.tar.gz -o wide
  cpuctl cgroups show --root /host --exit-code       # in a debugging pod

Exit codes: 0 shown, 3 with --exit-code if anything differs or no cgroup exists, 2 usage, 4 unusable input.
"""


GroupsOutputOption = Annotated[
    ListOutput,
    typer.Option(
        "-o", "--output", help="Output format; jsonl is one cgroup per line.", rich_help_panel=OUTPUT
    ),
]


@app.command(name="show", help=SHOW_HELP, cls=about(Subject.MACHINE, KubeletCommand))
def show(
    context: typer.Context,
    machine: NodeMachineOption = "live",
    root: RootOption = "",
    state: NodeStateOption = "",
    pods: RunningPodsOption = "",
    oci_runtime: RuntimeOption = "",
    exit_code: ExitCodeOption = False,
    output: GroupsOutputOption = ListOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Read the node's groups and show them."""
    from cpuctl.answering.cgroups_answer import show_document
    from cpuctl.inputs.live_node import NodeInputs, load_node
    from cpuctl.operations.cgroups.rules import group_rules
    from cpuctl.operations.command_lines import audit_command

    style, sources = Style(output, color=not no_color, quiet=quiet), Sources()
    inputs = NodeInputs(machine=machine, root=root, kubelet=kubelet_inputs(context), state=state, pods=pods)
    node = load_node(inputs, sources)
    rules = group_rules(node, oci_runtime, sources)
    node, picture, _ = observe(node, style)
    audit = audit_command(inputs)
    document = show_document(picture, rules, sources.entries, node.files.unreadable, audit)
    print_sources(sources, style)
    print_doubts(node, style)
    emit(document, style)
    summary = document["summary"]
    if exit_code and (summary["differing"] or not summary["groups"]):
        raise typer.Exit(EXIT_NO)


APPLY_HELP = """Write CPU sets to cgroups, in a safe order.

The order never breaks a running container. Without a file or containers, every container gets the CPUs that
it has in the kubelet's state. The file is the output of plan -o json or audit -o plan, or a
cpu_manager_state. Shows a diff of what would be written; --yes writes it, reads back what is in effect,
checks every thread, and waits for two reconcile periods of the kubelet in case it rewrites the set. Any
failure, or Ctrl-C, undoes everything.

Nothing is written if CPUs are offline, reserved or exclusive to another container, or if the plan is based on
a state that has changed since.

Examples:

\b
  sudo cpuctl cgroups apply                  # show what to correct
  sudo cpuctl audit -o plan --exit-zero | sudo cpuctl cgroups apply -f - --yes
  sudo cpuctl cgroups apply -f plan.json --yes --log writes.jsonl
  sudo cpuctl cgroups apply shop/web-0/app=4-7 shop/web-0/log=node:1

Exit codes: 0 done, nothing to do, or a dry run (with --exit-code 3 if something would change), 2 usage, 3
nothing was written, for one of the reasons above, 4 unusable input, 5 the node denied access, or the change
was undone: nothing has changed, 6 changed and not fully restored, 129, 130 or 143 ended by a signal:
nothing has changed.
"""

EXIT_UNCHANGED, EXIT_CHANGED = 5, 6
_CHANGED = ("Applied", "NotRestored")
ContainersArgument = Annotated[
    list[str], typer.Argument(metavar="[NS/POD/CONTAINER=CPUS]...", help="Containers and their new CPUs.")
]
WritableOption = Annotated[
    str,
    typer.Option(
        "-m",
        "--machine",
        metavar="SOURCE",
        help="The node: live, or a directory in which its /sys and /proc are mounted; not a recording.",
        rich_help_panel=INPUT,
    ),
]
FileOption = Annotated[
    str,
    typer.Option(
        "-f",
        "--filename",
        metavar="FILE",
        help="A plan or a CPU Manager state; - for stdin.",
        rich_help_panel=INPUT,
    ),
]
YesOption = Annotated[
    bool, typer.Option("-y", option_names.YES, help="Write the changes; without this, only show them.")
]
NoWaitOption = Annotated[
    bool, typer.Option("--no-wait", help="Do not wait to see if the kubelet rewrites the set.")
]
QuotaOption = Annotated[
    bool,
    typer.Option(
        "--quota",
        help="Also write CFS quotas: none for exclusive CPUs, otherwise from the pods' limits (--pods).",
    ),
]
LogOption = Annotated[
    str,
    typer.Option(
        option_names.LOG, metavar="FILE", help="Append every step to FILE, one JSON object per line."
    ),
]
ForceOfflineOption = Annotated[
    bool, typer.Option("--force-offline", help="Allow offline CPUs (cgroup v2 only).")
]
ForceReservedOption = Annotated[bool, typer.Option("--force-reserved", help="Allow reserved CPUs.")]
ForceExclusiveOption = Annotated[
    bool, typer.Option("--force-exclusive", help="Allow exclusive CPUs of another container.")
]
UnwrittenExitCodeOption = Annotated[
    bool,
    typer.Option("--exit-code", help="Exit 3 if anything would change.", rich_help_panel=OUTPUT),
]


@app.command(name="apply", help=APPLY_HELP, cls=KubeletCommand)
def apply(
    context: typer.Context,
    containers: ContainersArgument = [],  # noqa: B006  # typer copies it
    filename: FileOption = "",
    yes: YesOption = False,
    no_wait: NoWaitOption = False,
    quota: QuotaOption = False,
    log: LogOption = "",
    force_offline: ForceOfflineOption = False,
    force_reserved: ForceReservedOption = False,
    force_exclusive: ForceExclusiveOption = False,
    exit_code: UnwrittenExitCodeOption = False,
    machine: WritableOption = "live",
    root: RootOption = "",
    state: NodeStateOption = "",
    pods: RunningPodsOption = "",
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Read the groups, show the writes, apply them and keep watching."""
    from cpuctl.cgroups.objections import Override
    from cpuctl.inputs.live_node import NodeInputs
    from cpuctl.operations.cgroups.preparation import ApplyInputs, Overrides, root_of
    from cpuctl.operations.cgroups.request import read_apply_request

    kubelet = kubelet_inputs(context)
    refuse_stdin_twice(filename, state, pods, kubelet.config)
    style = Style(output, color=not no_color, quiet=quiet)
    place, request = root_of(machine, root), read_apply_request(filename, containers)
    node = NodeInputs(machine=machine, root=root, kubelet=kubelet, state=state, pods=pods)
    forces = {
        Override.OFFLINE: force_offline,
        Override.RESERVED: force_reserved,
        Override.EXCLUSIVE: force_exclusive,
    }
    overrides = Overrides(frozenset(force for force, on in forces.items() if on), quota=quota)
    inputs = ApplyInputs(node=node, request=request, overrides=overrides, root=place, writes=yes)
    sources = Sources()
    with ExitStack() as until_answered:
        run = _Run(inputs, style, wait=not no_wait, log=log)
        document, code = run.answer(sources, until_answered)
        if document["outcome"] not in _CHANGED:
            until_answered.close()
        with suppress(OSError):  # stderr is closed: no reason to withhold the answer
            print_sources(sources, style)
        _answer(document, style)
    if code == 0 and exit_code and document["outcome"] == "Planned":
        code = EXIT_NO
    if code:
        raise typer.Exit(code)


class _Run(NamedTuple):
    """The settings of a change: whether the node is watched afterwards, and where every step is recorded."""

    inputs: "ApplyInputs"
    style: Style
    wait: bool
    log: str

    def answer(self, sources: Sources, until_answered: ExitStack) -> "tuple[CgroupsApply, int]":
        """Read, prepare and write; return the answer and the exit code of what was done.

        From the first write on, signals are held back *until_answered*, so that the answer is printed.
        """
        from cpuctl.answering.cgroups_answer import apply_document
        from cpuctl.operations.cgroups.preparation import read_and_prepare
        from cpuctl.operations.command_lines import audit_command

        with ProgressBar(self.style) as progress:
            preparation = read_and_prepare(self.inputs, sources, progress)
        prepared, outcome, code = preparation.prepared, None, 0
        if prepared.objections:
            code = EXIT_NO
        elif self.inputs.writes and prepared.writes:
            outcome, code = self._written(preparation, until_answered)
        sources.warnings.extend(prepared.warnings)
        audit = audit_command(self.inputs.node)
        return apply_document(prepared, preparation.snapshot, outcome, sources.entries, audit), code

    def _written(self, preparation: "Preparation", until_answered: ExitStack) -> "tuple[Outcome, int]":
        from cpuctl.cli.process import held_back
        from cpuctl.operations.cgroups.writing import Watching, perform, write_log

        prepared, seconds = preparation.prepared, preparation.watched if self.wait else 0
        with write_log(self.log) as log, ProgressBar(self.style) as progress:
            stop = until_answered.enter_context(held_back())
            watching = Watching(seconds, lambda: progress("checking that the kubelet keeps it", 0, 0))
            outcome = perform(prepared, log, lambda: bool(stop), watching)
        if log.problem:
            prepared.warnings.append(log.problem)
        if outcome.left_over:
            return outcome, EXIT_CHANGED
        if outcome.failure:
            return outcome, stop.exit_code if stop else EXIT_UNCHANGED
        return outcome, 0


def _answer(document: "CgroupsApply", style: Style) -> None:
    """Print the answer; if that fails, report at least the state of the node."""
    result = document["result"]
    if result is None or document["outcome"] not in _CHANGED:
        emit(document, style)
        return
    left = result["notRestored"]
    files = "; ".join(f"{each['group']}/{each['file']}: {each['problem']}" for each in left)
    what = "the change failed and could not be fully undone" if left else "cgroups were written"
    emit_after_change(document, style, what, files or "check them with cpuctl cgroups show")
