"""The starting point of a plan: the kubelet's state files, and the running pods."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet
from cpuctl.engine.saved_files import SavedFiles
from cpuctl.errors import InputError, NodeAccessError
from cpuctl.inputs.pods import as_granted, load_listed, load_pod_names, rules_of_pods, running_pods
from cpuctl.inputs.sources import Sources
from cpuctl.option_names import EMPTY_STATE, NO_STATE, STATE
from cpuctl.phrases import few, named
from cpuctl.records import Record, replace
from cpuctl.state_names import (
    ACTUATED_FILE,
    ALLOCATED_FILE,
    CLAIMS_FILE,
    CPU_FILE,
    DEVICES_FILE,
    MEMORY_FILE,
    STATUS_FILE,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cpuctl.answers.checkpoint import StateFileName
    from cpuctl.checkpoints.model import UnreadableState
    from cpuctl.checkpoints.reader import ContainerName, StateReader
    from cpuctl.engine.devices.provider import DeviceProvider
    from cpuctl.engine.node import Node
    from cpuctl.engine.start import StartResult
    from cpuctl.inputs.state_files import StateInput
    from cpuctl.kubelet.gates.feature_gates import FeatureGates
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.devices.inventory import DeviceInventory
    from cpuctl.machine.machine_info import MachineInfo
    from cpuctl.machine.sources import MachineSource
    from cpuctl.pods.model import Pod, StoredPod

ALLOCATED_AGAIN = (
    "there are no state files for the running pods: CPUs and memory are allocated to them again, one pod "
    "at a time"
)
"""What is assumed about running pods without state files."""
_FRESH = f"{EMPTY_STATE}; the state files of this node are not used"


class StartingState(Record):
    """The starting point of a plan; without state files a node is fresh.

    ``files`` are ``texts`` as ``reader`` reads them, by name; a file without a text is the same for every
    reader. ``known``: the running pods were given. ``digests`` are the SHA-256 of the texts; ``names`` the
    namespaces and names of pods by UID, running or not. ``ended`` are pods, as written, that were given with
    the running ones but have ended.
    """

    files: SavedFiles = SavedFiles()
    running: tuple[StoredPod, ...] = ()
    known: bool = False
    digests: Mapping[str, str] = {}
    names: Mapping[str, tuple[str, str]] = {}
    texts: Mapping[StateFileName, str] = {}
    reader: StateReader | None = None
    devices: DeviceProvider | None = None
    ended: tuple[Pod, ...] = ()

    def as_read_by(self, kubelet: Kubelet) -> StartingState:
        """Return the state as another kubelet reads the files."""
        if not self.texts:
            return self
        reader = state_reader(kubelet)
        files = self.files if reader == self.reader else read_saved(self.texts, reader)
        others = self.files.by_others if reader == self.reader else read_by_others(self.texts, kubelet)
        return replace(self, files=replace(files, by_others=others), reader=reader)

    def without_memory(self) -> StartingState:
        """Return the state without the Memory Manager's file."""
        files = self.files
        others = {minor: replace(read, memory=None) for minor, read in files.by_others.items()}
        texts = dict(self.texts)
        texts.pop(MEMORY_FILE, None)
        return replace(self, files=replace(files, memory=None, by_others=others), texts=texts)

    @property
    def before_restart(self) -> StartingState:
        """The state as a restarting kubelet finds it: without files, running pods hold nothing yet."""
        empty = self.files.cpu is None and self.files.memory is None
        return replace(self, running=()) if empty else self

    def name_of(self, uid: str) -> str:
        """Return the name of a pod, or its UID if the name is unknown."""
        return "/".join(self.names.get(uid, (uid,)))

    @property
    def full_names(self) -> dict[str, str]:
        """The names of pods by UID, running or not."""
        known = {uid: "/".join(name) for uid, name in self.names.items()}
        return known | {pod.uid: pod.full_name for pod in self.running}

    @property
    def granted(self) -> tuple[StoredPod, ...]:
        """The running pods with their allocated resources: a resize may be pending (KEP-1287)."""
        return as_granted(self.running)


def load_starting_state(
    name: str,
    running: str,
    machine: MachineSource,
    kubelet: Kubelet,
    sources: Sources,
    read: tuple[StateInput, ...] | None = None,
) -> StartingState:
    """Read state files and, from the file *running*, the running pods.

    *name* is a state file, recognized by its name, or the directory that contains them; without it they
    are the node's own; NO_STATE stands for none. *read* are the files that *name* names, if they were
    already read. A file that no kubelet would load is not an error: it becomes the answer. Raise
    NodeAccessError if only root may read them.
    """
    if name == NO_STATE:
        texts: dict[StateFileName, str] = {}
        sources.add("state", EMPTY_STATE, "given")
    else:
        texts = given_texts(name, sources, read) if name else _own_texts(machine, kubelet, sources)
    if name not in ("", NO_STATE) and CPU_FILE not in texts:
        sources.warnings.append(
            f"no {CPU_FILE} in {name}: no exclusive CPUs are assigned yet, as on a fresh node"
        )
    listed = load_listed(running, sources)
    initial = starting_state_of(texts, running_pods(listed, rules_of_pods(kubelet), running), kubelet)
    digests = _digests(texts) if texts else {}
    known = load_pod_names(machine, sources) if texts else None
    names = known.pods if known else {}
    ended = tuple(pod for pod in listed if pod.terminal)
    return replace(initial, known=bool(running), digests=digests, names=names, ended=ended)


def starting_state_of(
    texts: Mapping[StateFileName, str], running: tuple[StoredPod, ...], kubelet: Kubelet
) -> StartingState:
    """Return the starting state from the texts of state files, by their names, with these pods."""
    initial = StartingState(running=running, known=bool(running), texts=texts)
    return initial.as_read_by(kubelet)


def read_saved(texts: Mapping[StateFileName, str], reader: StateReader) -> SavedFiles:
    """Read files by their names, as the kubelet does when it starts."""
    from cpuctl.checkpoints.cpu_state import read_cpu_state
    from cpuctl.checkpoints.memory_state import read_memory_state

    cpu, memory = texts.get(CPU_FILE), texts.get(MEMORY_FILE)
    others = {name: text for name, text in texts.items() if name not in (CPU_FILE, MEMORY_FILE)}
    return SavedFiles(
        cpu=None if cpu is None else read_cpu_state(cpu, reader),
        memory=None if memory is None else read_memory_state(memory, reader),
        unreadable=dict(_unreadable(others, reader)) if others else {},
    )


def read_by_others(
    texts: Mapping[StateFileName, str], kubelet: Kubelet, containers: Mapping[str, ContainerName] = {}
) -> dict[int, SavedFiles]:
    """If the release is unknown, read files as all other releases do, by minor.

    *containers* are the names of running containers by their ids.
    """
    if kubelet.released or not texts:
        return {}

    from cpuctl.kubelet.version import NEWEST, OLDEST, KubeletVersion

    found = {}
    for minor in {*range(OLDEST, NEWEST + 1)} - {kubelet.version.minor}:
        reader = state_reader(replace(kubelet, version=KubeletVersion(minor)))
        found[minor] = read_saved(texts, replace(reader, initial_containers=containers))
    return found


def _unreadable(
    texts: Mapping[StateFileName, str], reader: StateReader
) -> Iterator[tuple[str, UnreadableState]]:
    """Find files of the kubelet's other managers that it cannot load."""
    from cpuctl.checkpoints.claim_state import read_claims_state
    from cpuctl.checkpoints.device_state import read_devices_state
    from cpuctl.checkpoints.model import UnreadableState
    from cpuctl.checkpoints.pods_state import read_pods_state
    from cpuctl.checkpoints.status_state import read_status_state

    readers: Mapping[str, Callable[[str, StateReader], object]] = {
        DEVICES_FILE: read_devices_state,
        CLAIMS_FILE: read_claims_state,
        STATUS_FILE: read_status_state,
        ALLOCATED_FILE: read_pods_state,
        ACTUATED_FILE: read_pods_state,
    }
    for name, text in texts.items():
        read = readers[name](text, reader)
        if isinstance(read, UnreadableState):
            yield name, read


def _digests(texts: Mapping[StateFileName, str]) -> dict[str, str]:
    from hashlib import sha256

    kinds: tuple[StateFileName, ...] = (CPU_FILE, MEMORY_FILE)
    return {kind: sha256(texts[kind].encode()).hexdigest() for kind in kinds if kind in texts}


def given_texts(
    name: str, sources: Sources, read: tuple[StateInput, ...] | None = None
) -> dict[StateFileName, str]:
    """Read the named file, or the files in the named directory or recording, unless already *read*."""
    from cpuctl.inputs.state_files import StatePlace, named_states

    states = named_states(name, StatePlace()) if read is None else read
    found = {state.file_name: state for state in states}
    if CPU_FILE not in found:
        sources.add("state", f"no {CPU_FILE} in {name}: {EMPTY_STATE}", "given")
    for kind in (CPU_FILE, MEMORY_FILE):
        if kind in found:
            sources.add(_source(kind), found[kind].source, "given")
    return {kind: state.text for kind, state in found.items()}


def _own_texts(machine: MachineSource, kubelet: Kubelet, sources: Sources) -> dict[StateFileName, str]:
    """Read the files of a recording or, on this host, those in the kubelet's root directory."""
    from cpuctl.inputs.configuration import LIVE_MACHINE

    if machine.files is None:
        return {}
    # Another configuration is a "what if" on a fresh node: a kubelet rejects a state that it did not write.
    if sources.origin("kubeletConfiguration") == "given":
        _warn_of_unread_state(machine, kubelet, sources)
        return {}
    if machine.origin == LIVE_MACHINE:
        return _live_texts(machine, kubelet, sources)
    return _recorded_texts(machine, sources)


def _live_texts(machine: MachineSource, kubelet: Kubelet, sources: Sources) -> dict[StateFileName, str]:
    from cpuctl.inputs.state_files import StatePlace, read_states

    directory = kubelet.config.root_dir
    try:
        found = read_states("", StatePlace(machine=machine, directory=directory), Sources())
    except NodeAccessError as error:
        hint = f"{error.hint}, or use {STATE} {NO_STATE} to start from an empty node"
        raise NodeAccessError(error.message, where=error.where, hint=hint) from None
    texts = {state.file_name: state.text for state in found}
    for state in found:
        if state.file_name in (CPU_FILE, MEMORY_FILE):
            sources.add(_source(state.file_name), state.source, "live")
    if CPU_FILE not in texts:
        sources.add("state", f"{EMPTY_STATE}, because there is no {directory}/{CPU_FILE}", "default")
    return texts


def _recorded_texts(machine: MachineSource, sources: Sources) -> dict[StateFileName, str]:
    from cpuctl.machine.recording_layout import STATE_DIRECTORY, STATE_FILES

    assert machine.files is not None
    texts: dict[StateFileName, str] = {}
    for kind, usual in STATE_FILES.items():
        path = f"{STATE_DIRECTORY}/{usual}"
        text = machine.files.read(path)
        if text is not None:
            if kind in (CPU_FILE, MEMORY_FILE):
                sources.add(_source(kind), f"{machine.origin}: {path}", "capture")
            texts[kind] = text
        elif problem := machine.files.in_the_way(path):
            raise InputError(problem, where=f"{machine.origin}: /{path}")
    if machine.gathered and CPU_FILE not in texts:
        sources.add(
            "state",
            f"{EMPTY_STATE}, because {machine.gathered.what} has no {CPU_FILE}",
            "default",
        )
    return texts


def has_state_files(machine: MachineSource, kubelet: Kubelet | None = None) -> bool:
    """Return whether a machine may have state files of its own, whatever they contain."""
    from cpuctl.inputs.configuration import LIVE_MACHINE
    from cpuctl.inputs.state_files import own_directory
    from cpuctl.machine.recording_layout import STATE_DIRECTORY, STATE_FILES

    if machine.origin == LIVE_MACHINE:
        where = own_directory(kubelet.config.root_dir) if kubelet else own_directory()
        return os.path.isdir(where)  # noqa: PTH112  # says False if pathlib raises
    files, paths = machine.files, (f"{STATE_DIRECTORY}/{usual}" for usual in STATE_FILES.values())
    return files is not None and any(files.read(path) is not None for path in paths)


def _warn_of_unread_state(machine: MachineSource, kubelet: Kubelet, sources: Sources) -> None:
    """Warn that the node's state files are not read, if it may have some."""
    from cpuctl.inputs.configuration import LIVE_MACHINE
    from cpuctl.inputs.state_files import own_directory

    if has_state_files(machine, kubelet):
        live = machine.origin == LIVE_MACHINE
        where = own_directory(kubelet.config.root_dir) if live else machine.origin
        ways = f"use --state {where} to start from them, or cpuctl checkpoint verify to check them"
        sources.add("state", f"{_FRESH} ({ways})", "default")


def _source(kind: str) -> str:
    return "state" if kind == CPU_FILE else "memoryState"


def state_reader(kubelet: Kubelet) -> StateReader:
    """Return a kubelet's reader, which determines the state files and fields that it reads."""
    return reader_of_gates(kubelet.gates)


def reader_of_gates(gates: FeatureGates) -> StateReader:
    """Return the same for a release with its gates."""
    from cpuctl.checkpoints.reader import StateReader

    return StateReader(
        minor=gates.minor,
        pod_level_managers=gates.enabled("PodLevelResourceManagers"),
        exclusive_resize=gates.enabled("InPlacePodVerticalScalingExclusiveCPUs"),
    )


def start_from(
    initial: StartingState,
    info: MachineInfo,
    kubelet: Kubelet,
    sources: Sources,
    devices: DeviceInventory | None = None,
) -> StartResult:
    """Start a kubelet on a machine and let it resume from its state; warnings go to *sources*."""
    from cpuctl.engine.start import Started
    from cpuctl.engine.state_start import start_on

    initial = initial.as_read_by(kubelet)
    begun = start_on(info, kubelet, initial.files, fit=True, devices=devices)
    if begun.node is None or not isinstance(begun.outcome, Started):
        assert not isinstance(begun.outcome, Started)
        return begun.outcome
    if initial.devices is not None:
        begun.node.devices = initial.devices.copy()
    resume(begun.node, initial, sources)
    return begun.node


def resume(node: Node, initial: StartingState, sources: Sources) -> None:
    """Let a node that has loaded its state files resume with the pods that run on it."""
    _resume(node, initial, sources)
    sources.warn(*overlap_warnings(node, lambda: initial.full_names))


def overlap_warnings(node: Node, all_names: Callable[[], Mapping[str, str]]) -> Iterator[str]:
    """Warn if pods share exclusive CPUs, or have reserved ones; *all_names* returns names by UID."""
    if overlapping := node.cpu.overlapping_pods():
        names = all_names()
        pods = [f"{names.get(uid, uid)} ({named(CPUSet(cpus))})" for uid, cpus in overlapping.items()]
        note = node.cpu.overlap_note(reduce(or_, overlapping.values()))
        yield (
            "the exclusive CPUs of some pods are reserved or also held by another pod: "
            f"{few(sorted(pods))}{note}"
        )


def _resume(node: Node, initial: StartingState, sources: Sources) -> None:
    holders = _holders(node)
    if not initial.known:
        # Treating all owners as gone would free what they hold.
        node.resume(_owner(uid, sorted(holders[uid]), initial) for uid in sorted(holders))
        return
    unknown = sorted(holders.keys() - {pod.uid for pod in initial.running})
    if unknown:
        names = ", ".join(map(initial.name_of, unknown[:3]))
        sources.warnings.append(
            f"the state files have pods that are not running here ({names}): the kubelet releases their "
            "resources when the next pod is admitted"
        )
    if initial.files.cpu is None and initial.files.memory is None:
        _allocate_again(node, initial, sources)
    elif without := _without_cpus(node, initial):
        sources.warnings.append(
            f"the state files do not contain CPUs of pods that the node already has ({few(without)}): they "
            "are free here, but the kubelet will allocate CPUs to these pods, at the latest at its next start"
        )
    node.resume(initial.granted)


def _without_cpus(node: Node, initial: StartingState) -> list[str]:
    """Name the pods to which a restarted kubelet would give exclusive CPUs that they do not hold now.

    If its decision is unknown, as without a description of their devices, they are taken to be admitted:
    they are running.
    """
    from cpuctl.engine.ordering import exclusive_count
    from cpuctl.engine.outcome import Undetermined

    if node.cpu.policy is None:
        return []
    restarted, level = node.copy(), node.pod_level_resources
    unknown = {
        each.pod.uid for each in restarted.readmit(initial.granted) if isinstance(each.verdict, Undetermined)
    }
    now, then = node.cpu.state.assignments, restarted.cpu.state.assignments
    return [
        pod.full_name
        for pod in initial.granted
        if _lasting(pod) & then.get(pod.uid, {}).keys() - now.get(pod.uid, {}).keys()
        or (
            pod.uid in unknown
            and pod.uid not in now
            and exclusive_count(_without_inits(pod), pod_level=level)
        )
    ]


def _without_inits(pod: StoredPod) -> StoredPod:
    lasting = _lasting(pod)
    return pod._replace(init_containers=tuple(each for each in pod.init_containers if each.name in lasting))


def _lasting(pod: StoredPod) -> set[str]:
    """Name the containers that run as long as the pod: a kubelet forgets the CPUs of others as they end."""
    from cpuctl.pods.model import ContainerKind

    return {each.name for each in pod.all_containers if each.kind is not ContainerKind.INIT}


def _allocate_again(node: Node, initial: StartingState, sources: Sources) -> None:
    """Allocate CPUs and memory to running pods again, as a kubelet does without state files."""
    from cpuctl.engine.outcome import Rejected

    rejected = [
        f"{each.pod.full_name} ({each.verdict.reason})"
        for each in node.readmit(initial.granted)
        if isinstance(each.verdict, Rejected)
    ]
    if rejected:
        sources.warn(
            f"{ALLOCATED_AGAIN}; rejected: {few(rejected)}, see cpuctl explain POD with the same options"
        )
    elif _holders(node):
        sources.warn(ALLOCATED_AGAIN)


def _holders(node: Node) -> dict[str, set[str]]:
    """Return the containers that hold CPUs or memory, by the UID of their pod."""
    holders: dict[str, set[str]] = {}
    for held in (node.cpu.state.assignments, node.memory.state.blocks):
        for uid, containers in held.items():
            holders.setdefault(uid, set()).update(containers)
    return holders


def _owner(uid: str, containers: list[str], initial: StartingState) -> StoredPod:
    from cpuctl.pods.model import Container, Pod
    from cpuctl.pods.rules import PodRules
    from cpuctl.pods.stored import stored_pod

    pod = Pod(name=uid, uid=uid, containers=tuple(Container(name=name) for name in containers))
    if uid in initial.names:
        namespace, name = initial.names[uid]
        pod = pod._replace(namespace=namespace, name=name)
    return stored_pod(pod, PodRules())
