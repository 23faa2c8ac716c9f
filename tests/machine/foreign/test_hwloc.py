"""hwloc's XML against the kernel's own files of the same machine, and what is rejected."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cpuctl.errors import InputError
from cpuctl.machine.foreign.form import MachineFact
from cpuctl.machine.foreign.reading import read_printed
from cpuctl.machine.sources import read_machine
from tests.support.machine_facts import differences

MACHINES = Path(__file__).parents[3] / "fixtures" / "machines"
WRITTEN = (MACHINES / "2s-2numa-32cpu.hwloc2.xml").read_text()
THIRD = re.sub(r" *<page_type [^>]*/>\n", "", WRITTEN.replace('version="2.0"', 'version="3.0"'))
SMALL = """<topology version="2.0"><object type="Machine" cpuset="0x3" complete_cpuset="0x7">
<object type="NUMANode" os_index="1" cpuset="0x3"/>
<object type="NUMANode" os_index="0" cpuset="0x3"/>
<object type="PU" os_index="0"/>
<object type="PU" os_index="1"/>
</object></topology>"""

UNEVEN = '<distances2 type="NUMANode"><indexes>0 1</indexes><u64values>1</u64values></distances2>'


@pytest.mark.parametrize("text", [WRITTEN, THIRD], ids=["2", "3"])
def test_hwloc_describes_the_same_machine_as_the_kernel(text: str) -> None:
    kernels = read_machine(str(MACHINES / "2s-2numa-32cpu.tar.xz"))
    machine, info, reported = read_printed(text.encode(), "hwloc.xml")
    assert differences(kernels.machine, machine, reported) == {}
    assert (MachineFact.HUGE_PAGES in reported.facts) == (text is WRITTEN)
    assert reported.facts >= reported.form.recorded - {MachineFact.CORE_KINDS, MachineFact.HUGE_PAGES}
    assert machine.hugepages_known == (text is WRITTEN)
    assert [(node.id, node.cores) for node in info.nodes] == [
        (node.id, node.cores) for node in kernels.info.nodes
    ]


def test_missing_levels_are_unknown_and_the_first_near_node_has_the_cpus() -> None:
    machine, _, reported = read_printed(SMALL.encode(), "x")
    assert [(node.id, str(node.cpus)) for node in machine.numa_nodes] == [(0, "0-1"), (1, "")]
    assert (str(machine.offline), machine.cores_known, machine.sockets) == ("2", False, {})
    assert machine.caches_known is False
    assert len(reported.notes) == 2


def test_a_kernel_without_nodes_has_none_although_hwloc_adds_one() -> None:
    text = SMALL.replace("</topology>", '<support name="custom.exported_support"/></topology>')
    machine = read_printed(
        text.replace('os_index="0" cpuset', 'os_index="0" local_memory="9" cpuset').encode(), "x"
    )
    assert (machine.machine.numa_nodes, machine.machine.memory_bytes) == ((), 9)


@pytest.mark.parametrize(
    ("old", "new", "where", "message"),
    [
        ('version="2.0"', "", "x:1", "found <topology> without a version"),
        (
            'version="2.0"',
            'version="1.11"',
            "x:1",
            "found version 1.11, expected a topology of hwloc version 2 or 3",
        ),
        ("</topology>", "", "x:6", "not XML: no element found"),
        (
            "<topology",
            "<!DOCTYPE t [<!ENTITY e 'x'>]><topology",
            "x:1",
            "declares its own document type",
        ),
        ("<topology", "<a>" * 201 + "<topology", "x:1", "more than 200 levels of elements"),
        ('type="Machine"', 'type="System"', "x:1", "found no Machine object"),
        ('<object type="PU" os_index="1"/>', '<object type="PU"/>', "x:5", "found a PU without os_index"),
        ('PU" os_index="1"', 'PU" os_index="8192"', "x:5", "expected a number of at most 8191"),
        ('PU" os_index="1"', 'PU" os_index="0"', "x", "CPUs must be listed once each"),
        ('complete_cpuset="0x7"', 'complete_cpuset="0xf...f"', "x:1", "(infinite)"),
        ('complete_cpuset="0x7"', 'complete_cpuset="seven"', "x:1", "expected a bitmap such as"),
        (
            '<object type="NUMANode" os_index="0"',
            '<object type="NUMANode"',
            "x:3",
            "a NUMANode without os_index",
        ),
        (
            "</topology>",
            f"{UNEVEN}</topology>",
            "x:6",
            "found 1 distances of 2 NUMA nodes",
        ),
    ],
)
def test_text_that_hwloc_would_not_write_is_rejected_with_its_line(
    old: str, new: str, where: str, message: str
) -> None:
    assert old in SMALL
    text = SMALL.replace(old, new)
    with pytest.raises(InputError) as caught:
        read_printed(text.encode(), "x")
    assert caught.value.where == where
    assert message in caught.value.message


def test_the_number_of_elements_is_limited() -> None:
    text = "<topology version='2.0'>" + "<info/>" * 300_000 + "</topology>"
    with pytest.raises(InputError, match="more than 300,000 elements"):
        read_printed(text.encode(), "x")


def test_distances_are_sorted_by_node() -> None:
    table = (
        '<distances2 type="NUMANode" name="NUMALatency" indexing="os"><indexes length="4">1 0 </indexes>'
        "<u64values>10 21 </u64values><u64values>31 10</u64values></distances2>"
    )
    machine = read_printed(SMALL.replace("</topology>", f"{table}</topology>").encode(), "x").machine
    assert [node.distances for node in machine.numa_nodes] == [(10, 31), (21, 10)]
