"""The inputs of a plan for a fleet: Nodes, their running pods, and the new pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from cpuctl.errors import InputError, UsageError
from cpuctl.exports.outcomes import start_sentence
from cpuctl.fleet.collection import Recording
from cpuctl.fleet.plan_nodes import FleetInputs, NodeReader, load_answer
from cpuctl.fleet.topology_check import PublishedNodes
from cpuctl.inputs.kubelet import load_kubelet
from cpuctl.inputs.pods import load_pods, rules_of_pods
from cpuctl.inputs.sources import Sources
from cpuctl.phrases import few
from cpuctl.pods.manifest import manifest_of, owner_of
from cpuctl.pods.node_selection import NodeSelection
from cpuctl.pods.validation.raw import items_of, mapping_of, member_of
from cpuctl.records import replace
from cpuctl.scheduler.decisions import bound_load, daemon_selection
from cpuctl.scheduler.model import Load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cpuctl.answers.fleet import UnreadableNode
    from cpuctl.answers.fleet_plan import PlannedNode
    from cpuctl.answers.start import NotStarted
    from cpuctl.fleet.topology_plugin import PluginOptions
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.inputs.pods import GivenPods
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.operations.policies import ChosenPolicy
    from cpuctl.pods.model import Pod, StoredPod
    from cpuctl.scheduler.model import NodeObject
    from cpuctl.scheduler.node_topology import NodeTopology

_EVERYWHERE = "DaemonSet/"


class FleetPlanInputs(NamedTuple):
    """What is planned on a fleet: names of files as on the command line, and names of nodes.

    ``drained`` nodes are left out and their pods are planned first; those in ``without`` are only left out.
    ``rounds`` is how many times the pods are planned, None for once without a count of copies. ``plugin`` is
    the configuration of the scheduler's plugin, None if it has none; ``topologies`` are the objects that it
    reads. ``driver_arguments`` are the flags of the driver for CPUs, for the whole fleet. ``policy`` decides
    in place of the kubelets', None if these decide.
    """

    kubelet: KubeletInputs
    filenames: Sequence[str] = ()
    templates: Sequence[str] = ()
    nodes: str = ""
    pods: str = ""
    devices: str = ""
    drained: Sequence[str] = ()
    without: Sequence[str] = ()
    rounds: int | Literal["max"] | None = None
    asks_server: bool = True
    plugin: PluginOptions | None = None
    topologies: str = ""
    driver_arguments: str = ""
    policy: ChosenPolicy | None = None

    def check(self, known: set[str]) -> None:
        """Raise UsageError for a node to leave out that is not in the fleet."""
        for option, names in (("--drain", self.drained), ("--without", self.without)):
            if unknown := [name for name in names if name not in known]:
                from cpuctl.spelling import did_you_mean

                hint = did_you_mean(unknown[0], known, f"there are {few(sorted(known))}")
                raise UsageError(f"there is no node {unknown[0]!r} in the fleet", where=option, hint=hint)


class Cluster(NamedTuple):
    """The API server's objects: Nodes by name, and running pods by node; None if unknown.

    ``topologies`` are the NodeResourceTopologies, by name.
    """

    objects: Mapping[str, NodeObject] | None
    running: Mapping[str, Sequence[Pod]] | None
    topologies: Mapping[str, NodeTopology] | None = None

    def fleet_inputs(self, inputs: FleetPlanInputs, incoming: Iterable[Pod] = ()) -> FleetInputs:
        """Return the inputs with which nodes are evaluated when these pods arrive."""
        moved = (pod for name in inputs.drained for pod in (self.running or {}).get(name, ()))
        claims = any(pod.resource_claims for pod in (*incoming, *moved))
        objects = self.objects or {}
        releases = {name: each.kubelet_version for name, each in objects.items() if each.kubelet_version}
        # A policy sees the names of running pods, which kubelets do not use.
        by_name = bool(inputs.plugin or inputs.devices or inputs.policy)
        driver = inputs.driver_arguments if claims else None
        return FleetInputs(inputs.kubelet, inputs.devices, self.running, releases, by_name, driver)


def load_cluster(inputs: FleetPlanInputs, sources: Sources) -> Cluster:
    """Read the files about the cluster.

    Raise InputError for anything but Nodes or pods, UsageError if pods to be moved are not given.
    """
    if inputs.drained and not inputs.pods:
        raise UsageError(
            "the pods running on the node are unknown", where="--drain", hint="specify them with --pods FILE"
        )
    objects = dict(_nodes(inputs.nodes, sources)) if inputs.nodes else None
    return Cluster(
        objects,
        _running(inputs.pods, sources) if inputs.pods else None,
        _topologies(inputs.topologies, sources) if inputs.topologies else None,
    )


def load_published(topologies: str, pods: str, sources: Sources) -> PublishedNodes:
    """Read what is published about nodes, and their pods; raise InputError for anything else."""
    running = _running(pods, sources) if pods else None
    return PublishedNodes(_topologies(topologies, sources), running)


def load_releases(name: str) -> Mapping[str, str]:
    """Read Nodes from a file, and return their kubelets' releases by name, if they have one.

    Raise InputError for a file without Nodes.
    """
    return {node: each.kubelet_version for node, each in _nodes(name, Sources()) if each.kubelet_version}


def _topologies(name: str, sources: Sources) -> dict[str, NodeTopology]:
    from cpuctl.documents.files import read_input, source_name
    from cpuctl.scheduler.reading import read_node_topologies

    sources.add("nodeResourceTopologies", source_name(name), "given")
    return {each.name: each for each in read_node_topologies(read_input(name), source_name(name))}


def _nodes(name: str, sources: Sources) -> Iterator[tuple[str, NodeObject]]:
    from cpuctl.documents.files import read_input, source_name
    from cpuctl.scheduler.reading import read_nodes

    sources.add("nodes", source_name(name), "given")
    for node in read_nodes(read_input(name), source_name(name)):
        yield node.name, node


def pods_by_node(name: str) -> dict[str, list[Pod]]:
    """Read pods by node, including those that have ended; the node of unscheduled ones is ``""``."""
    from cpuctl.pods.reading.manifest_files import read_manifests

    found: dict[str, list[Pod]] = {}
    for pod in read_manifests([name], empty=True).pods:
        found.setdefault(pod.node_name, []).append(pod)
    return found


def _running(name: str, sources: Sources) -> Mapping[str, Sequence[Pod]]:
    """Read pods by node, without those that have ended or are not scheduled."""
    from cpuctl.documents.files import source_name

    sources.add("runningPods", source_name(name), "given")
    running = {node: [pod for pod in pods if not pod.terminal] for node, pods in pods_by_node(name).items()}
    found = {node: pods for node, pods in running.items() if pods}
    if waiting := found.pop("", []):
        names = few([pod.full_name for pod in waiting])
        sources.warnings.append(f"{names}: not on a node yet, and not planned (use -f FILE to plan pods)")
    return found


class IncomingPods(NamedTuple):
    """Incoming pods, as the API server stores them, and its errors for those that it rejects, by UID.

    ``daemons`` are those that DaemonSets create for every node, by UID, with the nodes where they run now.
    """

    pods: tuple[StoredPod, ...]
    refused: dict[str, tuple[str, ...]]
    daemons: dict[str, frozenset[str]]


def given_pods(inputs: FleetPlanInputs, sources: Sources) -> GivenPods:
    """Read the pods to plan.

    Raise UsageError if there are none, InputError for files that cannot be read.
    """
    return load_pods(inputs.filenames, inputs.templates, sources, needed=not inputs.drained)


def coming_pods(
    inputs: FleetPlanInputs, given: GivenPods, cluster: Cluster, kubelet: Kubelet, sources: Sources
) -> IncomingPods:
    """Return pods in the order in which the scheduler takes them: by priority, then in their given order.

    Pods of drained nodes are before given ones, and after those of DaemonSets.
    """
    pods = [*_moved(inputs, cluster, sources), *given.pods]
    if cluster.objects is None and any(_selects(pod.node_selection) for pod in pods):
        sources.warnings.append(
            "node selectors and node affinity are ignored: the labels of nodes are unknown (--nodes FILE)"
        )
        pods = [pod._replace(node_selection=_tolerating(pod.node_selection)) for pod in pods]
    rules = rules_of_pods(kubelet)
    wanted = replace(given, pods=tuple(map(_tolerant, pods))).stored(rules)
    server = given.server(rules.server, (), ()) if inputs.asks_server else None
    refused = {pod.uid: server.create(pod).refusals for pod in wanted} if server else {}
    ordered = sorted(wanted, key=lambda pod: (-(pod.priority or 0), not _is_daemon(pod)))
    return IncomingPods(
        tuple(ordered),
        {uid: texts for uid, texts in refused.items() if texts},
        {pod.uid: _nodes_of(pod, cluster) for pod in ordered if _is_daemon(pod)},
    )


def _is_daemon(pod: Pod) -> bool:
    return pod.owner.startswith(_EVERYWHERE)


def _tolerant(pod: Pod) -> Pod:
    """Add the tolerations that the controller of a DaemonSet adds to its pods."""
    written = manifest_of(pod) if _is_daemon(pod) else None
    if written is None:
        return pod
    on_host = written.spec.get("hostNetwork") is True
    return pod._replace(node_selection=daemon_selection(pod.node_selection, host_network=on_host))


def _nodes_of(daemon: Pod, cluster: Cluster) -> frozenset[str]:
    """Return the nodes where a pod of the same DaemonSet runs."""
    return frozenset(
        node
        for node, pods in (cluster.running or {}).items()
        if any(each.namespace == daemon.namespace and owner_of(each) == daemon.owner for each in pods)
    )


def _moved(inputs: FleetPlanInputs, cluster: Cluster, sources: Sources) -> Iterator[Pod]:
    """Yield the pods that controllers recreate elsewhere once their nodes are drained."""
    lost = []
    for name in inputs.drained:
        for pod in (cluster.running or {}).get(name, ()):
            owner = owner_of(pod)
            if pod.static or (owner or "").startswith(_EVERYWHERE):
                continue
            if owner == "":
                lost.append(pod.full_name)
            else:
                yield _unbound(pod)
    if lost:
        sources.warnings.append(
            f"{few(lost)}: no controller recreates it, and kubectl drain deletes it only with --force: not "
            "planned"
        )


def _unbound(pod: Pod) -> Pod:
    """Remove a pod from its node: the one that replaces it is new."""
    return pod._replace(node_name="", uid=f"{pod.uid}-moved", phase="", statuses=())


def _selects(selection: NodeSelection | None) -> bool:
    return selection is not None and selection != _tolerating(selection)


def _tolerating(selection: NodeSelection | None) -> NodeSelection | None:
    """Keep only the tolerations of a pod's node selection."""
    return selection and NodeSelection(tolerations=selection.tolerations)


def doubts(nodes: Sequence[PlannedNode], cluster: Cluster, pods: Sequence[StoredPod]) -> Iterator[str]:
    """Warn about missing or ignored inputs, with which the scheduler may choose differently."""
    if names := [pod.full_name for pod in pods if any(_ignored_rules(pod))]:
        what = ", ".join(dict.fromkeys(word for pod in pods for word in _ignored_rules(pod)))
        yield f"{few(names)}: the scheduler may choose differently because these are ignored: {what}"
    yield from _claim_doubts(nodes, pods)
    if cluster.running is not None and not any(node["node"] in cluster.running for node in nodes):
        yield (
            "no pod of --pods runs on any of these nodes: check that the recordings are named "
            "after their nodes"
        )
    if cluster.running is None and not any(node["source"] for node in nodes):
        yield (
            "the pods running on the nodes are unknown: their requests are not subtracted "
            "(run kubectl get pods -A -o json > FILE, and use --pods FILE)"
        )
    elif cluster.running is None:
        yield (
            "the pods running on the nodes are unknown: only resources in state files count as used "
            "(run kubectl get pods -A -o json > FILE, and use --pods FILE)"
        )
    if cluster.objects is not None:
        if unknown := [node["node"] for node in nodes if node["node"] not in cluster.objects]:
            yield f"{few(unknown)}: there is no Node with this name: assumed to have no taints or labels"
        return
    known = {name for node in nodes for name in node["allocatable"]}
    requested = {
        name for pod in pods for each in pod.all_containers for name in each.resources.limits if "/" in name
    }
    if requested - known:
        yield (
            f"{few(sorted(requested - known))} are requested but not described (--nodes FILE, --devices "
            "FILE): assumed to be none"
        )


def _claim_doubts(nodes: Sequence[PlannedNode], pods: Sequence[StoredPod]) -> Iterator[str]:
    """Warn about resource claims that are not served, and where."""
    dropped = [pod.full_name for pod in pods if not pod.resource_claims and _writes_claims(pod)]
    if dropped:
        yield f"{few(dropped)}: DynamicResourceAllocation is off: the API server drops their resource claims"
    alone = [node["node"] for node in nodes if not node["source"]]
    if alone and any(pod.resource_claims for pod in pods):
        yield f"{few(alone)}: resource claims are ignored without a recording of the node"


def _writes_claims(pod: Pod) -> bool:
    written = manifest_of(pod)
    return written is not None and bool(written.spec.get("resourceClaims"))


def _ignored_rules(pod: Pod) -> Iterator[str]:
    """Name the parts of a manifest that affect the scheduler but are ignored."""
    written = manifest_of(pod)
    if written is None:
        return
    spec = written.spec
    affinity = mapping_of(spec.get("affinity"))
    if affinity.get("podAffinity") or affinity.get("podAntiAffinity"):
        yield "affinity to other pods"
    if spec.get("topologySpreadConstraints"):
        yield "topology spread constraints"
    ports = (port for each in items_of(spec.get("containers")) for port in items_of(member_of(each, "ports")))
    if any(member_of(port, "hostPort") for port in ports):
        yield "host ports"
    volumes = items_of(spec.get("volumes"))
    if any(member_of(each, kind) for each in volumes for kind in ("persistentVolumeClaim", "ephemeral")):
        yield "volume claims"
    if spec.get("schedulingGates"):
        yield "scheduling gates"
    if spec.get("schedulerName") not in (None, "", "default-scheduler"):
        yield f"scheduler {spec['schedulerName']}"


def nodes_alone(cluster: Cluster) -> list[PlannedNode]:
    """Return the nodes of which only objects are known, with the requests of the pods that run there."""
    found = []
    for name, node in (cluster.objects or {}).items():
        load = Load()
        for pod in (cluster.running or {}).get(name, ()):
            load = load.plus(bound_load(pod))
        start: NotStarted = {"outcome": "Undetermined", "why": "there is no recording of the node"}
        row: PlannedNode = {
            "node": name,
            "source": "",
            "answerKey": None,
            "outcome": "Read",
            "state": "",
            "start": start,
            "allocatable": dict(node.allocatable),
            "load": load_answer(load),
            "assumed": {},
        }
        found.append(row)
    return found


def topology_doubts(nodes: Sequence[PlannedNode], cluster: Cluster) -> Iterator[str]:
    """Warn about nodes without a NodeResourceTopology if some are given."""
    if cluster.topologies is None:
        return
    names = [node["node"] for node in nodes]
    if without := [name for name in names if name not in cluster.topologies]:
        yield (
            f"{few(without)}: there is no NodeResourceTopology with this name: the plugin lets every pod pass"
        )
    if unknown := sorted(cluster.topologies.keys() - set(names)):
        yield f"NodeResourceTopologies of {few(unknown)} are skipped: no node in the fleet has this name"


def first_kubelet(nodes: Sequence[PlannedNode | UnreadableNode], inputs: FleetInputs) -> Kubelet:
    """Return the kubelet of the first node that has one: manifests are read by the rules of its release.

    Raise InputError if there is none, with the error of the first node. Without any recording, it is given by
    the options.
    """
    if nodes and not any(node["source"] for node in nodes):
        return load_kubelet(inputs.kubelet, Sources(), machine=None).kubelet
    for node in nodes:
        if node["outcome"] == "Read" and node["state"]:
            return NodeReader(inputs)(Recording(node["node"], node["source"])).kubelet
    why, hint = next(map(_why_unplanned, nodes), ("", ""))
    raise InputError(f"no node in the fleet has a kubelet to plan for{why}", hint=hint)


def _why_unplanned(node: PlannedNode | UnreadableNode) -> tuple[str, str]:
    if node["outcome"] == "Unreadable":
        return f": {node['node']}: {node['error'].removeprefix(node['source'] + ': ')}", node["hint"]
    return f": {node['node']}: {start_sentence(node['start'], 'the kubelet')}", ""
