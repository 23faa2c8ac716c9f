"""A plan, and two plans side by side, put together from what every part of them answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cpuctl.engine.node import Node

if TYPE_CHECKING:
    from cpuctl.answers.start import KubeletPolicies, PlanningHead
    from cpuctl.cli.output import Document
    from cpuctl.inputs.sources import Sources
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.operations.comparison import Comparison, Side
    from cpuctl.operations.plan import Plan, Planner
    from cpuctl.operations.planning import Planning


def planning_head(planning: Planning) -> PlanningHead:
    """Return the members that answers begin with: origins of the inputs, the kubelet's policies."""
    return {"sources": planning.sources.entries, "kubelet": kubelet_answer(planning.kubelet)}


def kubelet_answer(kubelet: Kubelet) -> KubeletPolicies:
    """Name a kubelet's release and policies."""
    config = kubelet.config
    return {
        "version": str(kubelet.version),
        "cpuManagerPolicy": config.cpu_manager_policy,
        "cpuManagerPolicyOptions": dict(config.cpu_manager_policy_options),
        "topologyManagerPolicy": config.topology_manager_policy,
        "memoryManagerPolicy": config.memory_manager_policy,
    }


def planned_document(planner: Planner, plan: Plan, sources: Sources) -> Document:
    """Describe a plan whose inputs come from the *sources*."""
    from cpuctl.cli.answers.metrics_answer import metrics_answer
    from cpuctl.cli.answers.plan.mixed_cores import mixed_cores
    from cpuctl.cli.answers.plan.plan_answer import not_started_document, plan_document

    head = {
        "sources": sources.entries,
        "kubelet": kubelet_answer(plan.kubelet),
        **_state_answer(planner.planning.past.digests),
    }
    if not isinstance(plan.node, Node):
        return not_started_document(plan.node, head)
    document = {**plan_document(plan.node, plan.admissions, head), "metrics": metrics_answer(plan.node)}
    document["warnings"] += mixed_cores(planner.planning.source.machine, plan.admissions)
    return {**document, **_copies(planner, plan), **_room(plan, plan.node)}


def _copies(planner: Planner, plan: Plan) -> dict[str, Any]:
    if plan.repetition is None or planner.options.rounds is None:
        return {}
    from cpuctl.cli.answers.plan.capacity_answer import repetition_answer

    return {"repeat": repetition_answer(plan.repetition, planner.options.rounds)}


def _room(plan: Plan, node: Node) -> dict[str, Any]:
    if plan.capacity is None:
        return {}
    from cpuctl.cli.answers.plan.capacity_answer import capacity_answer

    policy = plan.kubelet.config.topology_manager_policy
    return {"capacity": capacity_answer(plan.capacity, node.topology, policy)}


def _state_answer(digests: Mapping[str, str]) -> dict[str, Any]:
    """Tell which state the plan was made from: whoever applies it sees whether that has moved on."""
    files = [{"path": name, "sha256": digest} for name, digest in sorted(digests.items())]
    return {"state": files} if files else {}


def compared_document(planner: Planner, comparison: Comparison) -> Document:
    """Describe two plans side by side, and the differences between their releases that the pods show."""
    from cpuctl.cli.answers.plan.comparison_answer import comparison_document, difference_answer
    from cpuctl.operations.comparison import shown_differences

    one, other, releases_alone = comparison
    sides = (_side(planner, one), _side(planner, other))
    document = comparison_document(*sides, planner.planning.sources.entries)
    if not (releases_alone and _moves(document)):
        return document
    shown = shown_differences(planner, one.version, other.version)
    if shown is None:
        return document
    return {**document, "differences": [difference_answer(name, one.version) for name in shown]}


def _moves(document: Document) -> bool:
    """Tell whether both kubelets start, and something becomes of a pod that does not on the other side."""
    started = all(document[side]["start"]["outcome"] == "Started" for side in ("a", "b"))
    return started and document["summary"]["changed"] > 0


def _side(planner: Planner, side: Side) -> dict[str, Any]:
    from cpuctl.cli.answers.config.parts import start_answer
    from cpuctl.cli.answers.plan.capacity_answer import fragmentation_answer

    settings = {"settings": side.settings}
    if side.plan is None:
        assert side.refusal is not None
        version = {"version": str(side.version)}
        return {**settings, "kubelet": version, "start": start_answer(side.refusal), "pods": []}
    document = {**settings, **planned_document(planner, side.plan, side.sources)}
    if isinstance(side.plan.node, Node):
        document["fragmentation"] = fragmentation_answer(side.fragmentation)
    return document
