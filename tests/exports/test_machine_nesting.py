"""CPUs sorted into their places, the same for boxes of letters and for pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hypothesis import given

from cpuctl.answers.topology import PicturedCPU
from cpuctl.exports.machine_picture import Core, Nested, TopologyDomain, nested
from tests.support.drawn_rows import rows


def cpus_in(
    content: Iterable[Nested], place: dict[str, int | None]
) -> Iterator[tuple[int, dict[str, int | None]]]:
    for each in content:
        match each:
            case Core(rows=found):
                yield from ((row["cpu"], place) for row in found)
            case TopologyDomain(level=level, number=number, inside=inside):
                yield from cpus_in(inside, {**place, level: number})


@given(rows())
def test_every_cpu_is_in_its_places_and_nowhere_else(drawn: list[PicturedCPU]) -> None:
    nowhere: dict[str, int | None] = dict.fromkeys(("socket", "node", "l3"))
    found = list(cpus_in(nested(drawn), nowhere))
    assert sorted(cpu for cpu, _ in found) == sorted(row["cpu"] for row in drawn)
    by_number: dict[int, Mapping[str, object]] = {row["cpu"]: row for row in drawn}
    for cpu, place in found:
        assert place == {key: by_number[cpu][key] for key in place}
