"""``cpuctl checkpoint dump``: the containers that hold CPUs and memory, according to the state files."""

from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl.cli.app import command_group
from cpuctl.cli.checkpoint.options import (
    MapOption,
    MetricsOutput,
    MetricsOutputOption,
    StateArgument,
    StateAsOption,
    named_state,
)
from cpuctl.cli.notes import print_sources
from cpuctl.cli.options import ForceOption, NoColorOption, QuietOption, RunningPodsOption
from cpuctl.cli.output import Style, emit
from cpuctl.cli.panels import INPUT
from cpuctl.cli.pictures import SVG, MachineSvgOption, Pictures
from cpuctl.errors import InputError
from cpuctl.inputs.sources import Sources, refuse_stdin_twice

if TYPE_CHECKING:
    from cpuctl.answers.checkpoint import CheckpointDump
    from cpuctl.answers.topology import HeldMap
    from cpuctl.machine.sources import MachineSource

app = command_group()

HELP = """Show the owners of CPUs and memory in the kubelet's state files.

Shows the format of each file and whether its checksums are correct. With --pods, owners are shown by name
instead of UID, and entries of pods that no longer exist are marked. --map draws the machine (-m) with the
owner of every CPU; --svg writes this map as a picture.

Examples:

\b
  sudo cpuctl checkpoint dump                              # this host's files
  cpuctl checkpoint dump node7.tar.xz --pods running.json
  cpuctl checkpoint dump /tmp/cpu_manager_state -o json | jq .cpus.holders
  cpuctl checkpoint dump -m node7.tar.xz --map
  cpuctl checkpoint dump -m node7.tar.xz --pods running.json --svg node7.svg
  sudo cpuctl checkpoint dump -o prom |
      sudo tee /var/lib/node_exporter/kubelet_state.prom > /dev/null

Exit codes: 0 shown, 2 usage, 4 a file is not a state file, 5 permission denied or a file could
not be written.
"""

MachineOption = Annotated[
    str,
    typer.Option(
        "-m",
        "--machine",
        metavar="SOURCE",
        help="The node, as for other commands: the source of the state files, and the machine that --map "
        "and --svg draw.",
        rich_help_panel=INPUT,
    ),
]


@app.command(name="dump", help=HELP)
def dump(
    state: StateArgument = "",
    state_option: StateAsOption = "",
    machine: MachineOption = "",
    pods: RunningPodsOption = "",
    picture: MapOption = False,
    svg: MachineSvgOption = "",
    force: ForceOption = False,
    output: MetricsOutputOption = MetricsOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Read the files, name the owners and print the answer."""
    name = named_state(state, state_option)
    refuse_stdin_twice(machine, name, pods)
    style, sources = Style(output, color=not no_color, quiet=quiet), Sources()
    pictures = Pictures.requested({SVG: svg}, style, replace=force)
    document = _dumped(name, machine, pods, sources, picture=picture or bool(pictures))
    print_sources(sources, style)
    if pictures:
        from cpuctl.exports.machine_facts import dump_facts

        pictures.write_machine(lambda: dump_facts(document))
        if not picture:
            del document["map"]
    if pictures.instead:
        return
    if output is MetricsOutput.PROM:
        from cpuctl.answering.metrics import add_metrics

        add_metrics(document)
    emit(document, style)


def _dumped(name: str, machine: str, pods: str, sources: Sources, *, picture: bool) -> "CheckpointDump":
    from cpuctl.answering.checkpoint.dump_answer import dump_document
    from cpuctl.operations.checkpoint.reading import read_state_view

    states, owners, source = read_state_view(name, machine, pods, sources, on_machine=picture)
    document = dump_document(states, owners, sources.entries)
    if picture and source:
        document["map"] = _map(document, source)
    return document


def _map(document: "CheckpointDump", source: "MachineSource") -> "HeldMap":
    from cpuctl.answering.topology.topology_answer import map_answer

    if "cpus" not in document:
        hint = "specify cpu_manager_state, or the directory that contains it"
        raise InputError("no cpu_manager_state found to draw", where=source.origin, hint=hint)
    return map_answer(source.machine, document["cpus"])
