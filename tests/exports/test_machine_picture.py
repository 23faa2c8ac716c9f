"""The picture of a machine: every CPU once, in its place, with its owner; nothing overlaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from hypothesis import example, given

from cpuctl.answers.plan import NotStartedPlan
from cpuctl.answers.topology import PicturedCPU
from cpuctl.cpuset import CPUSet
from cpuctl.exports.answer_text import mark_of
from cpuctl.exports.machine_facts import CPU, CPUOwner, CPUUse, MachineFacts, plan_facts
from cpuctl.exports.machine_picture import MOST_OWNERS, Core, Nested, TopologyDomain, machine_svg, nested
from cpuctl.visible_text import printable
from tests.support.drawn_rows import cpu_row, machines, rows
from tests.support.pictures import Picture, letters, tooltip

BOXES = ("fr", "k")


def row(cpu: int, **more: Any) -> PicturedCPU:
    place = {"socket": 0, "node": cpu // 4, "l3": cpu // 4, "core": cpu // 2}
    return cpu_row(cpu, **place, **more)


INVISIBLE = MachineFacts(
    title="", lines=(), cpus=(CPU(row(0), CPUUse.OWNED, ("a",)),), owners=(CPUOwner("a", "\x1f", "0"),)
)


@given(machines())
@example(INVISIBLE)
def test_every_cpu_is_drawn_once_with_its_use_and_owners(facts: MachineFacts) -> None:
    picture = Picture(machine_svg(facts))
    assert sorted(picture.cpus) == sorted(cpu.number for cpu in facts.cpus)
    for cpu in facts.cpus:
        group = picture.cpus[cpu.number]
        assert group.attrib["data-use"] == cpu.use
        assert group.attrib["data-owner"].split() == list(cpu.marks)
        assert letters(group)[0] == str(cpu.number)
        for owner in facts.owners:
            if owner.mark in cpu.marks:
                assert printable(owner.name) in tooltip(group)


@given(machines())
def test_boxes_are_nested_or_apart(facts: MachineFacts) -> None:
    picture = Picture(machine_svg(facts))
    boxes = picture.rects(*BOXES)
    for one, other in combinations(boxes, 2):
        assert one.apart(other) or one.contains(other) or other.contains(one), (one, other)
    assert all(picture.size.contains(box) for box in boxes)
    cells = picture.rects("k")
    assert all(one.apart(other) for one, other in combinations(cells, 2))


@given(machines())
def test_texts_stay_inside_their_boxes(facts: MachineFacts) -> None:
    picture = Picture(machine_svg(facts))
    texts = picture.texts()
    assert [text for text in texts if not picture.size.contains(text.rect)] == []
    cells = picture.rects("k")
    for group in picture.cpus.values():
        assert len(letters(group)) <= 2
    numbers = [text for text in texts if any(not cell.apart(text.rect) for cell in cells)]
    assert [text for text in numbers if not any(cell.contains(text.rect) for cell in cells)] == []


def test_letters_and_words_show_everything_that_colours_show() -> None:
    facts = MachineFacts(
        title="A node",
        lines=("3 pods",),
        cpus=(
            CPU(row(0, shared=True), CPUUse.RESERVED),
            CPU(row(1), CPUUse.OWNED, ("a",)),
            CPU(row(2), CPUUse.OWNED, ("b", "a"), disputed=True),
            CPU(row(3, shared=True), CPUUse.SHARED),
            CPU(row(4), CPUUse.NONE),
            CPU(row(5, online=False), CPUUse.OFFLINE),
        ),
        owners=(CPUOwner("a", "shop/web server", "1-2"), CPUOwner("b", "shop/db server", "2")),
    )
    picture = Picture(machine_svg(facts))
    shown = {cpu: letters(group)[1:] for cpu, group in picture.cpus.items()}
    assert shown == {0: ["R"], 1: ["a"], 2: ["b+"], 3: [], 4: ["?"], 5: ["off"]}
    legend = {text.text for text in picture.texts()}
    assert {"shop/web server: 1-2", "shop/db server: 2", "offline: 5", "shared pool: 3"} <= legend
    assert tooltip(picture.cpus[2]) == (
        "CPU 2; b shop/db server, a shop/web server; socket 0, NUMA node 0, L3 0, core 1"
    )
    description = picture.root.findtext("{http://www.w3.org/2000/svg}desc") or ""
    assert "a shop/web server: CPUs 1-2" in description
    assert picture.root.attrib["role"] == "img"


def big_machine(cpus: int, owners: int) -> MachineFacts:
    rows = [
        cpu_row(n, socket=n * 2 // cpus, node=n * 8 // cpus, l3=n // 16, core=n // 2) for n in range(cpus)
    ]
    return MachineFacts(
        title="Large",
        lines=(),
        cpus=tuple(CPU(row, CPUUse.OWNED, (mark_of(row["cpu"] * owners // cpus),)) for row in rows),
        owners=tuple(CPUOwner(mark_of(n), f"default/pod-{n} main", "") for n in range(owners)),
    )


def test_a_large_machine_with_hundreds_of_pods_is_drawn_completely() -> None:
    picture = Picture(machine_svg(big_machine(1024, 300)))
    assert len(picture.cpus) == 1024
    names = [text.text for text in picture.texts() if text.text.startswith("default/pod-")]
    assert len(names) == MOST_OWNERS
    assert any(text.text.startswith("and 240 more owners, bi to kn") for text in picture.texts())
    assert tooltip(picture.cpus[1023]).startswith("CPU 1023; kn default/pod-299 main;")
    assert 0.6 < picture.size.width / picture.size.height < 2.5


def test_drawing_is_deterministic_and_nodes_have_the_same_size() -> None:
    facts = big_machine(512, 30)
    assert machine_svg(facts) == machine_svg(facts)
    nodes = Picture(machine_svg(facts)).rects("f1")
    assert len({(box.width, box.height) for box in nodes}) == 1


def test_a_node_with_a_missing_core_has_the_same_size_as_the_others() -> None:
    facts = big_machine(512, 30)
    gone = (254, 255, 510, 511)
    fewer = tuple(cpu for cpu in facts.cpus if cpu.number not in gone)
    whole, missing = (Picture(machine_svg(each)) for each in (facts, replace(facts, cpus=fewer)))
    assert missing.size == whole.size
    assert missing.rects("f1") == whole.rects("f1")


def test_a_machine_whose_kubelet_does_not_start_has_no_owners() -> None:
    plan: NotStartedPlan = {
        "apiVersion": "cpuctl/v1alpha1",
        "kind": "Plan",
        "kubelet": {
            "version": "1.36.0",
            "cpuManagerPolicy": "static",
            "cpuManagerPolicyOptions": {},
            "topologyManagerPolicy": "none",
            "memoryManagerPolicy": "None",
        },
        "warnings": [],
        "start": {"outcome": "Rejected", "stage": "CPU Manager", "error": "no CPUs are reserved"},
        "pods": [],
        "sources": {},
    }
    facts = plan_facts(plan, {"cpus": [row(0, marks=[]), row(1, marks=[], online=False)], "holders": []})
    assert facts.title == "The kubelet does not start"
    assert facts.lines == ("The kubelet would not start: no CPUs are reserved",)
    assert facts.having(CPUUse.OFFLINE) == CPUSet.of([1])


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
def test_every_cpu_is_nested_only_in_its_own_places(drawn: list[PicturedCPU]) -> None:
    nowhere: dict[str, int | None] = dict.fromkeys(("socket", "node", "l3"))
    found = list(cpus_in(nested(drawn), nowhere))
    assert sorted(cpu for cpu, _ in found) == sorted(row["cpu"] for row in drawn)
    by_number: dict[int, Mapping[str, object]] = {row["cpu"]: row for row in drawn}
    for cpu, place in found:
        assert place == {key: by_number[cpu][key] for key in place}
