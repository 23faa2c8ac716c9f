"""In-place resizes of running pods: which component decides, the decision, and its consequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl import option_names
from cpuctl.inputs.sources import Sources
from cpuctl.operations.resize_inputs import ResizeInputs, RunningNode, start_running
from cpuctl.records import Record, replace
from cpuctl.state_names import CPU_FILE

if TYPE_CHECKING:
    from cpuctl.engine.node import Node
    from cpuctl.engine.resize.handler import ResizePath
    from cpuctl.engine.resize.missing_gates import MissingGate
    from cpuctl.engine.resize.pending import RetriedResize
    from cpuctl.engine.resize.running import PodResize
    from cpuctl.engine.resize.semantics import Semantics
    from cpuctl.engine.start import NotStarted
    from cpuctl.kubelet.gates.feature_gates import FeatureGates
    from cpuctl.operations.plan_inputs import Planning
    from cpuctl.operations.started_node import StartedNode
    from cpuctl.pods.cgroups.values import CgroupSettings
    from cpuctl.pods.model import Pod, StoredPod


class Resizes(Record):
    """Decided resizes, the node afterwards, and the settings by which its cgroups are written.

    ``state_file`` is the resulting text of ``cpu_manager_state``, ``warnings`` are later consequences of what
    is granted now.
    """

    done: Sequence[RetriedResize]
    node: Node
    path: ResizePath
    settings: CgroupSettings
    state_file: str = ""
    warnings: tuple[str, ...] = ()


def resize_pods(planning: Planning, inputs: ResizeInputs, semantics: Semantics) -> Resizes | NotStarted:
    """Resize what the inputs name, on the planning's node.

    Raise UsageError if there is nothing to change, InputError for pods that are not there.
    """
    from cpuctl.operations.resize_inputs import read_requests

    running = start_running(planning)
    if not isinstance(running, RunningNode):
        return running
    path = resize_path(planning, running, inputs, semantics)
    assert path.server is not None
    requests = read_requests(planning, running, inputs, path.server)
    return _resized(planning, running, path, requests)


def _resized(
    planning: Planning, running: RunningNode, path: ResizePath, requests: Sequence[PodResize]
) -> Resizes:
    """Decide about all requests, and return the results with their consequences."""
    from cpuctl.operations.state_writing import state_texts

    stored = [each for each in requests if each.desired.uid not in running.never_stored]
    done = [*_never_stored(requests, running), *_decided(running.node, stored, path)]
    return Resizes(
        done=done,
        node=running.node,
        path=path,
        settings=_settings(planning, running),
        state_file=state_texts(running.node, planning.kubelet)[CPU_FILE],
        warnings=tuple(_warnings(running.node, done, path)),
    )


def _decided(node: Node, requests: Sequence[PodResize], path: ResizePath) -> Sequence[RetriedResize]:
    """Decide about requests.

    Raise UsageError if a policy would have to choose CPUs for a resize: it has no step for that.
    """
    from cpuctl.engine.resize.pending import resize_all

    if requests and node.what_if is not None and path.kubelet.allocates:
        from cpuctl.policies.what_if import resizes_unsupported

        raise resizes_unsupported()
    return resize_all(node, requests, path)


def gate_options(planning: Planning, inputs: ResizeInputs, missing: Iterable[MissingGate]) -> dict[str, str]:
    """Return gates by the option that sets them: the given ones and the missing; empty if none is missing."""
    from cpuctl.inputs.kubelet import server_gates

    # If nothing is given about the API server, it has the kubelet's gates.
    apart = bool(inputs.server.version or inputs.server.gates)
    known = {
        option_names.FEATURE_GATES: (planning.inputs.kubelet.gates, planning.kubelet.gates),
        option_names.API_SERVER_GATES: (
            inputs.server.gates,
            server_gates(inputs.server, planning.kubelet.gates, Sources()),
        ),
    }
    found: dict[str, str] = {}
    for each in missing:
        option = option_names.API_SERVER_GATES if each.by_server and apart else option_names.FEATURE_GATES
        given, gates = known[option]
        found[option] = _with_gate(each.name, found.get(option, given), gates)
    return found


def _with_gate(name: str, given: str, gates: FeatureGates) -> str:
    """Enable a gate and its dependencies among the given ones."""
    switched = (*gates.missing(name), name)
    others = (each for each in given.split(",") if each and each.partition("=")[0].strip() not in switched)
    return ",".join((*others, *(f"{each}=true" for each in switched)))


def resize_running(started: StartedNode, wanted: Pod) -> Resizes:
    """Give a running pod, which has all that it requests, the resources of *wanted*.

    Raise UsageError if no pod with its UID runs.
    """
    from cpuctl.engine.resize.running import PodResize, RunningPod
    from cpuctl.engine.resize.semantics import Semantics
    from cpuctl.inputs.kubelet import kubelet_gates
    from cpuctl.operations.resize_inputs import edited

    planning, node, pod = started.planning, started.node, started.find(wanted.uid)
    server, gates = node.server, kubelet_gates(planning.kubelet, planning.sources)
    running = RunningNode(node, (), gates, server=server)
    path = resize_path(planning, running, ResizeInputs(), Semantics.KEP)
    assert path.server is not None
    request = PodResize(RunningPod.settled(pod), path.server.stored(pod, edited(pod, wanted)))
    # Running pods are already stored: a resize has its own rules.
    node.server = None
    try:
        resizes = _resized(planning, running, path, [request])
    finally:
        node.server = server
    started.changed()
    return resizes


def pending_resize(planning: Planning, uid: str) -> RetriedResize | None:
    """Decide about the pending resize of a running pod; return None if there is none.

    Raise UsageError if a policy would have to choose CPUs for it.
    """
    from cpuctl.engine.resize.running import PodResize
    from cpuctl.engine.resize.semantics import Semantics

    planning = replace(planning, incoming=(), sources=Sources())
    running = start_running(planning)
    if not isinstance(running, RunningNode):
        return None
    requests = [PodResize(each, each.spec) for each in running.pods if each.spec.uid == uid]
    requests = [each for each in requests if each.is_new and uid in running.node.active]
    path = resize_path(planning, running, ResizeInputs(), Semantics.KEP)
    return next(iter(_decided(running.node, requests, path)), None)


def resize_path(
    planning: Planning, running: RunningNode, inputs: ResizeInputs, semantics: Semantics
) -> ResizePath:
    """Return the deciding components: API server and kubelet, with the named releases and gates."""
    from cpuctl.engine.resize.handler import ResizePath
    from cpuctl.engine.resize.obstacles import whole_node
    from cpuctl.engine.resize.rules import ResizeRules
    from cpuctl.engine.resize.server_side import ResizeServer
    from cpuctl.inputs.kubelet import server_gates

    kubelet, info = planning.kubelet, planning.source.info
    rules = ResizeRules.of(
        running.gates, kubelet.config, cgroup_version=kubelet.cgroup_version, preview=inputs.preview
    )
    gates = server_gates(inputs.server, running.gates, planning.sources)
    allocatable = running.node.allocatable
    assert allocatable is not None
    return ResizePath(
        kubelet=rules,
        server=ResizeServer.of(
            gates,
            node_resizes=rules.in_place,
            allocatable=allocatable.amounts,
            namespaces=running.server,
        ),
        semantics=semantics,
        capacity=whole_node(info, kubelet.config, allocatable, rules.release),
    )


def _never_stored(requests: Iterable[PodResize], running: RunningNode) -> Iterator[RetriedResize]:
    """Report pods that cannot be resized, as no API server stores them."""
    from cpuctl.engine.outcome import Forbidden
    from cpuctl.engine.resize.outcome import DecidedBy, ResizeOutcome, ResizeResult
    from cpuctl.engine.resize.pending import RetriedResize

    for request in requests:
        if refusals := running.never_stored.get(request.desired.uid):
            message = f"the API server rejects the pod itself: {'; '.join(refusals)}"
            outcome = ResizeOutcome(
                request=request,
                result=ResizeResult.FORBIDDEN,
                decided_by=DecidedBy.API_SERVER,
                verdict=Forbidden(refusals),
                message=message,
            )
            yield RetriedResize(outcome, None)


def _settings(planning: Planning, running: RunningNode) -> CgroupSettings:
    from cpuctl.engine.pod_rules import cgroup_settings

    return cgroup_settings(planning.kubelet.config, running.gates)


def _warnings(node: Node, done: Sequence[RetriedResize], path: ResizePath) -> Iterator[str]:
    """Warn about later consequences of what is granted now."""
    from cpuctl.engine.resize.outcome import ResizeResult

    granted = [each.outcome for each in done if each.outcome.result.accepted]
    idle = [each for each in granted if each.result is ResizeResult.NO_EFFECT]
    for outcome in idle:
        names, pod = ", ".join(outcome.unfollowed), outcome.request.desired.full_name
        yield (
            f"{pod}: weight, quota and memory limit change, but the exclusive CPUs of {names} do not "
            "(kubernetes issue 140031)"
        )
    yield from _after_restart(node, [each.request.desired.uid for each in idle])
    if any(each.preview for each in granted) and not node.cpu.keeps_baselines:
        yield (
            f"kubelet 1.{path.kubelet.minor} does not record what was guaranteed at admission: after a "
            "restart, the current resources of a container count as guaranteed"
        )
    for outcome in granted:
        yield from _less_memory(outcome.request.running.allocated, outcome.request.desired, path)


def _after_restart(node: Node, uids: Sequence[str]) -> Iterator[str]:
    from cpuctl.engine.outcome import Rejected
    from cpuctl.engine.resize.pending import refused_after_restart

    for uid, verdict in refused_after_restart(node, uids).items():
        why = f"{verdict.reason}: {verdict.message}" if isinstance(verdict, Rejected) else "unknown"
        yield f"{node.active[uid].full_name}: if the kubelet restarts now, it terminates the pod ({why})"


def _less_memory(before: StoredPod, after: StoredPod, path: ResizePath) -> Iterator[str]:
    """Warn about containers whose memory limit shrinks, which a kubelet may be unable to apply."""
    limits = {each.name: each.resources.limits.get("memory") for each in before.all_containers}
    for each in after.all_containers:
        old, new = limits.get(each.name), each.resources.limits.get("memory")
        if path.kubelet.conditions and old is not None and new is not None and new < old:
            yield (
                f"{after.full_name}: the memory limit of {each.name} is only lowered once it uses less "
                f"than {new}; until then PodResizeInProgress reports an error"
            )
