"""What planning needs to know about every node of a fleet: what it has for pods, and what is bound to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from cpuctl.answering.config.starts import not_started_answer
from cpuctl.checkpoints.model import CPUStateFile, MemoryStateFile, UnreadableState
from cpuctl.cpuset import CPUSet
from cpuctl.engine.node import Node
from cpuctl.fleet.asking import KubeletFiles, assumed_of
from cpuctl.fleet.facts import content_digest
from cpuctl.inputs.pods import as_granted, rules_of_pods
from cpuctl.inputs.sources import Sources
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.operations.plan_inputs import NodeOptions, PlanningInputs, read_planning
from cpuctl.pods.stored import stored_pod
from cpuctl.records import replace
from cpuctl.scheduler.decisions import bound_load
from cpuctl.scheduler.model import Load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpuctl.answers.fleet_plan import PlannedNode
    from cpuctl.answers.start import Start
    from cpuctl.engine.saved_files import SavedFiles
    from cpuctl.fleet.collection import Recording
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.operations.plan_inputs import Planning
    from cpuctl.pods.model import Pod, StoredPod

_MOST_KEPT = 256
"""The most distinct recordings that are kept after reading: some hundred MiB for large machines."""


_FEW_KEPT = 8
"""The same for recordings that are kept with all their files."""


class FleetInputs(NamedTuple):
    """The settings of all kubelets, their devices, and the running pods by node, None if unknown.

    ``driver`` are the flags of the driver for CPUs if pods have resource claims, None if none has.
    ``releases`` are those of Nodes, by their names, for recordings without one. With ``by_name``, nodes
    differ if the names and UIDs of their pods do: these do not affect kubelets, but fingerprints and lists of
    devices in use.
    """

    kubelet: KubeletInputs
    devices: str = ""
    running: Mapping[str, Sequence[Pod]] | None = None
    releases: Mapping[str, str] = {}
    by_name: bool = False
    driver: str | None = None


class _Surveyed(NamedTuple):
    """The starting point of a plan on all nodes in the same state."""

    start: Start
    allocatable: dict[str, int]
    load: dict[str, int]


class NodeReader:
    """Reads nodes with the pods that run there; recordings of equal content once."""

    def __init__(self, inputs: FleetInputs) -> None:
        self._inputs = inputs
        self._read: dict[tuple[str, str], Planning] = {}

    def __call__(self, recording: Recording) -> Planning:
        """Read one node; raise CpuctlError if it cannot be used."""
        inputs, name = self._inputs, recording.name
        planning = self._as_recorded(recording, inputs.releases.get(name, ""))
        if inputs.running is None:
            return planning
        rules = rules_of_pods(planning.kubelet)
        running = tuple(stored_pod(_unplaced(pod), rules) for pod in inputs.running.get(name, ()))
        return replace(planning, initial=replace(planning.initial, running=running, known=True))

    def _as_recorded(self, recording: Recording, release: str) -> Planning:
        key = (recording.digest, release)
        planning = self._read.pop(key, None)
        if planning is None:
            kubelet = replace(self._inputs.kubelet, fallback_version=release)
            node = NodeOptions(devices=self._inputs.devices)
            inputs = PlanningInputs(machine=recording.source, kubelet=kubelet, node=node)
            planning = read_planning(inputs, pods_needed=False)
            if self._inputs.driver is None:  # which also reads files
                planning = replace(planning, source=replace(planning.source, files=None))  # most of its size
        if recording.digest:
            self._read[key] = planning  # as the newest: the least recently used are removed first
            if len(self._read) > (_MOST_KEPT if self._inputs.driver is None else _FEW_KEPT):
                del self._read[next(iter(self._read))]
        return planning


class NodeSurveyor(KubeletFiles):
    """Surveys nodes as starting points of a plan; equal states are computed once."""

    def __init__(self, inputs: FleetInputs) -> None:
        self._inputs, self._kubelet, self._releases = inputs, inputs.kubelet, inputs.releases
        self._reader = NodeReader(inputs)
        self._surveyed: dict[str, _Surveyed] = {}
        pods = (inputs.running or {}).items()
        self._running = {name: content_digest(tuple(map(_unplaced, there))) for name, there in pods}
        self._all_running = content_digest((inputs.running is None, sorted(self._running.items())))

    @property
    def files(self) -> Sequence[str]:
        """The files that it reads, including that of devices."""
        return [*super().files, *(name for name in [self._inputs.devices] if Path(name).is_file())]

    def reading(self, places: Mapping[str, str]) -> Self:
        """Return the question with other paths for its files."""
        other, devices = super().reading(places), self._inputs.devices
        changed = self._inputs._replace(kubelet=other._kubelet, devices=places.get(devices, devices))  # noqa: SLF001
        other._inputs, other._reader = changed, NodeReader(changed)  # noqa: SLF001  # a copy of this one
        return other

    def asks(self, name: str) -> str:
        """Name the question to a node, with its kubelet's settings and the pods that run there."""
        inputs = self._inputs
        # A recording of several nodes has a name different from theirs.
        known = self._running.get(name, self._all_running)
        release = self._asks_release(name)
        driver = "" if inputs.driver is None else f" {inputs.driver!r}"
        return f"survey {self._kubelet} {inputs.devices} {inputs.by_name} {release} {known}{driver}"

    def __call__(self, recording: Recording) -> PlannedNode:
        """Read a recording and start its kubelet; raise CpuctlError if it cannot be used."""
        try:
            planning = self._reader(recording)
        except ConfigRefusedError as refused:
            state, load = "", load_answer(Load())
            surveyed, assumed = _Surveyed(not_started_answer(refused.whole_refusal), {}, load), {}
        else:
            assumed = assumed_of(planning.sources, recording.source)
            state = state_digest(planning, by_name=self._inputs.by_name)
            if self._inputs.driver is not None:
                state = _digest_with_driver(state, planning, self._inputs.driver)
            surveyed = self._surveyed.get(state) or _survey(planning)
            if surveyed.start["outcome"] == "Started":  # the reason for a failed start may name pods
                self._surveyed[state] = surveyed
        return {
            "node": recording.name,
            "source": recording.source,
            "answerKey": None,
            "outcome": "Read",
            "state": state,
            "start": surveyed.start,
            "allocatable": surveyed.allocatable,
            "load": surveyed.load,
            "assumed": assumed,
        }


def _digest_with_driver(state: str, planning: Planning, arguments: str) -> str:
    """Return a digest that also distinguishes what the driver for CPUs reads on a node."""
    from cpuctl.dra.cdi import read_cdi
    from cpuctl.dra.discovery import discover
    from cpuctl.inputs.dra import read_driver_arguments

    source, flags = planning.source, read_driver_arguments(arguments)
    discovered = discover(source.machine, source.files, pcie_roots=flags.expose_pcie_roots)
    return content_digest((state, discovered, read_cdi(source.files)))[:16]


def _survey(planning: Planning) -> _Surveyed:
    started = planning.start(planning.kubelet, Sources())
    if isinstance(started, Node):
        load = load_answer(_bound(planning, started))
        return _Surveyed({"outcome": "Started"}, allocatable_of(started), load)
    return _Surveyed(not_started_answer(started), {}, load_answer(Load()))


def _is_unreadable(files: SavedFiles) -> bool:
    read = (files.cpu, files.memory)
    return bool(files.unreadable) or any(isinstance(each, UnreadableState) for each in read)


def state_digest(planning: Planning, *, by_name: bool) -> str:
    """Return a text that is equal for nodes on which a kubelet decides the same, ignoring its pods' names.

    A kubelet uses what pods request and hold. Names and UIDs only matter with *by_name*, and if its release,
    or one that it may have, cannot read a state file: the error may name them.
    """
    info, kubelet, initial = planning.source.info, planning.kubelet, planning.initial
    cpu, memory = initial.files.cpu, initial.files.memory
    unread = initial.files.unreadable or any(map(_is_unreadable, initial.files.by_others.values()))
    if by_name or unread or isinstance(cpu, UnreadableState) or isinstance(memory, UnreadableState):
        return content_digest((info, kubelet, initial))[:16]
    tables = (
        cpu and (cpu.policy_name, cpu.default_cpu_set),
        memory and (memory.policy_name, memory.machine_state),
    )
    pods = sorted(map(content_digest, _nameless(initial.running, cpu, memory)))
    return content_digest((info, kubelet, initial.known, tables, pods))[:16]


def _nameless(
    running: Sequence[StoredPod], cpu: CPUStateFile | None, memory: MemoryStateFile | None
) -> Iterator[object]:
    """Yield what each pod requests and holds: running ones, and others in state files."""
    cpu, memory = cpu or _NO_CPU_STATE, memory or _NO_MEMORY_STATE
    held = (cpu.entries, cpu.pod_entries, cpu.baselines, memory.entries, memory.pod_entries)
    pods = {pod.uid: pod for pod in running}
    for uid in dict.fromkeys((*pods, *(uid for each in held for uid in each))):
        requests = _as_requested(pods[uid]) if uid in pods else None
        yield requests, [each.get(uid) for each in held]


_NO_CPU_STATE, _NO_MEMORY_STATE = CPUStateFile("", CPUSet()), MemoryStateFile("")


def _as_requested(pod: StoredPod) -> object:
    """Return a pod without what kubelets ignore once it runs, and its load as the scheduler counts it."""
    (granted,) = as_granted((pod,))
    statuses = tuple(replace(each, runtime="", container_id="") for each in granted.statuses)
    nameless = granted._replace(
        name="",
        namespace="",
        uid="",
        owner="",
        node_name="",
        priority=None,
        priority_class_name="",
        node_selection=None,
        generation=1,
        resize=None,
        statuses=statuses,
    )
    return nameless, bound_load(pod)


def _unplaced(pod: Pod) -> Pod:
    """Remove a pod's origin, a file with all pods of the cluster, which would count with each pod."""
    return pod._replace(origin="")


def allocatable_of(node: Node) -> dict[str, int]:
    """Return the allocatable resources that the Node object would have."""
    allocatable = node.allocatable
    if allocatable is None:
        return {}
    devices = {name: pool.healthy.bit_count() for name, pool in node.devices.pools.items()}
    return {**allocatable.amounts, **devices, "pods": allocatable.pods}


def _bound(planning: Planning, node: Node) -> Load:
    """Sum up the running pods; if they are unknown, what is held according to state files."""
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
