"""What ``cpuctl plan`` asks of the engine: pods in an order, once or again and again, and what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from cpuctl.engine.pod_order import PodOrder
from cpuctl.errors import UsageError
from cpuctl.operations.planning import kubelet_answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cpuctl.cli.output import Document
    from cpuctl.engine.admission import Admission
    from cpuctl.engine.capacity.probe import Progress
    from cpuctl.engine.node import Node
    from cpuctl.engine.start import StartResult
    from cpuctl.inputs.sources import Sources
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.operations.planning import Planning
    from cpuctl.pods.model import Pod

Rounds: TypeAlias = int | Literal["max"]
"""How many times over pods are planned; ``max``: as often as they fit."""


class PlanOptions(NamedTuple):
    """How pods are planned: ``rounds`` is None where nobody asks for copies."""

    order: PodOrder = PodOrder.GIVEN
    rounds: Rounds | None = None
    capacity: bool = False


class Planned(NamedTuple):
    """An answer, and the node afterwards; None where there is more than one."""

    document: Document
    node: StartResult | None


class Planner(NamedTuple):
    """Plans the same pods on one kubelet or another."""

    planning: Planning
    wishes: PlanOptions
    progress: Progress

    def plan(self, kubelet: Kubelet, sources: Sources) -> Planned:
        """Start a kubelet and decide about the pods; warnings go to *sources*."""
        from cpuctl.cli.answers.metrics_answer import metrics_answer
        from cpuctl.cli.answers.plan.mixed_cores import mixed_cores
        from cpuctl.cli.answers.plan.plan_answer import not_started_document, plan_document
        from cpuctl.engine.node import Node

        started = self.planning.start(kubelet, sources)
        head = {
            "sources": sources.entries,
            "kubelet": kubelet_answer(kubelet),
            **_state_answer(self.planning.past.digests),
        }
        if not isinstance(started, Node):
            return Planned(not_started_document(started, head), started)
        node, admissions, repetition = self._admit(started)
        document = {**plan_document(node, admissions, head), "metrics": metrics_answer(node)}
        document["warnings"] += mixed_cores(self.planning.source.machine, admissions)
        more = {**repetition, **self._capacity(node, admissions, kubelet), **self._explain(admissions)}
        return Planned({**document, **more}, node)

    def _admit(self, node: Node) -> tuple[Node, Sequence[Admission], dict[str, Any]]:
        """Admit the pods as is wished; return the node afterwards, and what to say of copies."""
        from cpuctl.engine.ordering import ordered

        pods = ordered(self.planning.wanted, self.wishes.order, pod_level=node.pod_level_resources)
        rounds = self.wishes.rounds
        if rounds is None:
            return node, list(self._each(node, pods)), {}

        from cpuctl.cli.answers.plan.capacity_answer import repetition_answer
        from cpuctl.engine.capacity.repetition import repeat, repeat_while_they_fit

        if rounds == "max":
            done = repeat_while_they_fit(node, pods, self.progress)
        else:
            done = repeat(node, pods, rounds, self.progress)
        return done.node, done.admissions, {"repeat": repetition_answer(done, rounds)}

    def _each(self, node: Node, pods: Sequence[Pod]) -> Iterator[Admission]:
        for number, pod in enumerate(pods):
            self.progress("admitting pods", number, len(pods))
            yield node.admit(pod)

    def _explain(self, admissions: Sequence[Admission]) -> dict[str, str]:
        """Name the command that explains the first pod that is refused, where it would see the same."""
        from cpuctl.documents.files import STDIN
        from cpuctl.engine.outcome import KubeletFault, Rejected

        words = self.planning.words
        again = self.wishes.order is PodOrder.GIVEN and self.wishes.rounds is None
        refused = [each.pod for each in admissions if isinstance(each.verdict, Rejected | KubeletFault)]
        read_once = (*words.filenames, words.kubelet.config, words.state, words.pods, words.devices)
        if not refused or not again or STDIN in read_once:
            return {}
        named = [each.pod.uid for each in admissions if each.pod.full_name == refused[0].full_name]
        name = refused[0].full_name if len(named) == 1 else refused[0].uid
        return {"explain": words.command_with(("explain", name), ())}

    def _capacity(self, node: Node, admissions: Sequence[Admission], kubelet: Kubelet) -> dict[str, Any]:
        """Say what is left, where that is wished; a kubelet that has failed has room for nothing."""
        if not self.wishes.capacity or node.fault:
            return {}

        from cpuctl.cli.answers.plan.capacity_answer import capacity_answer
        from cpuctl.engine.capacity.capacity import capacity_of

        capacity = capacity_of(node, self.planning.source.info, kubelet, admissions, self.progress)
        policy = kubelet.config.topology_manager_policy
        return {"capacity": capacity_answer(capacity, node.topology, policy)}


def _state_answer(digests: Mapping[str, str]) -> dict[str, Any]:
    """Tell which state the plan was made from: whoever applies it sees whether that has moved on."""
    files = [{"path": name, "sha256": digest} for name, digest in sorted(digests.items())]
    return {"state": files} if files else {}


def refuse_clash(settings: tuple[str, str] | None, files: Mapping[str, str], output: str) -> None:
    """Raise UsageError where two nodes are compared, and what only one has is asked for.

    *files* are what is to be written, by option.
    """
    if settings is not None and output == "prom":
        message = "cannot be used with --compare, which leaves two nodes"
        raise UsageError(message, where="-o prom", hint="plan again with the settings that you choose")
    option = next((option for option, name in files.items() if name), "")
    if settings is not None and option:
        raise UsageError(
            "cannot be used with --compare, which leaves two nodes",
            where=option,
            hint="plan again with the settings that you choose",
        )


def read_rounds(text: str, pods: int) -> Rounds | None:
    """Read ``--repeat`` for a number of pods; None where nothing is said.

    Raise UsageError for what is neither ``max`` nor a number within bounds, and where there are no pods.
    """
    if not text:
        return None

    from cpuctl.engine.capacity.repetition import MAX_PODS

    if not pods:
        raise UsageError("there are no pods to repeat", where="--repeat", hint="name some with -f or -T")
    if text == "max":
        return "max"
    most = max(MAX_PODS // pods, 1)
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= most):
        raise UsageError(f"expected 1 to {most}, or max, found {text!r}", where="--repeat")
    return int(text)


def warn_of_order(planning: Planning, order: PodOrder) -> None:
    """Say of which pods the priority is not known, where that decides."""
    from cpuctl.engine.ordering import unknown_priority_classes

    if order is PodOrder.PRIORITY and (names := unknown_priority_classes(planning.wanted)):
        planning.sources.warnings.append(
            f"the value of priority class {', '.join(names)} is not known: pods without spec.priority "
            "count as priority 0"
        )
