"""An answer carries the hint rounds and placements of the reading that decided, and no others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.cpu.resizing.kep import resize_by_kep, resize_by_reference
from cpuctl.engine.cpu.resizing.packed import KEPT
from cpuctl.engine.cpu.resizing.reference import Resizing
from cpuctl.engine.cpu.resizing.request import Departure, Resized
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.hints.topology_manager import Answer, Merged
from cpuctl.engine.masks import CPUMask, NodeMask
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, FaultKind, KubeletFault
from cpuctl.engine.placement import Placement
from cpuctl.engine.provider import Candidate
from cpuctl.pods.model import Container, StoredPod
from cpuctl.records import replace
from tests.support.pods import init, sidecar
from tests.support.resizing import Setting, admitted, changed, guaranteed, pod_of, two_nodes
from tests.support.topologies import mask

Reading = Callable[[Resizing], Resized]
READINGS = [resize_by_reference, resize_by_kep]
PACKED = "single CPUs, packed"
TWO = (guaranteed("4", "a"), guaranteed("1", "b"))
INNER = (
    init("cpu=3 memory=1Gi", "cpu=3 memory=1Gi", "i"),
    sidecar("cpu=2 memory=1Gi", "cpu=2 memory=1Gi", "s"),
    guaranteed("2", "a"),
)


def placed(each: Placement) -> str:
    """Format a placement as CPUs and the rules that chose them."""
    assert each.exclusive is bool(each.cpus)
    assert each.claim.cpus == each.cpus.bit_count() or not each.exclusive
    return " / ".join([str(CPUSet(each.cpus)) or "shared", *(step.rule for step in each.steps)])


@dataclass(frozen=True, kw_only=True)
class Case:
    """New sizes, the containers that hints are requested for before the decision, and their placements."""

    name: str
    reading: Reading
    to: Mapping[str, str]
    requested: Sequence[str] = ()
    placed: Mapping[str, str] = field(default_factory=dict)
    departures: tuple[Departure, ...] = ()
    grown: Mapping[str, str] = field(default_factory=dict)
    pod: tuple[Container, ...] = TWO
    policy: str = "best-effort"
    ended: str = ""


GROWN = {"a": "cpu=8"}
KEPT_INNER = {"i": f"1-3 / {KEPT}", "s": f"2-3 / {KEPT}", "a": f"4-5 / {KEPT}"}
CASES = [
    Case(name="the reference implementation requests hints for every container", reading=resize_by_reference,
         to={"a": "cpu=5"}, requested="ab",
         placed={"a": f"0-3,5 / {KEPT} / {PACKED}", "b": f"4 / {KEPT}"}),
    Case(name="the KEP agrees", reading=resize_by_kep, to={"a": "cpu=5"}, requested="ab",
         placed={"a": f"0-3,5 / {KEPT} / {PACKED}", "b": f"4 / {KEPT}"}),
    Case(name="a mistake", reading=resize_by_reference, grown=GROWN, to={"a": "cpu=6"}, requested="a"),
    Case(name="a mistake corrected", reading=resize_by_kep, grown=GROWN, to={"a": "cpu=6"}, requested="a",
         placed={"a": f"0-3,6-7 / {KEPT} / whole cores", "b": "4"}, departures=(Departure.POSSIBLE,)),
    Case(name="another one is rejected then", reading=resize_by_kep, grown=GROWN,
         to={"a": "cpu=6", "b": "cpu=9"}, requested="ab", placed={"a": f"0-3,6-7 / {KEPT} / whole cores"},
         departures=(Departure.POSSIBLE,)),
    Case(name="a forbidden move", reading=resize_by_kep, to={"a": "cpu=5", "b": "cpu=500m"}, requested="ab",
         placed={"a": f"0-3,5 / {KEPT} / {PACKED}"}, departures=(Departure.NOTHING_KEPT,)),
    Case(name="a forbidden move that the reference implementation does not see", reading=resize_by_kep,
         pod=INNER, policy="none", to={"i": "cpu=2500m"}, placed={**KEPT_INNER, "i": "shared"},
         departures=(Departure.FORBIDDEN,)),
    Case(name="an init container gets CPUs long after its end", reading=resize_by_reference, pod=INNER,
         policy="none", ended="i", to={"i": "cpu=2"}, placed={**KEPT_INNER, "i": "6-7 / whole cores"}),
    Case(name="an init container that has ended is left alone", reading=resize_by_kep, pod=INNER,
         policy="none", ended="i", to={"i": "cpu=2"}, placed={"i": "shared", "s": "2-3", "a": "4-5"},
         departures=(Departure.ENDED,)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_answer_contains_what_it_is_based_on(case: Case) -> None:
    machine, reserved = (two_nodes(8), "0") if case.pod is INNER else (two_nodes(), "11")
    config = {"topology_manager_policy": case.policy, "reserved_system_cpus": reserved}
    node = Setting(machine=machine, config=config).node()
    running = admitted(node, pod_of(*case.pod))
    if case.grown:
        running = changed(running, **case.grown)
        assert node.resize(running).verdict == Admitted()
    node.remove_container("p", case.ended)
    wanted = changed(running, **case.to)
    resized = node.resize(wanted, case.reading)
    assert [each.container and each.container.name for each in resized.hint_rounds] == list(case.requested)
    assert {each.container.name: placed(each) for each in resized.placements} == case.placed
    assert len(resized.placements) == len(case.placed)
    assert resized.departures == case.departures


@pytest.mark.parametrize("reading", READINGS)
def test_in_pod_scope_there_is_one_round_for_the_pod(reading: Reading) -> None:
    config = {"topology_manager_policy": "restricted", "topology_manager_scope": "pod"}
    node = Setting(config=config).node()
    running = admitted(node, pod_of(*TWO))
    (one,) = node.resize(running, reading).hint_rounds
    assert one.container is None
    assert one.answers == {
        "cpu": {"cpu": CPUHints.generate(node.topology, mask("0-4"), CPUMask(0), 5, align_by_socket=False)},
        "memory": None,
    }
    assert one.merged == Merged(Hint(NodeMask(0b01), preferred=True), admit=True)


@dataclass
class Busy:
    """A resource manager that records what it is asked about, and hangs on one container or pod."""

    hangs_for: str = ""
    requested: list[str] = field(default_factory=list)
    name: str = "busy"
    fault = KubeletFault(kind=FaultKind.ENDLESS_LOOP, where="a resource manager", why="it is busy")

    def hints(self, candidate: Candidate, container: Container | None) -> Answer | KubeletFault:
        who = candidate.pod.name if container is None else container.name
        self.requested.append(who)
        return self.fault if who == self.hangs_for else None


def with_busy(node: Node, wanted: StoredPod, reading: Reading, busy: Any) -> Resized:
    return node.resize(wanted, lambda requested: reading(replace(requested, others=(busy,))))


def two(scope: str) -> tuple[Node, StoredPod]:
    config = {"topology_manager_policy": "best-effort", "topology_manager_scope": scope}
    node = Setting(config=config).node()
    return node, admitted(node, pod_of(*TWO))


@pytest.mark.parametrize(("scope", "who"), [("container", ["a", "b"]), ("pod", ["p"])])
@pytest.mark.parametrize("reading", READINGS)
def test_all_managers_are_asked_about_the_same_containers(
    reading: Reading, scope: str, who: list[str]
) -> None:
    node, running = two(scope)
    busy = Busy()
    resized = with_busy(node, changed(running, a="cpu=5"), reading, busy)
    assert (resized.verdict, busy.requested) == (Admitted(), who)
    assert [list(each.answers) for each in resized.hint_rounds] == [["cpu", "busy"]] * len(who)


@pytest.mark.parametrize(("scope", "who"), [("container", "a"), ("pod", "p")])
@pytest.mark.parametrize("reading", READINGS)
def test_a_kubelet_that_hangs_has_no_answer(reading: Reading, scope: str, who: str) -> None:
    node, running = two(scope)
    before = node.copy()
    resized = with_busy(node, changed(running, a="cpu=5"), reading, Busy(hangs_for=who))
    assert resized.verdict == node.fault == Busy.fault
    assert (resized.hint_rounds, resized.placements, resized.departures) == ((), (), ())
    assert (node.state, node.active) == (before.state, before.active)


@pytest.mark.parametrize("reading", READINGS)
def test_a_numa_node_beyond_the_masks_crashes_the_topology_manager(reading: Reading) -> None:
    node, running = two("container")
    node.topology_manager = replace(node.topology_manager, fault=KubeletFault(FaultKind.CRASH, "", ""))
    resized = node.resize(running, reading)
    assert isinstance(resized.verdict, KubeletFault)
    assert resized.verdict.kind is FaultKind.CRASH
    assert [each.merged for each in resized.hint_rounds] == [resized.verdict]


def test_departures_from_the_kep_are_described() -> None:
    assert dict(Departure.__members__) == {
        "FORBIDDEN": ("a size below the baseline, or a move between shared and exclusive CPUs, is rejected"),
        "ENDED": "an init container that has ended is left alone",
        "POSSIBLE": "a resize that fits into baseline, current and free CPUs is done",
        "NOTHING_KEPT": "a rejection changes nothing",
        "FINAL": "a rejection by the resource managers is final, not retried",
    }
