"""``cpuctl fleet list``: the nodes of a fleet, and those that are odd."""

from typing import TYPE_CHECKING

import typer

from cpuctl.cli.app import command_group
from cpuctl.cli.fleet.asking import FleetSelection, ask_fleet
from cpuctl.cli.fleet.options import FleetOutputOption, JobsOption, RecordingsArgument, ResumeOption
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_words
from cpuctl.cli.options import ExitZeroOption, NoColorOption, PodFilesOption, QuietOption, TemplateOption
from cpuctl.cli.output import FleetOutput, Style, emit
from cpuctl.errors import InputError

if TYPE_CHECKING:
    from cpuctl.answers.fleet import FleetList
    from cpuctl.cli.fleet.asking import FleetAnswers
    from cpuctl.operations.plan_inputs import PlanningInputs

app = command_group()

HELP = """List the nodes of a fleet, and find the odd ones.

Nodes that a kubelet could not tell apart are one group: the same CPUs, NUMA nodes, caches, huge pages,
kubelet release and settings, and memory within 1 %. Every group but the largest is compared with the larger
one that is most like it, difference by difference. With pods (-f, -T), each group is tried: are they placed
otherwise there?

POLICIES are those of the CPU, Topology and Memory Manager, FREE the CPUs that containers can still get
exclusively, LARGEST how many of them one container can get on a single NUMA node.

Examples:

\b
  cpuctl fleet list recordings/
  cpuctl fleet list 'recordings/**/*.tar.gz' -o wide
  cpuctl fleet list recordings/ -f pods.yaml      # do the odd nodes matter?
  find /srv -name '*.tar.xz' | cpuctl fleet list - -o jsonl > fleet.jsonl
  cpuctl fleet list recordings/ --resume fleet.jsonl -o json
  cpuctl fleet list must-gather/ --kubelet-version 1.37

Exit codes: 0 every recording was read, 2 usage, 4 a recording or another input cannot be used (all others
are answered; with --exit-zero 0 where recordings are concerned), 130 interrupted.
"""


@app.command(name="list", help=HELP, cls=KubeletCommand)
def list_nodes(
    context: typer.Context,
    recordings: RecordingsArgument,
    filename: PodFilesOption = [],  # noqa: B006  # typer copies it
    template: TemplateOption = [],  # noqa: B006
    jobs: JobsOption = 0,
    resume: ResumeOption = "",
    output: FleetOutputOption = FleetOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Ask every node, group them, answer."""
    from cpuctl.fleet.list_answer import list_metrics
    from cpuctl.fleet.listing import NodeLister
    from cpuctl.operations.plan_inputs import PlanningInputs

    style, kubelet = Style(output, color=not no_color, quiet=quiet), kubelet_words(context)
    asked = ask_fleet(FleetSelection(recordings, jobs, resume), NodeLister(kubelet), style)
    if output is not FleetOutput.JSONL and not (output is FleetOutput.PROM and asked.stopped):
        pods = PlanningInputs(filenames=filename, templates=template, kubelet=kubelet)
        document = _document(asked, pods)
        if output is FleetOutput.PROM:
            document["metrics"] = list(list_metrics(document))
        emit(document, style)
    if asked.stopped:
        raise typer.Exit(asked.stopped)
    if asked.unreadable and not exit_zero:
        raise typer.Exit(InputError.exit_code)


def _document(asked: "FleetAnswers", pods: "PlanningInputs") -> "FleetList":
    from cpuctl.fleet.list_answer import fleet_document

    return fleet_document(asked.rows, pods, passed_over=asked.passed_over, complete=not asked.stopped)
