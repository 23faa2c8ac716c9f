"""``reservedMemory`` at the start of a static Memory Manager: equal to Node Allocatable, to the byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from cpuctl.kubelet.config import ReservedMemory, SettingError
from cpuctl.kubelet.reservations import countable, reserved_by_node
from tests.support.pods import amounts

GI = 1 << 30


def listed(*items: tuple[int, str]) -> list[ReservedMemory]:
    return [ReservedMemory(numa_node=node, limits=amounts(text)) for node, text in items]


def test_amounts_are_bytes_by_node() -> None:
    items = listed((0, "memory=1Gi"), (1, "memory=512Mi"))
    assert reserved_by_node(items, (0, 1), amounts("memory=1.5Gi cpu=2")) == {
        0: {"memory": GI},
        1: {"memory": GI // 2},
    }


@dataclass(frozen=True, slots=True)
class Refused:
    name: str
    error: str
    items: list[ReservedMemory] = field(default_factory=list)
    kept: Mapping[str, str] = field(default_factory=dict)


def unequal(total: str, kind: str, kept: str) -> str:
    return (
        f'the total amount "{total}" of type "{kind}" is not equal to the value "{kept}" determined by Node '
        "Allocatable feature"
    )


REFUSED = [
    Refused(
        "a node that is not there",
        "the reserved memory configuration references a NUMA node 7 that does not exist on this machine",
        listed((0, "memory=1Gi"), (7, "memory=1Gi")),
    ),
    Refused(
        "nothing listed",
        unequal("0", "memory", "100Mi"),
        kept={"memory": "100Mi"},
    ),
    Refused(
        "more than is kept",
        unequal("3Gi", "memory", "1100Mi"),
        listed((0, "memory=1Gi"), (1, "memory=2Gi")),
        {"memory": "1100Mi"},
    ),
    Refused(
        "huge pages can never be kept",
        unequal("2Mi", "hugepages-2Mi", "0"),
        listed((0, "memory=1Gi hugepages-2Mi=2Mi")),
        {"memory": "1Gi"},
    ),
    Refused(
        "written with a fraction",
        "could not covert a variable of type Quantity to int64",
        listed((0, "memory=1.5Gi")),
        {"memory": "1536Mi"},
    ),
    Refused("nothing reserved", "[memorymanager] you should specify the system reserved memory"),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_what_the_kubelet_rejects(case: Refused) -> None:
    kept = amounts(" ".join(f"{name}={amount}" for name, amount in case.kept.items())) if case.kept else {}
    with pytest.raises(SettingError) as refused:
        reserved_by_node(case.items, (0, 1), kept)
    assert (str(refused.value), refused.value.path) == (case.error, ("reservedMemory",))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1, "1"),
        (1000, "1k"),
        (1024, "1Ki"),
        (1 << 30, "1Gi"),
        ((1 << 30) + 1, "1073741825"),
        (999 << 40, "1098412116148224"),
        (1000 << 40, "1099511627776k"),
        (1 << 50, "1125899906842624"),
        (1023 << 40, "1124800395214848"),
    ],
)
def test_amounts_are_written_so_that_the_kubelet_can_count_them(number: int, text: str) -> None:
    """``999Ti`` is a whole number but not an "exact int64": it has too many digits for its suffix."""
    assert str(countable(number)) == text
    assert countable(number).exact_int64 == number
