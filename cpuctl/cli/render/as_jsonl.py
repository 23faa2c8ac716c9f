"""JSON, one item per line: for tools that read a stream."""

from __future__ import annotations

import json
import sys

from cpuctl.cli.output import Document, Style, takes_every_character

ITEMS = {
    "Audit": "findings",
    "CgroupsShow": "groups",
    "FleetDiff": "nodes",
    "FleetPlan": "pods",
    "PodsLint": "findings",
    "PodsShow": "pods",
    "PodsDiff": "pods",
    "Replay": "entries",
}
"""The list whose items are written, by kind of answer."""


def write(document: Document, style: Style) -> None:  # noqa: ARG001  # every renderer has this shape
    """Write every item as one line of JSON; without items, write nothing."""
    escaped = not takes_every_character()
    for item in document[ITEMS[document["kind"]]]:
        sys.stdout.write(json.dumps(item, ensure_ascii=escaped) + "\n")
