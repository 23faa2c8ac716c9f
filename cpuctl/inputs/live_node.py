"""A node to inspect: live, below a directory, or recorded, and what is known about its kubelet."""

from __future__ import annotations

import os
import time
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from cpuctl import option_names
from cpuctl.errors import CpuctlError, InputError, NodeAccessError, UsageError
from cpuctl.inputs.configuration import LIVE_MACHINE, KubeletInputs
from cpuctl.inputs.kubelet import load_kubelet
from cpuctl.inputs.machine import load_machine
from cpuctl.inputs.sources import Sources, refuse_stdin_twice
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.records import Record, replace
from cpuctl.state_names import CLAIMS_FILE, CPU_FILE, DEVICES_FILE, MEMORY_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from cpuctl.answers.checkpoint import StateFileName
    from cpuctl.audit.reading import NodeContext
    from cpuctl.audit.snapshot import ConfiguredKubelet, KubeletState, NodeSnapshot
    from cpuctl.capture.collected import Progress
    from cpuctl.capture.node.files import NodeFiles
    from cpuctl.cgroups.container_logs import LogName
    from cpuctl.checkpoints.reader import ContainerName
    from cpuctl.cpuset import CPUSet
    from cpuctl.inputs.state_files import StateInput
    from cpuctl.kubelet.gates.feature_gates import FeatureGates
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.pod_resources.model import PodResources
    from cpuctl.machine.sources import MachineSource
    from cpuctl.machine.tree import Tree
    from cpuctl.pods.model import Pod, StoredPod

_ATTEMPTS = 3


class NodeInputs(Record):
    """The node to inspect and its kubelet's settings; empty for those left out.

    ``listed`` are the node's pods in the API server, if they were already read; else ``pods`` may be a
    file with them. ``states`` are the files that ``state`` names, if they were already read.
    """

    machine: str = LIVE_MACHINE
    root: str = ""
    kubelet: KubeletInputs = KubeletInputs()
    state: str = ""
    pods: str = ""
    pod_resources: str = ""
    listed: tuple[Pod, ...] | None = None
    states: tuple[StateInput, ...] | None = None


class StateFile(Record):
    """A state file that was read: its path on the node, and its text."""

    path: str
    text: str

    @property
    def sha256(self) -> str:
        """The checksum of its text."""
        from hashlib import sha256  # takes half as long to load as Python itself

        return sha256(self.text.encode()).hexdigest()


class LiveNode(NamedTuple):
    """The node, its files, and everything that is known before they are read."""

    source: MachineSource
    files: NodeFiles
    kubelet: Kubelet
    known: NodeContext
    state_files: tuple[StateFile, ...]
    answers: Callable[[], PodResources | None]


def load_node(
    inputs: NodeInputs, sources: Sources, source: MachineSource | None = None, *, goes_without: bool = False
) -> LiveNode:
    """Read the machine (unless *source* is one), the kubelet, state files and the list of pods.

    A configuration that the kubelet cannot load raises ConfigRefusedError, unless *goes_without*: then
    the running kubelet's settings are unknown. Raise UsageError for a machine that has no files to
    read, or no kubelet to query.
    """
    from cpuctl.audit.reading import NodeContext

    refuse_stdin_twice(inputs.machine, inputs.kubelet.config, inputs.state, inputs.pods, inputs.pod_resources)
    if inputs.pod_resources:
        from cpuctl.inputs.pod_resources import refuse_own_socket

        refuse_own_socket(inputs.pod_resources, inputs.machine)
    source = source or _machine(inputs, sources)
    if source.files is None:
        hint = "specify the live node, a directory or a recording"
        raise UsageError("this is a description, not a running node", where=source.origin, hint=hint)
    files = _files(source, source.files)
    kubelet, why_unknown = _kubelet(inputs.kubelet, source, sources, goes_without=goes_without)
    sources.add_unrecorded(kubelet.version.minor, ("state files", "cgroup values"))
    pods = _pods(inputs.pods, kubelet, sources, inputs.listed)
    live = source.origin == LIVE_MACHINE
    texts = _state_texts(inputs, files, kubelet, source, sources)
    known = NodeContext(
        machine=source.machine,
        state=_state(texts, _closed(files), kubelet, pods or {})._replace(own=not inputs.state),
        configured=_guarantees(source, kubelet, sources, why_unknown),
        pods=pods,
        cgroup_root=kubelet.config.cgroup_root,
        live=live,
        kubelet_roots=_kubelet_roots(kubelet, live=live),
        runtime=_runtime_names(source, sources),
    )
    return LiveNode(
        source=source,
        files=files,
        kubelet=kubelet,
        known=known,
        state_files=_state_files(texts, kubelet),
        answers=_answers(inputs, kubelet, sources),
    )


def _answers(inputs: NodeInputs, kubelet: Kubelet, sources: Sources) -> Callable[[], PodResources | None]:
    if not inputs.pod_resources:
        return lambda: None
    from cpuctl.inputs.pod_resources import load_pod_resources

    return load_pod_resources(inputs.pod_resources, kubelet, inputs.root, sources)


def with_fresh_state(node: LiveNode) -> LiveNode:
    """Read the node's own state files again; return *node* itself if they are the same or not its own."""
    if not node.known.state.own:
        return node
    texts = _state_texts(NodeInputs(), node.files, node.kubelet, node.source, Sources())
    files = _state_files(texts, node.kubelet)
    if files == node.state_files:
        return node
    state = _state(texts, _closed(node.files), node.kubelet, node.known.pods or {})
    return node._replace(known=node.known._replace(state=state), state_files=files)


def _state_files(texts: Mapping[StateFileName, str], kubelet: Kubelet) -> tuple[StateFile, ...]:
    from cpuctl.machine.recording_layout import STATE_FILES

    root = kubelet.config.root_dir
    return tuple(StateFile(f"{root}/{STATE_FILES[name]}", text) for name, text in texts.items())


class ObservedNode(NamedTuple):
    """A node and its observed state; not *settled* if the state changed during every observation."""

    node: LiveNode
    snapshot: NodeSnapshot
    settled: bool


def observe_settled(node: LiveNode, progress: Progress) -> ObservedNode:
    """Observe a node until its state is the same before and after: the compared parts must belong together.

    A pod that arrives in between has CPUs that no pod held when the state was read.
    """
    for _ in range(_ATTEMPTS):
        snapshot = observe(node, progress)
        fresh = with_fresh_state(node)
        if fresh is node:
            return ObservedNode(node, snapshot, settled=True)
        node = fresh
    return ObservedNode(node, observe(node, progress), settled=False)


def observe(node: LiveNode, progress: Progress) -> NodeSnapshot:
    """Read the node's control groups, threads and interrupts; a recording's errors begin with its name."""
    from cpuctl.audit.reading import take_snapshot

    try:
        return take_snapshot(node.files, node.known, progress)._replace(answers=node.answers())
    except CpuctlError as error:
        raise error if node.known.live else error.within(node.source.origin) from None


def recent_change(node: LiveNode) -> str:
    """Return why the live kubelet may not have written yet what its state contains."""
    if not node.known.live:
        return ""
    try:
        changed = os.stat(f"{node.kubelet.config.root_dir}/{CPU_FILE}").st_mtime  # noqa: PTH116  # one call
    except OSError:
        return ""
    return still_moving(time.time() - changed, node.kubelet.config.cpu_manager_reconcile_period / 1e9)


def still_moving(age: float, period: float) -> str:
    """Report that containers may still change CPUs, by the state's age and the kubelet's period in seconds.

    Rule: kubelet v1.36 ``reconcileState``: a set that changes is written with the next pass.
    """
    if not 0 <= age <= period:
        return ""
    return (
        f"the kubelet changed its state {age:.0f}s ago and moves containers within "
        f"{period:g}s: current differences may be temporary"
    )


def _files(source: MachineSource, tree: Tree) -> NodeFiles:
    """Begin to read a node; files that were unreadable when it was recorded are unreadable here, too."""
    from cpuctl.capture.node.files import NodeFiles
    from cpuctl.capture.recorded_manifest import recorded_gaps
    from cpuctl.machine.tree import DirectoryTree

    files = NodeFiles(tree, tree.followed if isinstance(tree, DirectoryTree) else str)
    if source.origin == LIVE_MACHINE:
        return files
    try:
        for gap in recorded_gaps(tree):
            files.refuse(gap.path, gap.reason)
    except CpuctlError as error:
        raise error.within(source.origin) from None
    return files


def _machine(inputs: NodeInputs, sources: Sources) -> MachineSource:
    """Read the machine; a root is the directory with a node's files, and no recording or description."""
    root = inputs.root
    if not root:
        return load_machine(inputs.machine, sources)
    if inputs.machine != LIVE_MACHINE:
        raise UsageError("-m specifies another node", where=option_names.ROOT, hint="use one of them")
    if os.path.isfile(root):  # noqa: PTH113  # any text
        raise UsageError(f"{root} is not a directory", where=option_names.ROOT, hint=f"use -m {quote(root)}")
    try:
        return load_machine(root, sources)
    except InputError as error:
        from cpuctl.machine.sources import ACCEPTED

        if error.hint != ACCEPTED:
            raise
        hint = "specify the root directory of a node's files"
        raise InputError(error.message, where=error.where, hint=hint) from None


def _kubelet(
    inputs: KubeletInputs, source: MachineSource, sources: Sources, *, goes_without: bool
) -> tuple[Kubelet, str]:
    """Read the kubelet's settings, or return why they are unknown.

    Unreadable files do not prevent an observation, nor, if the caller *goes_without*, does a
    configuration that a kubelet cannot load.
    """
    from cpuctl.inputs.flag_files import paths_of

    try:
        return load_kubelet(inputs, sources, machine=source).kubelet, ""
    except NodeAccessError as error:
        if inputs.config is not None or paths_of(inputs).config:
            raise
        sources.warnings.append(f"{error}: reserved CPUs and quotas are unknown (try again with sudo)")
        return load_kubelet(inputs, sources, machine=None).kubelet, str(error)
    except ConfigRefusedError as refused:
        if not goes_without:
            raise
        unconfigured = KubeletInputs(version=sources.entries["kubeletVersion"]["value"])
        why = f"cannot be loaded: {refused} (see cpuctl config check)"
        return load_kubelet(unconfigured, Sources(), machine=None).kubelet, why


def _pods(
    name: str, kubelet: Kubelet, sources: Sources, listed: tuple[Pod, ...] | None
) -> dict[str, StoredPod] | None:
    """Read the pods that the API server knows, including ended ones; None if not given."""
    if listed is None and not name:
        return None

    from cpuctl.documents.files import source_name
    from cpuctl.inputs.pods import listed_pods, rules_of_pods
    from cpuctl.pods.stored import stored_pod

    if listed is None:
        sources.add("pods", source_name(name), "given")
        listed = listed_pods(name)
    rules = rules_of_pods(kubelet)
    return {pod.uid: stored_pod(pod, rules) for pod in listed}


def _state_texts(
    inputs: NodeInputs, files: NodeFiles, kubelet: Kubelet, source: MachineSource, sources: Sources
) -> dict[StateFileName, str]:
    from cpuctl.inputs.starting_state import given_texts
    from cpuctl.machine.recording_layout import STATE_FILES

    if inputs.state:
        return given_texts(inputs.state, sources, inputs.states)
    live = source.origin == LIVE_MACHINE
    places = _kubelet_roots(kubelet, live=live)
    texts: dict[StateFileName, str] = {}
    members: dict[StateFileName, str] = {
        CPU_FILE: "state",
        MEMORY_FILE: "memoryState",
        DEVICES_FILE: "devicesState",
        CLAIMS_FILE: "claimsState",
    }
    for kind, member in members.items():
        usual = STATE_FILES[kind]
        for place in places:
            text = files.read(f"{place}/{usual}")
            if text is not None:
                where = f"/{place}/{usual}" if live else f"{source.origin}: {place}/{usual}"
                sources.add(member, where, "live" if live else "capture")
                texts[kind] = text
                break
        else:
            for place in places:
                if problem := files.in_the_way(f"{place}/{usual}"):
                    files.refuse(f"{place}/{usual}", problem)
    return texts


def _kubelet_roots(kubelet: Kubelet, *, live: bool) -> tuple[str, ...]:
    """Return where the kubelet's files may be: captures have them at the usual place."""
    from cpuctl.machine.recording_layout import STATE_DIRECTORY

    own = kubelet.config.root_dir.strip("/")
    return (own,) if live else (STATE_DIRECTORY, own)


def _closed(files: NodeFiles) -> Iterator[str]:
    """List the state files that exist but cannot be read."""
    for each in files.unreadable:
        directory, _, name = each.path.rpartition("/")
        if name in (CPU_FILE, MEMORY_FILE):
            yield f"/{directory}/{name}"


def _state(
    texts: Mapping[StateFileName, str], closed: Iterable[str], kubelet: Kubelet, pods: Mapping[str, StoredPod]
) -> KubeletState:
    from cpuctl.audit.snapshot import KubeletState
    from cpuctl.checkpoints.claim_state import read_claims_state
    from cpuctl.checkpoints.cpu_state import read_cpu_state
    from cpuctl.checkpoints.device_state import read_devices_state
    from cpuctl.checkpoints.inspection import inspect_state, readable_part
    from cpuctl.checkpoints.memory_state import read_memory_state
    from cpuctl.checkpoints.model import UnreadableState
    from cpuctl.inputs.starting_state import state_reader

    reader = replace(state_reader(kubelet), initial_containers=_container_names(pods))
    cpu = read_cpu_state(texts[CPU_FILE], reader) if CPU_FILE in texts else None
    memory = read_memory_state(texts[MEMORY_FILE], reader) if MEMORY_FILE in texts else None
    devices = read_devices_state(texts[DEVICES_FILE], reader) if DEVICES_FILE in texts else None
    claims = read_claims_state(texts[CLAIMS_FILE], reader) if CLAIMS_FILE in texts else None
    return KubeletState(
        cpu=None if isinstance(cpu, UnreadableState) else cpu,
        memory=None if isinstance(memory, UnreadableState) else memory,
        cpu_problem=cpu.error if isinstance(cpu, UnreadableState) else "",
        memory_problem=memory.error if isinstance(memory, UnreadableState) else "",
        devices=None if isinstance(devices, UnreadableState) else devices,
        devices_problem=devices.error if isinstance(devices, UnreadableState) else "",
        claims=None if isinstance(claims, UnreadableState) else claims,
        lost=frozenset(
            name
            for name in (CPU_FILE, MEMORY_FILE)
            if name in texts and readable_part(texts[name], inspect_state(texts[name], name)) is None
        ),
        closed=tuple(closed),
    )


def _container_names(pods: Mapping[str, StoredPod]) -> dict[str, ContainerName]:
    from cpuctl.checkpoints.reader import ContainerName

    return {
        status.container_id: ContainerName(pod.uid, status.name)
        for pod in pods.values()
        for status in pod.statuses
        if status.container_id
    }


def _runtime_names(source: MachineSource, sources: Sources) -> dict[str, LogName]:
    """Use crictl's output in a sosreport for the names that links to logs have on a node."""
    from cpuctl.cgroups.container_logs import LogName
    from cpuctl.inputs.pods import load_pod_names

    names = load_pod_names(source, sources)
    if names is None:
        return {}
    return {
        container_id: LogName(pod.name, pod.namespace, container.name, container_id)
        for container_id, container in names.containers.items()
        if (pod := names.pods.get(container.uid))
    }


def _guarantees(
    source: MachineSource, kubelet: Kubelet, sources: Sources, why_unknown: str
) -> ConfiguredKubelet:
    """Derive what the kubelet enforces; reserved CPUs are those that it would choose on this machine."""
    from cpuctl.audit.snapshot import ConfiguredKubelet
    from cpuctl.cpuset import CPUSet
    from cpuctl.engine.pod_rules import cgroup_settings, node_rules
    from cpuctl.engine.start import Started, check_start
    from cpuctl.kubelet.policy_options import FULL_PCPUS_ONLY, STRICT_RESERVATION
    from cpuctl.pods.rules import ASSIGNED_CPUSET_SINCE

    config = kubelet.config
    known = sources.entries["kubeletConfiguration"]["from"] != "default" and not why_unknown
    started = check_start(source.info, kubelet)
    policy = started.policy if isinstance(started, Started) else None
    gates = kubelet.gates
    return ConfiguredKubelet(
        policy=config.cpu_manager_policy if known else "",
        memory_policy=config.memory_manager_policy if known else "",
        reserved=CPUSet(policy.reserved) if policy else _listed(config.reserved_system_cpus),
        strict_reservation=_is_on(config.cpu_manager_policy_options, STRICT_RESERVATION),
        full_cores=_is_on(config.cpu_manager_policy_options, FULL_PCPUS_ONLY),
        rules=node_rules(gates),
        cgroups=cgroup_settings(config, gates),
        has_assigned=gates.minor >= ASSIGNED_CPUSET_SINCE,
        takes_assigned=gates.enabled("DownwardAPIAssignedResources"),
        delays=_delays(config.cpu_manager_policy_options, gates),
        why_unknown=why_unknown,
    )


def _listed(text: str) -> CPUSet:
    """Read ``reservedSystemCPUs`` of a kubelet that would not start now, such as after a CPU was removed."""
    from cpuctl.cpuset import CPUSet

    try:
        return CPUSet.parse(text)
    except ValueError:
        return CPUSet()


def _delays(options: Mapping[str, str], gates: FeatureGates) -> bool:
    """Return whether a container keeps CPUs for a while before they are taken; an invalid delay is 0."""
    from cpuctl.kubelet.config import SettingError
    from cpuctl.kubelet.policy_options import SCALE_DELAY, parse_scale_delay

    try:
        return parse_scale_delay(options.get(SCALE_DELAY, "0s"), gates) > 0
    except SettingError:
        return False


def _is_on(options: Mapping[str, str], name: str) -> bool:
    from cpuctl.golang.conversions import reads_true

    return reads_true(options.get(name, "false"))
