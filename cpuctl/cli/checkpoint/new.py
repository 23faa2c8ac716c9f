"""``cpuctl checkpoint new``: the state files that a kubelet would have with these pods."""

import typer

from cpuctl.cli.app import command_group
from cpuctl.cli.checkpoint.commit import CommitOptions, answering_unloaded, commit
from cpuctl.cli.checkpoint.options import ForceRunningOption, RootOption
from cpuctl.cli.options import (
    ForceStateOption,
    NoColorOption,
    OutputOption,
    QuietOption,
    WriteStateOption,
)
from cpuctl.cli.output import Output, Style
from cpuctl.cli.planning_options import EmptyNodeCommand, planning_inputs
from cpuctl.cli.subjects import Subject, about
from cpuctl.inputs.configuration import LIVE_MACHINE
from cpuctl.inputs.kubelet import require_version
from cpuctl.inputs.sources import Sources
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.operations.plan_inputs import Planning, PlanningInputs, read_planning
from cpuctl.operations.state_writing import changing
from cpuctl.records import replace

app = command_group()

HELP = """Create the state files that a kubelet would have with these pods.

The node is otherwise empty. Pods are planned as cpuctl plan does, in the same order; all of them must be
admitted. Entries contain the pods' UIDs, which the output of kubectl get pods -A -o json --field-selector
spec.nodeName=NODE has. Nothing is written without --write-state.

Examples:

\b
  cpuctl checkpoint new -m node7.tar.xz -f running.json
  cpuctl checkpoint new --kubelet-version 1.37 -f pods/ --write-state /tmp
  cpuctl checkpoint new -m synthetic:2s4n16c2t --kubelet-version 1.36

Exit codes: 0 created, 3 a pod is not admitted, or the kubelet would not start, 2 usage, 4 unusable input, 5 a
kubelet is running there, or writing is not permitted: nothing was changed, 6 files were written, but printing
the answer or undoing the change failed.
"""


@app.command(name="new", help=HELP, cls=about(Subject.PODS, EmptyNodeCommand))
def new(
    context: typer.Context,
    root: RootOption = "/",
    write_state: WriteStateOption = "",
    force: ForceStateOption = False,
    force_kubelet_running: ForceRunningOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Plan the pods, make the files, verify and write them."""
    writing = CommitOptions(
        write_state=write_state,
        force=force,
        force_running=force_kubelet_running,
        root=root,
        in_place=False,
    )
    writing.check()
    inputs = planning_inputs(context)
    if inputs.machine == LIVE_MACHINE and root != "/":
        inputs = replace(inputs, machine=root)
    with changing(write_state):
        _new(inputs, writing, Style(output, color=not no_color, quiet=quiet))


def _new(inputs: PlanningInputs, writing: CommitOptions, style: Style) -> None:
    from cpuctl.answering.checkpoint.change_answer import change_document, name_the_plan
    from cpuctl.answering.checkpoint.parts import kubelet_answer
    from cpuctl.operations.checkpoint.new import made_files
    from cpuctl.operations.command_lines import planning_command

    sources = Sources()
    with answering_unloaded(sources, style):
        planning = _read(inputs, sources)
    if writing.writes:
        planning.sources.require_configuration()
    changes, case = made_files(planning)
    kubelet = kubelet_answer(planning.kubelet, case.reader)
    proof = None if any(change.refused for change in changes) else case.verdict(made=True)
    document = change_document(changes, case.owners, planning.sources.entries, kubelet, proof)
    name_the_plan(document, planning_command(planning.inputs, ("plan",)))
    commit(document, changes, writing, planning.sources, style)


def _read(inputs: PlanningInputs, sources: Sources) -> Planning:
    """Read all inputs; raise UsageError if the kubelet's release is not given."""
    try:
        planning = read_planning(inputs, pods_needed=False, sources=sources, fresh=True)
    except ConfigRefusedError:
        require_version(inputs.kubelet, sources)
        raise
    require_version(inputs.kubelet, sources)
    return planning
