"""A scenario that can be replayed with one thing changed: what a kubelet met until it decided on a pod."""

from __future__ import annotations

import sys
from collections.abc import Callable

from cpuctl.engine.admission import Admission
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted
from cpuctl.engine.start import NotStarted, StartResult
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.pods.model import StoredPod
from cpuctl.records import Record

REMEMBERED = 256
"""Pods back to which a replay can be taken up again; each costs a copy of the node."""

Starter = Callable[[Kubelet], StartResult]
"""Brings a kubelet up on the scenario's machine: from its files and with the pods that run, if there are
any."""


class Scenario(Record):
    """A kubelet starts and looks at *pods* one after the other; the one at *position* is the question.

    The pods in *removed* (by UID) end right before that pod comes. With *restarted* the pods are those that
    ran before the kubelet restarted: it takes none of them for running until it has looked at it, cleans
    nothing up meanwhile, and the removed ones were gone before. With *aligned* it is asked for NUMA nodes
    that every manager prefers, otherwise for no more than being admitted. Pods that come *together* are put
    into an order by what decides in the kubelet's place, if anything does.
    """

    start: Starter
    kubelet: Kubelet
    pods: tuple[StoredPod, ...]
    position: int
    removed: frozenset[str] = frozenset()
    restarted: bool = False
    aligned: bool = False
    together: bool = False

    def is_met_by(self, admission: Admission) -> bool:
        """Return whether a decision about the pod is the wanted one."""
        if not isinstance(admission.verdict, Admitted):
            return False
        return not self.aligned or (
            bool(admission.hint_rounds) and all(each.preferred for each in admission.hint_rounds)
        )

    @property
    def pod(self) -> StoredPod:
        """The pod in question."""
        return self.pods[self.position]

    def incoming(self, node: Node) -> tuple[tuple[StoredPod, ...], int]:
        """Return the pods as they come to a node that has started, and the place of the one in question."""
        if not self.together or node.what_if is None:
            return self.pods, self.position
        pods = tuple(node.in_order(self.pods))
        return pods, [pod.uid for pod in pods].index(self.pod.uid)


class SearchBudget:
    """Counts the pods that the engine looks at, up to a ``bound``; ``cut`` is set when more would be needed.

    ``left_out`` names choices that were never meant to be tried. *tick* is called for every run, for people
    who wait.
    """

    def __init__(self, *, bound: int = sys.maxsize, tick: Callable[[], None] = lambda: None) -> None:
        self.bound = bound
        self.tick = tick
        self.made = 0
        self.cut = False
        self.left_out = ""

    def allow(self, wanted: int = 1) -> bool:
        """Return whether that many more runs stay within the bound."""
        self.cut |= self.made + wanted > self.bound
        return not self.cut

    def admit(self, node: Node, pod: StoredPod) -> Admission:
        """Let a node decide on a pod."""
        self.made += 1
        self.tick()
        return node.admit(pod)


class Replay(Record):
    """A scenario as the engine decided it.

    ``befores`` are the node before the pod in question came and, in front of it, before others that came
    before; ``after`` is the node as the pod left it: a refusal undoes nothing until the next pod comes.
    ``admissions`` are the decisions on all pods, ``position`` the one in question.
    """

    scenario: Scenario
    befores: tuple[Node, ...]
    after: Node
    admissions: tuple[Admission, ...]
    position: int

    @property
    def before(self) -> Node:
        """The node as the pod in question found it, but for what is cleaned up when it comes."""
        return self.befores[-1]

    @property
    def admission(self) -> Admission:
        """The decision in question."""
        return self.admissions[self.position]

    @property
    def rearranged(self) -> bool:
        """Whether the pods have come in another order than they were given in."""
        return [each.pod.uid for each in self.admissions] != [pod.uid for pod in self.scenario.pods]

    @property
    def admitted(self) -> frozenset[str]:
        """UIDs of the pods that were let in."""
        return frozenset(each.pod.uid for each in self.admissions if isinstance(each.verdict, Admitted))


def replay_scenario(
    scenario: Scenario, runs: SearchBudget, remembered: int = REMEMBERED
) -> Replay | NotStarted:
    """Let the engine decide a scenario from the kubelet's start to its last pod.

    ``befores`` come to be as many as are to be *remembered*, at least one.
    """
    node = scenario.start(scenario.kubelet)
    if not isinstance(node, Node):
        return node
    pods, position = scenario.incoming(node)
    if scenario.restarted:
        pods = tuple(pod for pod in pods if pod.uid not in scenario.removed)
        position -= sum(pod.uid in scenario.removed for pod in scenario.pods[:position])
        if refused := _removed_before(node, scenario):
            return refused
        node.resume(())
        node.sources_ready = False
    befores: list[Node] = []
    admissions: list[Admission] = []
    for number, pod in enumerate(pods[:position]):
        # Unneeded copies cost as much as all the rest if thousands of pods come.
        if position - number < remembered:
            befores.append(node.copy())
        admissions.append(runs.admit(node, pod))
    if not scenario.restarted:
        _remove(node, scenario)
    befores.append(node.copy())
    admissions.append(runs.admit(node, pods[position]))
    after = node.copy()
    admissions.extend(runs.admit(node, pod) for pod in pods[position + 1 :])
    return Replay(
        scenario=scenario,
        befores=tuple(befores),
        after=after,
        admissions=tuple(admissions),
        position=position,
    )


def _removed_before(node: Node, scenario: Scenario) -> NotStarted | None:
    """Let pods end before the kubelet restarts, so that it finds files without them."""
    if not scenario.removed:
        return None
    _remove(node, scenario)
    node.clean_up()
    return node.restore(node.cpu.state_file(), node.memory.state_file())


def _remove(node: Node, scenario: Scenario) -> None:
    for uid in scenario.removed:
        node.remove(uid)
