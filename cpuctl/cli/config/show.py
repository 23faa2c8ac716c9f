"""``cpuctl config show``: the effective configuration, and the origin of every value."""

from typing import TYPE_CHECKING

import typer

from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_inputs
from cpuctl.cli.notes import print_sources
from cpuctl.cli.options import (
    EphemeralStorageOption,
    MachineOption,
    MemoryOption,
    NoColorOption,
    OutputOption,
    QuietOption,
)
from cpuctl.cli.output import Output, Style, emit
from cpuctl.cli.subjects import Subject, about
from cpuctl.inputs.kubelet import load_kubelet
from cpuctl.inputs.machine import load_machine, with_memory, with_storage
from cpuctl.inputs.sources import Sources, refuse_stdin_twice
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError

if TYPE_CHECKING:
    from cpuctl.engine.node_resources import ReservationSummary

app = command_group()

HELP = """Show the settings in effect, their origin, and what is reserved.

Shows what is set explicitly, and the managers' policies; -o wide shows every field.

Examples:

\b
  cpuctl config show                                    # this host
  cpuctl config show --kubelet-config kubelet.yaml --config-dir kubelet.conf.d
  cpuctl config show -m node7.tar.xz --kubelet-args '--max-pods=200' -o wide

Exit codes: 0 shown, 3 the kubelet cannot load its configuration, 2 usage, 4 unusable input, 5
permission denied.
"""


@app.command(name="show", help=HELP, cls=about(Subject.MACHINE, KubeletCommand))
def show(
    context: typer.Context,
    machine: MachineOption = "live",
    ephemeral_storage: EphemeralStorageOption = "",
    memory: MemoryOption = "",
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show the effective configuration."""
    from cpuctl.answering.config.parts import answer_header
    from cpuctl.answering.config.show_answer import show_document, unloaded_document
    from cpuctl.engine.node_resources import reservations_of_node
    from cpuctl.engine.start import check_start
    from cpuctl.golang.text import GoError
    from cpuctl.operations.command_lines import kubelet_command

    kubelet = kubelet_inputs(context)
    refuse_stdin_twice(machine, kubelet.config)
    style, sources = Style(output, color=not no_color, quiet=quiet, layout="config_show"), Sources()
    source = with_storage(load_machine(machine, sources), ephemeral_storage, sources)
    source = with_memory(source, memory, sources)
    try:
        loaded = load_kubelet(kubelet, sources, machine=source)
    except ConfigRefusedError as refused:
        print_sources(sources, style)
        emit(unloaded_document(refused, sources), style)
        raise typer.Exit(EXIT_NO) from None
    header, outcome = answer_header(loaded, sources), check_start(source.info, loaded.kubelet)
    print_sources(sources, style)
    try:
        kept: ReservationSummary | str = reservations_of_node(source.info, loaded.kubelet.config)
    except GoError as error:
        kept = str(error)
    document = show_document(loaded.configuration, loaded.kubelet.gates, kept, header, outcome)
    if document["start"]["outcome"] != "Started":
        document["next"] = kubelet_command(("config", "check"), machine, kubelet, memory)
    emit(document, style)
