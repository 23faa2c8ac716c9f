"""The public names of ``import cpuctl``, told on ``docs/library.md``: what is not here is private.

A machine, a configuration and pods are read; a node is made of the first two; it is asked to admit pods, to
remove, resize and restart, and why. Answers carry, as ``answer``, what commands print with ``-o json``, in
the shape of the published schemas. What cannot be used is a ``CpuctlError``, and so is a kubelet that would
not start (``NotStartedError``); that a kubelet rejects a pod is an answer, and no error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.errors import CpuctlError, UsageError
from cpuctl.inputs.pods import GivenPods, choose_pod, load_pods, rules_of_pods
from cpuctl.inputs.sources import Sources

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

    from cpuctl.answers.decisions import Pod as PodAnswer
    from cpuctl.answers.explanation import ExplainedDecision
    from cpuctl.answers.resize import ResizeDecision as ResizeAnswer
    from cpuctl.answers.start import NotStarted
    from cpuctl.engine.admission import Admission
    from cpuctl.engine.node import Node as EngineNode
    from cpuctl.engine.start import NotStarted as EngineNotStarted
    from cpuctl.engine.start import StartResult
    from cpuctl.inputs.configuration import KubeletInputs, LoadedKubelet
    from cpuctl.inputs.starting_state import StartingState
    from cpuctl.kubelet.configuration.refusal import Refusal as ConfigRefusal
    from cpuctl.machine.sources import MachineSource
    from cpuctl.operations.plan_inputs import Planning, PlanningInputs
    from cpuctl.operations.policies import ChosenPolicy
    from cpuctl.operations.resize import Resizes
    from cpuctl.pods.model import Pod as GivenPod
    from cpuctl.pods.model import StoredPod
    from cpuctl.policies.model import Policy

    Name = str | PathLike[str]

LIBRARY_VERSION: Final = "1.1"
"""The version of these names: the first number changes when one goes or means something else."""


class NotStartedError(CpuctlError):
    """A kubelet that would not start on this machine, or of which that cannot be said.

    ``start`` says in which stage, and in what words it ends.
    """

    exit_code = 3

    def __init__(self, message: str, *, start: NotStarted, where: str = "", hint: str = "") -> None:
        super().__init__(message, where=where, hint=hint)
        self.start = start


class Machine:
    """A machine that was read; ``name`` is where from."""

    def __init__(self, source: MachineSource) -> None:
        self._source = source
        self.name = source.origin

    @property
    def cpus(self) -> CPUSet:
        """The CPUs that are online."""
        return self._source.machine.online

    @property
    def numa_nodes(self) -> Mapping[int, CPUSet]:
        """The online CPUs of each NUMA node, by its number."""
        return {node.id: node.cpus for node in self._source.machine.numa_nodes}


class Configuration:
    """What a kubelet is told; ``version`` is its release, ``warnings`` what it would only warn of."""

    def __init__(self, loaded: LoadedKubelet, told: KubeletInputs, sources: Sources) -> None:
        self._loaded = loaded
        self._told = told
        self._sources = sources
        self.version = str(loaded.kubelet.version)
        self.warnings = tuple(sources.warnings)


class Pod:
    """A pod that comes, with what governs its namespace."""

    def __init__(self, pod: GivenPod, given: GivenPods, names: PlanningInputs) -> None:
        self._pod = pod
        self._given = given
        self._names = names

    @property
    def name(self) -> str:
        """Its namespace and name, ``default/web``."""
        return self._pod.full_name

    @property
    def uid(self) -> str:
        """Its UID; one that is always the same where the manifest has none."""
        return self._pod.uid

    @property
    def containers(self) -> tuple[str, ...]:
        """The names of its containers, in the order in which a kubelet looks at them."""
        return tuple(each.name for each in self._pod.all_containers)

    def with_resources(self, container: str, *, cpu: str = "", memory: str = "") -> Pod:
        """Return the pod with other amounts of a container, each its request and its limit (``"1500m"``).

        Raise UsageError for what is no amount, and for a container that the pod does not have.
        """
        from cpuctl.engine.resize.running import with_requirements
        from cpuctl.operations.resize_inputs import parse_set

        if container not in self.containers:
            raise UsageError(f"pod {self.name} has no container {container!r}")
        asked = ",".join(f"{name}={amount}" for name, amount in (("cpu", cpu), ("memory", memory)) if amount)
        amounts = parse_set(f"{container}:{asked}")
        before = next(each.resources for each in self._pod.all_containers if each.name == container)
        changed = with_requirements(self._pod, {container: amounts.change(before)})
        return Pod(changed, self._given, self._names)


class Decision(NamedTuple):
    """What becomes of a pod: ``outcome`` is Admitted, Rejected, Forbidden, KubeletFault or Undetermined.

    ``reason`` and ``message`` are the kubelet's (or the API server's), ``cpus`` the exclusive CPUs by
    container. ``answer`` is all there is to tell: the pod's entry in ``cpuctl plan -o json``.
    """

    pod: str
    outcome: str
    reason: str
    message: str
    cpus: Mapping[str, CPUSet]
    answer: PodAnswer

    @property
    def admitted(self) -> bool:
        """Whether the pod runs."""
        return self.outcome == "Admitted"


class ResizeDecision(NamedTuple):
    """What becomes of a resize: Admitted, Deferred, Infeasible or another outcome of ``cpuctl resize``.

    ``cpus`` are the exclusive CPUs by container afterwards.
    """

    pod: str
    outcome: str
    reason: str
    message: str
    cpus: Mapping[str, CPUSet]
    answer: ResizeAnswer


class Explanation(NamedTuple):
    """Why a kubelet decides as it does: the ``rule`` that decides, in words (``why``), and what would help.

    ``suggestions`` are changes with which the pod is admitted, each of them tried. ``answer`` is what
    ``cpuctl explain -o json`` prints.
    """

    pod: str
    rule: str
    why: str
    suggestions: tuple[str, ...]
    answer: ExplainedDecision


def read_machine(name: Name = "live", *, memory: str = "") -> Machine:
    """Read a machine from all that ``-m`` takes: ``live``, a recording, ``synthetic:2s2n8c2t``, ...

    *memory* is how much it has where that was not recorded. Raise InputError for what is no machine.
    """
    from cpuctl.inputs.machine import load_machine, with_memory

    sources = Sources()
    return Machine(with_memory(load_machine(str(name), sources), memory, sources))


def read_configuration(
    name: Name | None = None,
    machine: Machine | None = None,
    *,
    arguments: str = "",
    feature_gates: str = "",
    version: str = "",
) -> Configuration:
    """Read what a kubelet is told: its configuration file, flags (*arguments*) and feature gates on top.

    Without a *name* it is that of the *machine*, where it was recorded with one, else a kubelet's defaults.
    *version* is its release, ``1.36`` or ``1.36.2``. Raise NotStartedError for a configuration that a kubelet
    cannot load, InputError for a file that cannot be read.
    """
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.inputs.kubelet import load_kubelet
    from cpuctl.kubelet.configuration.refusal import ConfigRefusedError

    sources = Sources()
    words = KubeletInputs(
        config=None if name is None else str(name), arguments=arguments, gates=feature_gates, version=version
    )
    try:
        loaded = load_kubelet(words, sources, machine=None if machine is None else machine._source)  # noqa: SLF001
    except ConfigRefusedError as refused:
        raise _not_started(refused.whole_refusal) from None
    return Configuration(loaded, words, sources)


def read_pods(*names: Name, templates: Iterable[str] = ()) -> tuple[Pod, ...]:
    """Read pods from manifests (files, directories), and from templates such as ``web=4/4,2Gi x3``.

    Raise UsageError where there are none, InputError for what is no manifest.
    """
    from cpuctl.operations.plan_inputs import PlanningInputs

    told = PlanningInputs(filenames=tuple(map(str, names)), templates=tuple(templates))
    given = load_pods(told.filenames, told.templates, Sources())
    return tuple(Pod(pod, given, told) for pod in given.pods)


def make_node(
    machine: Machine,
    configuration: Configuration,
    *,
    state: Name = "",
    running: Name = "",
    devices: Name = "",
    policy: str | Policy | type[Policy] = "",
) -> Node:
    """Start a kubelet on a machine: on a fresh node, or on its *state* (the kubelet's directory or file).

    *running* is a file with the pods that run there, *devices* one that tells what device plugins have.
    A *policy* (what ``--policy`` takes, a class, or one with its options) chooses CPUs in the kubelet's
    place, to see what would come of it: no kubelet does what it does. Raise NotStartedError where the
    kubelet would not start, InputError for files that cannot be used, PolicyError for a policy that cannot
    be loaded.
    """
    from cpuctl.engine.pod_server import PodServer
    from cpuctl.inputs.machine import load_devices
    from cpuctl.inputs.starting_state import load_starting_state
    from cpuctl.operations.plan_inputs import Planning, PlanningInputs

    sources, source, loaded = Sources(), machine._source, configuration._loaded  # noqa: SLF001
    sources.entries.update(configuration._sources.entries)  # noqa: SLF001
    initial = load_starting_state(str(state), str(running), source, loaded.kubelet, sources)
    return Node(
        Planning(
            inputs=PlanningInputs(
                machine=machine.name,
                kubelet=configuration._told,  # noqa: SLF001
                state=str(state),
                pods=str(running),
                devices=str(devices),
            ),
            wanted=(),
            source=source,
            loaded=loaded,
            initial=initial,
            devices=load_devices(str(devices), sources, info=source.info),
            sources=sources,
            server=PodServer(rules_of_pods(loaded.kubelet).server),
            policy=_chosen(policy),
        )
    )


def _chosen(policy: str | Policy | type[Policy]) -> ChosenPolicy | None:
    from cpuctl.operations.policies import choose_policy, load_policy, plugin_of

    if isinstance(policy, str):
        return choose_policy(policy) if policy else None
    return load_policy(plugin_of(policy))


class Node:
    """A started kubelet, and the pods that run there; it changes with every pod that comes or goes."""

    def __init__(self, planning: Planning) -> None:
        """Start it, or raise NotStartedError."""
        self._planning = planning
        self._node = _started(planning.start(planning.kubelet, planning.sources))
        self._asked: tuple[StoredPod, ...] = ()
        self._governing: tuple[GivenPods, ...] = ()
        self._only_admitted = True

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is to be known about the inputs."""
        return tuple(self._planning.sources.warnings)

    @property
    def shared_pool(self) -> CPUSet:
        """The CPUs of containers without exclusive ones."""
        return CPUSet(self._node.state.default)

    @property
    def free(self) -> CPUSet:
        """The CPUs that can still become exclusive; none where the CPU Manager's policy is ``none``."""
        policy = self._node.policy
        return CPUSet(self._node.state.default & ~policy.reserved if policy else 0)

    @property
    def pods(self) -> tuple[str, ...]:
        """The pods that run, each by namespace and name."""
        return tuple(pod.full_name for pod in self._node.active.values())

    def copy(self) -> Node:
        """Return the same node once more: what happens to one does not happen to the other."""
        copied = object.__new__(Node)
        vars(copied).update({**vars(self), "_node": self._node.copy()})
        return copied

    def admit(self, pod: Pod) -> Decision:
        """Let the kubelet decide on a pod; where it is admitted, it runs from now on.

        Raise PolicyError for a policy that fails, takes too long or wants what it may not have.
        """
        stored = self._stored(pod)
        self._govern(pod._given)  # noqa: SLF001
        admission = self._node.admit(stored)
        self._asked += (stored,)
        return _decision(self._node, admission)

    def remove(self, name: str) -> None:
        """Let a pod be deleted; raise UsageError where none of this name or UID runs."""
        gone = self._running(name)
        self._node.remove(gone.uid)
        if self._node.server is not None:
            self._node.server.release(gone)
        self._node.clean_up()
        self._only_admitted = False

    def resize(self, pod: Pod) -> ResizeDecision:
        """Give a pod that runs the resources of *pod* (``Pod.with_resources``), if it may have them.

        Raise UsageError where no pod of this name runs.
        """
        from cpuctl.answering.resize_answer import decision_document
        from cpuctl.operations.resize import resize_running

        before = self._running(pod.uid or pod.name)
        done = resize_running(self._planning, self._node, before, pod._pod)  # noqa: SLF001
        self._only_admitted = False
        return _resized(done, decision_document(done.done[0], done.path.kubelet.release))

    def restart(self, configuration: Configuration | None = None) -> tuple[Decision, ...]:
        """Restart the kubelet, perhaps with another configuration: it admits what runs again.

        Raise NotStartedError where it does not come up on the state that it left: nothing has changed then.
        """
        running = tuple(self._node.active.values())
        loaded = configuration._loaded if configuration else self._planning.loaded  # noqa: SLF001
        planning = self._planning._replace(initial=self._left(running), loaded=loaded)
        restarted = _started(planning.start(planning.kubelet, planning.sources))
        self._node, self._planning, self._only_admitted = restarted, planning, False
        return tuple(_decision(restarted, admission) for admission in restarted.readmit(running))

    def explain(self, pod: Pod) -> Explanation:
        """Say why the kubelet decides on a pod as it does, or would if it came now, and what would help.

        A pod that the node has decided on is explained as it was then, as long as pods have only come.
        Raise NotStartedError where its kubelet would not start on the node as it is.
        """
        stored, told = self._stored(pod), pod._names  # noqa: SLF001
        self._govern(pod._given)  # noqa: SLF001
        inputs = self._planning.inputs._replace(filenames=told.filenames, templates=told.templates)
        planning = self._planning._replace(inputs=inputs)
        known = any(each.uid == stored.uid for each in self._asked)
        if self._only_admitted:
            wanted = self._asked if known else (*self._asked, stored)
            return _explained(planning._replace(wanted=wanted), stored.uid)
        running = tuple(each for each in self._node.active.values() if each.uid != stored.uid)
        return _explained(planning._replace(initial=self._left(running), wanted=(stored,)), stored.uid)

    def _left(self, running: tuple[StoredPod, ...]) -> StartingState:
        """Return what a kubelet finds that starts now, with these pods."""
        from cpuctl.engine.saved_files import SavedFiles

        files = SavedFiles(cpu=self._node.cpu.state_file(), memory=self._node.memory.state_file())
        initial = self._planning.initial._replace(files=files, running=running, known=True)
        return initial._replace(texts={}, digests={})

    def _govern(self, given: GivenPods) -> None:
        """Let the API server know the LimitRanges and ResourceQuotas that were read with pods."""
        if not (given.limit_ranges or given.quotas) or any(each is given for each in self._governing):
            return
        self._governing += (given,)
        limits = tuple(limit for each in self._governing for limit in each.limit_ranges)
        quotas = tuple(quota for each in self._governing for quota in each.quotas)
        rules, running = rules_of_pods(self._planning.kubelet).server, self._planning.initial.running
        fresh = GivenPods((), limits, quotas).server(rules, running, ())
        server, known = fresh.copy(), {pod.uid for pod in running}
        server.count(pod for pod in self._node.active.values() if pod.uid not in known)
        self._planning, self._node.server = self._planning._replace(server=fresh), server

    def _stored(self, pod: Pod) -> StoredPod:
        given = pod._given._replace(pods=(pod._pod,)).on(self._planning.source.machine)  # noqa: SLF001
        return given.stored(rules_of_pods(self._planning.kubelet))[0]

    def _running(self, name: str) -> StoredPod:
        running = tuple(self._node.active.values())
        return running[choose_pod(name, running, ()).place]


def _started(result: StartResult) -> EngineNode:
    from cpuctl.engine.node import Node as EngineNode

    if not isinstance(result, EngineNode):
        raise _not_started(result)
    return result


def _not_started(outcome: EngineNotStarted | ConfigRefusal) -> NotStartedError:
    from cpuctl.answering.config.starts import not_started_answer
    from cpuctl.exports.outcomes import start_sentence

    start = not_started_answer(outcome)
    return NotStartedError(start_sentence(start, "the kubelet"), start=start)


def _decision(node: EngineNode, admission: Admission) -> Decision:
    from cpuctl.answering.plan.plan_answer import inside_answer, pod_answer

    answer = pod_answer(node.topology, admission, inside_answer(node, admission))
    return Decision(
        pod=admission.pod.full_name,
        outcome=answer["outcome"],
        reason=answer.get("reason", ""),
        message=answer.get("message", "") or answer.get("why", ""),
        cpus={each["name"]: CPUSet.parse(each["cpus"]) for each in answer["containers"] if each["exclusive"]},
        answer=answer,
    )


def _resized(done: Resizes, answer: ResizeAnswer) -> ResizeDecision:
    outcome = done.done[0].outcome
    return ResizeDecision(
        pod=outcome.request.desired.full_name,
        outcome=answer["outcome"],
        reason=answer["reason"] or "",
        message=answer["message"] or "",
        cpus={name: CPUSet(share.after) for name, share in outcome.shares.items() if share.after is not None},
        answer=answer,
    )


def _explained(planning: Planning, uid: str) -> Explanation:
    from cpuctl.answering.explain.explain_answer import explained_document
    from cpuctl.operations.explain import Explained, explain_pod

    found = explain_pod(planning, uid, lambda _what, _done, _total: None)
    if not isinstance(found, Explained):
        raise _not_started(found)
    answer = explained_document(planning, found)
    return Explanation(
        pod=found.admission.pod.full_name,
        rule=answer["decision"]["rule"],
        why=answer["decision"]["why"],
        suggestions=tuple(each["words"] for each in answer["suggestions"]),
        answer=answer,
    )
