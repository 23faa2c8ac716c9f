"""``cpuctl dra``: CPUs as devices, with dynamic resource allocation."""

from typing import Annotated

import typer

from cpuctl import option_names
from cpuctl.cli.app import EXIT_NO, verb_group
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_inputs
from cpuctl.cli.notes import print_sources
from cpuctl.cli.options import (
    ExitZeroOption,
    MachineOption,
    NoColorOption,
    OutputOption,
    PodFilesOption,
    QuietOption,
)
from cpuctl.cli.output import Output, Style, emit
from cpuctl.cli.panels import DRIVER
from cpuctl.cli.subjects import Subject, about
from cpuctl.dra.driver import DeviceMode, GroupBy
from cpuctl.inputs.dra import DriverFlags, load_driver
from cpuctl.inputs.machine import load_machine
from cpuctl.inputs.pods import load_pods
from cpuctl.inputs.sources import Sources, refuse_stdin_twice

HELP = """Show CPUs as devices (dynamic resource allocation, dra.cpu driver), and dry-run resource claims."""

app = verb_group("dra", HELP)


DeviceModeOption = Annotated[
    DeviceMode,
    typer.Option(
        "--cpu-device-mode", help="One device per group of CPUs, or one per CPU.", rich_help_panel=DRIVER
    ),
]
GroupByOption = Annotated[
    GroupBy, typer.Option("--group-by", help="How CPUs are grouped.", rich_help_panel=DRIVER)
]
ReservedCPUsOption = Annotated[
    str,
    typer.Option(
        option_names.RESERVED_CPUS,
        metavar="LIST",
        help="CPUs that do not become devices: 0-3,8, a mask (0xff), or node:1, socket:0, l3:2, core:5.",
        rich_help_panel=DRIVER,
    ),
]
PCIeRootsOption = Annotated[
    bool,
    typer.Option(
        "--expose-pcie-roots",
        help="Publish nearby PCIe roots, for claims that combine CPUs with other devices.",
        rich_help_panel=DRIVER,
    ),
]
MappingOption = Annotated[
    bool,
    typer.Option(
        "--publish-node-allocatable-resource-mapping",
        help="Count the CPUs of claims as CPUs of the node (KEP-5517), as the driver does with the flag of "
        "the same name.",
        rich_help_panel=DRIVER,
    ),
]
HostnameOption = Annotated[
    str,
    typer.Option(
        "--hostname-override",
        metavar="NAME",
        help="The node's name. Default: the machine's etc/hostname, or else the name of the recording.",
        rich_help_panel=DRIVER,
    ),
]


SLICES_HELP = """Show the ResourceSlices that the dra.cpu driver would publish.

Devices have the driver's names and numbers, so claims can be tried before the driver is installed. YAML and
JSON are ResourceSlice objects, for kubectl apply on a test cluster, without their owner (the Node) and
without the five random characters at the end of their names. Conflicts with the node's kubelet are reported:
the static policy, or different reserved CPUs.

Examples:

\b
  cpuctl dra slices                                 # this host
  cpuctl dra slices node7.tar.xz --cpu-device-mode individual
  cpuctl dra slices node7.tar.xz -o yaml | kubectl apply -f -
  cpuctl dra slices synthetic:2s4n16c2t --group-by socket --reserved-cpus 0,32

Exit codes: 0 shown, 2 usage, 4 unusable input.
"""


@app.command(name="slices", help=SLICES_HELP, cls=about(Subject.MACHINE, KubeletCommand))
def slices(
    context: typer.Context,
    machine: MachineOption = "live",
    cpu_device_mode: DeviceModeOption = DeviceMode.GROUPED,
    group_by: GroupByOption = GroupBy.NUMA_NODE,
    reserved_cpus: ReservedCPUsOption = "",
    expose_pcie_roots: PCIeRootsOption = False,
    mapping: MappingOption = False,
    hostname: HostnameOption = "",
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show the slices or their devices."""
    from cpuctl.answering.dra_answer import devices_document
    from cpuctl.dra.slices import resource_slices

    style, sources = Style(output, color=not no_color, quiet=quiet, layout="dra_slices"), Sources()
    flags = DriverFlags(cpu_device_mode, group_by, reserved_cpus, expose_pcie_roots, mapping, node=hostname)
    driver = load_driver(flags, load_machine(machine, sources), sources, kubelet_inputs(context))
    print_sources(sources, style)
    if style.for_people:
        emit(devices_document(driver, sources.entries), style)
    else:
        items = list(resource_slices(driver.machine, driver.settings, driver.node))
        emit({"apiVersion": "v1", "kind": "List", "items": items}, style)


ALLOCATE_HELP = """Dry-run ResourceClaims: which devices and CPUs pods get.

Besides pods, -f takes their ResourceClaims, ResourceClaimTemplates and DeviceClasses, and ResourceSlices of
other drivers on this node; slices of dra.cpu, if given, are used instead of computed ones. Claims are
allocated pod by pod: the scheduler takes the first devices that fit, in the order of the slices, and the
dra.cpu driver picks CPUs from groups as the kubelet would. Selectors other than device.driver == "..." need
cel-python: pip install '.[dra]' in cpuctl's source directory.

Examples:

\b
  cpuctl dra allocate pods.yaml                       # on this host
  cpuctl dra allocate pods.yaml claims.yaml -m node7.tar.xz -o wide
  cpuctl dra allocate -f app/ --cpu-device-mode individual --reserved-cpus 0,4
  cpuctl dra allocate pods.yaml -m synthetic:2s4n16c2t --group-by socket

Exit codes: 0 all pods get their claims, 2 usage, 3 a pod does not, or its CPUs are unknown (with --exit-zero
0), 4 unusable input.
"""

FixedOption = Annotated[
    bool,
    typer.Option(
        "--fixed",
        help="Assume that a known defect of the driver is fixed: it confuses cores with the same ID on "
        "different sockets.",
        rich_help_panel=DRIVER,
    ),
]


@app.command(name="allocate", help=ALLOCATE_HELP, cls=about(Subject.PODS, KubeletCommand))
def allocate(
    context: typer.Context,
    filename: PodFilesOption = [],  # noqa: B006  # typer copies it
    machine: MachineOption = "live",
    cpu_device_mode: DeviceModeOption = DeviceMode.GROUPED,
    group_by: GroupByOption = GroupBy.NUMA_NODE,
    reserved_cpus: ReservedCPUsOption = "",
    expose_pcie_roots: PCIeRootsOption = False,
    mapping: MappingOption = False,
    hostname: HostnameOption = "",
    fixed: FixedOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Allocate and prepare claims."""
    from cpuctl.answering.dra_answer import claims_document
    from cpuctl.inputs.dra import flags_of
    from cpuctl.operations.claims import plan_claims
    from cpuctl.operations.command_lines import planning_command
    from cpuctl.operations.plan_inputs import NodeOptions, PlanningInputs

    style, sources = Style(output, color=not no_color, quiet=quiet), Sources()
    refuse_stdin_twice(machine, *filename)
    hint = "specify manifests with their ResourceClaims: -f PODS"
    given = load_pods(filename, (), sources, purpose="with claims", hint=hint)
    flags = DriverFlags(cpu_device_mode, group_by, reserved_cpus, expose_pcie_roots, mapping, node=hostname)
    kubelet = kubelet_inputs(context)
    driver = load_driver(flags, load_machine(machine, sources), sources, kubelet, given.dra)
    plan = plan_claims(given, driver, sources, fixed=fixed)
    print_sources(sources, style)
    arguments = flags_of(driver.settings) + (f" --hostname-override {hostname}" if hostname else "")
    inputs = PlanningInputs(
        filename, machine=machine, kubelet=kubelet, node=NodeOptions(driver_arguments=arguments)
    )
    emit(
        claims_document(
            plan, driver, sources.entries, lambda pod: planning_command(inputs, ("explain", pod))
        ),
        style,
    )
    if not exit_zero and any(pod.why or pod.problem or pod.unknown for pod in plan.pods):
        raise typer.Exit(EXIT_NO)
