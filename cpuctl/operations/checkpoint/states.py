"""State files with the machine, the kubelet and the pods that they belong to."""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_ISDIR
from typing import TYPE_CHECKING, TypeVar

from cpuctl import option_names, state_names
from cpuctl.engine.state_checks.file_findings import FileFacts, FoundFile, FoundStates
from cpuctl.engine.state_checks.owners import UNKNOWN_OWNERS, Owners, PodName
from cpuctl.errors import InputError, UsageError, unreadable
from cpuctl.inputs.configuration import LIVE_MACHINE
from cpuctl.inputs.kubelet import load_known_kubelet, load_kubelet
from cpuctl.inputs.machine import load_machine, with_memory
from cpuctl.inputs.sources import Sources, refuse_stdin_twice
from cpuctl.inputs.state_files import (
    NO_STATE_FILES,
    CheckpointInputs,
    StateInput,
    StatePlace,
    as_state,
    is_recording,
    read_states,
)
from cpuctl.records import Record, replace
from cpuctl.root_directory import Root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cpuctl.checkpoints.inspection import Inspection, State
    from cpuctl.checkpoints.model import UnreadableState
    from cpuctl.checkpoints.reader import ContainerName, StateReader
    from cpuctl.cpuset import CPUSet
    from cpuctl.engine.state_checks.verify import StateVerdict
    from cpuctl.inputs.configuration import LoadedKubelet
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.pod_resources.model import PodResources
    from cpuctl.machine.sources import MachineSource
    from cpuctl.pods.model import Pod, StoredPod
    from cpuctl.pods.rules import PodRules

_State = TypeVar("_State")


class KubeletHost(Record):
    """The machine and its kubelet."""

    source: MachineSource
    loaded: LoadedKubelet

    @property
    def kubelet(self) -> Kubelet:
        """The kubelet to be started."""
        return self.loaded.kubelet


class CheckpointCase(Record):
    """State files, the running pods, how the kubelet reads the files, and the running kubelet's answers."""

    host: KubeletHost
    states: tuple[StateInput, ...]
    owners: Owners
    reader: StateReader
    answers: PodResources | None = None

    def verdict(self, *, made: bool = False) -> StateVerdict:
        """Determine whether the kubelet starts on these files: the node's, or *made* for its kubelet.

        Without any configuration it is unknown whether the node's kubelet starts: only new files are made for
        the default one.
        """
        from cpuctl.engine.start import unless_unconfigured
        from cpuctl.engine.state_checks.verify import verify_states
        from cpuctl.inputs.starting_state import read_by_others

        texts = {state.file_name: state.text for state in self.states}
        others = read_by_others(texts, self.host.kubelet, self.reader.initial_containers)
        found = replace(found_states(self.states, self.reader), by_others=others)
        verdict = verify_states(self.host.source.info, self.host.kubelet, found, self.owners, self.answers)
        if made or not self.states:
            return verdict
        return replace(verdict, start=unless_unconfigured(verdict.start, self.host.kubelet))


def lacks_states(case: CheckpointCase) -> bool:
    """Return whether it is unknown what state files a node has, as they were not collected."""
    return not case.states and may_lack_states(case.host.source)


def may_lack_states(source: MachineSource) -> bool:
    """Return whether a machine without state files may only lack them because they were not collected.

    A capture of cpuctl has all that exist, and so has a node's own file tree. A kubelet that has run always
    has state files: its configuration alone is not its whole directory, but what it makes when it runs is.
    """
    from cpuctl.machine.recording_layout import MADE_BY_KUBELET, MANIFEST, STATE_DIRECTORY

    if source.origin == LIVE_MACHINE:
        return False
    if source.gathered is not None:
        return True
    files = source.files
    if files is None or files.read(MANIFEST) is not None:
        return False
    return MADE_BY_KUBELET.isdisjoint(files.names(STATE_DIRECTORY))


def require_states(case: CheckpointCase, verb: str, command: str, root: str) -> None:
    """Raise InputError if there are no state files to change; *command* is the one for the node.

    *root* is the root of the node's own file tree, such as that of a mounted disk, or of a recording.
    """
    where = case.host.source.origin
    if lacks_states(case) and not _has_kubelet(root, case.host.kubelet.config.root_dir):
        raise InputError(NO_STATE_FILES, where=where, hint=f"on the node: {command}")
    if not case.states:
        raise no_states(verb, where)


def _has_kubelet(root: str, directory: str) -> bool:
    """Return whether a tree other than this host's has a kubelet's directory: all of its files are there."""
    if root == "/":
        return False
    try:
        return Root(Path(root)).names(directory) is not None
    except OSError:
        return False


def no_states(verb: str, where: str) -> InputError:
    """Return the error for a node that has no state files to change."""
    hint = "without state files, the kubelet starts as on a new node"
    return InputError(f"found no state file to {verb}", where=where, hint=hint)


def require_directory(root: str) -> None:
    """Raise CpuctlError unless a node's root is a directory."""
    try:
        is_directory = S_ISDIR(os.stat(root).st_mode)  # noqa: PTH116
    except OSError as error:
        raise unreadable(error, root) from None
    if not is_directory:
        hint = "pass the recording as STATE, not as the root"
        raise UsageError("expected a directory, found a file", where=root, hint=hint)


def read_host(
    inputs: CheckpointInputs,
    sources: Sources,
    *,
    assumes: bool = False,
    source: MachineSource | None = None,
) -> tuple[CheckpointInputs, KubeletHost]:
    """Read the machine, unless *source* is given, and its kubelet; a recording as STATE is also the machine.

    Raise UsageError if memory is given for a machine that has its own, or if the kubelet's release is
    unknown, unless *assumes* permits the default; ConfigRefusedError if the kubelet cannot load its
    configuration.
    """
    refuse_stdin_twice(inputs.machine, inputs.state, inputs.pods, inputs.kubelet.config, inputs.pod_resources)
    named = inputs.state
    if not inputs.machine and is_recording(inputs.state):
        inputs = replace(inputs, machine=inputs.state, state="")
    if inputs.pod_resources:
        from cpuctl.inputs.pod_resources import refuse_own_socket

        refuse_own_socket(inputs.pod_resources, inputs.machine or LIVE_MACHINE)
    here = LIVE_MACHINE if inputs.root == "/" else inputs.root
    if here != LIVE_MACHINE:
        require_directory(here)
    with as_state(named):
        source = source or load_machine(inputs.machine or here, sources)
    source = with_memory(source, inputs.memory, sources)
    load = load_kubelet if assumes else load_known_kubelet
    loaded = load(inputs.kubelet, sources, machine=source)
    sources.add_unrecorded(loaded.kubelet.version.minor, ("state files",))
    if inputs.in_place and loaded.kubelet.flags_gap:
        sources.warnings.append(
            f"the kubelet's flags are unknown ({loaded.kubelet.flags_gap}): the result depends on them,"
            " set them with --kubelet-args"
        )
    return inputs, KubeletHost(source=source, loaded=loaded)


def read_checkpoint_case(inputs: CheckpointInputs, host: KubeletHost, sources: Sources) -> CheckpointCase:
    """Read the state files and the pods that run on the node."""
    from cpuctl.inputs.pods import rules_of_pods

    place = StatePlace(
        machine=host.source,
        root=Path(inputs.root),
        directory=host.kubelet.config.root_dir,
        in_place=inputs.in_place,
        lock=inputs.lock,
        read=inputs.states,
    )
    states = read_states(inputs.state, place, sources)
    rules = rules_of_pods(host.kubelet)
    owners = load_owners(inputs.pods, rules, sources, host.source, inputs.listed)
    case = CheckpointCase(
        host=host, states=states, owners=owners, reader=knowing_reader(host.kubelet, owners)
    )
    return replace(case, answers=_answers(case, inputs, sources))


def _answers(case: CheckpointCase, inputs: CheckpointInputs, sources: Sources) -> PodResources | None:
    """Query the running kubelet, also separately for pods that hold something but are not listed."""
    from cpuctl.engine.state_checks.answer_findings import UNKNOWN_PODS, unnamed
    from cpuctl.engine.state_checks.verify import saved_states
    from cpuctl.inputs.pod_resources import load_pod_resources

    if not inputs.pod_resources:
        return None
    saved = saved_states(found_states(case.states, case.reader))
    running = (case.owners.pods or {}).items()
    expected = [pod.full_name for uid, pod in running if uid in saved.uids and not pod.terminal]
    arguments = inputs.pod_resources, case.host.kubelet, inputs.root, sources
    answers = load_pod_resources(*arguments, expected=expected)()
    for problem in answers.problems if answers else ():
        sources.warnings.append(f"the kubelet's answer (--pod-resources): {problem}")
    if answers and answers.pods is not None and unnamed(saved, case.owners):
        sources.warnings.append(UNKNOWN_PODS)
    return answers


def require_pods_of_node(case: CheckpointCase, pods: str) -> None:
    """Raise InputError if the file *pods* is probably another node's: all entries would be removed."""
    from cpuctl.engine.state_checks.verify import saved_states

    if case.owners.all_gone(saved_states(found_states(case.states, case.reader)).uids):
        raise InputError(
            "none of these pods is in the state files", where=pods, hint=option_names.NO_POD_LEFT
        )


def load_owners(
    name: str,
    rules: PodRules,
    sources: Sources,
    source: MachineSource | None = None,
    listed: Sequence[Pod] | None = None,
) -> Owners:
    """Return the node's pods as *listed*, or else from the file *name*; without either they are unknown.

    The names of pods are added if the machine is from a sosreport that has them.
    """
    from cpuctl.inputs.pods import as_granted, load_pod_names, load_running, running_pods

    if listed is not None:
        running: tuple[StoredPod, ...] | None = running_pods(listed, rules, name)
    else:
        running = load_running(name, rules, sources) if name else None
    owners = UNKNOWN_OWNERS if running is None else Owners.of(as_granted(running))
    names = load_pod_names(source, sources)
    if names is None:
        return owners
    called = {uid: PodName(*pod) for uid, pod in names.pods.items()}
    return replace(owners, called=called, containers=names.containers)


def knowing_reader(kubelet: Kubelet, owners: Owners) -> StateReader:
    """Return how a kubelet reads state files, with the container ids that the oldest format uses."""
    from cpuctl.inputs.starting_state import state_reader

    return replace(state_reader(kubelet), initial_containers=container_names(owners))


def container_names(owners: Owners) -> dict[str, ContainerName]:
    """Return the names of running containers by their id."""
    from cpuctl.checkpoints.reader import ContainerName

    pods: Iterable[Pod] = (owners.pods or {}).values()
    return {
        status.container_id: ContainerName(pod.uid, status.name)
        for pod in pods
        for status in pod.statuses
        if status.container_id
    }


def whole_state(found: Inspection, names: Mapping[str, ContainerName]) -> State | None:
    """Return the whole content of a file.

    What the oldest format records by container id is under the container's name or, if that is unknown, under
    its id without a pod.
    """
    from cpuctl.checkpoints.model import CPUStateFile

    state = found.state
    if not isinstance(state, CPUStateFile) or not found.container_ids:
        return state
    entries: dict[str, dict[str, CPUSet]] = {}
    for container_id, cpus in found.container_ids.items():
        uid, name = names.get(container_id, ("", container_id))
        entries.setdefault(uid, {})[name] = cpus
    return replace(state, entries=entries)


def found_states(states: Sequence[StateInput], reader: StateReader) -> FoundStates:
    """Read files as a kubelet does if it finds them under their names."""
    from cpuctl.checkpoints.claim_state import read_claims_state
    from cpuctl.checkpoints.cpu_state import read_cpu_state
    from cpuctl.checkpoints.device_state import read_devices_state
    from cpuctl.checkpoints.memory_state import read_memory_state
    from cpuctl.checkpoints.model import (
        ClaimsStateFile,
        CPUStateFile,
        DevicesStateFile,
        MemoryStateFile,
        PodsStateFile,
    )
    from cpuctl.checkpoints.pods_state import read_pods_state
    from cpuctl.checkpoints.status_state import read_status_state

    found = FoundStates()
    pods: dict[str, FoundFile[PodsStateFile]] = {}
    for state in states:
        match state.file_name:
            case state_names.CPU_FILE:
                found = replace(found, cpu=_found(state, reader, read_cpu_state, CPUStateFile))
            case state_names.MEMORY_FILE:
                found = replace(found, memory=_found(state, reader, read_memory_state, MemoryStateFile))
            case state_names.DEVICES_FILE:
                found = replace(found, devices=_found(state, reader, read_devices_state, DevicesStateFile))
            case state_names.CLAIMS_FILE:
                found = replace(found, claims=_found(state, reader, read_claims_state, ClaimsStateFile))
            case state_names.STATUS_FILE as name:
                pods[name] = _found(state, reader, read_status_state, PodsStateFile)
            case name:
                pods[name] = _found(state, reader, read_pods_state, PodsStateFile)
    return replace(found, pods=pods)


def _found(
    state: StateInput,
    reader: StateReader,
    read: Callable[[str, StateReader], _State | UnreadableState],
    kind: type[_State],
) -> FoundFile[_State]:
    try:
        result = read(state.text, reader)
    except InputError as error:
        where = error.where.removeprefix(state.file_name).removeprefix(": ")
        raise InputError(error.message, where=where, hint=error.hint).within(state.source) from None
    whole = whole_state(state.inspection, reader.initial_containers)
    loads = isinstance(result, kind)
    others: Iterable[str] = ()
    # With the right checksum, this kubelet may read it: then no other has to.
    text = state.inspection.resummed or state.text
    if not loads and (text == state.text or not isinstance(read(text, reader), kind)):
        others = _readable_by(state, lambda other: isinstance(read(text, other), kind), reader)
    return FoundFile(
        read=result,
        whole=whole if isinstance(whole, kind) else None,
        facts=_facts(state.inspection, tuple(others)),
    )


def _facts(inspection: Inspection, readable_by: tuple[str, ...]) -> FileFacts:
    wrong = [each for each in inspection.checksums if not each.ok]
    # Kubelets before 1.36 reject a memory_manager_state with checksum 0.
    accepted = inspection.file_name == state_names.CPU_FILE and inspection.format in ("V1", "V2")
    return FileFacts(
        format=inspection.format,
        wrong_checksums=tuple(each.name for each in wrong),
        zero_sum=bool(wrong) and accepted and not any(each.written for each in wrong),
        embedded_differs=inspection.embedded_differs,
        readable_by=readable_by,
    )


def _readable_by(
    state: StateInput, loads: Callable[[StateReader], bool], reader: StateReader
) -> Iterable[str]:
    """Name the kinds of kubelet that load a file."""
    from cpuctl.checkpoints.versions import OTHER_READERS, READERS, reader_name

    if state.file_name in OTHER_READERS:
        yield from (
            name for name, minor in OTHER_READERS[state.file_name] if loads(replace(reader, minor=minor))
        )
        return

    # The last one has more gates than the one before, and reads the same files.
    for other in READERS[:-1]:
        if loads(replace(other, initial_containers=reader.initial_containers)):
            yield reader_name(other)
