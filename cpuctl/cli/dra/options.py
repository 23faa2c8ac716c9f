"""What the driver is told: the names are those of its flags, and of its configuration where it has none."""

from typing import Annotated

import typer

from cpuctl.cli.panels import DRIVER
from cpuctl.dra.driver import DeviceMode, GroupBy
from cpuctl.inputs import option_names

DeviceModeOption = Annotated[
    DeviceMode,
    typer.Option(
        "--cpu-device-mode", help="A device a CPU, or a device a group of CPUs.", rich_help_panel=DRIVER
    ),
]
GroupByOption = Annotated[
    GroupBy, typer.Option("--group-by", help="What makes a group of CPUs.", rich_help_panel=DRIVER)
]
ReservedCPUsOption = Annotated[
    str,
    typer.Option(
        option_names.RESERVED_CPUS,
        metavar="LIST",
        help="CPUs that are no devices: 0-3,8, a mask (0xff), or node:1, socket:0, l3:2, core:5.",
        rich_help_panel=DRIVER,
    ),
]
PCIeRootsOption = Annotated[
    bool,
    typer.Option(
        "--expose-pcie-roots",
        help="Tell which PCIe roots are near, for claims with other devices.",
        rich_help_panel=DRIVER,
    ),
]
MappingOption = Annotated[
    bool,
    typer.Option(
        "--publish-node-allocatable-resource-mapping",
        help="Count claims' CPUs as the node's (KEP-5517), as the driver's setting of that name.",
        rich_help_panel=DRIVER,
    ),
]
HostnameOption = Annotated[
    str,
    typer.Option(
        "--hostname-override",
        metavar="NAME",
        help="The node's name; else what the machine's etc/hostname says.",
        rich_help_panel=DRIVER,
    ),
]
