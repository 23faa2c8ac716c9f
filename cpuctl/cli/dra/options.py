"""What the driver is told: the names are those of its flags, and of its configuration where it has none."""

from typing import Annotated

import typer

from cpuctl import option_names
from cpuctl.cli.panels import DRIVER
from cpuctl.dra.driver import DeviceMode, GroupBy

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
        help="Publish the nearby PCIe roots, for claims with other devices.",
        rich_help_panel=DRIVER,
    ),
]
MappingOption = Annotated[
    bool,
    typer.Option(
        "--publish-node-allocatable-resource-mapping",
        help="Count the CPUs of claims as the node's (KEP-5517), like the driver's setting of that name.",
        rich_help_panel=DRIVER,
    ),
]
HostnameOption = Annotated[
    str,
    typer.Option(
        "--hostname-override",
        metavar="NAME",
        help="The node's name. Default: the machine's etc/hostname.",
        rich_help_panel=DRIVER,
    ),
]
