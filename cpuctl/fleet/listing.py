"""The description of a fleet's nodes, and the CPUs that they have left."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from cpuctl.answering import API_VERSION
from cpuctl.answering.config.starts import not_started_answer
from cpuctl.answering.kubelet_view import topology_counts
from cpuctl.answering.metrics import gauge
from cpuctl.cpuset import CPUSet
from cpuctl.engine.capacity.capacity import headroom_of
from cpuctl.engine.capacity.probe import free_cpus, settled
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Undetermined
from cpuctl.fleet.asking import KubeletFiles, assumed_of
from cpuctl.fleet.facts import content_digest, kind_of, kubelet_facts, machine_facts
from cpuctl.fleet.grouping import group_answers, groups_of
from cpuctl.golang.text import GoError
from cpuctl.inputs.machine import load_machine
from cpuctl.inputs.sources import Sources
from cpuctl.inputs.starting_state import StartingState
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.operations.plan import Planner
from cpuctl.operations.plan_inputs import PlanningInputs, planning_for, read_planning
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.answers.fleet import (
        FleetGroup,
        FleetKubelet,
        FleetList,
        FleetListSummary,
        FleetMachine,
        FleetNode,
        FreeCPUs,
        GroupPlacements,
        ListedNode,
    )
    from cpuctl.answers.start import Start
    from cpuctl.answers.values import Metric
    from cpuctl.engine.admission import Admission
    from cpuctl.fleet.collection import Recording
    from cpuctl.fleet.grouping import Group
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.inputs.pods import GivenPods
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.machine_info import MachineInfo
    from cpuctl.operations.plan_inputs import Planning


class _Decided(NamedTuple):
    """What depends only on a node's machine, kubelet and state."""

    machine: FleetMachine
    start: Start
    free: FreeCPUs | None
    facts: dict[str, str]
    kind: str


class NodeLister(KubeletFiles):
    """Describes one node after another; nodes that are identical to a kubelet are evaluated once."""

    def __init__(self, kubelet: KubeletInputs, releases: Mapping[str, str] = {}) -> None:
        self._kubelet, self._releases = kubelet, releases
        self._decided: dict[str, _Decided] = {}

    def asks(self, name: str) -> str:
        """Name the question, with the settings of the kubelets."""
        return f"list {self._asks_kubelet(name)}"

    def __call__(self, recording: Recording) -> ListedNode:
        """Read a recording and start its kubelet; raise CpuctlError if it cannot be used."""
        name, source, sources = recording.name, recording.source, Sources()
        inputs = PlanningInputs(machine=source, kubelet=self._inputs_of(name))
        try:
            planning = read_planning(inputs, pods_needed=False, sources=sources)
        except ConfigRefusedError as refused:
            return _unloaded(source, name, refused, sources)
        decided = self._decision(planning)
        return {
            "node": name,
            "source": source,
            "answerKey": None,
            "outcome": "Read",
            "kind": decided.kind,
            "machine": decided.machine,
            "kubelet": kubelet_answer(planning.kubelet),
            "start": decided.start,
            "free": decided.free,
            "facts": decided.facts,
            "assumed": assumed_of(sources, source),
        }

    def _decision(self, planning: Planning) -> _Decided:
        key = content_digest((planning.source.info, planning.kubelet, planning.initial))
        if key not in self._decided:
            self._decided[key] = _decide(planning)
        return self._decided[key]


def _decide(planning: Planning) -> _Decided:
    started = planning.start(planning.kubelet, Sources())
    info = planning.source.info
    facts = {**kubelet_facts(planning.kubelet), **machine_facts(info)}
    start: Start = {"outcome": "Started"} if isinstance(started, Node) else not_started_answer(started)
    free = free_answer(started) if isinstance(started, Node) else None
    return _Decided(machine_answer(info, planning.kubelet), start, free, facts, kind_of(facts))


def _unloaded(source: str, name: str, refused: ConfigRefusedError, sources: Sources) -> ListedNode:
    """Report a node whose kubelet cannot load its configuration."""
    info = load_machine(source, Sources()).info
    facts = machine_facts(info)
    return {
        "node": name,
        "source": source,
        "answerKey": None,
        "outcome": "Read",
        "kind": kind_of(facts),
        "machine": machine_answer(info, None),
        "kubelet": None,
        "start": not_started_answer(refused.whole_refusal),
        "free": None,
        "facts": facts,
        "assumed": assumed_of(sources, source),
    }


def machine_answer(info: MachineInfo, kubelet: Kubelet | None) -> FleetMachine:
    """Count as the kubelet does; None for what it would reject or is not recorded."""
    memory = info.memory_bytes or None
    books = kubelet.gates.release.knows_books if kubelet else True
    counts = None
    with suppress(GoError):
        counts = topology_counts(CPUTopology.discover(info, knows_books=books))
    if counts is None or not info.cores_known:
        return {
            "cpus": None,
            "cores": None,
            "sockets": None,
            "numaNodes": None,
            "uncoreCaches": None,
            "memory": memory,
        }
    return {
        "cpus": counts["cpus"],
        "cores": counts["cores"],
        "sockets": counts["sockets"],
        "numaNodes": counts["numaNodes"],
        "uncoreCaches": counts["uncoreCaches"],
        "memory": memory,
    }


def kubelet_answer(kubelet: Kubelet) -> FleetKubelet:
    """Return a kubelet's release and policies."""
    config = kubelet.config
    return {
        "version": str(kubelet.version),
        "cpuManagerPolicy": config.cpu_manager_policy,
        "topologyManagerPolicy": config.topology_manager_policy,
        "topologyManagerScope": config.topology_manager_scope,
        "memoryManagerPolicy": config.memory_manager_policy,
    }


def free_answer(node: Node) -> FreeCPUs | None:
    """Return what a node has left for exclusive use; None without a static policy."""
    if node.policy is None or node.fault is not None:
        return None
    node = settled(node)
    free = free_cpus(node)
    return {
        "exclusiveCPUs": free.bit_count(),
        "cpuList": str(CPUSet(free)),
        "largestOnOneNode": max(
            (each.largest for each in headroom_of(node, node.topology.numa_nodes)), default=0
        ),
    }


# The answer of ``cpuctl fleet list``: nodes, their groups, and how pods are placed on the groups.

Placements: TypeAlias = Mapping[str, Hashable]
"""The results for pods, by their names: equal if they are placed the same."""


def fleet_document(
    nodes: Sequence[FleetNode],
    pods: PlanningInputs,
    given: GivenPods,
    *,
    passed_over: Sequence[str] = (),
    complete: bool = True,
    releases: Mapping[str, str] = {},
) -> FleetList:
    """Put nodes and their groups into one document; the pods *given* are tried on each group.

    *releases* are kubelet releases by node name, for recordings without one.
    """
    groups = groups_of(nodes)
    answers = list(group_answers(groups))
    if given.pods:
        answers = list(with_placements(answers, groups, pods, given, releases))
    return {
        "apiVersion": API_VERSION,
        "kind": "FleetList",
        "complete": complete,
        "skipped": list(passed_over),
        "summary": _summary(nodes, groups),
        "groups": answers,
        "nodes": list(nodes),
    }


def _summary(nodes: Sequence[FleetNode], groups: Sequence[Group]) -> FleetListSummary:
    starts = [node["start"]["outcome"] for node in nodes if node["outcome"] == "Read"]
    return {
        "nodes": len(nodes),
        "groups": len(groups),
        "outliers": sum(len(group.nodes) for group in groups[1:]),
        "wouldNotStart": sum(start in ("Rejected", "KubeletFault") for start in starts),
        "undetermined": starts.count("Undetermined"),
        "unreadable": len(nodes) - len(starts),
    }


def with_placements(
    answers: Sequence[FleetGroup],
    groups: Sequence[Group],
    inputs: PlanningInputs,
    given: GivenPods,
    releases: Mapping[str, str] = {},
) -> Iterator[FleetGroup]:
    """Add to every group but the first whether the pods *given* are placed differently on it.

    Each group is planned on one of its nodes, as if empty: what runs there now is not part of the group.
    """
    nodes = {group.nodes[0]["node"]: group.nodes[0]["source"] for group in groups}
    placed: dict[str, Placements | None] = {}

    def on(node: str) -> Placements | None:
        if node not in placed:
            kubelet = replace(inputs.kubelet, fallback_version=releases.get(node, ""))
            placed[node] = placements(replace(inputs, machine=nodes[node], kubelet=kubelet), given)
        return placed[node]

    for answer in answers:
        other = answer["comparedWith"]
        if other is None:
            yield answer
        else:
            yield {**answer, "placements": _compared(on(answer["nodes"][0]), on(other))}


def _compared(here: Placements | None, there: Placements | None) -> GroupPlacements:
    if here is None or there is None:
        return {"differ": None, "pods": []}
    differing = [name for name in {**here, **there} if here.get(name) != there.get(name)]
    return {"differ": bool(differing), "pods": differing}


def placements(inputs: PlanningInputs, given: GivenPods) -> Placements | None:
    """Plan pods on an empty node, and return the outcome by pod; no outcomes if the kubelet does not start.

    Return None if it is unknown whether it would. Raise InputError for pods that cannot be planned.
    """
    try:
        planning = planning_for(given, inputs, Sources())
    except ConfigRefusedError:
        return {}
    plan = Planner(replace(planning, initial=StartingState())).plan(planning.kubelet, Sources())
    if isinstance(plan.node, Undetermined):
        return None
    return {each.pod.full_name: _outcome(each) for each in plan.admissions}


def _outcome(admission: Admission) -> Hashable:
    """Return a value that is equal if a pod gets the same on two nodes; rejected pods get nothing."""
    if not isinstance(admission.verdict, Admitted):
        return (repr(admission.verdict),)
    containers = tuple(
        (each.container.name, each.exclusive, each.cpus if each.exclusive else 0, repr(each.memory))
        for each in admission.placements
    )
    return repr(admission.verdict), admission.pod_cpus, containers


def list_metrics(document: FleetList) -> Iterator[Metric]:
    """Yield metrics of the nodes, their groups and free CPUs for a monitoring system."""
    summary = document["summary"]
    yield gauge("fleet_nodes", "Nodes in the fleet.", {}, summary["nodes"])
    yield gauge("fleet_odd_nodes", "Nodes outside the largest group.", {}, summary["outliers"])
    yield gauge("fleet_unreadable_nodes", "Recordings that could not be read.", {}, summary["unreadable"])
    for place, group in enumerate(document["groups"], 1):
        kubelet = group["kubelet"]
        labels = {
            "group": str(place),
            "kind": group["kind"],
            "kubelet": kubelet["version"] if kubelet else "",
        }
        yield gauge("fleet_group_nodes", "Nodes that look the same to the kubelet.", labels, group["count"])
    for node in document["nodes"]:
        if node["outcome"] != "Read":
            continue
        name = {"node": node["node"]}
        labels = name | {"outcome": node["start"]["outcome"]}
        yield gauge("fleet_node_start", "Outcome of starting a node's kubelet.", labels, 1)
        if (free := node["free"]) is not None:
            help_ = "CPUs of a node that containers can still get exclusively."
            yield gauge("fleet_node_free_exclusive_cpus", help_, name, free["exclusiveCPUs"])
            help_ = "The most exclusive CPUs that one container can get on a single NUMA node."
            yield gauge("fleet_node_largest_request_cpus", help_, name, free["largestOnOneNode"])
