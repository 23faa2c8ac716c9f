"""``-o nrt``: the NodeResourceTopology of a node instead of the answer."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl.cli.notes import print_sources, report_failed_start
from cpuctl.cli.output import Style, emit, note
from cpuctl.cli.panels import OUTPUT
from cpuctl.errors import UsageError

if TYPE_CHECKING:
    from cpuctl.engine.start import StartResult
    from cpuctl.operations.plan_inputs import Planning

PublisherOption = Annotated[
    str,
    typer.Option(
        "--publisher",
        metavar="NAME",
        help="The exporter that -o nrt imitates: rte, the resource topology exporter "
        "(rte,fingerprint=all or none: "
        "which pods its fingerprint covers), or nfd, node-feature-discovery's topology updater.",
        rich_help_panel=OUTPUT,
    ),
]


def refuse_publisher(publisher: str, style: Style) -> None:
    """Raise UsageError for a publisher if nothing is published."""
    if publisher != "rte" and style.output != "nrt":
        raise UsageError("requires -o nrt", where="--publisher", hint="add -o nrt")


def emit_topology(planning: Planning, node: StartResult | None, publisher: str, style: Style) -> bool:
    """Write the object of a node and report problems on stderr; False if the kubelet does not start there.

    Raise UsageError for another publisher, InputError if the exporter crashes.
    """
    from cpuctl.answering.config.starts import not_started_answer
    from cpuctl.answering.topology.topology_object import topologies_document
    from cpuctl.engine.node import Node
    from cpuctl.operations.command_lines import check_command
    from cpuctl.operations.topology_publishing import Publisher, publish_node

    chosen = Publisher.parse(publisher)
    if not isinstance(node, Node):
        if node is not None:
            report_failed_start(not_started_answer(node), check_command(planning, node))
        return False
    found = publish_node(node_name(planning.inputs.machine), planning, node, chosen)
    for text in found.notes:
        note(f"note: {text}", style)
    emit(topologies_document([found.topology]), style)
    return True


def show_topology(planning: Planning, publisher: str, style: Style) -> bool:
    """Start a recorded node, and write its object; False if its kubelet would not start."""
    node = planning.start(planning.kubelet, planning.sources)
    print_sources(planning.sources, style)
    return emit_topology(planning, node, publisher, style)


def node_name(machine: str) -> str:
    """Name a node after its recording, and this host as a kubelet does, with characters valid in names."""
    from cpuctl.machine.sources import LIVE, short_name
    from cpuctl.object_names import as_object_name

    return as_object_name(platform.node() if machine in ("", LIVE) else short_name(machine))
