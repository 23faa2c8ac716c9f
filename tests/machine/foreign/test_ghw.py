"""What ghw would not print is refused where it stands."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cpuctl.errors import InputError
from cpuctl.machine.foreign.reading import read_printed

CORE = {"id": 0, "logical_processors": [0, 1]}
CACHE = {"level": 3, "type": "unified", "size_bytes": 4096, "logical_processors": [0, 1]}
NODE = {"id": 0, "cores": [CORE], "caches": [CACHE], "distances": [10], "memory": None}


def report(**changes: object) -> dict[str, Any]:
    return {"topology": {"architecture": "smp", "nodes": [NODE | changes]}}


def test_the_section_alone_is_read_too() -> None:
    machine = read_printed(json.dumps(report()["topology"]).encode(), "g").machine
    assert (str(machine.online), machine.hugepages_known, machine.memory_bytes) == ("0-1", False, None)


@pytest.mark.parametrize(
    ("document", "where", "message"),
    [
        (report(id=8192), "g:1: topology.nodes[0].id", "a whole number of at most 8191"),
        (report(cores=[CORE, CORE]), "cores[1].logical_processors[0]", "CPU 0 is listed twice"),
        (report(cores=[CORE | {"logical_processors": [-1]}]), "logical_processors[0]", "at least 0"),
        (report(caches=[CACHE | {"type": "odd"}]), "caches[0].type", "one of unified, instruction, data"),
        (report(memory={"huge_page_amounts_by_size": {"2M": {}}}), "by_size", "a page size in bytes"),
        (report(cores=[]), "g", "tells of no CPU that runs"),
        ({"topology": {"nodes": {}}}, "topology.nodes", "expected a list"),
        ({"topology": {"nodes": [{"id": number} for number in range(1025)]}}, "topology", "at most 1024"),
    ],
)
def test_what_ghw_would_not_print_is_refused_with_its_path(
    document: object, where: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_printed(json.dumps(document).encode(), "g")
    assert where in caught.value.where
    assert message in caught.value.message
