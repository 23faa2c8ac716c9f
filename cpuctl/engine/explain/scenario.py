"""A scenario that can be replayed with one change: what a kubelet processed until it decided on a pod."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from functools import cached_property

from cpuctl.engine.admission import Admission
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted
from cpuctl.engine.start import NotStarted, StartResult
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.pods.model import StoredPod
from cpuctl.records import Record, replace

REMEMBERED = 256
"""How many pods back a replay can be resumed; each costs a copy of the node."""

Starter = Callable[[Kubelet], StartResult]
"""Function that starts a kubelet on the scenario's machine, from its files and with any running pods."""


class Scenario(Record):
    """A kubelet's start and the *pods* it processes one by one; the one at *position* is to be explained.

    The pods in *removed* (by UID) end right before that pod arrives. With *restarted* the pods are those that
    ran before the kubelet restarted: it considers none of them running until it has processed it, cleans up
    nothing meanwhile, and the removed ones ended before the restart. With *aligned* the goal is NUMA nodes
    that every manager prefers, otherwise only admission. Pods that arrive *together* are ordered by the
    policy that decides in place of the kubelet, if there is one. *templates* name, by UID, where a pod's
    requests are set if other pods have them from there, too: the workload that the pod is a replica of.
    """

    start: Starter
    kubelet: Kubelet
    pods: tuple[StoredPod, ...]
    position: int
    removed: frozenset[str] = frozenset()
    restarted: bool = False
    aligned: bool = False
    together: bool = False
    templates: Mapping[str, str] = {}

    def is_met_by(self, admission: Admission) -> bool:
        """Return whether a decision about the pod meets the scenario's goal, with CPUs of its own."""
        if not admission.is_sound:
            return False
        return not self.aligned or (
            bool(admission.hint_rounds) and all(each.preferred for each in admission.hint_rounds)
        )

    @property
    def pod(self) -> StoredPod:
        """The pod to explain."""
        return self.pods[self.position]

    @cached_property
    def replicas(self) -> tuple[int, ...]:
        """The positions of the pods made from the same template as the pod: they change together with it."""
        name, pod = self.template, self.pod
        if not name or self.restarted:
            return (self.position,)
        same = (pod.namespace, name, _requests(pod))
        return tuple(
            at
            for at, each in enumerate(self.pods)
            if (each.namespace, self.templates.get(each.uid), _requests(each)) == same
        )

    @property
    def template(self) -> str:
        """Where the requests of the pod are set, empty if that is in the pod itself."""
        return self.templates.get(self.pod.uid, "")

    @property
    def shared_template(self) -> str:
        """The template, if there are several pods of it, else empty."""
        return self.template if len(self.replicas) > 1 else ""

    def incoming(self, node: Node) -> tuple[tuple[StoredPod, ...], int]:
        """Return the pods as they arrive at a started node, and the position of the one to explain."""
        if not self.together or node.what_if is None:
            return self.pods, self.position
        pods = tuple(node.in_order(self.pods))
        return pods, [pod.uid for pod in pods].index(self.pod.uid)


def _requests(pod: StoredPod) -> tuple[object, ...]:
    return pod.resources, *((each.name, each.resources) for each in pod.all_containers)


class SearchBudget:
    """A count of engine runs, one per pod, up to a ``bound``; ``cut`` is set if more would be needed.

    ``left_out`` names choices that were deliberately not tried, ``resources`` those of which other requests
    were tried, among them those tried ``alone`` and those reduced together ``in_proportion``. ``shared``: a
    choice would help, but CPUs would be reserved or another pod's. ``unstarted`` are settings with which the
    kubelet rejects its state files. *tick* is called for every run, to report progress.
    """

    def __init__(self, *, bound: int = sys.maxsize, tick: Callable[[], None] = lambda: None) -> None:
        self.bound = bound
        self.tick = tick
        self.made = 0
        self.cut = False
        self.left_out = ""
        self.shared = False
        self.unstarted: list[str] = []
        self.resources: set[str] = set()
        self.alone: set[str] = set()
        self.in_proportion: set[str] = set()

    def allow(self, wanted: int = 1) -> bool:
        """Return whether *wanted* more runs stay within the bound."""
        self.cut |= self.made + wanted > self.bound
        return not self.cut

    def affords(self, wanted: int) -> bool:
        """Return whether *wanted* more runs would stay within the bound, for runs that can be omitted."""
        return self.made + wanted <= self.bound

    def note(self, resources: Collection[str]) -> None:
        """Note that other requests for some resources are tried, at the same time."""
        self.resources.update(resources)
        if len(resources) == 1:
            self.alone.update(resources)

    def note_in_proportion(self, resources: Collection[str]) -> None:
        """Note that less of some resources is tried, in proportion."""
        self.resources.update(resources)
        self.in_proportion.update(resources)

    def reaches(self, scenario: Scenario, admission: Admission) -> bool:
        """Return whether a decision meets the goal, and note if only shared CPUs are in the way."""
        if scenario.is_met_by(admission):
            return True
        self.shared |= scenario.is_met_by(replace(admission, taken_from_others=0))
        return False

    def admit(self, node: Node, pod: StoredPod) -> Admission:
        """Let a node decide on a pod."""
        self.made += 1
        self.tick()
        return node.admit(pod)


class Replay(Record):
    """A scenario as the engine decided it.

    ``nodes_before`` ends with the node before the pod to explain arrived; earlier entries are the node
    before the preceding pods. ``after`` is the node after the pod: a refusal undoes nothing until the next
    pod arrives. ``end`` is the node after all pods. ``admissions`` are the decisions on all pods,
    ``position`` is the index of the explained one.
    """

    scenario: Scenario
    nodes_before: tuple[Node, ...]
    after: Node
    end: Node
    admissions: tuple[Admission, ...]
    position: int

    @property
    def before(self) -> Node:
        """The node when the pod to explain arrived, before the cleanup that its arrival causes."""
        return self.nodes_before[-1]

    @property
    def earlier_replicas(self) -> tuple[int, ...]:
        """The positions of earlier pods of the same template, as far back as a replay can be resumed."""
        if self.rearranged:
            return ()
        last = self.scenario.position
        return tuple(at for at in self.scenario.replicas if 0 < last - at < len(self.nodes_before))

    @property
    def resumed_at(self) -> int:
        """The position of the first pod that arrives again, changed, if the pod's template changes."""
        return min((*self.earlier_replicas, self.scenario.position))

    @property
    def admission(self) -> Admission:
        """The decision to explain."""
        return self.admissions[self.position]

    @property
    def rearranged(self) -> bool:
        """Whether the pods arrived in a different order than given."""
        return [each.pod.uid for each in self.admissions] != [pod.uid for pod in self.scenario.pods]

    @property
    def admitted(self) -> frozenset[str]:
        """UIDs of the pods that were admitted."""
        return frozenset(each.pod.uid for each in self.admissions if isinstance(each.verdict, Admitted))

    def lost_in(self, changed: Replay) -> tuple[StoredPod, ...]:
        """Return the pods that are admitted here, but not with a change, unless it removes them."""
        gone = self.admitted - changed.admitted - changed.scenario.removed
        return tuple(each.pod for each in self.admissions if each.pod.uid in gone)

    def left_in(self, changed: Replay) -> tuple[StoredPod, ...]:
        """Return the pods of the same template that are admitted neither here nor with a change."""
        replicas = (changed.scenario.pods[at] for at in changed.scenario.replicas)
        return tuple(pod for pod in replicas if pod.uid not in self.admitted | changed.admitted)


def replay_scenario(
    scenario: Scenario, runs: SearchBudget, remembered: int = REMEMBERED
) -> Replay | NotStarted:
    """Run a scenario through the engine from the kubelet's start to the last pod.

    ``nodes_before`` gets at most *remembered* nodes, but at least one.
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
    nodes_before: list[Node] = []
    admissions: list[Admission] = []
    for number, pod in enumerate(pods[:position]):
        # With thousands of pods, unneeded copies would cost as much as everything else.
        if position - number < remembered:
            nodes_before.append(node.copy())
        admissions.append(runs.admit(node, pod))
    if not scenario.restarted:
        _remove(node, scenario)
    nodes_before.append(node.copy())
    admissions.append(runs.admit(node, pods[position]))
    after = node.copy()
    admissions.extend(runs.admit(node, pod) for pod in pods[position + 1 :])
    return Replay(
        scenario=scenario,
        nodes_before=tuple(nodes_before),
        after=after,
        end=node,
        admissions=tuple(admissions),
        position=position,
    )


def _removed_before(node: Node, scenario: Scenario) -> NotStarted | None:
    """End pods before the kubelet restarts, so that it finds files without them."""
    if not scenario.removed:
        return None
    _remove(node, scenario)
    node.clean_up()
    return node.restore(node.cpu.state_file(), node.memory.state_file())


def _remove(node: Node, scenario: Scenario) -> None:
    for uid in scenario.removed:
        node.remove(uid)
