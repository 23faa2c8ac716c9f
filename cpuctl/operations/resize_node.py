"""A node with the pods that run on it, which may have other resources before long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.errors import InputError
from cpuctl.state_names import ACTUATED_FILE, ALLOCATED_FILE

if TYPE_CHECKING:
    from cpuctl.checkpoints.model import RecordedPod
    from cpuctl.engine.node import Node
    from cpuctl.engine.pod_server import PodServer
    from cpuctl.engine.resize.running import RunningPod
    from cpuctl.engine.start import NotStarted
    from cpuctl.kubelet.gates.feature_gates import FeatureGates
    from cpuctl.operations.planning import Planning
    from cpuctl.pods.model import StoredPod


_IN_ANSWERS = {ALLOCATED_FILE: "allocatedState", ACTUATED_FILE: "actuatedState"}


class ResizeInputs(NamedTuple):
    """What is to change: amounts by container, or edited manifests; without both, what is pending."""

    amounts: Sequence[str] = ()
    edited: Sequence[str] = ()
    preview: bool = False
    server_version: str = ""
    server_gates: str = ""


class RunningNode(NamedTuple):
    """A node and the pods that run on it, with the release's gates.

    ``never_stored``: what the API server says of pods that it does not store, by UID. ``server`` has
    taken the others; None where nobody asks it.
    """

    node: Node
    pods: tuple[RunningPod, ...]
    gates: FeatureGates
    never_stored: Mapping[str, tuple[str, ...]] = {}
    server: PodServer | None = None


def start_running(planning: Planning) -> RunningNode | NotStarted:
    """Start the kubelet: on its state with the pods that run, or, without one, admit these first."""
    from cpuctl.engine.node import Node
    from cpuctl.engine.resize.reported import running_pod
    from cpuctl.inputs.component_gates import kubelet_gates
    from cpuctl.kubelet.releases.recorded import Topic

    past, sources = planning.past, planning.sources
    sources.add_unrecorded(planning.kubelet.version.minor, (Topic.RESIZE,))
    pods = tuple(map(running_pod, _once((*past.running, *planning.wanted))))
    pods = _with_checkpoints(pods, planning)
    saved = past.files.cpu is not None or past.files.memory is not None
    running = tuple(each.allocated for each in pods) if saved else ()
    past = past._replace(running=running, known=bool(running))
    node = planning._replace(past=past).start(planning.kubelet, sources)
    if not isinstance(node, Node):
        return node
    if saved:
        _warn_of_strangers(node, running, planning)
    refused = {} if saved else _admit(node, pods, planning)
    # What runs is stored: from here on a resize has rules of its own.
    server, node.server = node.server, None
    if server is not None:
        server.count(each.allocated for each in pods if each.allocated.uid not in refused)
    return RunningNode(node, pods, kubelet_gates(planning.kubelet, sources), refused, server)


def _with_checkpoints(pods: tuple[RunningPod, ...], planning: Planning) -> tuple[RunningPod, ...]:
    """Add what the kubelet's files about granted resources say, where the state's directory has them."""
    from cpuctl.documents.files import STDIN

    state = planning.inputs.state
    if not state or state == STDIN:
        return pods
    from cpuctl.engine.resize.reported import with_checkpoints

    files = (Path(state) / name for name in (ALLOCATED_FILE, ACTUATED_FILE))
    allocated, actuated = (_pods_state(path, planning) for path in files)
    return tuple(
        with_checkpoints(each, allocated.get(each.spec.uid), actuated.get(each.spec.uid)) for each in pods
    )


def _pods_state(path: Path, planning: Planning) -> Mapping[str, RecordedPod]:
    from cpuctl.checkpoints.model import UnreadableState
    from cpuctl.checkpoints.pods_state import read_pods_state
    from cpuctl.checkpoints.reader import StateReader
    from cpuctl.documents.files import read_member

    if not path.exists():
        return {}
    found = read_pods_state(
        read_member(str(path)).decode("utf-8", "replace"), StateReader(minor=planning.kubelet.version.minor)
    )
    if isinstance(found, UnreadableState):
        raise InputError(f"a kubelet panics over it: {found.error}", where=str(path))
    planning.sources.add(_IN_ANSWERS[path.name], str(path), "given")
    return found.pods


def _once(pods: Sequence[StoredPod]) -> Sequence[StoredPod]:
    seen: dict[str, StoredPod] = {}
    for pod in pods:
        other = seen.setdefault(pod.uid, pod)
        if other is not pod:
            message = f"{other.full_name} and {pod.full_name} have the same uid {pod.uid}"
            raise InputError(message, hint="name every pod that runs once: in --pods or in -f")
    return pods


def _admit(node: Node, pods: Sequence[RunningPod], planning: Planning) -> dict[str, tuple[str, ...]]:
    """Admit pods in their order; say of each that does not get in, and return what no API server stores."""
    from cpuctl.engine.outcome import Admitted, Forbidden

    never_stored = {}
    for each in pods:
        admission = node.admit(each.allocated)
        if isinstance(admission.verdict, Forbidden):
            never_stored[each.allocated.uid] = admission.verdict.refusals
        elif not isinstance(admission.verdict, Admitted):
            why = _why(admission.verdict)
            planning.sources.warnings.append(f"{each.allocated.full_name} is not admitted ({why})")
    return never_stored


def _why(verdict: object) -> str:
    from cpuctl.engine.outcome import Rejected

    if isinstance(verdict, Rejected):
        return f"{verdict.reason}: {verdict.message}"
    return str(getattr(verdict, "why", verdict))


def _warn_of_strangers(node: Node, running: Sequence[StoredPod], planning: Planning) -> None:
    """Name pods that are due exclusive CPUs and of which the state knows nothing."""
    from cpuctl.engine.provider import Candidate
    from cpuctl.pods.qos import pod_qos

    for pod in running if node.policy is not None else ():
        candidate = Candidate(pod, pod_qos(node.pod_rules.view(pod)), divided=node.cpu.rules.divides(pod))
        due = any(node.cpu.claim(candidate, each).cpus for each in pod.containers)
        if due and pod.uid not in node.state.assignments:
            planning.sources.warnings.append(
                f"the state knows no exclusive CPUs of {pod.full_name} (UID {pod.uid}): it may go by another "
                "UID there"
            )
