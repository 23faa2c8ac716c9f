"""The picture of a fleet: every node once, in its group, with its state; names are escaped."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest

from cpuctl.exports.fleet import fleet_svg
from cpuctl.fleet.asking import ask, in_this_process
from cpuctl.fleet.collection import Recording
from cpuctl.fleet.listing import NodeLister, fleet_document
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.pods import load_pods
from cpuctl.inputs.sources import Sources
from cpuctl.operations.plan_inputs import PlanningInputs

STATIC = "--cpu-manager-policy=static --reserved-cpus=0-7"
SVG = "{http://www.w3.org/2000/svg}"


def picture(fleet: dict[str, str], *pods: str, arguments: str = STATIC) -> ET.Element:
    kubelet = KubeletInputs(arguments=arguments)
    recordings = [Recording(name, source) for name, source in fleet.items()]
    rows: Any = list(ask(NodeLister(kubelet), recordings, in_this_process, lambda _done, _total: None))
    document = fleet_document(
        rows, PlanningInputs(kubelet=kubelet), load_pods([], pods, Sources(), needed=False)
    )
    return ET.fromstring(fleet_svg(document, "A fleet"))  # noqa: S314  # we wrote it ourselves


def strips(svg: ET.Element) -> list[tuple[str | None, str | None]]:
    found = (each for each in svg.iter(f"{SVG}g") if each.get("data-node"))
    return [(each.get("data-node"), each.get("data-state")) for each in found]


def words(svg: ET.Element) -> list[str]:
    return ["".join(each.itertext()) for each in svg.iter(f"{SVG}text")]


def test_nodes_are_grouped_and_problems_marked() -> None:
    svg = picture(
        {
            "a": "synthetic:2s2n8c2t,mem=64Gi",
            "small": "synthetic:1s1n4c1t,mem=64Gi",
            "b": "synthetic:2s2n8c2t,mem=64Gi",
            "gone": "/no/such/recording",
        }
    )
    assert strips(svg) == [("a", "used"), ("b", "used"), ("small", "failing"), ("gone", "unreadable")]
    reported = words(svg)
    assert reported.index("a") < reported.index("b") < reported.index("small") < reported.index("gone")
    assert any(
        each.startswith("Group 1: 2 nodes, 32 CPUs, 2 NUMA nodes, 128Gi, kubelet 1.") for each in reported
    )
    assert any(each.startswith("differs from a in CPUs, sockets, NUMA nodes and") for each in reported)
    assert "Unreadable: 1 recording" in reported
    assert {"the kubelet would not start", "the recording cannot be used"} <= set(reported)
    assert "no static CPU Manager policy" not in reported


def test_a_strip_shows_the_share_of_free_cpus() -> None:
    (strip,) = (
        each for each in picture({"a": "synthetic:2s2n8c2t"}).iter(f"{SVG}g") if each.get("data-node")
    )
    whole, free = strip.findall(f"{SVG}rect")
    assert (whole.get("width"), free.get("width")) == ("104", "78")
    assert strip.findtext(f"{SVG}title") == (
        "a: 24 of 32 CPUs free for exclusive use, at most 16 on one NUMA node"
    )


def test_nodes_that_place_pods_differently_are_reported() -> None:
    fleet = {"a": "synthetic:2s2n8c2t,mem=64Gi", "b": "synthetic:2s4n4c2t,mem=64Gi"}
    assert any(
        "places pods differently: default/web" in each for each in words(picture(fleet, "web=10/10,1Gi"))
    )


def test_names_are_escaped() -> None:
    name = "<script>alert(1)</script>&\"'\x1b"
    svg = picture({name: "synthetic:1s1n4c2t"})
    assert [each for each in svg.iter() if "script" in str(each.tag)] == []
    assert strips(svg)[0][0] == name.replace("\x1b", "\\x1b")


@pytest.mark.parametrize(("count", "named"), [(400, True), (401, False)])
def test_names_in_large_fleets_appear_only_as_tooltips(count: int, named: bool) -> None:
    svg = picture({f"node{number}": "synthetic:1s1n4c2t" for number in range(count)}, arguments="")
    assert len(strips(svg)) == count
    assert ("node7" in words(svg)) is named
    assert float(svg.get("width", "0")) == 920
