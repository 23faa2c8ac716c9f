"""``cpuctl config check``: whether a kubelet would start with a configuration."""

from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl import option_names
from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_inputs
from cpuctl.cli.notes import print_sources
from cpuctl.cli.options import (
    CgroupVersionOption,
    EphemeralStorageOption,
    ExitZeroOption,
    MachineOption,
    MemoryOption,
    NoColorOption,
    OutputOption,
    QuietOption,
    StrictOption,
)
from cpuctl.cli.output import Output, Style, emit
from cpuctl.cli.panels import INPUT
from cpuctl.cli.subjects import Subject, about
from cpuctl.inputs.kubelet import load_cgroup_version
from cpuctl.inputs.machine import load_machine, with_memory, with_storage
from cpuctl.inputs.sources import UNKNOWN_FLAGS, Sources, refuse_stdin_twice
from cpuctl.inputs.state_files import CheckpointInputs

if TYPE_CHECKING:
    from cpuctl.answers.config import ConfigCheck

app = command_group()

HELP = """Check whether the kubelet would start with this configuration.

Shows the kubelet's own error and how to fix it, and warns about settings that are valid but harmful. The
node's state files (or --state) are checked as cpuctl checkpoint verify does. Lists what is not checked.

Examples:

\b
  sudo cpuctl config check && sudo systemctl restart kubelet
  cpuctl config check -m node7.tar.xz --kubelet-version 1.37
  sudo cpuctl config check --kubelet-config new.yaml -o json | jq .start.error

Exit codes: 0 the kubelet would start, 3 it would not, this cannot be determined, or there are errors (with
--strict also for warnings; with --exit-zero 0), 2 usage, 4 unusable input, 5 permission denied.
"""

CheckedStateOption = Annotated[
    str,
    typer.Option(
        option_names.STATE,
        metavar="STATE",
        help="The kubelet's state files, or none for an empty node. Default: the node's own.",
        rich_help_panel=INPUT,
    ),
]
CheckedDriverOption = Annotated[
    str,
    typer.Option(
        option_names.DRIVER_ARGS,
        metavar="FLAGS",
        help="Flags of the dra.cpu driver that will run on the node, to check for conflicts.",
        rich_help_panel=INPUT,
    ),
]


@app.command(name="check", help=HELP, cls=about(Subject.MACHINE, KubeletCommand))
def check(
    context: typer.Context,
    machine: MachineOption = "live",
    cgroup_version: CgroupVersionOption = "",
    ephemeral_storage: EphemeralStorageOption = "",
    memory: MemoryOption = "",
    state: CheckedStateOption = "",
    driver_args: CheckedDriverOption = "",
    strict: StrictOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Check whether the kubelet would start."""
    from cpuctl.answering.node_checks import check_configuration

    kubelet = kubelet_inputs(context)
    refuse_stdin_twice(machine, kubelet.config, state)
    style, sources = Style(output, color=not no_color, quiet=quiet, layout="config_check"), Sources()
    source = with_storage(load_machine(machine, sources), ephemeral_storage, sources)
    source = with_memory(source, memory, sources)
    cgroup = load_cgroup_version(cgroup_version, source, sources)
    given = CheckpointInputs(
        state=state, machine=machine, memory=memory, kubelet=kubelet, driver_arguments=driver_args
    )
    document = check_configuration(given, source, cgroup, sources)
    if command := _with_flags(document, given, sources):
        document["next"] = command
    print_sources(sources, style)
    emit(document, style)
    if not exit_zero and not _is_clean(document, strict=strict):
        raise typer.Exit(EXIT_NO)


def _with_flags(document: "ConfigCheck", inputs: CheckpointInputs, sources: Sources) -> str:
    """Return the command to continue with if the kubelet's flags are unknown, unless a fix has it."""
    if UNKNOWN_FLAGS not in sources.entries:
        return ""

    from cpuctl.exports.answer_text import advice
    from cpuctl.operations.command_lines import CONFIG_CHECK, checkpoint_commands

    command = checkpoint_commands(inputs)(f"{CONFIG_CHECK} {option_names.KUBELET_ARGS} FLAGS")
    return "" if any(command == advice(each) for each in document["findings"]) else command


def _is_clean(document: "ConfigCheck", *, strict: bool) -> bool:
    started = document["start"]["outcome"] == "Started" and not document["summary"]["error"]
    return started and not (strict and document["summary"]["warning"])
