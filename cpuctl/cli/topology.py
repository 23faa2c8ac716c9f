"""``cpuctl topology``: a machine as its kernel tells it, and as a kubelet counts it."""

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
from cpuctl.cli.output import Output, Style, emit
from cpuctl.cli.panels import OUTPUT
from cpuctl.cli.pictures import SVG, MachineSvgOption, Pictures
from cpuctl.cli.publishing import PublisherOption, refuse_publisher, show_topology
from cpuctl.cli.subjects import Subject, about
from cpuctl.errors import UsageError
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.machine import load_machine
from cpuctl.inputs.sources import Sources, refuse_stdin_twice

if TYPE_CHECKING:
    from cpuctl.answers.topology import ColumnName, Memory, Topology
    from cpuctl.machine.model import Machine
    from cpuctl.machine.sources import MachineSource


HELP = """Show a machine: its NUMA nodes, sockets, cores, caches and CPUs.

Without a verb, cpuctl topology means cpuctl topology show.
"""

SHOW_HELP = """Show what a machine consists of.

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

JSON and YAML are a file for --devices: check which resource the plugin makes of each device, and how many.
Recordings have devices if they hold sys/devices/pci* or sys/bus/pci.

Examples:

\b
  cpuctl topology devices
  cpuctl topology devices -m node7.tar.xz -o yaml > devices.yaml
  cpuctl plan -m node7.tar.xz -f pods.yaml --devices devices.yaml
"""


SYNTHETIC_HELP = """Write a machine in one line, such as synthetic:2s4n16c2t, for -m.

What is no topology is left out: firmware's ids, caches other than L3, frequencies. The line is the shortest
of several that describe the machine. Such lines are written by hand, too: for bug reports, tests, and
machines that nobody has yet.

First come figures as in lscpu, in this order:

\b
  2s           sockets; left out: 1
  4n           NUMA nodes in all; left out: as many as sockets; 0n: no NUMA
  16c2t        cores of each socket, CPUs of each core; without t: 1
  8p2t+12e1t   performance and efficiency cores; the plus may be left out
  8c2t+12c1t   the same cores, where the kernel does not tell kinds apart

Then options, separated by commas. How CPUs are numbered, and what runs across what:

\b
  far          all cores are counted through once per thread (the default):
               of 8 cores, CPUs 0 and 8 are one
  near         siblings have neighbouring numbers: CPUs 0 and 1 are one core
  interleaved  cores are dealt to sockets, NUMA nodes and L3 groups in turn
  across       every NUMA node has an equal share of every socket; without
               it, nodes end where sockets do
  l3=8         groups that share an L3 cache, in all; 0 or none: there is no
               such cache; -: unknown; left out: one a NUMA node or socket,
               whichever are more

Memory of every NUMA node or, with slashes, of each in order; with 0n the machine's:

\b
  mem=64Gi               bytes; left out: 64Gi
  mem=64Gi/0/-           -: unknown
  hugepages-2Mi=512      pages of this size
  hugepages-1Gi=4/-      -: the node has no such pages
  hugepages=-            unknown, but for what other options name
  distances=10+21/21+10  a row a node; none: no distances; left out: 10 to
                         itself, 12 inside a socket, 21 to another

States and kinds of CPUs, each a CPU list with + for the comma, or a kernel's mask (0xf+00000000):

\b
  nosmt        only the first CPU of each core runs, as a kernel's nosmt says
  offline=3+5  CPUs that do not run
  absent=6-7   CPUs that do not exist
  isolated=2-7   isolcpus
  nohz_full=2-7  CPUs without a tick
  pcores=0-15    of performance cores, in place of what figures say
  ecores=16-27   of efficiency cores

Groups of CPUs in place of the regular ones: lists between slashes, each with a number before a colon if it is
not its place, or none:

\b
  cores=0+8/1+9       a CPU in no list is a core of its own
  sockets=0-3/4-7
  nodes=0-2/3-7/252:  the last has no CPUs
  l3=0-3/4-7

Examples:

\b
  cpuctl topology synthetic                      # this host
  cpuctl topology synthetic node7.tar.xz
  cpuctl topology map synthetic:8p2t+12e,near    # as many notebooks have it
  cpuctl topology show synthetic:2s4n16c2t,l3=8,nosmt
  cpuctl topology distances synthetic:2s4n8c,across
  cpuctl plan -m synthetic:2s2n8c2t,isolated=4-7 -T web=4/4

Exit codes: 0 written, 2 usage, 4 unusable input, or a machine that no such line describes.
"""


class ShowByDefault(VerbGroup):
    """A group whose verb may be left out: ``topology -o json`` is ``topology show -o json``."""

    default_verb = "show"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  # typer's type is private
        """Put the verb in front where the first word is none, but an option or a machine."""
        first = args[0] if args else "-"
        if first not in {*self.commands, "-h", "--help"} and (first.startswith("-") or _is_machine(first)):
            args = [self.default_verb, *args]
        return super().parse_args(ctx, args)


app = command_group(cls=ShowByDefault, name="topology", help=HELP)

ColumnsOption = Annotated[
    str,
    typer.Option(
        "--columns", metavar="COLUMN,...", help="Only a table of CPUs with these columns; 'all' for all."
    ),
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
    typer.Option(
        option_names.NUMA_MEMORY,
        help="Also show the memory of each NUMA node, as the kubelet's Memory Manager counts it.",
    ),
]


class TopologyOutput(StrEnum):
    """The forms of a machine: those of every answer, and what other tools print of one."""

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
    kubelet_args: KubeletArgsOption = "",
    kubelet_version: KubeletVersionOption = "",
    svg: MachineSvgOption = "",
    force: ForceOption = False,
    publisher: PublisherOption = "rte",
    output: TopologyOutputOption = TopologyOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show what a machine consists of."""
    style = Style(output, color=not no_color, quiet=quiet)
    refuse_publisher(publisher, style)
    if output in (*FOREIGN, TopologyOutput.NRT):
        refuse_beside(
            output, {"--columns": columns, "--cpus": cpus, option_names.NUMA_MEMORY: memory, SVG: svg}
        )
    pictures = Pictures.asked({SVG: svg}, style, replace=force)
    names = _columns(columns)
    if names and memory:
        message = "shows CPUs only, and does not go with --numa-memory"
        raise UsageError(message, where="--columns", hint="give one of them")
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
    pictures = Pictures.asked({SVG: svg}, style, replace=force)
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
        hint = "record it instead (cpuctl capture FILE), and give the recording with -m"
        raise InputError(f"no such line describes this machine: {why_not}", where=machine, hint=hint)
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
    from cpuctl.machine.devices.inventory import draft
    from cpuctl.machine.devices.pci import drafted, read_pci_devices

    style = Style(output, color=not no_color, quiet=quiet, layout="topology", view="devices_blocks")
    sources = Sources()
    source = load_machine(machine, sources)
    found = read_pci_devices(source.files) if source.files is not None else ()
    print_sources(sources, style)
    if not found:
        raise InputError(
            "tells of no PCI devices that are handed to pods",
            where=source.origin,
            hint="a recording tells of them with sys/devices/pci* or sys/bus/pci/devices",
        )
    emit(pci_document(found) if style.for_people else draft(drafted(found)), style)


def _is_machine(word: str) -> bool:
    """Distinguish a machine from a verb that is misspelt."""
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
    if not text:
        return []

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


FOREIGN = frozenset({TopologyOutput.LSCPU, TopologyOutput.NUMACTL, TopologyOutput.HWLOC_XML})


def refuse_beside(output: TopologyOutput, asked: Mapping[str, object]) -> None:
    """Raise UsageError for an option, by its name, that another tool's form has no place for."""
    for option in (option for option, value in asked.items() if value):
        message = f"does not go with -o {output}, which is the whole machine"
        raise UsageError(message, where=option, hint=f"leave {option} out")


def write_object(spec: str, inputs: KubeletInputs, publisher: str, style: Style) -> None:
    """Write the NodeResourceTopology of a node; end with 3 where its kubelet would not start."""
    from cpuctl.operations.plan_inputs import PlanningInputs, read_planning

    planning = read_planning(PlanningInputs(machine=spec, kubelet=inputs), pods_needed=False)
    if not show_topology(planning, publisher, style):
        raise typer.Exit(EXIT_NO)


def write_foreign(spec: str, style: Style) -> None:
    """Read a machine and write it as another tool does; raise InputError where that has nothing to tell."""
    sources = Sources()
    machine = load_machine(spec, sources).machine
    text, remarks = _written(machine, TopologyOutput(style.output))
    sources.warnings.extend(remarks)
    print_sources(sources, style)
    sys.stdout.write(text)


def _written(machine: "Machine", form: TopologyOutput) -> tuple[str, tuple[str, ...]]:
    if form is TopologyOutput.HWLOC_XML:
        from cpuctl.machine.foreign.hwloc_writing import as_hwloc_xml

        return as_hwloc_xml(machine)

    from cpuctl.machine.foreign.writing import as_lscpu, as_numactl

    return (as_lscpu if form is TopologyOutput.LSCPU else as_numactl)(machine), ()


def refuse_unless_used(inputs: KubeletInputs) -> None:
    """Raise UsageError for words about a kubelet that nothing would come of."""
    given = {
        "--kubelet-config": inputs.config is not None,
        "--config-dir": inputs.config_dir is not None,
        "--kubelet-args": bool(inputs.arguments),
        "--kubelet-version": bool(inputs.version),
    }
    for option in (option for option, said in given.items() if said):
        raise UsageError("requires --numa-memory", where=option, hint="add --numa-memory")


def counted_memory(source: "MachineSource", inputs: KubeletInputs, sources: Sources) -> "Memory":
    """Count memory as the kubelet would that is told this."""
    from cpuctl.answering.topology.memory_answer import topology_memory
    from cpuctl.engine.start import check_start
    from cpuctl.inputs.kubelet import load_kubelet

    kubelet = load_kubelet(inputs, sources, machine=source).kubelet
    sources.add_unrecorded(kubelet.version.minor, ("memory on NUMA nodes",))
    return topology_memory(source, kubelet.config, check_start(source.info, kubelet))
