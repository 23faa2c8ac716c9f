"""``cpuctl dra slices``: the ResourceSlices that the driver for CPUs would publish."""

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
from cpuctl.cli.options import MachineOption, NoColorOption, OutputOption, QuietOption
from cpuctl.cli.output import Output, Style, emit
from cpuctl.cli.subjects import Subject, about
from cpuctl.dra.driver import DeviceMode, GroupBy
from cpuctl.inputs.dra import DriverFlags, load_driver
from cpuctl.inputs.machine import load_machine
from cpuctl.inputs.sources import Sources

app: typer.Typer = command_group()

HELP = """Show the ResourceSlices that the driver dra.cpu would publish.

Devices are named and numbered as by the driver, so claims can be tried before it is installed. YAML and JSON
are ResourceSlice objects, for kubectl apply on a test cluster; without their owner (the Node) and the five
random characters at the end of their names. Conflicts with the node's kubelet are reported: the static
policy, other reserved CPUs.

Examples:

\b
  cpuctl dra slices                                 # this host
  cpuctl dra slices node7.tar.xz --cpu-device-mode individual
  cpuctl dra slices node7.tar.xz -o yaml | kubectl apply -f -
  cpuctl dra slices synthetic:2s4n16c2t --group-by socket --reserved-cpus 0,32

Exit codes: 0 shown, 2 usage, 4 unusable input.
"""


@app.command(name="slices", help=HELP, cls=about(Subject.MACHINE, KubeletCommand))
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
    """Show the slices, or the devices in them."""
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
