from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.machine.model import CPU, Cache, Machine, NumaNode


def cpus(text: str) -> CPUSet:
    return CPUSet.parse(text)


def cpu(number: int, siblings: str = "", package: int | None = None, members: str = "") -> CPU:
    return CPU(
        number=number,
        siblings=cpus(siblings or str(number)),
        package_id=package,
        package_cpus=cpus(members) if members else None,
    )


def test_siblings_determine_cores_even_when_they_disagree() -> None:
    """CPU 1 claims CPU 2, which CPU 0 does not list: no CPU is in two cores."""
    machine = Machine(cpus=(cpu(0, "0-1"), cpu(1, "0-2"), cpu(2, "1-2")))
    assert [str(core) for core in machine.cores] == ["0-1", "2"]


def test_offline_siblings_are_left_out_of_cores() -> None:
    machine = Machine(cpus=(cpu(0, "0,4"),), offline=cpus("4"))
    assert [str(core) for core in machine.cores] == ["0"]


@pytest.mark.parametrize(
    ("members", "want"),
    [
        ([cpu(0, package=3), cpu(1, package=3)], {0: 3, 1: 3}),
        ([cpu(0), cpu(1)], {0: None, 1: None}),
        ([cpu(0, package=-1), cpu(1)], {0: None, 1: None}),
        ([cpu(0, package=-1, members="0"), cpu(1, package=-1, members="1")], {0: 0, 1: 1}),
        ([cpu(0, package=-1, members="0"), cpu(1, package=4, members="1")], {0: 5, 1: 4}),
        ([cpu(0, members="0-1"), cpu(1, package=4, members="0-1")], {0: 4, 1: 4}),
        ([cpu(0, package=2), cpu(1)], {0: 2, 1: None}),
    ],
)
def test_sockets_by_package_id_or_by_package_members(members: list[CPU], want: dict[int, int | None]) -> None:
    machine = Machine(cpus=tuple(members))
    assert machine.socket_of == want
    assert set(machine.sockets) == {socket for socket in want.values() if socket is not None}


def test_l3_groups_are_distinct_and_ordered() -> None:
    caches = [Cache(level=3, kind="Unified", cpus=cpus(text)) for text in ("2-3", "0-1")]
    caches += [Cache(level=2, kind="Unified", cpus=cpus("0"))]
    machine = Machine(cpus=tuple(map(cpu, range(4))), caches=tuple(caches))
    assert [str(group) for group in machine.l3_groups] == ["0-1", "2-3"]
    assert machine.caches_by_cpu[0] == (caches[1], caches[2])
    assert 9 not in machine.caches_by_cpu


@pytest.mark.parametrize(
    ("members", "nodes", "want"),
    [
        ((1, 0), (), "CPUs must be listed once each, in ascending order"),
        ((0, 0), (), "CPUs must be listed once each, in ascending order"),
        ((0, 1), ((1, "0"), (0, "1")), "NUMA nodes must be listed once each, in ascending order"),
        ((0, 1), ((0, "0-1"), (1, "1")), "CPUs 1 belong to two NUMA nodes"),
        ((0, 1), ((0, "0-2"),), "NUMA nodes list CPUs 2, which are not online"),
    ],
)
def test_parts_that_contradict_each_other(
    members: tuple[int, ...], nodes: tuple[tuple[int, str], ...], want: str
) -> None:
    numa_nodes = tuple(NumaNode(id=number, cpus=cpus(text)) for number, text in nodes)
    with pytest.raises(ValueError, match=f"^{want}$"):
        Machine(cpus=tuple(map(cpu, members)), numa_nodes=numa_nodes).checked()


@pytest.mark.parametrize(
    ("architecture", "vendor", "expected"),
    [
        (None, None, True),
        (None, "GenuineIntel", False),
        (None, "IBM/S390", True),
        ("s390x", "IBM/S390", True),
        ("aarch64", None, False),
        ("x86_64", "AuthenticAMD", False),
    ],
)
def test_books_are_possible_on_s390x_and_unknown_architectures(
    architecture: str | None, vendor: str | None, expected: bool
) -> None:
    machine = Machine(cpus=(cpu(0),), architecture=architecture, vendor=vendor)
    assert machine.may_have_books == expected
