"""``cpuctl checkpoint verify``: whether this kubelet starts on this machine with these files."""

import typer

from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.checkpoint.options import (
    MetricsOutput,
    MetricsOutputOption,
    StateArgument,
    StateAsOption,
    named_state,
)
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_inputs
from cpuctl.cli.notes import print_sources, report_failed_start
from cpuctl.cli.options import (
    ExitZeroOption,
    MachineOption,
    MemoryOption,
    NoColorOption,
    PodResourcesOption,
    QuietOption,
    RunningPodsOption,
    StrictOption,
)
from cpuctl.cli.output import Style, emit
from cpuctl.inputs.sources import Sources
from cpuctl.inputs.state_files import CheckpointInputs

app = command_group()

HELP = """Check whether the kubelet would start with these state files.

Use this command if a node does not come back after a reboot, and before every upgrade. Runs the start-up
checks of this kubelet version and shows the kubelet's error, then any other problems: CPUs that are not on
the machine, pods that no longer exist, overlaps, and whether a change of the machine's memory matters. If the
version is neither given nor found, 1.36 is assumed; if other versions would decide differently on these
files, the decision of each version is shown instead of a verdict.

If the kubelet would not start, run cpuctl checkpoint repair next: it shows what to change; with --yes, it
makes the changes.

Examples:

\b
  sudo cpuctl checkpoint verify && sudo systemctl start kubelet
  sudo cpuctl checkpoint verify --kubelet-version 1.37    # before an upgrade
  cpuctl checkpoint verify node7.tar.xz --kubelet-args '--reserved-cpus=0-3'
  sudo cpuctl checkpoint verify --pods running.json --strict -o json
  sudo cpuctl checkpoint verify --pods running.json --pod-resources=live

Exit codes: 0 the kubelet would start, 3 it would not or that cannot be determined (with --strict also for
warnings; with --exit-zero 0), 2 usage, 4 unusable input, 5 permission denied.
"""


@app.command(name="verify", help=HELP, cls=KubeletCommand)
def verify(
    context: typer.Context,
    state: StateArgument = "",
    state_option: StateAsOption = "",
    machine: MachineOption = "",
    pods: RunningPodsOption = "",
    memory: MemoryOption = "",
    pod_resources: PodResourcesOption = "",
    strict: StrictOption = False,
    output: MetricsOutputOption = MetricsOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Read the inputs, start the kubelet and print the answer."""
    from cpuctl.answering.node_checks import verify_state

    style, sources = Style(output, color=not no_color, quiet=quiet), Sources()
    inputs = CheckpointInputs(
        state=named_state(state, state_option),
        machine=machine,
        kubelet=kubelet_inputs(context),
        pods=pods,
        memory=memory,
        pod_resources=pod_resources,
    )
    document = verify_state(inputs, sources)
    if not document["files"] and not style.for_people:
        sources.warnings.append("no state files: nothing was checked")
    print_sources(sources, style)
    if output is MetricsOutput.PROM:
        from cpuctl.answering.metrics import add_verdict_metrics
        from cpuctl.exports.answer_text import advice

        if document["start"]["outcome"] != "Started":
            fixes = filter(None, map(advice, document["findings"]))
            report_failed_start(document["start"], next(fixes, ""))
        add_verdict_metrics(document)
    emit(document, style)
    clean = document["start"]["outcome"] == "Started" and not (strict and document["summary"]["warning"])
    if not exit_zero and not clean:
        raise typer.Exit(EXIT_NO)
