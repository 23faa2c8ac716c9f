"""The answer of ``cpuctl plan``, assembled from its parts: one plan, or two side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet
from cpuctl.engine.admission import Admission
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Forbidden, Undetermined
from cpuctl.phrases import POLICY_NONE
from cpuctl.pods.model import QosClass

if TYPE_CHECKING:
    from cpuctl.answering.plan.comparison_answer import PlannedSide
    from cpuctl.answers import plan as answers
    from cpuctl.answers.dra import DriverPart
    from cpuctl.answers.explanation import MixedCores
    from cpuctl.answers.start import (
        KubeletPolicies,
        LoadedRelease,
        PlanningHeader,
        PolicyInPlace,
        PolicyPart,
    )
    from cpuctl.inputs.sources import Sources
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.model import Machine
    from cpuctl.operations.comparison import Comparison, Side
    from cpuctl.operations.plan import Plan, Planner
    from cpuctl.operations.plan_inputs import Planning
    from cpuctl.operations.policies import ChosenPolicy


def planning_header(planning: Planning) -> PlanningHeader:
    """Return the first members of answers: the sources of the inputs, the kubelet's policies."""
    kubelet = kubelet_answer(planning.kubelet, planning.policy)
    return {"sources": planning.sources.entries, "kubelet": kubelet}


def kubelet_answer(kubelet: Kubelet, policy: ChosenPolicy | None = None) -> KubeletPolicies:
    """Describe a kubelet's release and policies, and the policy that decides in its place, if any."""
    config = kubelet.config
    return {
        "version": str(kubelet.version),
        "cpuManagerPolicy": config.cpu_manager_policy,
        "cpuManagerPolicyOptions": dict(config.cpu_manager_policy_options),
        "topologyManagerPolicy": config.topology_manager_policy,
        "memoryManagerPolicy": config.memory_manager_policy,
        **policy_part(policy),
    }


def policy_part(policy: ChosenPolicy | None) -> PolicyPart:
    """Describe the policy that decides in the kubelet's place, if any does."""
    return {} if policy is None else {"policy": policy_answer(policy)}


def policy_answer(policy: ChosenPolicy) -> PolicyInPlace:
    """Describe a policy that decides in the kubelet's place."""
    plugin = policy.plugin
    return {
        "name": plugin.name,
        "origin": plugin.origin,
        "where": plugin.where,
        "source": policy.description.source or None,
        "options": {**policy.description.options, **plugin.options},
        "status": "what-if",
    }


def planned_document(
    planner: Planner, plan: Plan, sources: Sources, explain: str = ""
) -> answers.StartedPlan | answers.NotStartedPlan:
    """Describe a plan whose inputs come from the *sources*; *explain* is the command for more details."""
    from cpuctl.answering.plan.plan_answer import not_started_document, plan_document

    header: answers.PlanHeader = {
        "sources": sources.entries,
        "kubelet": kubelet_answer(plan.kubelet, plan.policy),
        **_state_answer(planner.planning.initial.digests),
    }
    if not isinstance(plan.node, Node):
        from cpuctl.operations.command_lines import check_command

        check = check_command(planner.planning, plan.node)
        return not_started_document(plan.node, {**header}, check)

    from cpuctl.answering.metrics import metrics_answer

    following: answers.FollowingPart = {"explain": explain} if explain else _next(planner, plan, plan.node)
    parts: answers.PlanParts = {
        **_driver(plan.node),
        "metrics": metrics_answer(plan.node),
        **_copies(planner, plan),
        **_headroom(plan, plan.node),
        **following,
    }
    document = plan_document(plan.node, plan.admissions, header, parts)
    mixed = mixed_cores(planner.planning.source.machine, plan.admissions)
    document["warnings"].extend(map(_mixed_warning, mixed))
    return document


def _next(planner: Planner, plan: Plan, node: Node) -> answers.FollowingPart:
    """Return the command for pods that request unknown resources, break rules, or get no CPUs by policy.

    If none of that applies, copies that do not fit need more room.
    """
    from cpuctl.operations.command_lines import capacity_command

    planning, command = planner.planning, capacity_command(planner, plan)
    if any(isinstance(each.verdict, Undetermined) for each in plan.admissions):
        from cpuctl.operations.command_lines import assuming_command

        command = assuming_command(planning, node, ("plan",))
    elif any(isinstance(each.verdict, Forbidden) for each in plan.admissions):
        from cpuctl.operations.command_lines import lint_command

        command = lint_command(planning.inputs)
    elif plan.policy is None and node.claims is None and any(map(lacks_static_policy, plan.admissions)):
        from cpuctl.operations.command_lines import advise_command

        command = advise_command(planning) or command
    return {"next": command} if command else {}


def lacks_static_policy(admission: Admission) -> bool:
    """Return whether a container of an admitted pod would get exclusive CPUs, but for the policy."""
    return (
        isinstance(admission.verdict, Admitted)
        and admission.qos.qos_class is QosClass.GUARANTEED
        and any(each.claim.why_not == POLICY_NONE for each in admission.placements)
    )


def _driver(node: Node) -> DriverPart:
    from cpuctl.operations.plan_inputs import claims_of

    claims = claims_of(node)
    if claims is None:
        return {}

    from cpuctl.answering.dra_answer import driver_answer

    return {"driver": driver_answer(claims)}


def _mixed_warning(mixed: MixedCores) -> answers.PlanWarning:
    return {
        "pod": mixed["pod"],
        "container": mixed["container"],
        "performanceCPUs": mixed["performanceCPUs"],
        "efficiencyCPUs": mixed["efficiencyCPUs"],
        "message": mixed["message"],
    }


def _copies(planner: Planner, plan: Plan) -> answers.RepeatPart:
    if plan.repetition is None or planner.options.rounds is None:
        return {}
    from cpuctl.answering.plan.capacity_answer import repetition_answer

    return {"repeat": repetition_answer(plan.repetition, planner.options.rounds)}


def _headroom(plan: Plan, node: Node) -> answers.CapacityPart:
    if plan.capacity is None:
        return {}
    from cpuctl.answering.plan.capacity_answer import capacity_answer

    policy = plan.kubelet.config.topology_manager_policy
    return {"capacity": capacity_answer(plan.capacity, node.topology, policy)}


def _state_answer(digests: Mapping[str, str]) -> answers.StatePart:
    """Return the state from which the plan was made, so that applying it can detect changes."""
    files: list[answers.StateFile] = [
        {"path": name, "sha256": digest} for name, digest in sorted(digests.items())
    ]
    return {"state": files} if files else {}


def compared_document(planner: Planner, comparison: Comparison) -> answers.PlanComparison:
    """Compare two plans, and describe the differences between their releases that affect the pods."""
    from cpuctl.answering.plan.comparison_answer import (
        comparison_document,
        difference_answer,
        gate_answer,
    )
    from cpuctl.operations.comparison import shown_differences

    one, other, releases_alone = comparison
    sides = (_side(planner, one), _side(planner, other))
    document = comparison_document(*sides, planner.planning.sources.entries)
    if releases_alone and _moves(document):
        shown = shown_differences(planner, one.version, other.version)
        if shown is not None:
            differences = (difference_answer(name, one.version) for name in shown.names)
            gates = (gate_answer(gate, *shown.sides) for gate in shown.gates)
            document["differences"] = [*differences, *gates]
    return document


def unloaded_comparison(
    sides: Iterable[tuple[Side, Planner | None]], sources: Sources
) -> answers.PlanComparison:
    """Describe two sides, at least one of which cannot load its configuration and has no planner."""
    from cpuctl.answering.plan.comparison_answer import comparison_document

    one, other = (
        _unloaded_side(side) if planner is None else _side(planner, side) for side, planner in sides
    )
    return comparison_document(one, other, sources.entries)


def _unloaded_side(side: Side) -> PlannedSide:
    from cpuctl.answering.config.starts import not_started_answer
    from cpuctl.answering.plan.comparison_answer import PlannedSide

    assert side.start is not None
    version: LoadedRelease = {"version": str(side.version)}
    start = not_started_answer(side.start)
    return PlannedSide({"settings": side.settings, "kubelet": version, "start": start}, {}, {})


def _moves(document: answers.PlanComparison) -> bool:
    """Return whether both kubelets start, and at least one pod's outcome differs between the sides."""
    started = all(side["start"]["outcome"] == "Started" for side in (document["a"], document["b"]))
    return started and document["summary"]["changed"] > 0


def _side(planner: Planner, side: Side) -> PlannedSide:
    from cpuctl.answering.plan.capacity_answer import fragmentation_answer
    from cpuctl.answering.plan.comparison_answer import PlannedSide, started_side
    from cpuctl.answering.plan.plan_answer import verdict_answer

    if side.plan is None:
        return _unloaded_side(side)
    document = planned_document(planner, side.plan, side.sources)
    if "node" in document:
        verdicts = {each.pod.uid: verdict_answer(each.verdict) for each in side.plan.admissions}
        scattered = fragmentation_answer(side.fragmentation)
        return started_side(side.settings, document, verdicts, scattered, side.explain)
    answer: answers.NotStartedSide = {
        "settings": side.settings,
        "kubelet": document["kubelet"],
        "start": document["start"],
        "warnings": document["warnings"],
    }
    if side.check:
        answer["next"] = side.check
    return PlannedSide(answer, {}, {})


def mixed_cores(machine: Machine, admissions: Sequence[Admission]) -> Iterator[MixedCores]:
    """Name containers with CPUs of performance and efficiency cores, their own or in their pod's pool."""
    kinds = machine.core_kinds
    if not kinds.performance or not kinds.efficiency:
        return
    guessed = " (guessed from their frequencies)" if kinds.guessed else ""
    for admission in admissions:
        for placed in admission.placements if isinstance(admission.verdict, Admitted) else ():
            own = CPUSet(placed.cpus if placed.exclusive or placed.in_pod_pool else 0)
            fast, slow = own & kinds.performance, own & kinds.efficiency
            if fast and slow:
                pod, name = admission.pod.full_name, placed.container.name
                message = (
                    f"pod {pod}: container {name} spans performance cores (CPUs {fast}) and efficiency cores "
                    f"(CPUs {slow}){guessed}: kubelets do not distinguish them"
                )
                yield {
                    "pod": pod,
                    "container": name,
                    "performanceCPUs": str(fast),
                    "efficiencyCPUs": str(slow),
                    "message": message,
                }
