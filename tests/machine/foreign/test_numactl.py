"""``numactl -H``, line by line."""

from __future__ import annotations

import pytest

from cpuctl.errors import InputError
from cpuctl.machine.foreign.form import MachineFact
from cpuctl.machine.foreign.reading import read_printed

GOOD = """available: 2 nodes (0,2)
node 0 cpus: 0 1
node 0 size: 13402 MB
node 0 free: 12 MB
node 2 cpus:
node 2 size: <not available>
node 2 something else: 12
node distances:
node   0   2
  0:  10  21
  2:  21  10
"""


def test_nodes_without_cpus_and_with_unknown_sizes() -> None:
    machine, info, reported = read_printed(GOOD.encode(), "n")
    assert [(node.id, str(node.cpus), node.memory_bytes, node.free_bytes) for node in machine.numa_nodes] == [
        (0, "0-1", 13402 << 20, 12 << 20),
        (2, "", None, None),
    ]
    assert [node.distances for node in machine.numa_nodes] == [(10, 21), (21, 10)]
    assert info.nodes_without_memory == (2,)
    assert reported.notes == ()


def test_firmware_without_distances_leaves_them_unknown() -> None:
    text = GOOD.partition("node distances:")[0] + "No distance information available.\n"
    machine, _, reported = read_printed(text.encode(), "n")
    assert [node.distances for node in machine.numa_nodes] == [(), ()]
    assert MachineFact.DISTANCES not in reported.facts


@pytest.mark.parametrize(
    ("old", "new", "where", "message"),
    [
        ("(0,2)", "(0,x)", "n:1", "expected available: N nodes (0-N)"),
        ("(0,2)", "(0-9999)", "n:1", "expected at most"),
        ("node 0 cpus: 0 1", "node 0 cpus: 0 z", "n:2", "expected a list such as 0-3,8"),
        ("node 0 cpus: 0 1", "node 1 cpus: 0 1", "n:2", "found node 1, expected one of 0,2"),
        ("node 2 cpus:", "node 0 cpus:", "n:5", "the CPUs of node 0 are listed twice"),
        ("node 2 cpus:", "node 2 cpus: 1", "n:5", "CPU 1 is also listed in node 0"),
        ("13402 MB", "13402 GB", "n:3", "found '13402 GB', expected a size such as 13402 MB"),
        ("  2:  21  10", "  2:  21", "n:11", "found 1 distances below 2 nodes"),
        ("  2:  21  10", "  9:  21 10", "n:11", "found node 9, expected one of 0,2"),
        ("  2:  21  10", "policy: default", "n:11", "expected a NUMA node or distances"),
        ("node 2 cpus:\n", "", "n:10", "the output ends without the CPUs of node 2"),
        ("node 0 cpus: 0 1", "node 0 cpus:", "n", "contains no online CPU"),
    ],
)
def test_text_that_numactl_would_not_print_is_rejected_with_its_line(
    old: str, new: str, where: str, message: str
) -> None:
    assert old in GOOD
    with pytest.raises(InputError) as caught:
        read_printed(GOOD.replace(old, new).encode(), "n")
    assert caught.value.where == where
    assert message in caught.value.message


def test_a_kernel_without_nodes_gives_nothing_to_read() -> None:
    with pytest.raises(InputError, match="without NUMA support, which contains nothing else"):
        read_printed(b"No NUMA support available on this system.\n", "n")
