"""Everything that pods are planned with: machine, kubelet, state, running and incoming pods."""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING

from cpuctl import option_names
from cpuctl.departures import POD_DEFAULTS
from cpuctl.errors import UsageError
from cpuctl.inputs.configuration import LIVE_MACHINE, KubeletInputs
from cpuctl.inputs.kubelet import load_kubelet
from cpuctl.inputs.machine import load_devices, load_machine, with_memory, with_storage
from cpuctl.inputs.pods import GivenPods, load_pods, load_rejections, rules_of_pods
from cpuctl.inputs.sources import Sources, refuse_stdin_twice
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cpuctl.dra.node import NodeClaims
    from cpuctl.engine.node import Node
    from cpuctl.engine.pod_server import PodServer
    from cpuctl.engine.start import StartResult
    from cpuctl.inputs.configuration import LoadedKubelet
    from cpuctl.inputs.starting_state import StartingState
    from cpuctl.inputs.state_files import StateInput
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.devices.inventory import DeviceInventory
    from cpuctl.machine.machine_info import MachineInfo
    from cpuctl.machine.sources import MachineSource
    from cpuctl.operations.policies import ChosenPolicy
    from cpuctl.pods.limit_ranges import LimitRange
    from cpuctl.pods.model import Pod, StoredPod
    from cpuctl.pods.reading.events import RejectionEvent


class NodeOptions(Record):
    """A command line's options for the node: its devices, the flags of the driver for CPUs, and a policy.

    *devices* is a file; if devices are assumed, there are enough of all others. The policy is one that no
    kubelet has, to see its effect.
    """

    devices: str = ""
    assume_devices: bool = False
    driver_arguments: str = ""
    policy: str = ""


_NO_PODS: Mapping[str, Pod] = MappingProxyType({})


class PlanningInputs(Record):
    """What is planned, and with what: names of files and amounts as on the command line.

    ``events`` is a file about rejected pods, which are kept although they have ended.
    ``include_completed`` is None if a command does not have the option. ``as_root``: this host's state files
    were read, which takes root on most nodes, and so do commands about the same.
    """

    filenames: Sequence[str] = ()
    templates: Sequence[str] = ()
    machine: str = LIVE_MACHINE
    kubelet: KubeletInputs = KubeletInputs()
    state: str = ""
    pods: str = ""
    events: str = ""
    ephemeral_storage: str = ""
    memory: str = ""
    skip_api_server: bool = False
    include_completed: bool | None = None
    node: NodeOptions = NodeOptions()
    as_root: bool = False


class PastPods(Record):
    """Past pods: those that have ended and are left out, and rejection events, the last first."""

    ended: tuple[Pod, ...] = ()
    rejections: tuple[RejectionEvent, ...] = ()


class Planning(Record):
    """The inputs of a plan: ``incoming`` are the pods that arrive, in their order.

    ``server`` is the API server that creates them, None if it is skipped. ``claims`` serves resource claims,
    None if no pod has any. ``policy`` decides in place of the kubelet's, to see its effect. ``governing`` is
    what was given with pods: LimitRanges, ResourceQuotas, and the objects that affect claims. ``written`` are
    incoming pods before an API server has stored them, by UID.
    """

    inputs: PlanningInputs
    incoming: tuple[StoredPod, ...]
    source: MachineSource
    loaded: LoadedKubelet
    initial: StartingState
    devices: DeviceInventory | None
    sources: Sources
    server: PodServer | None = None
    past: PastPods = PastPods()
    claims: NodeClaims | None = None
    policy: ChosenPolicy | None = None
    governing: GivenPods = GivenPods(())
    written: Mapping[str, Pod] = _NO_PODS

    @property
    def kubelet(self) -> Kubelet:
        """The kubelet of the plan."""
        return self.loaded.kubelet

    def start(self, kubelet: Kubelet, sources: Sources) -> StartResult:
        """Start a kubelet on the machine from the initial state; warnings go to *sources*."""
        from cpuctl.engine.node import Node
        from cpuctl.engine.outcome import CACHES_UNKNOWN
        from cpuctl.inputs.starting_state import start_from
        from cpuctl.kubelet.releases.recorded import topics_of_decisions

        pod_level = any(pod.resources for pod in (*self.initial.running, *self.incoming))
        topics = topics_of_decisions(kubelet.config, pod_level=pod_level)
        sources.add_unrecorded(kubelet.version.minor, topics)
        node = start_from(self.initial, self.source.info, kubelet, sources, self.devices)
        if isinstance(node, Node):
            if _needs_unknown_caches(node):
                sources.warn(CACHES_UNKNOWN)
            if self.server is not None:
                node.server = self.server.copy()
            if self.claims is not None:
                node.claims = self.claims.copy()
            if self.policy is not None:
                self._attach_policy(self.policy, node, kubelet, sources)
        return node

    def with_pods(self, given: GivenPods) -> Planning:
        """Append incoming pods, with the objects that govern them; warnings go to the sources."""
        given, kubelet, info = given.on(self.source.machine), self.kubelet, self.source.info
        governing, rules, running = (
            self.governing.merged(given),
            rules_of_pods(kubelet),
            self.initial.running,
        )
        come = replace(given, limit_ranges=governing.limit_ranges).stored(rules)
        again = {pod.uid for pod in come} if self.incoming else set()
        kept = tuple(pod for pod in self.incoming if pod.uid not in again)
        incoming, devices = (*kept, *come), self.devices
        known = {id(each) for each in self.governing.limit_ranges}
        new = [each for each in governing.limit_ranges if id(each) not in known]
        self.sources.warn(*_doubts(incoming), *_never_stored(new))
        # The requests of earlier pods are known: they are not examined again for every new pod.
        if len(kept) < len(self.incoming) or any(any(_extended_resources(pod)) for pod in come):
            devices = _devices(devices, self.inputs, incoming, info, self.sources)
        written = {**self.written, **{pod.uid: pod for pod in given.pods}}
        planning = replace(self, incoming=incoming, written=written, governing=governing, devices=devices)
        if self.server is not None:
            planning = replace(planning, server=governing.server(rules.server, running, incoming))
        if self.claims is None or len(governing.dra) > len(self.governing.dra):
            planning = replace(planning, claims=_claims(planning, given))
        return planning

    def stored_for(self, kubelet: Kubelet, sources: Sources) -> Planning:
        """Return this with incoming pods as an API server of another kubelet's release and gates has them.

        Warnings about resource claims go to *sources*, which name the same inputs.
        """
        rules = rules_of_pods(kubelet)
        if rules == rules_of_pods(self.kubelet):
            return self
        texts = [self.written[pod.uid] for pod in self.incoming if pod.uid in self.written]
        given = replace(self.governing, pods=tuple(texts))
        stored = {pod.uid: pod for pod in given.stored(rules)}
        incoming = tuple(stored.get(pod.uid, pod) for pod in self.incoming)
        server = None
        if self.server is not None:
            server = self.governing.server(rules.server, self.initial.running, incoming)
        loaded = replace(self.loaded, kubelet=kubelet)
        other = replace(self, incoming=incoming, server=server, loaded=loaded, sources=sources)
        return replace(self, incoming=incoming, server=server, claims=_claims(other, given))

    def _attach_policy(self, policy: ChosenPolicy, node: Node, kubelet: Kubelet, sources: Sources) -> None:
        from cpuctl.operations.policies import AS_STATIC, POLICY_UNUSED

        policy.attach(node, self.source, kubelet)
        if node.policy is None:
            sources.warn(f"{POLICY_UNUSED}; {AS_STATIC}")


def _needs_unknown_caches(node: Node) -> bool:
    by_cache = node.policy is not None and node.policy.options.prefer_align_cpus_by_uncorecache
    return by_cache and not node.topology.caches_known


def read_planning(
    inputs: PlanningInputs,
    *,
    pods_needed: bool,
    sources: Sources | None = None,
    fresh: bool = False,
    ended_too: bool = False,
) -> Planning:
    """Read all inputs; *fresh*: no state files, although the machine may have some.

    *ended_too*: the pods of the manifests may all have ended, and the caller warns about those that have.

    The origin of each input goes to *sources*, even if the kubelet cannot load its configuration
    (ConfigRefusedError). Raise UsageError if no pods are named although they are needed.
    """
    refuse_stdin_twice(
        inputs.machine,
        inputs.kubelet.config,
        inputs.state,
        inputs.pods,
        inputs.node.devices,
        inputs.events,
        *inputs.filenames,
    )
    sources = sources or Sources()
    given, past = read_pods(inputs, sources, needed=pods_needed, ended_too=ended_too)
    return replace(planning_for(given, inputs, sources, fresh=fresh), past=past)


def read_pods(
    inputs: PlanningInputs, sources: Sources, *, needed: bool, ended_too: bool = False
) -> tuple[GivenPods, PastPods]:
    """Read the incoming pods and, separately, which of the given pods have ended, and rejection events.

    Raise UsageError if there are none although they are *needed*.
    """
    given = load_pods(inputs.filenames, inputs.templates, sources, needed=needed)
    rejections = load_rejections(inputs.events, sources)
    kept = () if inputs.include_completed else tuple(_not_ended(given.pods, rejections))
    ended = () if inputs.include_completed else tuple(_pods_beyond(given.pods, kept))
    if ended:
        given = replace(given, pods=kept)
        if not ended_too:
            warn_of_ended(ended, inputs, sources, all_ended=needed and not kept)
    return given, PastPods(ended, rejections)


def planning_for(
    given: GivenPods, inputs: PlanningInputs, sources: Sources, *, fresh: bool = False
) -> Planning:
    """Read everything but the incoming pods, which are already read; raise as ``read_planning`` does."""
    source = with_storage(load_machine(inputs.machine, sources), inputs.ephemeral_storage, sources)
    source = with_memory(source, inputs.memory, sources)
    loaded = load_kubelet(inputs.kubelet, sources, machine=source)
    if fresh:
        inputs = replace(inputs, state=_without_state(source, loaded.kubelet))
    return node_planning(inputs, source, loaded, sources).with_pods(given)


def _without_state(source: MachineSource, kubelet: Kubelet) -> str:
    """Return what to name as the state of a machine so that none of its state files is read."""
    from cpuctl.inputs.starting_state import has_state_files

    return option_names.NO_STATE if has_state_files(source, kubelet) else ""


def node_planning(
    inputs: PlanningInputs,
    source: MachineSource,
    loaded: LoadedKubelet,
    sources: Sources,
    states: tuple[StateInput, ...] | None = None,
) -> Planning:
    """Read what a node has apart from its machine and kubelet: state, running pods, devices, and a policy.

    There are no incoming pods yet. *states* are the named files, if they are already read. Raise InputError
    for files that cannot be used, PolicyError for a policy that cannot be loaded.
    """
    from cpuctl.engine.pod_server import PodServer
    from cpuctl.inputs.starting_state import load_starting_state

    if not source.info.hugepages_known:
        sources.warnings.append("huge pages are not recorded: none are subtracted from the memory for pods")
    initial = load_starting_state(inputs.state, inputs.pods, source, loaded.kubelet, sources, states)
    return Planning(
        inputs=replace(inputs, as_root="live" in map(sources.origin, ("state", "memoryState"))),
        incoming=(),
        source=source,
        loaded=loaded,
        initial=initial,
        devices=load_devices(inputs.node.devices, sources, info=source.info),
        sources=sources,
        server=None if inputs.skip_api_server else PodServer(rules_of_pods(loaded.kubelet).server),
        policy=_policy(inputs.node.policy),
    )


def _claims(planning: Planning, given: GivenPods) -> NodeClaims | None:
    """Read what affects claims, if pods have any; most do not, and skip all of this."""
    inputs, sources, running = planning.inputs, planning.sources, planning.initial.running
    if not any(pod.resource_claims for pod in (*planning.incoming, *running)):
        if any(pod.resource_claims for pod in given.pods):
            sources.warn(
                "DynamicResourceAllocation is disabled: the API server drops resource claims of new pods"
            )
        if inputs.node.driver_arguments and (planning.incoming or running):
            sources.warn(f"{option_names.DRIVER_ARGS} only applies to pods with resource claims")
        return None

    from cpuctl.engine.pod_rules import cgroup_settings
    from cpuctl.operations.claims import claims_of_kubelet

    source, kubelet, dra = planning.source, planning.kubelet, planning.governing.dra
    config = kubelet.config if sources.names_kubelet else None
    flags = inputs.node.driver_arguments
    claims = claims_of_kubelet(flags, dra, source, (config, kubelet.gates), sources, running=running)
    claims.cgroups = cgroup_settings(kubelet.config, kubelet.gates)
    return claims


def claims_of(node: Node) -> NodeClaims | None:
    """Return a node's claims as their actual type, which the engine does not know; None if no pod has any."""
    if node.claims is None:
        return None

    from cpuctl.dra.node import NodeClaims

    return node.claims if isinstance(node.claims, NodeClaims) else None


def _policy(text: str) -> ChosenPolicy | None:
    if not text:
        return None

    from cpuctl.operations.policies import choose_policy

    return choose_policy(text)


def _never_stored(limit_ranges: Iterable[LimitRange]) -> Iterator[str]:
    """Name LimitRanges that no API server stores, such as type Pod with the defaults proposed by KEP-2837."""
    for each in limit_ranges:
        for problem in each.problems:
            whole = any(item.type == "Pod" and (item.default or item.default_request) for item in each.items)
            departs = f" (KEP-2837 allows defaults for type Pod: {POD_DEFAULTS})" if whole else ""
            name = f"{each.namespace}/{each.name}"
            yield f"the API server rejects LimitRange {name}, so it is not applied: {problem}{departs}"


def _devices(
    described: DeviceInventory | None,
    inputs: PlanningInputs,
    pods: Sequence[StoredPod],
    info: MachineInfo,
    sources: Sources,
) -> DeviceInventory | None:
    """Add requested devices to the described ones, if the user wants to assume them.

    Otherwise warn about requested devices that are not described, with a file to fill in.
    """
    known = described.resources if described is not None else {}
    requested = sorted({name for pod in pods for name in _extended_resources(pod)} - known.keys())
    if any(pod.virtual_machine for pod in pods):
        described, requested = _with_permanent(described, requested, sources)
    if not requested:
        return described

    from cpuctl.machine.devices.inventory import draft_text, with_assumed
    from cpuctl.phrases import few

    if inputs.node.assume_devices:
        sources.warn(
            f"{few(requested)}: assumed to be available in sufficient number on every NUMA node "
            "(--assume-devices)"
        )
        return with_assumed(described, requested, info)
    sources.warn(
        f"{few(requested)} {'are' if len(requested) > 1 else 'is'} requested but not described: fill in "
        f"{draft_text(requested, info)} with devices per NUMA node and pass the file with "
        "--devices (cpuctl topology devices drafts it from PCI devices), or use --assume-devices"
    )
    return described


def _with_permanent(
    described: DeviceInventory | None, requested: list[str], sources: Sources
) -> tuple[DeviceInventory | None, list[str]]:
    """Add the devices that KubeVirt offers on every node with virtual machines, unless they are described."""
    from cpuctl.machine.devices.inventory import with_unplaced
    from cpuctl.phrases import few
    from cpuctl.pods.launcher_pod import MOST_DEVICES, PERMANENT_DEVICES

    offered = [name for name in requested if name in PERMANENT_DEVICES]
    if not offered:
        return described, requested
    text = f"{MOST_DEVICES:,} each of {few(offered)}, as virt-handler offers them, without a NUMA node"
    sources.add("virtualizationDevices", text, "default")
    rest = [name for name in requested if name not in PERMANENT_DEVICES]
    return with_unplaced(described, offered, MOST_DEVICES), rest


def _extended_resources(pod: StoredPod) -> Iterator[str]:
    for container in pod.all_containers:
        requested = (*container.resources.requests, *container.resources.limits)
        yield from (name for name in requested if "/" in name)


def _doubts(pods: Sequence[StoredPod]) -> Iterator[str]:
    """Warn if the pods run on several nodes, so that the list is not one node's, or if names repeat."""
    from cpuctl.phrases import few

    if len({pod.full_name for pod in pods}) < len(pods):
        names = Counter(pod.full_name for pod in pods if _is_named(pod))
        if repeated := [name for name, count in names.items() if count > 1]:
            yield (
                f"several pods have the same name ({few(repeated)}): an API server accepts only the first "
                '("already exists")'
            )
    nodes = sorted({pod.node_name for pod in pods if pod.node_name})
    if len(nodes) > 1:
        yield (
            f"the pods run on {len(nodes)} nodes ({few(nodes)}), but are planned as if all ran on this node "
            f"(list one node's pods with {option_names.PODS_OF_NODE})"
        )


def _is_named(pod: Pod) -> bool:
    """Return whether a pod's name is its own: those of workloads and of generateName are only examples."""
    from cpuctl.pods.manifest import manifest_of

    written = None if pod.owner else manifest_of(pod)
    metadata = written.metadata if written is not None else {"name": pod.name}
    return not pod.owner and "name" in metadata


def _not_ended(pods: Iterable[Pod], rejections: Sequence[RejectionEvent]) -> Iterator[Pod]:
    """Leave out pods that have ended, except rejected ones: no kubelet decides about them again."""
    for pod in pods:
        if not pod.terminal or any(event.is_of(pod.uid, pod.full_name) for event in rejections):
            yield pod


def _pods_beyond(pods: Iterable[Pod], kept: Sequence[Pod]) -> Iterator[Pod]:
    uids = {pod.uid for pod in kept}
    return (pod for pod in pods if pod.uid not in uids)


def warn_of_ended(
    ended: Sequence[Pod], inputs: PlanningInputs, sources: Sources, *, all_ended: bool = False
) -> None:
    """Warn which pods are left out; raise UsageError if these are all, and some are needed."""
    from cpuctl.phrases import few

    names = few([pod.full_name for pod in ended])
    if all_ended:
        raise UsageError(
            f"all pods have ended: {names}", hint="to treat them as new pods, use --include-completed"
        )
    option = "" if inputs.include_completed is None else " (--include-completed)"
    what = "1 pod that has ended is" if len(ended) == 1 else f"{len(ended)} pods that have ended are"
    sources.warnings.append(f"{what} not planned: {names}{option}")
