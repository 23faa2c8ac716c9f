"""``cpuctl dra allocate``: which devices and CPUs pods get for their claims."""

from typing import Annotated

import typer

from cpuctl.cli.app import command_group
from cpuctl.cli.dra.options import (
    DeviceModeOption,
    GroupByOption,
    HostnameOption,
    MappingOption,
    PCIeRootsOption,
    ReservedCPUsOption,
)
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

EXIT_NO = 3

app: typer.Typer = command_group()

HELP = """Dry-run ResourceClaims: which devices and CPUs pods get.

Besides pods, -f takes their ResourceClaims, ResourceClaimTemplates and DeviceClasses, and ResourceSlices of
other drivers on this node; slices of dra.cpu, if given, are used instead of computed ones. Pods are allocated
one after the other; the scheduler takes the first devices that fit, in the order of the slices, and the
driver dra.cpu picks CPUs of groups as the kubelet would. Selectors other than device.driver == "..." need
cel-python: pip install 'cpuctl[dra]'.

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
        help="As a driver would pick that tells cores of several sockets apart which share an id.",
        rich_help_panel=DRIVER,
    ),
]


@app.command(name="allocate", help=HELP, cls=about(Subject.PODS, KubeletCommand))
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
    exit_zero: ExitZeroOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Allocate and prepare claims."""
    from cpuctl.answering.dra_answer import claims_document
    from cpuctl.operations.claims import plan_claims

    style, sources = Style(output, color=not no_color, quiet=quiet), Sources()
    refuse_stdin_twice(machine, *filename)
    given = load_pods(filename, (), sources, purpose="with claims")
    flags = DriverFlags(cpu_device_mode, group_by, reserved_cpus, expose_pcie_roots, mapping, node=hostname)
    driver = load_driver(flags, load_machine(machine, sources), sources, kubelet_inputs(context), given.dra)
    plan = plan_claims(given, driver, sources, fixed=fixed)
    print_sources(sources, style)
    emit(claims_document(plan, driver, sources.entries), style)
    if not exit_zero and any(pod.why or pod.problem or pod.unknown for pod in plan.pods):
        raise typer.Exit(EXIT_NO)
