"""The answer of ``cpuctl fleet plan`` as a plain document (schema: ``cpuctl schema fleetplan``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from cpuctl.answering import API_VERSION
from cpuctl.answering.plan.plan_answer import cpu_list, refusal_answer
from cpuctl.engine.explain.decision import Decision, Rule
from cpuctl.engine.explain.replacement import replacement_of
from cpuctl.engine.outcome import Admitted, Forbidden, Rejected
from cpuctl.fleet.plan import FleetPlanner, Placed
from cpuctl.fleet.plan_inputs import Cluster, Coming, FleetPlanInputs, coming_pods, doubts, first_kubelet
from cpuctl.fleet.plan_nodes import FleetInputs
from cpuctl.pods.manifest import owner_of

if TYPE_CHECKING:
    from cpuctl.answers import fleet as answers
    from cpuctl.inputs.sources import Sources
    from cpuctl.pods.model import StoredPod

_MOST_COPIES = 100_000
"""Pods that are planned at most where as many copies as fit are asked for."""


class FleetPlanned(NamedTuple):
    """What becomes of every pod, and of how many copies of them where that was asked for."""

    placed: tuple[Placed, ...]
    copies: int | None = None
    stop: Placed | None = None


def plan_fleet(
    planner: FleetPlanner,
    coming: Coming,
    rounds: int | Literal["max"] | None,
    told: Callable[[int, int], None],
) -> FleetPlanned:
    """Plan pods once or, with *rounds*, again and again until one is not admitted."""
    pods = [pod for pod in coming.pods if pod.uid not in coming.refused]
    if rounds is None:
        placed = []
        for number, pod in enumerate(pods):
            told(number, len(pods))
            placed.append(planner.plan(pod))
        return FleetPlanned(tuple(placed))
    first: list[Placed] = []
    most = _MOST_COPIES // max(len(pods), 1) if rounds == "max" else rounds
    for copy in range(most if pods else 0):
        told(copy, 0 if rounds == "max" else most)
        for pod in pods:
            found = planner.plan(pod._replace(uid=f"{pod.uid}-{copy}"))
            if copy == 0:
                first.append(found._replace(pod=pod))
            if not found.admitted:
                return FleetPlanned(tuple(first), copy, found)
    return FleetPlanned(tuple(first), most)


def fleet_plan_document(
    inputs: FleetPlanInputs,
    cluster: Cluster,
    rows: Sequence[answers.PlannedNode | answers.UnreadableNode],
    sources: Sources,
    told: Callable[[int, int], None],
) -> answers.FleetPlan:
    """Plan on the nodes that *rows* survey, and put what becomes of pods into one document.

    Raise UsageError for nodes and pods that there are not, InputError where no node can be planned on.
    """
    inputs.check({row["node"] for row in rows})
    left_out = {*inputs.drained, *inputs.without}
    nodes = [row for row in rows if row["node"] not in left_out]
    readable = [row for row in nodes if row["outcome"] == "Read"]
    told_of_all = FleetInputs(inputs.kubelet, inputs.devices, cluster.running)
    coming = coming_pods(inputs, cluster, first_kubelet(readable, told_of_all), sources)
    sources.warnings += doubts(readable, cluster, coming.pods)
    planner = FleetPlanner(readable, cluster.objects or {}, told_of_all, coming.pods)
    planned = plan_fleet(planner, coming, inputs.rounds, told)
    return _document(planned, coming, nodes, sources)


def _document(
    planned: FleetPlanned,
    coming: Coming,
    nodes: Sequence[answers.PlannedNode | answers.UnreadableNode],
    sources: Sources,
) -> answers.FleetPlan:
    by_uid = {placed.pod.uid: placed for placed in planned.placed}
    pods = [
        _forbidden(pod, coming.refused[pod.uid]) if pod.uid in coming.refused else pod_answer(by_uid[pod.uid])
        for pod in coming.pods
        if pod.uid in coming.refused or pod.uid in by_uid
    ]
    repeated: answers.RepeatedPart = {}
    if planned.copies is not None:
        stop = None if planned.stop is None else pod_answer(planned.stop)
        repeated = {"repeat": {"copies": planned.copies, "stop": stop}}
    return {
        "apiVersion": API_VERSION,
        "kind": "FleetPlan",
        "sources": sources.entries,
        "summary": _summary(pods, nodes),
        "pods": pods,
        "nodes": list(nodes),
        **repeated,
    }


def _summary(
    pods: Sequence[answers.FleetPod], nodes: Sequence[answers.PlannedNode | answers.UnreadableNode]
) -> answers.FleetPlanSummary:
    outcomes = Counter(pod["outcome"] for pod in pods)
    return {
        "nodes": len(nodes),
        "pods": len(pods),
        "admitted": outcomes["Admitted"],
        "pending": outcomes["Pending"],
        "rejected": outcomes["Rejected"] + outcomes["Forbidden"],
        "undetermined": outcomes["Undetermined"] + outcomes["KubeletFault"],
        "unreadable": sum(node["outcome"] == "Unreadable" for node in nodes),
    }


def _forbidden(pod: StoredPod, refusals: tuple[str, ...]) -> answers.FleetPod:
    return _pod(pod, refusal_answer(Forbidden(refusals)))


def pod_answer(placed: Placed) -> answers.FleetPod:
    """Tell where the scheduler sends a pod, and what the kubelet there makes of it."""
    if placed.admission is None:
        pending: answers.PendingPod = {"outcome": "Pending", "message": placed.message}
        return _pod(placed.pod, pending)
    verdict = placed.admission.verdict
    if isinstance(verdict, Admitted):
        admitted: answers.AdmittedPod = {"outcome": "Admitted"}
        return _pod(placed.pod, admitted, placed)
    return _pod(placed.pod, refusal_answer(verdict), placed)


def _pod(pod: StoredPod, outcome: answers.FleetOutcome, placed: Placed | None = None) -> answers.FleetPod:
    fits: answers.FitsPart = {}
    if placed is not None and placed.fitting is not None:
        fitting = placed.fitting
        fits = {
            "fits": {"tried": fitting.tried, "count": fitting.admitting, "nodes": list(fitting.nodes)},
        }
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
        "owner": owner_of(pod) or "",
        **outcome,
        "node": placed.node if placed else None,
        "cpus": dict(_exclusive(placed)) if placed and placed.admitted else {},
        "replacement": _replacement(placed) if placed else "",
        **fits,
    }


def _exclusive(placed: Placed) -> Iterator[tuple[str, str]]:
    """Yield the exclusive CPUs of containers; the decision may be one on a pod that differs in names only."""
    assert placed.admission is not None
    own = (each.name for each in placed.pod.all_containers)
    names = dict(zip((each.name for each in placed.admission.pod.all_containers), own, strict=True))
    for each in placed.admission.placements:
        if each.exclusive:
            yield names[each.container.name], cpu_list(each.cpus)


def _replacement(placed: Placed) -> str:
    assert placed.admission is not None
    verdict, pod = placed.admission.verdict, placed.pod
    if not isinstance(verdict, Rejected):
        return ""
    found = replacement_of(verdict, Decision(Rule.UNKNOWN, ""), owner_of(pod), static=pod.static)
    return found.text if found else ""
