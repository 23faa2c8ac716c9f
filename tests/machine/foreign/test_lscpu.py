"""lscpu's three formats with a row for every CPU, and how its versions print rows of offline CPUs."""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.foreign.form import MachineFact
from cpuctl.machine.foreign.reading import read_printed
from cpuctl.machine.foreign.rows import ForeignMachine


def read(text: str) -> ForeignMachine:
    return read_printed(text.encode(), "lscpu")


PARSABLE = """# a comment
# CPU,Core,Socket,Node,,L1d,L1i,L2,L3
0,0,0,0,,0,0,0,0
1,,,,,
2,1,1,1,,1,1,1,1
3,1,1,1,,1,1,1,1
"""
EXTENDED = """CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE    MAXMHZ
  0    0      0    0 0:0:0:0          yes 3000.5000
  1    -      -    - -                 no         -
  2    1      1    1 1:1:1:1          yes 2000.0000
  3    1      1    1 1:1:1:1          yes 2000.0000
"""
JSON = """{"cpus": [
  {"cpu": 0, "node": 0, "socket": 0, "core": 0, "l1d:l1i:l2:l3": "0:0:0:0", "online": true},
  {"cpu": 1, "node":-, "socket":-, "core":-, "l1d:l1i:l2:l3": "-", "online": false},
  {"cpu": "2", "node": "1", "socket": "1", "core": "1", "l1d:l1i:l2:l3": "1:1:1:1", "online": "yes"},
  {"cpu": 3, "node": 1, "socket": 1, "core": 1, "l1d:l1i:l2:l3": "1:1:1:1", "online": "Y"}
]}"""


@pytest.mark.parametrize("text", [PARSABLE, EXTENDED, JSON])
def test_all_formats_give_the_same_machine(text: str) -> None:
    machine, info, reported = read(text)
    assert (str(machine.online), str(machine.offline)) == ("0,2-3", "1")
    assert machine.present == CPUSet.parse("0-3")
    assert [str(core) for core in machine.cores] == ["0", "2-3"]
    assert {number: str(cpus) for number, cpus in machine.sockets.items()} == {0: "0", 1: "2-3"}
    assert [(node.id, str(node.cpus)) for node in machine.numa_nodes] == [(0, "0"), (1, "2-3")]
    assert [str(group) for group in machine.l3_groups] == ["0", "2-3"]
    assert {cache.size_bytes for cache in machine.caches} == {None}
    assert [(core.socket_id, core.threads) for node in info.nodes for core in node.cores] == [
        (0, (0,)),
        (1, (2, 3)),
    ]
    assert MachineFact.OFFLINE in reported.facts


def test_frequencies_show_kinds_of_cores() -> None:
    machine = read(EXTENDED).machine
    assert [cpu.max_khz for cpu in machine.cpus] == [3_000_500, 2_000_000, 2_000_000]
    assert str(machine.core_kinds.efficiency) == "2-3"


def test_cpus_without_a_core_are_online_if_no_cpu_has_one() -> None:
    machine, _, reported = read("# CPU,Core,Socket,Node\n0,,,\n1,,,\n")
    assert (str(machine.online), machine.cores_known, machine.numa_known) == ("0-1", False, True)
    assert reported.facts == {MachineFact.NUMA}


def test_a_cpu_without_a_core_is_offline_if_others_have_one() -> None:
    """Kernels of s390x show the socket of an offline CPU."""
    machine = read("# CPU,Core,Socket,Node\n0,,0,\n1,0,0,\n").machine
    assert (str(machine.online), str(machine.offline)) == ("1", "0")


def test_columns_that_were_not_requested_are_unknown() -> None:
    machine, _, reported = read("# CPU,Node\n0,0\n1,1\n")
    assert reported.facts == {MachineFact.NUMA}
    assert (machine.cores_known, machine.caches_known, machine.sockets) == (False, False, {})


@pytest.mark.parametrize(
    "text",
    [
        "# CPU,Core,Socket,Node,,L1d,L1i,L2\n0,0,0,0,,0,0,0\n1,1,0,0,,1\n",
        "CPU CORE L1d:L1i:L2\n0 0 0:0:0\n1 1 1\n",
        '{"cpus": [{"cpu": 0, "l1d:l1i:l2": "0:0:0"}, {"cpu": 1, "l1d:l1i:l2": "0:0"}]}',
    ],
)
def test_rows_with_a_missing_cache_leave_caches_unknown(text: str) -> None:
    machine, _, reported = read(text)
    assert (str(machine.online), machine.caches) == ("0-1", ())
    assert MachineFact.CACHES not in reported.facts


def test_numbers_of_cores_repeat_on_arm_processors_with_clusters() -> None:
    """Version 2.38 counts cores within each cluster: CPUs without a common L2 are not one core."""
    machine, info, reported = read("# CPU,Core,Socket,Node,,L1d,L1i,L2\n0,0,0,0,,0,0,0\n1,0,0,0,,1,1,1\n")
    assert [str(core) for core in machine.cores] == ["0", "1"]
    assert [core.threads for core in info.nodes[0].cores] == [(0,), (1,)]
    assert "core numbers repeat" in reported.notes[0]


def test_physical_numbers_of_cores_repeat_in_sockets() -> None:
    """``lscpu -y`` prints the kernel's own numbers."""
    machine = read("# CPU,Core,Socket\n0,0,0\n1,0,1\n").machine
    assert [str(core) for core in machine.cores] == ["0", "1"]


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        ("# CPU,Core\n0,0\nx,1\n", "lscpu:3: CPU", "found 'x', expected a number"),
        ("# CPU,Core\n0,0\n0,1\n", "lscpu:3", "CPU 0 is listed twice"),
        ("# CPU,Core\n8192,0\n", "lscpu:2: CPU", "found 8192, expected a CPU number of at most 8191"),
        ("# CPU,Core\n,\n", "lscpu:2: CPU", "found nothing, expected a CPU number"),
        ("# CPU,Node\n0,8192\n", "lscpu:2: NODE", "found 8192, expected a NUMA node number"),
        ("# CPU,Core\n0,0,0\n", "lscpu:2", "found '0,0,0', expected 2 columns (CPU,CORE)"),
        ("# CPU,Maxmhz\n0,fast\n", "lscpu:2: MAXMHZ", "found 'fast', expected a frequency in MHz"),
        ("CPU ONLINE\n0 ja\n", "lscpu:2: ONLINE", "found 'ja', expected yes or no"),
        ("CPU ONLINE\n0 no\n", "lscpu", "contains no online CPU"),
        ('{"cpus": [\n{"node": 0}]}', "lscpu", "expected a CPU column"),
        ('{"cpus": [\n{"cpu": []}]}', "lscpu:2: cpus[0].cpu", "expected a string, found a list"),
        ('{"cpus": [\n{"cpu": 0},\n{"cpu": 0}]}', "lscpu:3: cpus[1]", "CPU 0 is listed twice"),
        ('{"cpus": 1}', "lscpu:1: cpus", "expected a list"),
        ('{"lscpu": []}', "lscpu", "does not show the placement of each CPU"),
        ('{"caches": []}', "lscpu", "does not show the placement of each CPU"),
        ("Architecture: x86_64\n", "lscpu", "is lscpu's summary"),
        ("NAME ONE-SIZE\n", "lscpu", "is lscpu's table of caches"),
        ("# CPU" + ",x" * 99 + "\n", "lscpu", "has 100 columns, expected at most 64"),
    ],
)
def test_text_that_lscpu_would_not_print_is_rejected_with_its_place(
    text: str, where: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(text)
    assert caught.value.where == where
    assert message in caught.value.message
