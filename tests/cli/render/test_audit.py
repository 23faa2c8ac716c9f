"""The table of an audit on a large machine."""

from __future__ import annotations

import json
from typing import Any

from cpuctl.cli.render.blocks import Table
from cpuctl.cli.render.drawing import table_lines
from cpuctl.cli.render.layouts.audit import blocks
from tests.cli.conftest import Cpuctl

NODE = "fixtures/nodes/hybrid-8-numa"
SHARED = "0-3,8-11,16-19,24-27,32-35"


def test_cpu_lists_stay_whole_in_eighty_columns(cpuctl: Cpuctl) -> None:
    """On a machine with many NUMA nodes, the shared pool has a range of CPUs on each."""
    words = ("audit", "-m", f"{NODE}/node.tar.xz", "--pods", f"{NODE}/pods.json", "-o", "json")
    document: Any = json.loads(cpuctl(*words).out)
    for container in document["containers"]:
        container["cpus"] |= dict.fromkeys(("expected", "configured", "effective", "threads"), SHARED)
    (table,) = (each for each in blocks(document, wide=False) if isinstance(each, Table))
    lines = ["".join(cell.text for cell in line) for line in table_lines(table, 80)]
    assert max(map(len, lines)) <= 80
    assert "".join(lines).count(SHARED) == 4 * len(table.rows)
