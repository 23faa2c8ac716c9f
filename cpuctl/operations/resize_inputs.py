"""A node with its running pods, and what to change about them.

Changes are amounts, edited manifests, or pending resizes. Amounts are written
``NAMESPACE/POD/CONTAINER:cpu=6,memory=8Gi``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from cpuctl import option_names
from cpuctl.errors import InputError, UsageError
from cpuctl.inputs.configuration import ServerInputs
from cpuctl.records import Record, replace
from cpuctl.state_names import ACTUATED_FILE, ALLOCATED_FILE

if TYPE_CHECKING:
    from cpuctl.answers.checkpoint import StateFileName
    from cpuctl.checkpoints.model import RecordedPod
    from cpuctl.engine.node import Node
    from cpuctl.engine.pod_server import PodServer
    from cpuctl.engine.resize.running import PodResize, RunningPod
    from cpuctl.engine.resize.server_side import ResizeServer
    from cpuctl.engine.start import NotStarted
    from cpuctl.kubelet.gates.feature_gates import FeatureGates
    from cpuctl.operations.plan_inputs import Planning
    from cpuctl.operations.started_node import StartedNode
    from cpuctl.pods.model import Pod, ResourceRequirements, StoredPod
    from cpuctl.quantity import Quantity


_IN_ANSWERS: Mapping[StateFileName, str] = {ALLOCATED_FILE: "allocatedState", ACTUATED_FILE: "actuatedState"}


class ResizeInputs(Record):
    """What to change: amounts by container, or edited manifests; without either, the pending resizes."""

    amounts: Sequence[NewAmounts] = ()
    edited: Sequence[str] = ()
    preview: bool = False
    server: ServerInputs = ServerInputs()


class RunningNode(Record):
    """A node and the pods that run on it, with the release's gates.

    ``never_stored``: the API server's errors for pods that it does not store, by UID. ``server`` has stored
    the others; None if it is skipped. ``outside``: a sentence for each pod that the kubelet does not admit,
    or for which this is unknown, by UID.
    """

    node: Node
    pods: tuple[RunningPod, ...]
    gates: FeatureGates
    never_stored: Mapping[str, tuple[str, ...]] = {}
    server: PodServer | None = None
    outside: Mapping[str, str] = {}


def start_running(planning: Planning) -> RunningNode | NotStarted:
    """Start the kubelet: on its state with the running pods or, without a state, by admitting them first."""
    from cpuctl.engine.resize.running import running_pod
    from cpuctl.inputs.kubelet import kubelet_gates
    from cpuctl.inputs.starting_state import overlap_warnings
    from cpuctl.operations.started_node import StartedNode, start_planned

    initial, sources = planning.initial, planning.sources
    sources.add_unrecorded(planning.kubelet.version.minor, ("in-place resizes",))
    pods = tuple(map(running_pod, _once((*initial.running, *planning.incoming))))
    pods = _with_checkpoints(pods, planning)
    saved = initial.files.cpu is not None or initial.files.memory is not None
    running = tuple(each.allocated for each in pods) if saved else ()
    if saved and planning.claims is not None:
        planning.claims.take_over(planning.incoming)
    initial = replace(initial, running=running, known=bool(running))
    started = start_planned(replace(planning, initial=initial))
    if not isinstance(started, StartedNode):
        return started
    node = started.node
    if saved:
        _warn_of_unknown_pods(node, running, planning)
    refused, outside = ({}, {}) if saved else _admit(started, _in_order(node, pods, planning))
    if not saved:
        names = {each.allocated.uid: each.allocated.full_name for each in pods}
        sources.warn(*overlap_warnings(node, lambda: names))
    # Running pods are already stored: from here on, resizes have their own rules.
    server, node.server = node.server, None
    if server is not None:
        server.count(each.allocated for each in pods if each.allocated.uid not in refused)
    return RunningNode(node, pods, kubelet_gates(planning.kubelet, sources), refused, server, outside)


def _with_checkpoints(pods: tuple[RunningPod, ...], planning: Planning) -> tuple[RunningPod, ...]:
    """Add the contents of the kubelet's files about granted resources, if the state's directory has them."""
    if planning.initial.texts.keys().isdisjoint(_IN_ANSWERS):
        return pods
    from cpuctl.engine.resize.running import with_checkpoints

    allocated, actuated = (_pods_state(name, planning) for name in _IN_ANSWERS)
    return tuple(
        with_checkpoints(each, allocated.get(each.spec.uid), actuated.get(each.spec.uid)) for each in pods
    )


def _pods_state(name: StateFileName, planning: Planning) -> Mapping[str, RecordedPod]:
    from cpuctl.checkpoints.model import DRAIN, UnreadableState
    from cpuctl.checkpoints.pods_state import read_pods_state
    from cpuctl.checkpoints.reader import StateReader

    text = planning.initial.texts.get(name)
    if text is None:
        return {}
    given = planning.inputs.state
    live = planning.inputs.as_root
    where = f"{given or (planning.kubelet.config.root_dir if live else planning.source.origin)}: {name}"
    found = read_pods_state(text, StateReader(minor=planning.kubelet.version.minor))
    if isinstance(found, UnreadableState):
        raise InputError(f"the kubelet panics on this file: {found.error}", where=where, hint=DRAIN)
    planning.sources.add(_IN_ANSWERS[name], where, "given" if given else "live" if live else "capture")
    return found.pods


def _once(pods: Sequence[StoredPod]) -> Sequence[StoredPod]:
    seen: dict[str, StoredPod] = {}
    for pod in pods:
        other = seen.setdefault(pod.uid, pod)
        if other is not pod:
            message = f"{other.full_name} and {pod.full_name} have the same UID {pod.uid}"
            raise InputError(message, hint="list every running pod only once: in --pods or in -f")
    return pods


def _in_order(node: Node, pods: Sequence[RunningPod], planning: Planning) -> Iterator[RunningPod]:
    """Yield running pods in their order, then the others, in a policy's order if one decides."""
    ran = {pod.uid for pod in planning.initial.running}
    by_uid = {each.allocated.uid: each for each in pods}
    yield from (each for uid, each in by_uid.items() if uid in ran)
    come = [each.allocated for uid, each in by_uid.items() if uid not in ran]
    yield from (by_uid[pod.uid] for pod in node.in_order(come))


def _admit(
    started: StartedNode, pods: Iterable[RunningPod]
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Admit pods in their order; return API server errors, and sentences for others that are not admitted."""
    from cpuctl.engine.outcome import Admitted, Forbidden, Undetermined, why_not

    never_stored, outside = {}, {}
    for each in pods:
        admission = started.admit(each.allocated)
        if isinstance(admission.verdict, Forbidden):
            never_stored[each.allocated.uid] = admission.verdict.refusals
        elif not isinstance(admission.verdict, Admitted):
            why, name = why_not(admission.verdict), each.allocated.full_name
            unknown = isinstance(admission.verdict, Undetermined)
            what = f"whether {name} is admitted is unknown" if unknown else f"{name} is not admitted"
            outside[each.allocated.uid] = f"{what} ({why})"
    started.planning.sources.warnings += outside.values()
    return never_stored, outside


def _warn_of_unknown_pods(node: Node, running: Sequence[StoredPod], planning: Planning) -> None:
    """Warn about pods that should have exclusive CPUs but are not in the state."""
    from cpuctl.engine.provider import Candidate
    from cpuctl.pods.qos import pod_qos

    for pod in running if node.policy is not None else ():
        candidate = Candidate(pod, pod_qos(node.pod_rules.view(pod)), divided=node.cpu.rules.divides(pod))
        due = any(node.cpu.claim(candidate, each).cpus for each in pod.containers)
        if due and pod.uid not in node.state.assignments:
            planning.sources.warnings.append(
                f"the state has no exclusive CPUs for {pod.full_name} (UID {pod.uid}): the pod may have "
                "another UID there"
            )


HINT = "write [NAMESPACE/]POD[/CONTAINER]:cpu=REQUEST[/LIMIT][,memory=REQUEST[/LIMIT]]"
_WHAT = "describe the change with --set POD/CONTAINER:cpu=6 or --edited edited.yaml"


def read_requests(
    planning: Planning, running: RunningNode, inputs: ResizeInputs, server: ResizeServer
) -> list[PodResize]:
    """Collect the changes, one request per pod, as *server* would store it.

    Without amounts and manifests, these are the pending resizes. Raise UsageError if there is nothing to
    change or both are given, InputError for a pod that is not admitted.
    """
    from cpuctl.engine.resize.running import PodResize

    if inputs.amounts and inputs.edited:
        message = f"{option_names.SET} and {option_names.EDITED} cannot be used together"
        raise UsageError(message, hint=f"put all changes into the file for {option_names.EDITED}")
    if inputs.amounts:
        requests = _by_amounts(running, inputs.amounts, server)
    elif inputs.edited:
        requests = _by_manifests(planning, running, inputs.edited, server)
    else:
        requests = [PodResize(each, each.spec) for each in running.pods]
        requests = [request for request in requests if request.is_new]
    if not requests:
        raise UsageError("nothing to resize: no pod gets different resources", hint=_WHAT)
    for request in requests:
        uid, name = request.desired.uid, request.desired.full_name
        if uid not in running.node.active and uid not in running.never_stored:
            from cpuctl.operations.command_lines import planning_command

            why = running.outside.get(uid, f"{name} is not admitted here")
            hint = f"to see why: {planning_command(planning.inputs, ['explain', name])}"
            raise InputError(f"{why}, so it cannot be resized", hint=hint)
    return requests


def _by_amounts(
    running: RunningNode, requested: Sequence[NewAmounts], server: ResizeServer
) -> list[PodResize]:
    from cpuctl.engine.resize.running import PodResize

    pods = [each.spec for each in running.pods]
    desired: dict[int, Pod] = {}
    for amounts in requested:
        place, container = target(amounts, pods)
        desired[place] = with_amounts(desired.get(place, pods[place]), container, amounts)
    return [PodResize(running.pods[place], server.stored(pods[place], pod)) for place, pod in desired.items()]


def with_amounts(pod: Pod, container: str, amounts: NewAmounts) -> Pod:
    """Return a pod with other quantities for a container or, with an empty name, for the pod itself."""
    from cpuctl.engine.resize.running import POD, with_requirements
    from cpuctl.pods.model import ResourceRequirements

    resources = {POD: pod.resources} | {each.name: each.resources for each in pod.all_containers}
    changed = amounts.change(resources[container] or ResourceRequirements())
    return with_requirements(pod, {container: changed})


def _by_manifests(
    planning: Planning, running: RunningNode, names: Sequence[str], server: ResizeServer
) -> list[PodResize]:
    """Match manifests with running pods, by UID or by name; those with the same requests are left out."""
    from cpuctl.engine.resize.running import PodResize
    from cpuctl.inputs.pods import load_pods

    by_uid = {each.spec.uid: each for each in running.pods}
    by_name = {each.spec.full_name: each for each in running.pods}
    requests = []
    for pod in load_pods(names, (), planning.sources).pods:
        found = by_uid.get(pod.uid) or by_name.get(pod.full_name)
        if found is None:
            message = f"pod {pod.full_name} is not running here"
            raise InputError(message, where=str(pod.origin), hint="add it with --pods or -f")
        request = PodResize(found, server.stored(found.spec, edited(found.spec, pod)))
        if request.is_new:
            requests.append(request)
    return requests


def edited(spec: Pod, wanted: Pod) -> Pod:
    """Take containers and resources from the wanted pod, everything else from the running one."""
    return spec._replace(
        containers=wanted.containers,
        init_containers=wanted.init_containers,
        resources=wanted.resources,
    )


class NewAmounts(Record):
    """One ``--set``: the pod's (and container's) name, and amounts by resource as (request, limit).

    An amount is None if that side is not set; both are the same if a single amount is given.
    """

    name: str
    amounts: Mapping[str, tuple[Quantity | None, Quantity | None]]
    both: frozenset[str] = frozenset()

    def change(self, resources: ResourceRequirements) -> ResourceRequirements:
        """Apply the amounts; a single amount for both sides changes those that exist."""
        requests, limits = dict(resources.requests), dict(resources.limits)
        for resource, (request, limit) in self.amounts.items():
            absent = resource not in requests and resource not in limits
            for side, amount in ((requests, request), (limits, limit)):
                if amount is not None and (resource not in self.both or absent or resource in side):
                    side[resource] = amount
        return replace(resources, requests=requests, limits=limits)


def parse_set(text: str) -> NewAmounts:
    """Parse one ``--set``; raise UsageError for any other text."""
    name, colon, assignments = text.partition(":")
    if not (name and colon and assignments):
        raise UsageError(
            f"expected a container and its resources, found {text!r}", where=option_names.SET, hint=HINT
        )
    amounts: dict[str, tuple[Quantity | None, Quantity | None]] = {}
    both = set()
    for part in assignments.split(","):
        resource, equals, amount = part.strip().partition("=")
        if not equals or resource not in ("cpu", "memory"):
            raise UsageError(
                f"expected cpu=... or memory=..., found {part!r}", where=option_names.SET, hint=HINT
            )
        if resource in amounts:
            raise UsageError(f"{resource} is set twice in {text!r}", where=option_names.SET, hint=HINT)
        request, slash, limit = amount.partition("/")
        if not slash:
            both.add(resource)
        amounts[resource] = (_quantity(request), _quantity(limit if slash else request))
        if amounts[resource] == (None, None):
            raise UsageError(f"expected a quantity after {part!r}", where=option_names.SET, hint=HINT)
    return NewAmounts(name, amounts, frozenset(both))


def _quantity(text: str) -> Quantity | None:
    from cpuctl.quantity import Quantity

    if not text:
        return None
    try:
        amount = Quantity.parse(text).rounded_up_to_milli().canonical()
    except ValueError as error:
        message = f'expected a quantity, found "{text}": {error}'
        raise UsageError(
            message, where=option_names.SET, hint="write a quantity such as 4, 500m or 2Gi"
        ) from None
    if amount.sign < 0:
        raise UsageError(f"expected a quantity of at least 0, found {text}", where=option_names.SET)
    return amount


def target(amounts: NewAmounts, pods: Sequence[StoredPod]) -> tuple[int, str]:
    """Find the pod's place, and what to change: a container or, if empty, the pod-level resources.

    If no container is named, use the pod-level resources if the pod has some, else its only container.
    Raise UsageError for a pod that is not there, and for several containers to choose from.
    """
    from cpuctl.inputs.pods import choose_pod

    try:
        choice = choose_pod(_full_name(amounts.name, pods), pods, ())
    except UsageError as error:
        raise UsageError(str(error.message), where=option_names.SET, hint=error.hint) from None
    pod = pods[choice.place]
    if choice.container:
        return choice.place, choice.container
    if pod.resources is not None:
        return choice.place, ""
    if len(pod.all_containers) > 1:
        names = ", ".join(each.name for each in pod.all_containers[:5])
        message = f"pod {pod.full_name} has more than one container"
        raise UsageError(message, where=option_names.SET, hint=f"specify one of {names}")
    return choice.place, pod.all_containers[0].name


def _full_name(text: str, pods: Sequence[StoredPod]) -> str:
    """Prepend the namespace to ``POD/CONTAINER``, unless it is the NAMESPACE/POD of a pod."""
    name, _, container = text.partition("/")
    found = [pod for pod in pods if pod.name == name]
    if not container or "/" in container or len(found) != 1 or any(pod.full_name == text for pod in pods):
        return text
    return f"{found[0].full_name}/{container}"
