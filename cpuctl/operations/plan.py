"""Deciding about pods in an order, once or repeatedly, and what is left of the node afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from cpuctl.engine.ordering import PodOrder
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpuctl.engine.admission import Admission
    from cpuctl.engine.capacity.capacity import Capacity
    from cpuctl.engine.capacity.probe import Progress
    from cpuctl.engine.capacity.repetition import Repetition
    from cpuctl.engine.start import StartResult
    from cpuctl.inputs.sources import Sources
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.operations.plan_inputs import Planning
    from cpuctl.operations.policies import ChosenPolicy
    from cpuctl.operations.started_node import StartedNode
    from cpuctl.pods.model import StoredPod

Rounds: TypeAlias = int | Literal["max"]
"""How many times the pods are planned; ``max``: as often as they fit."""


class PlanOptions(Record):
    """How pods are planned: ``rounds`` is None if no copies are requested."""

    order: PodOrder = PodOrder.GIVEN
    rounds: Rounds | None = None
    capacity: bool = False


class Plan(Record):
    """What a kubelet decides about pods, one after another.

    ``node`` is the node afterwards, or why its kubelet does not start; then nothing is decided. A kubelet
    that fails on the way has no capacity.
    """

    kubelet: Kubelet
    node: StartResult
    admissions: Sequence[Admission] = ()
    repetition: Repetition | None = None
    capacity: Capacity | None = None
    policy: ChosenPolicy | None = None

    @property
    def refused(self) -> StoredPod | None:
        """The first pod that the kubelet does not admit, or never receives because of its claims."""
        from cpuctl.engine.outcome import KubeletFault, Pending, Rejected

        kinds = Rejected | KubeletFault | Pending
        return next((each.pod for each in self.admissions if isinstance(each.verdict, kinds)), None)


class Planner(Record):
    """Plans the same pods on one kubelet or another."""

    planning: Planning
    options: PlanOptions = PlanOptions()
    progress: Progress = lambda _what, _done, _total: None

    def plan(self, kubelet: Kubelet, sources: Sources) -> Plan:
        """Start a kubelet and decide about the pods; warnings go to *sources*."""
        from cpuctl.operations.started_node import StartedNode, start_planned

        policy = self.planning.policy
        started = start_planned(self.planning, kubelet, sources)
        if not isinstance(started, StartedNode):
            return Plan(kubelet, started, policy=policy)
        plan = self._admitted(kubelet, started)
        return replace(plan, capacity=self._capacity(plan), policy=policy)

    def _admitted(self, kubelet: Kubelet, started: StartedNode) -> Plan:
        from cpuctl.engine.ordering import ordered

        node = started.node
        given = ordered(self.planning.incoming, self.options.order, pod_level=node.pod_level_resources)
        pods = tuple(node.in_order(given))
        rounds = self.options.rounds
        if rounds is None:
            return Plan(kubelet, node, list(self._each(started, pods)))

        from cpuctl.engine.capacity.repetition import repeat, repeat_while_they_fit

        if rounds == "max":
            done = repeat_while_they_fit(node, pods, self.progress)
        else:
            done = repeat(node, pods, rounds, self.progress)
        return Plan(kubelet, done.node, done.admissions, done)

    def _each(self, started: StartedNode, pods: Sequence[StoredPod]) -> Iterator[Admission]:
        for number, pod in enumerate(pods):
            self.progress("admitting pods", number, len(pods))
            yield started.admit(pod)

    def _capacity(self, plan: Plan) -> Capacity | None:
        """Compute what is left, if requested."""
        from cpuctl.engine.node import Node

        if not self.options.capacity or not isinstance(plan.node, Node) or plan.node.fault:
            return None

        from cpuctl.engine.capacity.capacity import capacity_of

        info = self.planning.source.info
        return capacity_of(plan.node, info, plan.kubelet, plan.admissions, self.progress)


def warn_of_order(planning: Planning, order: PodOrder) -> None:
    """Warn about pods of unknown priority, if that decides the order."""
    from cpuctl.engine.ordering import unknown_priority_classes

    if order is PodOrder.PRIORITY and (names := unknown_priority_classes(planning.incoming)):
        planning.sources.warnings.append(
            f"the value of priority class {', '.join(names)} is unknown: pods without spec.priority "
            "count as priority 0"
        )
