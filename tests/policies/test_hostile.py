"""Every misbehaving policy results in an error that names it, in time, and leaves the node unchanged."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted
from cpuctl.errors import PolicyError
from cpuctl.machine.sources import read_machine
from cpuctl.policies import worker as workers
from cpuctl.policies.answering import Question, Server
from cpuctl.policies.model import CPU, ContainerView, Elements, PodView, Policy, View
from cpuctl.policies.what_if import SubstitutePolicy
from cpuctl.policies.worker import Worker
from tests.policies.asking import in_place, worker_of
from tests.policies.nodes import node_with, pod

MACHINE = read_machine("synthetic:2s2n4c2t,mem=16Gi")
BUDGET = 0.4
PATIENCE = 30
"""The budget in seconds of policies that do more than wait: a busy machine must not end them."""


class Hostile(Policy):
    """Runs *do* in the step ``select``, unless another step is overridden."""

    def select(self, scores: Mapping[int, float], view: View) -> Any:
        return self.do(scores, view)

    def do(self, scores: Mapping[int, float], view: View) -> Any:
        raise NotImplementedError


def hostile(do: Callable[[Mapping[int, float], View], Any]) -> type[Policy]:
    return type("Hostile", (Hostile,), {"do": lambda _self, scores, view: do(scores, view)})


def forever(*_: Any) -> Any:
    while True:
        pass


def deaf(*_: Any) -> Any:
    """Loop, and block all exceptions and signals."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    sys.settrace(None)
    while True:
        try:
            time.sleep(1)
        except BaseException:
            continue


def crashes(*_: Any) -> Any:
    faulthandler.disable()  # pytest's traceback of it would look like a failure
    ctypes.string_at(0)


def endless(*_: Any) -> Iterator[set[int]]:
    while True:
        yield {0}


def deep(*_: Any) -> Any:
    return deep()


def hoards(*_: Any) -> Any:
    kept: list[bytearray] = []
    while True:
        kept.append(bytearray(1 << 26))


def exits(*_: Any) -> Any:
    sys.exit(3)


def mutates(scores: Mapping[int, float], view: View) -> Any:
    view.free = CPUSet()  # type: ignore[misc]
    return []


def mutates_topology(_: Any, view: View) -> Any:
    view.topology.numa_nodes[0] = CPUSet()  # type: ignore[index]
    return []


def forges(_: Any, view: View) -> Any:
    """Answer in place of cpuctl's own code, with CPUs of others."""
    Server.__call__ = lambda *_: {"sets": [["ffff", 9]], "scores": {}, "winner": 0}  # type: ignore[method-assign]
    return [view.kubelet]


def babbles(*_: Any) -> Any:
    os.write(1, b"noise")
    print("more noise")  # noqa: T201
    raise ValueError("after the noise")


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even that")


def unprintable(*_: Any) -> Any:
    raise Unprintable


CASES: dict[str, tuple[Callable[..., Any], str]] = {
    "raises": (lambda *_: 1 // 0, "select raised ZeroDivisionError: integer division or modulo by zero"),
    "loops": (forever, f"select took longer than {BUDGET} s"),
    "is deaf": (deaf, f"select took longer than {BUDGET} s"),
    "never ends its sets": (endless, "select (returned more than 4096|named a set)"),
    "recurses": (deep, "select (raised (RecursionError|MemoryError)|was terminated by SIGSEGV)"),
    "takes memory bit by bit": (hoards, "select (raised MemoryError|was terminated by SIG)"),
    "exits": (exits, "select raised SystemExit: 3"),
    "ends the process": (lambda *_: os._exit(0), r"select exited \(exit status 0\)"),
    "kills itself": (lambda *_: os.kill(os.getpid(), signal.SIGKILL), "select was terminated by SIGKILL"),
    "crashes": (crashes, "select was terminated by SIGSEGV"),
    "eats memory": (lambda *_: bytearray(1 << 40), "select raised MemoryError"),
    "returns nothing": (lambda *_: None, r"select returned None \(NoneType\), which is not a list"),
    "returns a text": (lambda *_: "0-3", "select returned '0-3' .str., which is not a list"),
    "returns numbers": (lambda *_: [1, 2], r"select returned 1 \(int\), which is not a list"),
    "returns no CPUs": (lambda *_: [{"a"}], "with 'a' .str., which is not a CPU"),
    "returns truths": (lambda *_: [[True, False]], r"with True \(bool\), which is not a CPU"),
    "returns negatives": (lambda *_: [[-1, 0]], r"with -1 \(int\), which is not a CPU"),
    "takes the reserved CPU": (lambda *_: [{0, 2}], "CPUs that are not available: 0 in its set 1"),
    "takes what is another's": (lambda *_: [{1, 2}], "CPUs that are not available: 1 in its set 1"),
    "takes what is not there": (lambda *_: [{2, 99}], "CPUs that are not available: 99 in its set 1"),
    "takes too few": (lambda *_: [{2}], "a set of 1 CPUs .2., expected 2"),
    "takes too many": (lambda *_: [{2, 3, 4}], "a set of 3 CPUs .2-4., expected 2"),
    "changes the view": (mutates, "select raised AttributeError: can't set attribute"),
    "changes the topology": (mutates_topology, "select raised TypeError: 'mappingproxy' object"),
    "babbles": (babbles, "select raised ValueError: after the noise"),
    "cannot be determined": (unprintable, "select raised Unprintable"),
}


@pytest.fixture
def node() -> Iterator[Node]:
    node = node_with(MACHINE)
    assert isinstance(node.admit(pod("first", 2)).verdict, Admitted)
    yield node
    if node.what_if is not None:
        assert isinstance(node.what_if, SubstitutePolicy)
        node.what_if.worker.stop()


def admit_with(node: Node, kind: Callable[[], Policy], budget: float = BUDGET) -> None:
    worker = worker_of(kind, budget=budget)
    worker.budget = 10  # it does nothing but start
    requested = in_place(worker, node.topology, {})
    worker.budget = budget
    requested.attach(node)
    node.admit(pod("second", 2))


@pytest.mark.parametrize("name", CASES)
def test_it_is_named_and_the_node_is_unchanged(
    node: Node, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    do, reported = CASES[name]
    before, began = node.copy(), time.monotonic()
    waits = "took longer" in reported
    with pytest.raises(PolicyError, match=f"policy tested: .*{reported}"):
        admit_with(node, hostile(do), budget=BUDGET if waits else PATIENCE)
    assert not waits or time.monotonic() - began < PATIENCE
    assert (node.state, node.memory.state) == (before.state, before.memory.state)
    assert list(node.active) == list(before.active)
    assert capfd.readouterr().out == ""


class BadFilter(Policy):
    def filter(self, pod: PodView, cpu: CPU, view: View) -> bool:
        return "yes"  # type: ignore[return-value]


class BadScore(Policy):
    def pre_score(self, container: ContainerView | None, cpu: CPU, view: View) -> float:
        return float("nan")


class BadSetScore(Policy):
    def score(self, cpus: CPUSet, view: View) -> float:
        return [1]  # type: ignore[return-value]


class BadVictims(Policy):
    def filter(self, pod: PodView, cpu: CPU, view: View) -> bool:
        return pod.name != "second"

    def post_filter(self, pod: PodView, view: View) -> Any:
        return ["nobody"]


class BadAlignment(Policy):
    alignment = "sideways"  # type: ignore[assignment]


class NoPolicy:
    pass


@pytest.mark.parametrize(
    ("kind", "reported"),
    [
        (BadFilter, "filter returned 'yes' .str. for CPU 2, expected True or False"),
        (BadScore, "pre_score returned nan .float. for 2, expected a number"),
        (BadSetScore, r"score returned \[1\] .list. for 2,10, expected a number"),
        (BadVictims, "post_filter named 'nobody' .str., which is not the UID of a running pod"),
        (BadAlignment, "its alignment is 'sideways', expected hint, equal or cpu"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_step_is_checked(node: Node, kind: type[Policy], reported: str) -> None:
    before = node.copy()
    with pytest.raises(PolicyError, match=f"policy tested: {reported}"):
        admit_with(node, kind)
    assert node.state == before.state


def test_answers_are_checked_again(node: Node) -> None:
    """A policy that has hijacked its own process still gets nothing that it may not have."""
    before = node.copy()
    requested = in_place(worker_of(hostile(forges)), node.topology, {})
    requested.attach(node)
    node.admit(pod("second", 2))
    with pytest.raises(PolicyError, match="policy tested: returned an invalid answer"):
        node.admit(pod("third", 2))
    assert set(node.active) == {*before.active, "second"}
    assert node.state.exclusive & ~before.state.exclusive == node.state.held_by("second")


def test_processes_forked_by_a_policy_do_not_answer(node: Node) -> None:
    """Otherwise their answers would be mistaken for those to later questions."""

    def forks(_: Any, view: View) -> Any:
        return [view.kubelet] if os.fork() else [sorted(view.free)[-view.need :]]

    alone = node.copy()
    admit_with(node, hostile(forks), budget=PATIENCE)
    node.admit(pod("third", 2))
    for name in ("second", "third"):
        alone.admit(pod(name, 2))
    assert node.state == alone.state


def test_a_policy_that_has_failed_is_called_again(node: Node) -> None:
    with pytest.raises(PolicyError):
        admit_with(node, hostile(lambda _scores, view: 1 // len(view.holders[1:]) and [view.kubelet]))
    assert isinstance(node.what_if, SubstitutePolicy)
    node.what_if.worker.stop()
    node.what_if.worker._load = lambda: Server(Policy())
    assert isinstance(node.admit(pod("second", 2)).verdict, Admitted)


def test_no_process_is_left_behind() -> None:
    worker = worker_of(Policy)
    worker.ask(Question("describe", Elements({}, {}, {}, {}, 0, 0, 0)))
    assert worker._process is not None
    pid = worker._process.pid
    del worker
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_policy_that_cannot_be_loaded_says_why() -> None:
    def load() -> Any:
        raise ImportError("no such thing")

    with pytest.raises(PolicyError, match="policy lost: loading it raised ImportError: no such thing"):
        Worker("lost", load).ask(Question("describe"))


def test_the_budget_is_sufficient_for_large_machines() -> None:
    """Scoring 512 CPUs takes a fraction of the budget."""

    class Scoring(Policy):
        def pre_score(self, container: ContainerView | None, cpu: CPU, view: View) -> float:
            return -cpu.number

    large = read_machine("synthetic:2s8n128c2t,mem=512Gi")
    node = node_with(large)
    began = time.monotonic()
    admit_with(node, Scoring, budget=workers.BUDGET)
    assert time.monotonic() - began < workers.BUDGET / 2
    assert isinstance(node.topology, CPUTopology)
