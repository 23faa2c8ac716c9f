"""Whether CPUs are aligned to cores, caches, NUMA nodes and sockets."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.engine.alignment import alignment_of
from tests.support.topologies import mask, regular

# Cores c and c + 16; caches of two cores, NUMA nodes of four, sockets of eight.
MACHINE = regular(sockets=2, nodes=2, cores=4, threads=2, cores_per_cache=2)


@dataclass(frozen=True)
class Case:
    """A set of CPUs and the elements it is aligned to: initials of core, uncore, numa, socket."""

    name: str
    cpus: str
    want: str


@pytest.mark.parametrize(
    "case",
    [
        Case("nothing", "", "cuns"),
        Case("one core", "0,16", "cuns"),
        Case("one thread", "0", "uns"),
        Case("two cores of a cache", "0-1,16-17", "cuns"),
        Case("one cache, cores split", "0-1,16", "uns"),
        Case("two caches of a node", "1-2,17-18", "cns"),
        Case("two nodes of a socket", "3-4,19-20", "cs"),
        Case("two sockets", "0,8,16,24", "c"),
        Case("two sockets, cores split", "0,8", ""),
    ],
    ids=lambda case: case.name,
)
def test_alignment(case: Case) -> None:
    found = alignment_of(MACHINE, mask(case.cpus))
    kept = {"c": found.core, "u": found.uncore_cache, "n": found.numa_node, "s": found.socket}
    assert "".join(letter for letter, together in kept.items() if together) == case.want


def test_the_evidence_groups_the_cpus_by_element() -> None:
    found = alignment_of(MACHINE, mask("1-2,8,18"))
    assert found.by_core == {1: mask("1"), 2: mask("2,18"), 8: mask("8")}
    assert found.by_uncore_cache == {0: mask("1"), 1: mask("2,18"), 4: mask("8")}
    assert found.by_numa_node == {0: mask("1-2,18"), 2: mask("8")}
    assert found.by_socket == {0: mask("1-2,18"), 1: mask("8")}
