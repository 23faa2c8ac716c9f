"""``cpuctl topology``: a machine as its kernel tells it, and as a kubelet counts it."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from cpuctl.cli.app import command_group
from cpuctl.cli.notes import tell_sources
from cpuctl.cli.options import (
    ConfigDirOption,
    ForceOption,
    KubeletArgsOption,
    KubeletConfigOption,
    KubeletVersionOption,
    MachineOption,
    NoColorOption,
    OutputOption,
    QuietOption,
)
from cpuctl.cli.output import Output, Style, TopologyOutput, emit
from cpuctl.cli.panels import OUTPUT
from cpuctl.cli.pictures import SVG, MachineSvgOption, Pictures
from cpuctl.cli.topology.foreign import FOREIGN, refuse_beside, write_foreign
from cpuctl.cli.topology.memory import counted_memory, refuse_unless_used
from cpuctl.errors import UsageError
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.machine import load_machine
from cpuctl.inputs.sources import Sources, refuse_stdin_twice

if TYPE_CHECKING:
    from cpuctl.answers.topology import ColumnName, Topology
    from cpuctl.machine.model import Machine

HELP = """Show a machine: its NUMA nodes, sockets, cores, caches and CPUs.

Without a verb, cpuctl topology means cpuctl topology show.
"""

SHOW_HELP = """Show what a machine consists of.

Examples:

\b
  cpuctl topology                                 # this host
  cpuctl topology show -m node7.tar.xz -o wide    # with a row for every CPU
  cpuctl topology show --columns cpu,core,l3 --cpus node:1
  cpuctl topology show --memory --kubelet-config kubelet.yaml
  cpuctl topology show -m synthetic:2s4n16c2t -o json
  cpuctl topology show -m node7.tar.xz -o lscpu   # as lscpu -p -a
  cpuctl topology show -m node7.tar.xz -o hwloc-xml | lstopo -i - --if xml
  cpuctl topology --svg node7.svg -m node7.tar.xz
"""

MAP_HELP = """Draw a machine as boxes: sockets, NUMA nodes, L3 caches, cores.

Examples:

\b
  cpuctl topology map
  cpuctl topology map -m node7.tar.xz
  cpuctl topology map -m node7.tar.xz --svg - > node7.svg
"""

DISTANCES_HELP = """Show NUMA nodes, their memory and distances, as numactl -H does.

Examples:

\b
  cpuctl topology distances -m node7.tar.xz
"""


DEVICES_HELP = """Show PCI devices with their NUMA nodes, as a first draft of the devices that plugins offer.

JSON and YAML are a file for --devices: which resource a plugin makes of a device, and how many, is its own
business, so look through it. Recordings tell of them where they hold sys/devices/pci* or sys/bus/pci.

Examples:

\b
  cpuctl topology devices
  cpuctl topology devices -m node7.tar.xz -o yaml > devices.yaml
  cpuctl plan -m node7.tar.xz -f pods.yaml --devices devices.yaml
"""


class ShowByDefault(TyperGroup):
    """A group whose verb may be left out: ``topology -o json`` is ``topology show -o json``."""

    default_verb = "show"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  # typer's type is private
        """Put the verb in front where the first word is none."""
        first = args[0] if args else ""
        if first not in self.commands and first not in ("-h", "--help") and (not first or first[0] == "-"):
            args = [self.default_verb, *args]
        return super().parse_args(ctx, args)


app = command_group(cls=ShowByDefault, name="topology", help=HELP)

ColumnsOption = Annotated[
    str,
    typer.Option("--columns", metavar="A,B", help="Only a table of CPUs with these columns; 'all' for all."),
]
CpusOption = Annotated[
    str,
    typer.Option(
        "--cpus",
        metavar="LIST",
        help="Only these CPUs: 0-3,8, a mask (0xff), or node:1, socket:0, l3:2, core:5.",
    ),
]
MemoryOption = Annotated[
    bool,
    typer.Option("--memory", help="Also memory by NUMA node, as the kubelet's Memory Manager counts it."),
]
TopologyOutputOption = Annotated[
    TopologyOutput,
    typer.Option(
        "-o",
        "--output",
        help="The form of the answer; lscpu (-p -a), numactl (-H) and hwloc-xml are what these tools print.",
        rich_help_panel=OUTPUT,
    ),
]


@app.command(name="show", help=SHOW_HELP)
def show(
    machine: MachineOption = "live",
    columns: ColumnsOption = "",
    cpus: CpusOption = "",
    memory: MemoryOption = False,
    kubelet_config: KubeletConfigOption = None,
    config_dir: ConfigDirOption = None,
    kubelet_args: KubeletArgsOption = "",
    kubelet_version: KubeletVersionOption = "",
    svg: MachineSvgOption = "",
    force: ForceOption = False,
    output: TopologyOutputOption = TopologyOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show what a machine consists of."""
    style = Style(output, color=not no_color, quiet=quiet)
    if output in FOREIGN:
        refuse_beside(output, {"--columns": columns, "--cpus": cpus, "--memory": memory, SVG: svg})
    pictures = Pictures.asked({SVG: svg}, style, replace=force)
    names = _columns(columns)
    if names and memory:
        raise UsageError("shows CPUs only, and does not go with --memory", where="--columns")
    words = KubeletInputs(
        config=kubelet_config, config_dir=config_dir, arguments=kubelet_args, version=kubelet_version
    )
    if not memory:
        refuse_unless_used(words)
    refuse_stdin_twice(machine, words.config)
    if output in FOREIGN:
        write_foreign(machine, style)
        return
    document = _answer(machine, cpus, style, words if memory else None)
    if names:
        document["columns"] = names
    _show(document, style, pictures)


@app.command(name="map", help=MAP_HELP)
def draw_map(
    machine: MachineOption = "live",
    cpus: CpusOption = "",
    svg: MachineSvgOption = "",
    force: ForceOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Draw a machine as boxes."""
    style = Style(output, color=not no_color, quiet=quiet, layout="topology_map")
    pictures = Pictures.asked({SVG: svg}, style, replace=force)
    _show(_answer(machine, cpus, style), style, pictures)


@app.command(name="distances", help=DISTANCES_HELP)
def distances(
    machine: MachineOption = "live",
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show NUMA nodes and their distances."""
    style = Style(output, color=not no_color, quiet=quiet, layout="topology_distances")
    emit(_answer(machine, "", style), style)


@app.command(name="devices", help=DEVICES_HELP)
def devices(
    machine: MachineOption = "live",
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show PCI devices, or draft a file of devices."""
    from cpuctl.answering.topology.pci_answer import pci_document
    from cpuctl.errors import InputError
    from cpuctl.machine.devices.inventory import draft
    from cpuctl.machine.devices.pci import drafted, read_pci_devices

    style, sources = Style(output, color=not no_color, quiet=quiet, layout="topology_devices"), Sources()
    source = load_machine(machine, sources)
    found = read_pci_devices(source.files) if source.files is not None else ()
    tell_sources(sources, style)
    if not found:
        raise InputError(
            "tells of no PCI devices that are handed to pods",
            where=source.origin,
            hint="a recording tells of them with sys/devices/pci* or sys/bus/pci/devices",
        )
    emit(pci_document(found) if style.for_people else draft(drafted(found)), style)


def _show(document: "Topology", style: Style, pictures: Pictures) -> None:
    if pictures:
        from cpuctl.exports.machine.facts import topology_facts

        pictures.write_machine(lambda: topology_facts(document))
    if not pictures.instead:
        emit(document, style)


def _answer(spec: str, cpus: str, style: Style, words: KubeletInputs | None = None) -> "Topology":
    from cpuctl.answering.kubelet_view import kubelet_view
    from cpuctl.answering.topology.topology_answer import topology_document

    sources = Sources()
    source = load_machine(spec, sources, shows_findings=True)
    memory = counted_memory(source, words, sources) if words else None
    tell_sources(sources, style)
    wanted = _wanted(cpus, source.machine)
    kubelet = kubelet_view(source.machine, source.info)
    document = topology_document(source.machine, sources.entries, kubelet)
    if memory is not None:
        document["memory"] = memory
    if wanted is not None:
        document["cpus"] = [row for row in document["cpus"] if row["cpu"] in wanted]
    return document


def _wanted(cpus: str, machine: "Machine") -> "frozenset[int] | None":
    from cpuctl.errors import InputError
    from cpuctl.machine.set_names import parse_cpu_names

    if not cpus:
        return None
    try:
        wanted = parse_cpu_names(cpus, machine)
    except InputError as error:
        raise UsageError(error.message, where="--cpus", hint=error.hint) from None
    known = machine.online | machine.offline
    if not wanted <= known:
        raise UsageError(
            f"this machine has no CPUs {wanted - known}: expected some of {known}", where="--cpus"
        )
    return frozenset(wanted)


def _columns(text: str) -> "list[ColumnName]":
    from cpuctl.answering.cpu_columns import ALL_COLUMNS

    if text == "all":
        return list(ALL_COLUMNS)
    columns = {str(name): name for name in ALL_COLUMNS}
    wanted = [name.strip().upper() for name in text.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in columns]
    if unknown:
        known = ", ".join(ALL_COLUMNS).lower()
        raise UsageError(
            f"no column is called {unknown[0]!r}", where="--columns", hint=f"choose from {known}"
        )
    return [columns[name] for name in wanted]
