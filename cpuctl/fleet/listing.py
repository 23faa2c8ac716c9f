"""What one node of a fleet is, and what it has left."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.answering.config.starts import not_started_answer
from cpuctl.answering.kubelet_view import topology_counts
from cpuctl.cpuset import CPUSet
from cpuctl.engine.capacity.capacity import headroom_of
from cpuctl.engine.capacity.probe import free_cpus, settled
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.node import Node
from cpuctl.fleet.asking import KubeletFiles, assumed_of
from cpuctl.fleet.facts import content_digest, kind_of, kubelet_facts, machine_facts
from cpuctl.golang.text import GoError
from cpuctl.inputs.machine import load_machine
from cpuctl.inputs.sources import Sources
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.operations.plan_inputs import PlanningInputs, read_planning

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpuctl.answers.fleet import FleetKubelet, FleetMachine, FreeCPUs, ListedNode
    from cpuctl.answers.start import Start
    from cpuctl.fleet.collection import Recording
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.machine_info import MachineInfo
    from cpuctl.operations.plan_inputs import Planning


class _Decided(NamedTuple):
    """What hangs on a node's machine, kubelet and state alone."""

    machine: FleetMachine
    start: Start
    free: FreeCPUs | None
    facts: dict[str, str]
    kind: str


class NodeLister(KubeletFiles):
    """Tells of one node after the other; nodes that are equal to a kubelet are decided on once."""

    def __init__(self, kubelet: KubeletInputs, releases: Mapping[str, str] = {}) -> None:
        self._kubelet, self._releases = kubelet, releases
        self._decided: dict[str, _Decided] = {}

    def asks(self, name: str) -> str:
        """Name the question, with what the kubelets are told."""
        return f"list {self._asks_kubelet(name)}"

    def __call__(self, recording: Recording) -> ListedNode:
        """Read a recording and start its kubelet; raise CpuctlError where it cannot be used."""
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
    """Count as the kubelet does; what it would refuse to count, or nobody recorded, is null."""
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
    """Name a kubelet's release and policies."""
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
