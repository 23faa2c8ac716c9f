"""``cpuctl topology``: a machine as its kernel reports it, and as a kubelet counts it."""

import os
import sys
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpuctl import option_names
from cpuctl.cli.app import EXIT_NO, VerbGroup, command_group
from cpuctl.cli.notes import print_sources
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
from cpuctl.cli.output import Output, Style, emit, note
from cpuctl.cli.panels import OUTPUT
from cpuctl.cli.pictures import SVG, MachineSvgOption, Pictures
from cpuctl.cli.publishing import PublisherOption, refuse_publisher, show_topology
from cpuctl.cli.selection import selected_columns, wanted_cpus
from cpuctl.cli.subjects import Subject, about
from cpuctl.errors import NodeAccessError, UsageError
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.machine import load_machine
from cpuctl.inputs.sources import Sources, refuse_stdin_twice

if TYPE_CHECKING:
    from cpuctl.answers.topology import Memory, Topology
    from cpuctl.machine.model import Machine
    from cpuctl.machine.sources import MachineSource


HELP = """Show a machine: its NUMA nodes, sockets, cores, caches and CPUs.

Without a subcommand, cpuctl topology means cpuctl topology show.
"""

SHOW_HELP = """Show a machine's NUMA nodes, sockets, cores, caches and CPUs.

Examples:

\b
  cpuctl topology                                 # this host
  cpuctl topology show -m node7.tar.xz -o wide    # with a row for every CPU
  cpuctl topology show --columns cpu,core,l3 --cpus node:1
  cpuctl topology show --numa-memory --kubelet-config kubelet.yaml
  cpuctl topology show synthetic:2s4n16c2t -o json
  cpuctl topology show -m node7.tar.xz -o lscpu   # as lscpu -p -a
  cpuctl topology show -m node7.tar.xz -o hwloc-xml | lstopo -i - --if xml
  cpuctl topology show -m node7.tar.xz -o nrt     # what an exporter publishes
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


DEVICES_HELP = """Show PCI devices and their NUMA nodes, as a draft for --devices.

The JSON or YAML output is a file for --devices: check which resource the device plugin advertises for each
device, and how many. Recordings have devices if they contain sys/devices/pci* or sys/bus/pci.

Examples:

\b
  cpuctl topology devices
  cpuctl topology devices -m node7.tar.xz -o yaml > devices.yaml
  cpuctl plan -m node7.tar.xz -f pods.yaml --devices devices.yaml
"""


SYNTHETIC_HELP = """Describe a machine in one line (synthetic:2s4n16c2t) for -m.

Only the topology is described: no firmware IDs, caches other than L3, or frequencies. Prints the shortest
possible line. You can also write such a line yourself: for bug reports, tests, and machines that you do not
have.

The line starts with numbers as in lscpu, in this order:

\b
  2s           sockets; default: 1
  4n           NUMA nodes in total; default: one per socket; 0n: no NUMA
  16c2t        cores per socket, CPUs per core; without t: 1
  8p2t+12e1t   performance and efficiency cores; the plus is optional
  8c2t+12c1t   the same cores, if the kernel does not report their kind

Then options, separated by commas. Numbering of CPUs, and how sockets, NUMA nodes and L3 caches overlap:

\b
  far          the first CPUs of all cores come first, then the second ones
               (the default): with 8 cores, CPUs 0 and 8 are one core
  near         siblings have neighbouring numbers: CPUs 0 and 1 are one core
  interleaved  cores alternate between sockets, NUMA nodes and L3 groups
  across       every NUMA node has an equal share of every socket; without
               this, a node is part of a socket, or has whole sockets
  l3=8         number of L3 caches in total; 0 or none: no L3 cache;
               -: unknown; default: one per NUMA node or socket, whichever
               is more

Memory of every NUMA node or, separated by slashes, of each node in order; with 0n, of the machine:

\b
  mem=64Gi               size; default: 64Gi
  mem=64Gi/0/-           -: unknown
  hugepages-2Mi=512      pages of this size
  hugepages-1Gi=4/-      -: the node has no such pages
  hugepages=-            unknown, except sizes set by other options
  distances=10+21/21+10  one row per node; none: no distances; default: 10 to
                         itself, 12 inside a socket, 21 to another one

States and kinds of CPUs, as a CPU list with + instead of commas, or a mask (0xf+00000000):

\b
  nosmt          only the first CPU of each core is online, as with nosmt
  offline=3+5    offline CPUs
  absent=6-7     CPU numbers that do not exist
  isolated=2-7   isolated CPUs (isolcpus)
  nohz_full=2-7  CPUs without a timer tick
  pcores=0-15    CPUs of performance cores, overrides 8p
  ecores=16-27   CPUs of efficiency cores, overrides 12e

Irregular groups of CPUs: lists separated by slashes, each preceded by its ID and a colon if the ID is not its
position:

\b
  cores=0+8/1+9       a CPU that is in no list is its own core
  sockets=0-3/4-7
  nodes=0-2/3-7/252:  the last node has no CPUs
  l3=0-3/4-7

Examples:

\b
  cpuctl topology synthetic                      # this host
  cpuctl topology synthetic node7.tar.xz
  cpuctl topology map synthetic:8p2t+12e,near    # a notebook
  cpuctl topology show synthetic:2s4n16c2t,l3=8,nosmt
  cpuctl topology distances synthetic:2s4n8c,across
  cpuctl plan -m synthetic:2s2n8c2t,isolated=4-7 -T web=4/4,1Gi

Exit codes: 0 written, 2 usage, 4 unusable input, or a machine without a synthetic form.
"""


class ShowByDefault(VerbGroup):
    """A group whose verb may be omitted: ``topology -o json`` is ``topology show -o json``."""

    default_verb = "show"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  # typer's type is private
        """Insert the default verb if the first word is not a verb, but an option or a machine."""
        first = args[0] if args else "-"
        if first not in {*self.commands, "-h", "--help"} and (first.startswith("-") or _is_machine(first)):
            args = [self.default_verb, *args]
        return super().parse_args(ctx, args)


app = command_group(cls=ShowByDefault, name="topology", help=HELP)

ColumnsOption = Annotated[
    str,
    typer.Option(
        "--columns", metavar="COLUMN,...", help="Show only a table of CPUs with these columns, or 'all'."
    ),
]
CpusOption = Annotated[
    str,
    typer.Option(
        "--cpus",
        metavar="LIST",
        help="Show only these CPUs: 0-3,8, a mask (0xff), or node:1, socket:0, l3:2, core:5.",
    ),
]
MemoryOption = Annotated[
    bool,
    typer.Option(
        option_names.NUMA_MEMORY,
        help="Also show the memory of each NUMA node, as the kubelet's Memory Manager counts it.",
    ),
]


class TopologyOutput(StrEnum):
    """The forms of a machine: those of every answer, and the output formats of other tools."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    LSCPU = "lscpu"
    NUMACTL = "numactl"
    HWLOC_XML = "hwloc-xml"
    NRT = "nrt"


TopologyOutputOption = Annotated[
    TopologyOutput,
    typer.Option(
        "-o",
        "--output",
        help="Output format; lscpu (-p -a), numactl (-H) and hwloc-xml are what these tools print, nrt is "
        "the NodeResourceTopology that an exporter would publish.",
        rich_help_panel=OUTPUT,
    ),
]


@app.command(name="show", help=SHOW_HELP, cls=about(Subject.MACHINE))
def show(
    machine: MachineOption = "live",
    columns: ColumnsOption = "",
    cpus: CpusOption = "",
    memory: MemoryOption = False,
    kubelet_config: KubeletConfigOption = None,
    config_dir: ConfigDirOption = None,
    kubelet_args: KubeletArgsOption = None,
    kubelet_version: KubeletVersionOption = "",
    svg: MachineSvgOption = "",
    force: ForceOption = False,
    publisher: PublisherOption = "rte",
    output: TopologyOutputOption = TopologyOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show a machine's NUMA nodes, sockets, cores, caches and CPUs."""
    style = Style(output, color=not no_color, quiet=quiet)
    refuse_publisher(publisher, style)
    if output in (*FOREIGN, TopologyOutput.NRT):
        reject_unsupported_options(
            output, {"--columns": columns, "--cpus": cpus, option_names.NUMA_MEMORY: memory, SVG: svg}
        )
    pictures = Pictures.requested({SVG: svg}, style, replace=force)
    names = selected_columns(columns, implied=bool(cpus) and output is TopologyOutput.TABLE)
    if names and memory:
        message = "shows only CPUs and cannot be used with --numa-memory"
        raise UsageError(message, where="--columns" if columns else "--cpus", hint="use one of them")
    inputs = KubeletInputs(
        config=kubelet_config, config_dir=config_dir, arguments=kubelet_args, version=kubelet_version
    )
    if output is TopologyOutput.NRT:
        write_object(machine, inputs, publisher, style)
        return
    if not memory:
        refuse_unless_used(inputs)
    refuse_stdin_twice(machine, inputs.config)
    if output in FOREIGN:
        write_foreign(machine, style)
        return
    document = _answer(machine, cpus, style, inputs if memory else None)
    if names:
        document["columns"] = names
    _show(document, style, pictures)


@app.command(name="map", help=MAP_HELP, cls=about(Subject.MACHINE))
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
    style = Style(output, color=not no_color, quiet=quiet, view="map_blocks")
    pictures = Pictures.requested({SVG: svg}, style, replace=force)
    _show(_answer(machine, cpus, style), style, pictures)


@app.command(name="distances", help=DISTANCES_HELP, cls=about(Subject.MACHINE))
def distances(
    machine: MachineOption = "live",
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show NUMA nodes and their distances."""
    style = Style(output, color=not no_color, quiet=quiet, view="distances_blocks")
    emit(_answer(machine, "", style), style)


@app.command(name="synthetic", help=SYNTHETIC_HELP, cls=about(Subject.MACHINE))
def synthetic(
    machine: MachineOption = "live",
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write a machine in one line."""
    from cpuctl.errors import InputError

    style = Style(output, color=not no_color, quiet=quiet, view="synthetic_blocks")
    document = _answer(machine, "", style)
    if why_not := document["summary"]["whyNotSynthetic"]:
        hint = "record it (cpuctl capture FILE) and use the recording with -m"
        raise InputError(f"this machine has no synthetic form: {why_not}", where=machine, hint=hint)
    emit(document, style)


@app.command(name="devices", help=DEVICES_HELP, cls=about(Subject.MACHINE))
def devices(
    machine: MachineOption = "live",
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show PCI devices, or draft a file of devices."""
    from cpuctl.answering.topology.topology_answer import pci_document
    from cpuctl.errors import InputError
    from cpuctl.inputs.configuration import LIVE_MACHINE
    from cpuctl.machine.devices.inventory import draft
    from cpuctl.machine.devices.pci import are_recorded, drafted, read_pci_devices
    from cpuctl.machine.recording_layout import RECORD_AGAIN

    style = Style(output, color=not no_color, quiet=quiet, layout="topology", view="devices_blocks")
    sources = Sources()
    source = load_machine(machine, sources)
    found = read_pci_devices(source.files) if source.files is not None else ()
    print_sources(sources, style)
    if not found:
        if source.files is None:
            hint = "use a node, or a recording of one (sudo cpuctl capture FILE)"
            message = "PCI devices are unknown: the machine is described without them"
            raise InputError(message, where=source.origin, hint=hint)
        if source.origin == LIVE_MACHINE or are_recorded(source.files):
            raise InputError("contains no PCI devices that pods could use", where=source.origin)
        raise InputError("PCI devices are not recorded", where=source.origin, hint=RECORD_AGAIN)
    if style.for_people:
        emit(pci_document(found), style)
        return
    counts = drafted(found)
    emit(draft(counts), style)
    if not counts:
        note("note: no device has a resource that common plugins advertise: add resources by hand", style)


def _is_machine(word: str) -> bool:
    """Distinguish a machine from a misspelt verb."""
    from cpuctl.machine.sources import LIVE, SYNTHETIC

    named = word in ("", LIVE) or word.startswith(SYNTHETIC) or bool({"/", ".", "#"} & {*word})
    return named or os.path.exists(word)  # noqa: PTH110  # a word may be too long for a path


def _show(document: "Topology", style: Style, pictures: Pictures) -> None:
    if pictures:
        from cpuctl.exports.machine_facts import topology_facts

        pictures.write_machine(lambda: topology_facts(document))
    if not pictures.instead:
        emit(document, style)


def _answer(spec: str, cpus: str, style: Style, inputs: KubeletInputs | None = None) -> "Topology":
    from cpuctl.answering.kubelet_view import kubelet_view
    from cpuctl.answering.topology.topology_answer import topology_document

    sources = Sources()
    source = load_machine(spec, sources, shows_findings=True)
    memory = counted_memory(source, inputs, sources) if inputs else None
    print_sources(sources, style)
    wanted = wanted_cpus(cpus, source.machine)
    kubelet = kubelet_view(source.machine, source.info)
    document = topology_document(source.machine, sources.entries, kubelet)
    if memory is not None:
        document["memory"] = memory
    if wanted is not None:
        document["cpus"] = [row for row in document["cpus"] if row["cpu"] in wanted]
    return document


FOREIGN = frozenset({TopologyOutput.LSCPU, TopologyOutput.NUMACTL, TopologyOutput.HWLOC_XML})


def reject_unsupported_options(output: TopologyOutput, requested: Mapping[str, object]) -> None:
    """Raise UsageError for an option, by its name, that another tool's form does not support."""
    for option in (option for option, value in requested.items() if value):
        message = f"cannot be used with -o {output}: it always writes the whole machine"
        raise UsageError(message, where=option, hint=f"omit {option}")


def write_object(spec: str, inputs: KubeletInputs, publisher: str, style: Style) -> None:
    """Write the NodeResourceTopology of a node; exit with 3 if its kubelet would not start.

    Raise NodeAccessError if only root may read its state files.
    """
    from cpuctl.operations.plan_inputs import PlanningInputs, read_planning

    try:
        planning = read_planning(PlanningInputs(machine=spec, kubelet=inputs), pods_needed=False)
    except NodeAccessError as error:
        # Here, another state cannot be named.
        raise NodeAccessError(error.message, where=error.where, hint="try again with sudo") from None
    if not show_topology(planning, publisher, style):
        raise typer.Exit(EXIT_NO)


def write_foreign(spec: str, style: Style) -> None:
    """Read a machine and write it as another tool does; raise InputError if there is nothing to write."""
    sources = Sources()
    machine = load_machine(spec, sources).machine
    text, notes = _written(machine, TopologyOutput(style.output))
    sources.warnings.extend(notes)
    print_sources(sources, style)
    sys.stdout.write(text)


def _written(machine: "Machine", form: TopologyOutput) -> tuple[str, tuple[str, ...]]:
    if form is TopologyOutput.HWLOC_XML:
        from cpuctl.machine.foreign.hwloc_writing import as_hwloc_xml

        return as_hwloc_xml(machine)

    from cpuctl.machine.foreign.writing import as_lscpu, as_numactl

    return (as_lscpu if form is TopologyOutput.LSCPU else as_numactl)(machine), ()


def refuse_unless_used(inputs: KubeletInputs) -> None:
    """Raise UsageError for options about a kubelet that would have no effect."""
    given = {
        "--kubelet-config": inputs.config is not None,
        "--config-dir": inputs.config_dir is not None,
        "--kubelet-args": inputs.arguments is not None,
        "--kubelet-version": bool(inputs.version),
    }
    for option in (option for option, stated in given.items() if stated):
        raise UsageError("requires --numa-memory", where=option, hint="add --numa-memory")


def counted_memory(source: "MachineSource", inputs: KubeletInputs, sources: Sources) -> "Memory":
    """Count memory as the described kubelet would."""
    from cpuctl.answering.topology.memory_answer import topology_memory
    from cpuctl.engine.start import check_start
    from cpuctl.inputs.kubelet import load_kubelet

    kubelet = load_kubelet(inputs, sources, machine=source).kubelet
    sources.add_unrecorded(kubelet.version.minor, ("memory on NUMA nodes",))
    return topology_memory(source, kubelet.config, check_start(source.info, kubelet))
