"""The answer of ``cpuctl fleet plan`` as a plain document (schema: ``cpuctl schema fleetplan``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from cpuctl.answering import API_VERSION
from cpuctl.answering.plan.plan_answer import cpu_list, rejection_answer
from cpuctl.answering.plan.plan_document import policy_part
from cpuctl.cpuset import CPUSet
from cpuctl.engine.explain.decision import Decision, Rule
from cpuctl.engine.explain.replacement import Successor, remedy_of, replacement_of
from cpuctl.engine.outcome import Admitted, Forbidden, Rejected
from cpuctl.fleet.claims import FleetClaims
from cpuctl.fleet.placed import Everywhere, Placed
from cpuctl.fleet.plan import FleetPlanner
from cpuctl.fleet.plan_inputs import (
    Cluster,
    FleetPlanInputs,
    IncomingPods,
    coming_pods,
    doubts,
    first_kubelet,
    nodes_alone,
    topology_doubts,
)
from cpuctl.fleet.topology_plugin import PluginView, Topologies
from cpuctl.phrases import named, taken_text
from cpuctl.pods.manifest import owner_of

if TYPE_CHECKING:
    from cpuctl.answers import fleet_plan as answers
    from cpuctl.answers.fleet import UnreadableNode
    from cpuctl.answers.start import PolicyPart
    from cpuctl.inputs.pods import GivenPods
    from cpuctl.inputs.sources import Sources
    from cpuctl.pods.model import StoredPod

_STALE = 5
"""The most nodes that are named in one kind of warning."""
_MOST_COPIES = 100_000
"""The most pods to plan if as many copies as fit are requested."""


class FleetPlanned(NamedTuple):
    """The result for every pod, and how many copies fit if that was requested."""

    found: tuple[Placed | Everywhere, ...]
    copies: int | None = None
    stop: Placed | None = None


def plan_fleet(
    planner: FleetPlanner,
    incoming: IncomingPods,
    rounds: int | Literal["max"] | None,
    progress: Callable[[int, int], None],
) -> FleetPlanned:
    """Plan pods once or, with *rounds*, repeatedly until one is not admitted; DaemonSets once."""
    first: list[Placed | Everywhere] = []
    if rounds is None:
        for number, found in enumerate(_planned(planner, incoming, None)):
            progress(number, len(incoming.pods))
            first.append(found)
        return FleetPlanned(tuple(first))
    repeated = len([pod for pod in incoming.pods if pod.uid not in (incoming.refused | incoming.daemons)])
    most = _MOST_COPIES // max(repeated, 1) if rounds == "max" else rounds
    for copy in range(most if repeated else 1):
        progress(copy, 0 if rounds == "max" else most)
        for found in _planned(planner, incoming, copy):
            if copy == 0:
                first.append(found)
            if isinstance(found, Placed) and not (found.runs or found.scheduled):
                return FleetPlanned(tuple(first), copy, found)
    return FleetPlanned(tuple(first), most if repeated else 0)


def _planned(
    planner: FleetPlanner, incoming: IncomingPods, copy: int | None
) -> Iterator[Placed | Everywhere]:
    for pod in incoming.pods:
        if pod.uid in incoming.refused:
            continue
        if pod.uid not in incoming.daemons:
            copied = pod if copy is None else pod._replace(uid=f"{pod.uid}-{copy}")
            yield planner.plan(copied)._replace(pod=pod)
        elif not copy:
            yield planner.plan_everywhere(pod, incoming.daemons[pod.uid])


def fleet_plan_document(
    inputs: FleetPlanInputs,
    given: GivenPods,
    cluster: Cluster,
    rows: Sequence[answers.PlannedNode | UnreadableNode],
    sources: Sources,
    progress: Callable[[int, int], None],
) -> answers.FleetPlan:
    """Plan *given* pods on the nodes surveyed in *rows*, and put the outcomes into one document.

    Raise UsageError for nodes that do not exist, InputError if no node can be planned on.
    """
    rows = rows or nodes_alone(cluster)
    inputs.check({row["node"] for row in rows})
    left_out = {*inputs.drained, *inputs.without}
    nodes = [row for row in rows if row["node"] not in left_out]
    readable = [row for row in nodes if row["outcome"] == "Read"]
    fleet_inputs = cluster.fleet_inputs(inputs, given.pods)
    incoming = coming_pods(inputs, given, cluster, first_kubelet(nodes, fleet_inputs), sources)
    sources.warnings += doubts(readable, cluster, incoming.pods)
    topologies = None if inputs.plugin is None else Topologies(inputs.plugin, cluster.topologies)
    claims = None if fleet_inputs.driver is None else FleetClaims(given.dra, fleet_inputs.driver)
    planner = FleetPlanner(
        readable, cluster.objects or {}, fleet_inputs, incoming.pods, topologies, claims, policy=inputs.policy
    )
    sources.warnings += (*topology_doubts(readable, cluster), *_stale(planner))
    planned = plan_fleet(planner, incoming, inputs.rounds, progress)
    sources.warnings += claims.doubts() if claims is not None else ()
    sources.warn(*_shared(planned.found), *planner.overlaps[:_STALE])
    if planner.overlaps[_STALE:]:
        sources.warn("pods of other nodes share exclusive CPUs, too")
    if planner.unnecessary:
        from cpuctl.operations.policies import POLICY_UNUSED
        from cpuctl.phrases import few

        sources.warnings.append(f"{few(planner.unnecessary)}: {POLICY_UNUSED}")
    return _document(planned, incoming, nodes, sources, policy_part(inputs.policy))


def _stale(planner: FleetPlanner) -> Iterator[str]:
    """Yield warnings about the first nodes whose NodeResourceTopologies do not match them."""
    for count, (name, found) in enumerate(planner.stale()):
        if count == _STALE:
            yield "NodeResourceTopologies of other nodes do not match the nodes either"
            return
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        yield f"{name}: its NodeResourceTopology does not match the node: {found[0]}{more}"


def _shared(found: Iterable[Placed | Everywhere]) -> Iterator[str]:
    """Name pods that get exclusive CPUs which are reserved or another pod's."""
    for each in found:
        for placed in [each] if isinstance(each, Placed) else [share.placed for share in each.shares]:
            if placed.admission is not None and (taken := CPUSet(placed.admission.taken_from_others)):
                where = f"{named(taken)} on {placed.node}"
                yield f"pod {each.pod.full_name} gets {where}, which {taken_text(taken)}"


def _document(
    planned: FleetPlanned,
    incoming: IncomingPods,
    nodes: Sequence[answers.PlannedNode | UnreadableNode],
    sources: Sources,
    policy: PolicyPart,
) -> answers.FleetPlan:
    by_uid = {each.pod.uid: each for each in planned.found if isinstance(each, Placed)}
    pods = [
        _forbidden(pod, incoming.refused[pod.uid])
        if pod.uid in incoming.refused
        else pod_answer(by_uid[pod.uid])
        for pod in incoming.pods
        if pod.uid in incoming.refused or pod.uid in by_uid
    ]
    places = {node["node"]: place for place, node in enumerate(nodes)}
    daemon_sets = [_daemon_set(each, places) for each in planned.found if isinstance(each, Everywhere)]
    repeated: answers.RepeatedPart = {}
    if planned.copies is not None:
        stop = None if planned.stop is None else pod_answer(planned.stop)
        repeated = {"repeat": {"copies": planned.copies, "stop": stop}}
    return {
        "apiVersion": API_VERSION,
        "kind": "FleetPlan",
        "sources": sources.entries,
        "summary": _summary(pods, daemon_sets, nodes),
        "pods": pods,
        "daemonSets": daemon_sets,
        "nodes": list(nodes),
        **repeated,
        **policy,
    }


def _summary(
    pods: Sequence[answers.FleetPod],
    daemon_sets: Sequence[answers.FleetDaemonSet],
    nodes: Sequence[answers.PlannedNode | UnreadableNode],
) -> answers.FleetPlanSummary:
    outcomes = Counter(pod["outcome"] for pod in pods)
    for share in (share for each in daemon_sets for share in each["outcomes"]):
        outcomes[share["outcome"]] += share["count"]
    recorded = [node for node in nodes if node["outcome"] == "Read" and node["source"]]
    starts = Counter(node["start"]["outcome"] for node in recorded)
    return {
        "nodes": len(nodes),
        "pods": outcomes.total(),
        "admitted": outcomes["Admitted"],
        "pending": outcomes["Pending"],
        "rejected": outcomes["Rejected"] + outcomes["Forbidden"],
        "undetermined": outcomes["Undetermined"] + outcomes["KubeletFault"],
        "scheduled": outcomes["Scheduled"],
        "wronglyFiltered": sum("plugin" in pod and bool(pod["plugin"]["wronglyFiltered"]) for pod in pods),
        "wronglyPassed": sum("plugin" in pod and bool(pod["plugin"]["wronglyPassed"]) for pod in pods),
        "wouldNotStart": starts["Rejected"] + starts["KubeletFault"],
        "startUndetermined": starts["Undetermined"],
        "unreadable": sum(node["outcome"] == "Unreadable" for node in nodes),
    }


def _forbidden(pod: StoredPod, refusals: tuple[str, ...]) -> answers.FleetPod:
    return _pod(pod, rejection_answer(Forbidden(refusals)))


def _daemon_set(found: Everywhere, places: Mapping[str, int]) -> answers.FleetDaemonSet:
    """Group nodes by the outcome for the pod, each group in the order of the fleet."""
    shares: dict[str, answers.DaemonSetOutcome] = {}
    for each in found.shares:
        outcome = _outcome(each.placed)
        share = shares.setdefault(repr(outcome), {**outcome, "count": 0, "nodes": []})
        share["nodes"] += each.nodes
        share["count"] += len(each.nodes)
    for share in shares.values():
        share["nodes"].sort(key=places.__getitem__)
    return {
        "namespace": found.pod.namespace,
        "name": found.pod.owner.partition("/")[2],
        "outcomes": sorted(shares.values(), key=lambda share: (-share["count"], places[share["nodes"][0]])),
        "running": list(found.running),
        "excluded": list(found.left_out),
    }


def pod_answer(placed: Placed) -> answers.FleetPod:
    """Return where the scheduler sends a pod, and what the kubelet there decides about it."""
    return _pod(placed.pod, _outcome(placed), placed)


def _outcome(placed: Placed) -> answers.FleetOutcome:
    if placed.scheduled:
        return {"outcome": "Scheduled"}
    if placed.admission is None:
        return {"outcome": "Pending", "message": placed.message}
    verdict = placed.admission.verdict
    return {"outcome": "Admitted"} if isinstance(verdict, Admitted) else rejection_answer(verdict)


def _pod(pod: StoredPod, outcome: answers.FleetOutcome, placed: Placed | None = None) -> answers.FleetPod:
    fits: answers.FitsPart = {}
    plugin: answers.PluginPart = {}
    if placed is not None and placed.plugin is not None:
        plugin = _plugin(placed.plugin)
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
        **_cpus(placed),
        "replacement": _replacement(placed) if placed and placed.admission else "",
        **_claims(placed),
        **fits,
        **plugin,
    }


def _claims(placed: Placed | None) -> answers.FleetClaimsPart:
    served = placed.claims if placed is not None and placed.admitted else None
    if served is None:
        return {}
    part: answers.FleetClaimsPart = {"claims": served.cpus}
    return {**part, "claimProblem": served.problem} if served.problem else part


def _plugin(view: PluginView) -> answers.PluginPart:
    wrongly = view.wrongly_filtered
    filtered: answers.WronglyFiltered | None = None
    if wrongly is not None:
        filtered = {"count": wrongly.number, "nodes": list(wrongly.nodes), "why": wrongly.why}
    return {
        "plugin": {
            "filtered": [
                {"message": why.message, "container": why.container, "resource": why.resource, "nodes": nodes}
                for why, nodes in view.filtered
            ],
            "wronglyFiltered": filtered,
            "wronglyPassed": view.wrongly_passed,
        }
    }


def _cpus(placed: Placed | None) -> answers.FleetCPUsPart:
    """Return the exclusive CPUs of containers; the decision may be about a pod that only differs in names."""
    part: answers.FleetCPUsPart = {"cpus": {}, "shared": {}}
    if placed is None or placed.admission is None or not placed.admitted:
        return part
    own = (each.name for each in placed.pod.all_containers)
    names = dict(zip((each.name for each in placed.admission.pod.all_containers), own, strict=True))
    for each in placed.admission.placements:
        name = names[each.container.name]
        if each.exclusive:
            part["cpus"][name] = cpu_list(each.cpus)
        else:
            part["shared"][name] = each.claim.why_not
    return part


def _replacement(placed: Placed) -> str:
    assert placed.admission is not None
    verdict, pod = placed.admission.verdict, placed.pod
    if not isinstance(verdict, Rejected):
        return ""
    # The scheduler has sent the pod to this node: it fits by the sum of requests.
    # A scheduler with the plugin already sees NUMA nodes: the problem is what is published about them.
    remedy = remedy_of(verdict, "") if placed.plugin is None else ""
    decision = Decision(Rule.UNKNOWN, "")
    found = replacement_of(
        verdict, decision, owner_of(pod), static=pod.static, successor=Successor(), remedy=remedy
    )
    return found.text if found else ""
