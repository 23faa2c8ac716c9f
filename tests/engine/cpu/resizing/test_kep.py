"""What KEP-5554's text requires if several containers of a pod change, or an init container does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from cpuctl.engine.cpu.resizing.kep import resize_by_kep, resize_by_reference
from cpuctl.engine.cpu.resizing.reference import Resizing
from cpuctl.engine.cpu.resizing.request import Departure, Resized
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Rejected
from cpuctl.engine.resize.handler import ResizePath, decide
from cpuctl.engine.resize.outcome import ResizeResult
from cpuctl.pods.model import Container, ContainerKind, StoredPod
from tests.support.pods import app, init, sidecar
from tests.support.resizing import (
    RESTRICTED,
    Setting,
    admitted,
    changed,
    guaranteed,
    pod_of,
    request,
    two_nodes,
)

PROHIBITED, INCONSISTENT = "prohibitedCPUAllocationError", "inconsistentCPUAllocationError"
TOO_FEW = "requested number of CPUs ( 2 ) are less than number of retained CPUs ( 3 )"


def inner_and_app() -> StoredPod:
    """Return a pod of an init container, a sidecar and an app container, all with exclusive CPUs."""
    three, two = "cpu=3 memory=1Gi", "cpu=2 memory=1Gi"
    return pod_of(init(three, three, "i"), sidecar(two, two, "s"), guaranteed("2", "a"))


@dataclass(frozen=True, kw_only=True)
class Case:
    """New sizes, and the container whose resize is rejected with the reason; both empty if none is."""

    name: str
    to: Mapping[str, str]
    rejected: tuple[str, str] = ("", "")
    ended: bool = False
    departures: tuple[Departure, ...] = ()


def reported(
    node: Node, pod: StoredPod, semantics: Callable[[Resizing], Resized] = resize_by_kep
) -> tuple[str, str]:
    verdict = node.resize(pod, semantics).verdict
    if isinstance(verdict, Rejected):
        return verdict.container, str(verdict.reason)
    assert isinstance(verdict, Admitted)
    return "", ""


BY_NAME = (Departure.FORBIDDEN,)
INNER = [
    Case(name="init: below its promise", to={"i": "cpu=2"}, rejected=("i", PROHIBITED), departures=BY_NAME),
    Case(name="init: to the shared pool", to={"i": "cpu=2500m"}, rejected=("i", INCONSISTENT),
         departures=BY_NAME),
    Case(name="init: grows", to={"i": "cpu=4"}),
    Case(name="ended init: shrinks", to={"i": "cpu=2"}, ended=True, departures=(Departure.ENDED,)),
    Case(name="ended init: to the shared pool", to={"i": "cpu=2500m"}, ended=True),
    Case(name="ended init: grows", to={"i": "cpu=6"}, ended=True, departures=(Departure.ENDED,)),
    Case(name="sidecar: below its promise", to={"s": "cpu=1"}, rejected=("s", PROHIBITED),
         departures=BY_NAME),
    Case(name="sidecar: to the shared pool", to={"s": "cpu=1500m"}, rejected=("s", INCONSISTENT),
         departures=BY_NAME),
    Case(name="sidecar: grows", to={"s": "cpu=3"}),
]  # fmt: skip


@pytest.mark.parametrize("case", INNER, ids=lambda case: case.name)
def test_the_table_also_holds_for_init_containers_and_sidecars(case: Case) -> None:
    node = Setting(machine=two_nodes(cores=8), config={"reserved_system_cpus": "0"}).node()
    running = admitted(node, inner_and_app())
    if case.ended:
        node.remove_container("p", "i")
    before = node.copy()
    departures = before.copy().resize(changed(running, **case.to)).departures
    assert reported(node, changed(running, **case.to)) == case.rejected
    assert departures == case.departures
    if case.ended or any(case.rejected):
        assert node.state.assignments == before.state.assignments


FEASIBLE = {
    ("2", "2500m"): INCONSISTENT,
    ("2", "1"): PROHIBITED,
    ("4", "2"): PROHIBITED,
    ("1500m", "2"): INCONSISTENT,
    ("2500m", "2"): INCONSISTENT,
    ("2", "4"): "",
    ("2", "2"): "",
    ("1500m", "1700m"): "",
}
"""The size that a container has, the size it requests, and the reason for a rejection: KEP-5554's table."""


@pytest.mark.parametrize("scope", ["container", "pod"])
@pytest.mark.parametrize("make", [app, init, sidecar])
@pytest.mark.parametrize("sizes", FEASIBLE, ids=" to ".join)
def test_the_table_is_the_same_for_every_kind_of_container(
    sizes: tuple[str, str], make: Callable[[str, str, str], Container], scope: str
) -> None:
    setting = Setting(config={**RESTRICTED, "topology_manager_scope": scope})
    node, amounts = setting.node(fit=True), f"cpu={sizes[0]} memory=1Gi"
    given, other = make(amounts, amounts, "x"), guaranteed("2", "other")
    running = admitted(node, pod_of(other, given) if make is app else pod_of(given, other))
    # If this container keeps its size, the other one grows: there has to be something to decide.
    wanted = request(running, x=f"cpu={sizes[1]}", other="cpu=4" if sizes[0] == sizes[1] else "cpu=2")
    outcome = decide(node, wanted, ResizePath(kubelet=setting.rules()))
    assert outcome.reason == FEASIBLE[sizes]
    assert outcome.result is (ResizeResult.INFEASIBLE if FEASIBLE[sizes] else ResizeResult.ADMITTED)


def test_the_reference_rejects_init_containers_for_another_reason() -> None:
    """Its picker detects the error; the KEP's table covers all kinds of containers."""
    node = Setting(machine=two_nodes(cores=8), config={"reserved_system_cpus": "0"}).node()
    running = admitted(node, inner_and_app())
    verdict = node.resize(changed(running, i="cpu=2"), resize_by_reference).verdict
    assert isinstance(verdict, Rejected)
    assert (verdict.container, verdict.reason) == ("i", "ResizeAllocateCPUsError")
    assert TOO_FEW in verdict.message


@dataclass(frozen=True, kw_only=True)
class Several:
    """Two containers, ``grown`` first, then resized together; the rejections of KEP and reference."""

    name: str
    to: Mapping[str, str]
    kep: tuple[str, str]
    reference: tuple[str, str]
    sizes: tuple[str, str] = ("4", "1")
    grown: Mapping[str, str] = field(default_factory=lambda: {"a": "cpu=8"})


MISTAKE = ("a", "ResizeAllocateCPUsError")
"""Made by the reference implementation: its hint omits a NUMA node that the container is on."""
SEVERAL = [
    Several(name="a mistake alone", to={"a": "cpu=6"}, kep=("", ""), reference=MISTAKE),
    Several(name="a mistake, then a move to the shared pool", to={"a": "cpu=6", "b": "cpu=500m"},
            kep=("b", INCONSISTENT), reference=MISTAKE),
    Several(name="a mistake, then fewer than promised", sizes=("4", "2"), to={"a": "cpu=6", "b": "cpu=1"},
            kep=("b", PROHIBITED), reference=MISTAKE),
    Several(name="a mistake, then more than available", to={"a": "cpu=6", "b": "cpu=9"},
            kep=("b", "ResizeAllocateCPUsError"), reference=MISTAKE),
    Several(name="no mistake, then a move to the shared pool", grown={}, to={"a": "cpu=5", "b": "cpu=500m"},
            kep=("b", INCONSISTENT), reference=("b", INCONSISTENT)),
    Several(name="more than available, then a move to the shared pool", grown={},
            to={"a": "cpu=12", "b": "cpu=500m"}, kep=("a", "ResizeAllocateCPUsError"),
            reference=("a", "ResizeAllocateCPUsError")),
]  # fmt: skip


@pytest.mark.parametrize("case", SEVERAL, ids=lambda case: case.name)
def test_the_first_container_that_cannot_be_resized_decides(case: Several) -> None:
    """A container that the reference rejects by mistake does not hide a real obstacle after it."""
    node = Setting(config={"topology_manager_policy": "best-effort"}).node()
    first, second = case.sizes
    running = admitted(node, pod_of(guaranteed(first, "a"), guaranteed(second, "b")))
    if case.grown:
        running = changed(running, **case.grown)
        assert reported(node, running) == ("", "")
    wanted = changed(running, **case.to)
    assert reported(node.copy(), wanted, resize_by_reference) == case.reference
    before = node.copy()
    assert reported(node, wanted) == case.kep
    if any(case.kep):
        assert (node.state, node.active) == (before.state, before.active)


def test_a_pod_whose_init_container_ended_resizes_the_others() -> None:
    node = Setting(machine=two_nodes(cores=8), config={"reserved_system_cpus": "0"}).node()
    running = admitted(node, inner_and_app())
    (ended,) = (each for each in running.init_containers if each.kind is ContainerKind.INIT)
    node.remove_container("p", ended.name)
    assert reported(node, changed(running, a="cpu=4")) == ("", "")
    held = node.state.assignments["p"]
    assert {name: cpus.bit_count() for name, cpus in held.items()} == {"s": 2, "a": 4}
