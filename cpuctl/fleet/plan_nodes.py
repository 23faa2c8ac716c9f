"""What planning needs to know of every node of a fleet: what it has for pods, and what is bound to it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from cpuctl.answering.config.starts import not_started_answer
from cpuctl.engine.node import Node
from cpuctl.fleet.asking import KubeletFiles
from cpuctl.fleet.facts import content_digest
from cpuctl.inputs.pods import rules_of_pods
from cpuctl.inputs.sources import Sources
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.operations.plan_inputs import PlanningInputs, read_planning
from cpuctl.pods.stored import stored_pod
from cpuctl.scheduler.decisions import bound_load
from cpuctl.scheduler.model import Load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpuctl.answers.fleet import PlannedNode
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.operations.plan_inputs import Planning
    from cpuctl.pods.model import Pod


class FleetInputs(NamedTuple):
    """What all kubelets are told, their devices, and by node the pods that run: None where nobody said.

    ``releases`` are those that Nodes tell, by their names, for recordings that do not tell theirs.
    """

    kubelet: KubeletInputs
    devices: str = ""
    running: Mapping[str, Sequence[Pod]] | None = None
    releases: Mapping[str, str] = {}


class NodeSurveyor(KubeletFiles):
    """Tells of one node after the other what a plan begins with."""

    def __init__(self, inputs: FleetInputs) -> None:
        self._inputs, self._kubelet = inputs, inputs.kubelet
        pods = (inputs.running or {}).items()
        self._running = {name: content_digest(tuple(map(_unplaced, there))) for name, there in pods}
        self._all_running = content_digest((inputs.running is None, sorted(self._running.items())))

    @property
    def files(self) -> Sequence[str]:
        """Name the file of devices, too."""
        return [*super().files, *(name for name in [self._inputs.devices] if Path(name).is_file())]

    def reading(self, places: Mapping[str, str]) -> Self:
        """Return the question with other names for its files."""
        other, devices = super().reading(places), self._inputs.devices
        changed = self._inputs._replace(kubelet=other._kubelet, devices=places.get(devices, devices))  # noqa: SLF001
        other._inputs = changed  # noqa: SLF001  # a copy of this one
        return other

    def asks(self, name: str) -> str:
        """Name the question to a node, with what its kubelet is told and who runs there."""
        inputs = self._inputs
        # A recording that holds several nodes has another name than they have.
        known = self._running.get(name, self._all_running)
        release = inputs.releases.get(name) or sorted(inputs.releases.items())
        return f"survey {inputs.kubelet} {inputs.devices} {release} {known}"

    def __call__(self, source: str, name: str) -> PlannedNode:
        """Read a recording and start its kubelet; raise CpuctlError where it cannot be used."""
        try:
            planning = read_node(source, name, self._inputs)
        except ConfigRefusedError as refused:
            return {
                "node": name,
                "source": source,
                "answerKey": None,
                "outcome": "Read",
                "state": "",
                "start": not_started_answer(refused.whole_refusal),
                "allocatable": {},
                "load": load_answer(Load()),
            }
        started = planning.start(planning.kubelet, Sources())
        return {
            "node": name,
            "source": source,
            "answerKey": None,
            "outcome": "Read",
            "state": content_digest((planning.source.info, planning.kubelet, planning.initial))[:16],
            "start": {"outcome": "Started"} if isinstance(started, Node) else not_started_answer(started),
            "allocatable": allocatable_of(started) if isinstance(started, Node) else {},
            "load": load_answer(_bound(planning, started) if isinstance(started, Node) else Load()),
        }


def read_node(source: str, name: str, inputs: FleetInputs) -> Planning:
    """Read one node, with the pods that run there; raise CpuctlError where it cannot be used."""
    kubelet = inputs.kubelet._replace(fallback_version=inputs.releases.get(name, ""))
    words = PlanningInputs(machine=source, kubelet=kubelet, devices=inputs.devices)
    planning = read_planning(words, pods_needed=False)
    if inputs.running is None:
        return planning
    rules = rules_of_pods(planning.kubelet)
    running = tuple(stored_pod(_unplaced(pod), rules) for pod in inputs.running.get(name, ()))
    return planning._replace(initial=planning.initial._replace(running=running, known=True))


def _unplaced(pod: Pod) -> Pod:
    """Forget where a pod was read: all pods of the cluster stand there, and would count with each."""
    return pod._replace(origin="")


def allocatable_of(node: Node) -> dict[str, int]:
    """Return what a Node object would say that the node has for pods."""
    room = node.allocatable
    if room is None:
        return {}
    devices = {name: pool.healthy.bit_count() for name, pool in node.devices.pools.items()}
    return {**room.amounts, **devices, "pods": room.pods}


def _bound(planning: Planning, node: Node) -> Load:
    """Sum up who runs; where nobody said, what state files tell that somebody holds."""
    load = Load()
    if planning.initial.known:
        for pod in planning.initial.running:
            load = load.plus(bound_load(pod))
        return load
    cpus = node.cpu.state.assignments
    blocks = node.memory.state.blocks
    millis = 1000 * sum(mask.bit_count() for held in cpus.values() for mask in held.values())
    memory = sum(
        block.size
        for held in blocks.values()
        for each in held.values()
        for block in each
        if block.type == "memory"
    )
    return Load(len(cpus.keys() | blocks.keys()), {"cpu": millis, "memory": memory}, millis, memory)


def load_answer(load: Load) -> dict[str, int]:
    """Write a load as plain data."""
    return {
        **load.amounts,
        "pods": load.pods,
        "scoredCPU": load.scored_cpu,
        "scoredMemory": load.scored_memory,
    }
