"""``cpuctl checkpoint repair``: state files with which the kubelet starts and containers keep their CPUs."""

import typer

from cpuctl.cli.app import command_group
from cpuctl.cli.checkpoint.commit import CommitOptions, answering_unloaded, commit
from cpuctl.cli.checkpoint.options import (
    ExitCodeOption,
    ForceRunningOption,
    RootOption,
    StateArgument,
    StateAsOption,
    WriteStateOption,
    YesOption,
    named_state,
)
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_inputs
from cpuctl.cli.options import (
    ForceStateOption,
    MachineOption,
    MemoryOption,
    NoColorOption,
    OutputOption,
    QuietOption,
    RunningPodsOption,
)
from cpuctl.cli.output import Output, Style
from cpuctl.inputs.sources import Sources
from cpuctl.inputs.state_files import CheckpointInputs
from cpuctl.operations.command_lines import checkpoint_commands, on_node_command
from cpuctl.operations.state_writing import changing
from cpuctl.records import replace

app = command_group()

HELP = """Repair state files so that the kubelet starts, and verify them.

Recomputes checksums; removes pods that no longer exist (with --pods); adds new CPUs of the machine to the
shared pool; replaces containers' CPUs that no longer exist, are now reserved, or are also assigned to another
pod, and keeps all others; updates memory to that of the machine; adapts to a changed policy. If there is no
safe repair, writes nothing and shows what to do instead. Without --yes or --write-state, nothing is written;
the output shows what would change.

With --pods, a container that holds more CPUs than it requests releases those that it loses or that another
pod holds, without a replacement. If a restarted kubelet would otherwise reject a pod, the pod moves as a
whole to CPUs that the kubelet chooses. If pods are still rejected, the output names the one to
remove so that all others stay. A list of another node's pods is an error.

Examples:

\b
  sudo cpuctl checkpoint repair --pods running.json        # what would change
  sudo cpuctl checkpoint repair --pods running.json --yes
  cpuctl checkpoint repair node7.tar.xz --write-state /tmp/repaired
  cpuctl checkpoint repair --root /host --kubelet-version 1.36 --yes

Exit codes: 0 the kubelet would start, now or after the repair (with --exit-code 3 if something would change),
3 it cannot be repaired safely, 2 usage, 4 unusable input, 5 a kubelet is running, a file has changed in the
meantime, or writing is not permitted: nothing was changed, 6 changed and not fully restored.
"""


@app.command(name="repair", help=HELP, cls=KubeletCommand)
def repair(
    context: typer.Context,
    state: StateArgument = "",
    state_option: StateAsOption = "",
    machine: MachineOption = "",
    pods: RunningPodsOption = "",
    memory: MemoryOption = "",
    root: RootOption = "/",
    write_state: WriteStateOption = "",
    force: ForceStateOption = False,
    yes: YesOption = False,
    force_kubelet_running: ForceRunningOption = False,
    exit_code: ExitCodeOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Read the files, repair them, verify the result and write it."""
    writing = CommitOptions(
        write_state=write_state,
        force=force,
        yes=yes,
        force_running=force_kubelet_running,
        root=root,
        exit_code=exit_code,
    )
    writing.check()
    inputs = CheckpointInputs(
        state=named_state(state, state_option),
        machine=machine,
        kubelet=kubelet_inputs(context),
        pods=pods,
        memory=memory,
        root=root,
        in_place=yes,
    )
    with changing(write_state, in_place=yes) as lock:
        _repair(replace(inputs, lock=lock), writing, Style(output, color=not no_color, quiet=quiet))


def _repair(inputs: CheckpointInputs, writing: CommitOptions, style: Style) -> None:
    from cpuctl.answering.checkpoint.change_answer import change_document, spell_out_commands
    from cpuctl.answering.checkpoint.parts import kubelet_answer
    from cpuctl.operations.checkpoint.repair import repair as repaired
    from cpuctl.operations.checkpoint.states import (
        read_checkpoint_case,
        read_host,
        require_pods_of_node,
        require_states,
    )

    requested, sources = inputs, Sources()
    with answering_unloaded(sources, style):
        inputs, host = read_host(inputs, sources)
    if writing.writes:
        sources.require_configuration(changes_assignments=True)
    case = read_checkpoint_case(inputs, host, sources)
    require_states(case, "repair", on_node_command(("repair",), requested, writes=False), inputs.root)
    require_pods_of_node(case, inputs.pods)
    repairs = repaired(case)
    kubelet = kubelet_answer(host.kubelet, case.reader)
    document = change_document(repairs.changes, case.owners, sources.entries, kubelet, repairs.proof)
    if case.owners.pods is None and document["outcome"] == "Changed":
        sources.warnings.append(
            "not checked whether a restarted kubelet admits the running pods again: use --pods FILE"
        )
    on_node = on_node_command(("repair",), requested)
    spelt_out = checkpoint_commands(requested, root_dir=host.kubelet.config.root_dir)
    spell_out_commands(document, "repair", spelt_out, on_node)
    commit(document, repairs.changes, writing, sources, style)
