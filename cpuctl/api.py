"""The public names of ``import cpuctl``, described in ``docs/library.md``: everything else is private.

A machine, a configuration and pods are read; the first two make a node, which admits, removes and resizes
pods, restarts, and explains its decisions. Answers carry, as ``answer``, what commands print with ``-o
json``, as in the published schemas. Unusable inputs raise ``CpuctlError``, and a kubelet that would not
start raises ``NotStartedError``; a rejected pod is an answer, not an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.errors import CpuctlError, UsageError
from cpuctl.inputs.pods import GivenPods, load_pods
from cpuctl.inputs.sources import Sources
from cpuctl.records import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

    from cpuctl.answers.decisions import Pod as PodAnswer
    from cpuctl.answers.explanation import ExplainedDecision
    from cpuctl.answers.resize import ResizedPod
    from cpuctl.answers.start import NotStarted
    from cpuctl.engine.admission import Admission
    from cpuctl.engine.start import NotStarted as EngineNotStarted
    from cpuctl.inputs.configuration import KubeletInputs, LoadedKubelet
    from cpuctl.kubelet.configuration.refusal import Refusal as ConfigRefusal
    from cpuctl.machine.sources import MachineSource
    from cpuctl.operations.explain import Explained
    from cpuctl.operations.plan_inputs import Planning, PlanningInputs
    from cpuctl.operations.resize import Resizes
    from cpuctl.operations.started_node import StartedNode
    from cpuctl.pods.model import Pod as GivenPod
    from cpuctl.pods.model import StoredPod
    from cpuctl.policies.model import Policy

    Name = str | PathLike[str]

LIBRARY_VERSION: Final = "1.2"
"""The version of these names: the first number changes when one is removed or changes its meaning."""


class NotStartedError(CpuctlError):
    """A kubelet that would not start on this machine, or for which that is unknown.

    ``start`` has the stage at which it ends, and its message.
    """

    exit_code = 3

    def __init__(self, message: str, *, start: NotStarted, where: str = "", hint: str = "") -> None:
        super().__init__(message, where=where, hint=hint)
        self.start = start


class Machine:
    """A machine that was read; ``name`` is its source."""

    def __init__(self, source: MachineSource, sources: Sources) -> None:
        self._source = source
        self._sources = sources
        self.name = source.origin

    @property
    def cpus(self) -> CPUSet:
        """The online CPUs."""
        return self._source.machine.online

    @property
    def numa_nodes(self) -> Mapping[int, CPUSet]:
        """The online CPUs of each NUMA node, by its number."""
        return {node.id: node.cpus for node in self._source.machine.numa_nodes}


class Configuration:
    """The settings of a kubelet; ``version`` is its release, ``warnings`` are mistakes that it tolerates."""

    def __init__(self, loaded: LoadedKubelet, inputs: KubeletInputs, sources: Sources) -> None:
        self._loaded = loaded
        self._inputs = inputs
        self._sources = sources
        self.version = str(loaded.kubelet.version)
        self.warnings = tuple(sources.warnings)


class Pod:
    """A new pod, with the policies of its namespace."""

    def __init__(self, pod: GivenPod, given: GivenPods, inputs: PlanningInputs, sources: Sources) -> None:
        self._pod = pod
        self._given = given
        self._inputs = inputs
        self._sources = sources

    @property
    def name(self) -> str:
        """Its namespace and name, ``default/web``."""
        return self._pod.full_name

    @property
    def uid(self) -> str:
        """Its UID; a fixed one if the manifest has none."""
        return self._pod.uid

    @property
    def containers(self) -> tuple[str, ...]:
        """The names of its containers, in the order in which a kubelet considers them."""
        return tuple(each.name for each in self._pod.all_containers)

    def with_resources(self, container: str, *, cpu: str = "", memory: str = "") -> Pod:
        """Return the pod with other amounts for a container, each both request and limit (``"1500m"``).

        Raise UsageError for an invalid amount, and for a container that the pod does not have.
        """
        from cpuctl.operations.resize_inputs import parse_set, with_amounts

        if container not in self.containers:
            hint = f"it has {', '.join(self.containers)}"
            raise UsageError(f"pod {self.name} has no container {container!r}", hint=hint)
        requested = ",".join(
            f"{name}={amount}" for name, amount in (("cpu", cpu), ("memory", memory)) if amount
        )
        changed = with_amounts(self._pod, container, parse_set(f"{container}:{requested}"))
        return Pod(changed, self._given, self._inputs, self._sources)


class Decision(NamedTuple):
    """What happens to a pod: ``outcome`` is Admitted, Rejected, Forbidden, KubeletFault or Undetermined.

    ``reason`` and ``message`` are the kubelet's (or the API server's), ``cpus`` the exclusive CPUs by
    container. ``answer`` has all details: the pod's entry in ``cpuctl plan -o json``.
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
    """What happens to a resize: Admitted, Deferred, Infeasible or another outcome of ``cpuctl resize``.

    ``cpus`` are the exclusive CPUs by container afterwards. ``answer`` is the pod's entry in ``cpuctl resize
    -o json``.
    """

    pod: str
    outcome: str
    reason: str
    message: str
    cpus: Mapping[str, CPUSet]
    answer: ResizedPod


class Explanation(NamedTuple):
    """Why a kubelet decides as it does: the ``rule`` that decides, in words (``why``), and what would help.

    ``suggestions`` are changes with which the pod is admitted, each one tested. ``answer`` is the output of
    ``cpuctl explain -o json``.
    """

    pod: str
    rule: str
    why: str
    suggestions: tuple[str, ...]
    answer: ExplainedDecision


def read_machine(name: Name = "live", *, memory: str = "") -> Machine:
    """Read a machine from anything that ``-m`` accepts: ``live``, a recording, ``synthetic:2s2n8c2t``, ...

    *memory* is its amount if that was not recorded. Raise InputError for anything that is not a machine.
    """
    from cpuctl.inputs.machine import load_machine, with_memory

    sources = Sources()
    return Machine(with_memory(load_machine(str(name), sources), memory, sources), sources)


def read_configuration(
    name: Name | None = None,
    machine: Machine | None = None,
    *,
    arguments: str | None = None,
    feature_gates: str = "",
    version: str = "",
) -> Configuration:
    """Read a kubelet's settings: its configuration file, with flags (*arguments*) and feature gates on top.

    Without a *name*, use the configuration recorded with the *machine*, if there is one, else the defaults.
    Without *arguments*, its flags are those recorded, if any; an empty text says that it has none.
    *version* is its release, ``1.36`` or ``1.36.2``. Raise NotStartedError for a configuration that a kubelet
    cannot load, InputError for a file that cannot be read.
    """
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.inputs.kubelet import load_kubelet
    from cpuctl.kubelet.configuration.refusal import ConfigRefusedError

    sources = Sources()
    inputs = KubeletInputs(
        config=None if name is None else str(name),
        arguments=arguments,
        gates=feature_gates,
        version=version,
    )
    try:
        loaded = load_kubelet(inputs, sources, machine=None if machine is None else machine._source)  # noqa: SLF001
    except ConfigRefusedError as refused:
        raise _not_started(refused.whole_refusal) from None
    return Configuration(loaded, inputs, sources)


def read_pods(*names: Name, templates: Iterable[str] = ()) -> tuple[Pod, ...]:
    """Read pods from manifests (files, directories), and from templates such as ``web=4/4,2Gi x3``.

    Raise UsageError if there are no pods, InputError for anything that is not a manifest.
    """
    from cpuctl.operations.plan_inputs import PlanningInputs

    inputs = PlanningInputs(filenames=tuple(map(str, names)), templates=tuple(templates))
    sources = Sources()
    given = load_pods(inputs.filenames, inputs.templates, sources)
    return tuple(Pod(pod, given, inputs, sources) for pod in given.pods)


def make_node(  # noqa: PLR0913  # these are options
    machine: Machine,
    configuration: Configuration,
    *,
    state: Name = "",
    running: Name = "",
    devices: Name = "",
    driver_arguments: str = "",
    policy: str | Policy | type[Policy] = "",
) -> Node:
    """Start a kubelet on a machine: on its own state files, on *state* (a directory or file), or on ``none``.

    *running* is a file with the pods that run there, *devices* a file with the devices of device plugins,
    *driver_arguments* are the flags of the DRA driver for CPUs. A *policy* (a value of ``--policy``, a class,
    or one with its options) chooses CPUs in the kubelet's place, as an experiment: no kubelet has it. Raise
    NotStartedError if the kubelet would not start, InputError for files that cannot be used, PolicyError for
    a policy that cannot be loaded.
    """
    from cpuctl.operations.plan_inputs import NodeOptions, PlanningInputs, node_planning
    from cpuctl.operations.started_node import StartedNode, start_planned

    sources = Sources()
    for each in (machine, configuration):
        sources.take_over(each._sources)  # noqa: SLF001
    inputs = PlanningInputs(
        machine=machine.name,
        kubelet=configuration._inputs,  # noqa: SLF001
        state=str(state),
        pods=str(running),
        node=NodeOptions(
            devices=str(devices),
            driver_arguments=driver_arguments,
            policy=policy if isinstance(policy, str) else "",
        ),
    )
    planning = node_planning(inputs, machine._source, configuration._loaded, sources)  # noqa: SLF001
    if not isinstance(policy, str):
        from cpuctl.operations.policies import load_policy, plugin_of

        planning = replace(planning, policy=load_policy(plugin_of(policy)))
    started = start_planned(planning.with_pods(GivenPods(())))
    if not isinstance(started, StartedNode):
        raise _not_started(started)
    return Node(started)


class Node:
    """A started kubelet and its running pods; it changes with every pod that is admitted or removed."""

    def __init__(self, started: StartedNode) -> None:
        self._started = started

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the inputs."""
        return tuple(self._started.planning.sources.warnings)

    @property
    def shared_pool(self) -> CPUSet:
        """The CPUs of containers without exclusive ones."""
        return CPUSet(self._started.node.state.default)

    @property
    def free(self) -> CPUSet:
        """The CPUs still free for exclusive use; empty if the CPU Manager's policy is ``none``."""
        policy = self._started.node.policy
        return CPUSet(self._started.node.state.default & ~policy.reserved if policy else 0)

    @property
    def pods(self) -> tuple[str, ...]:
        """The running pods, each by namespace and name."""
        return tuple(pod.full_name for pod in self._started.running)

    def copy(self) -> Node:
        """Return an independent copy of the node: changes to one do not affect the other."""
        return Node(self._started.copy())

    def admit(self, pod: Pod) -> Decision:
        """Let the kubelet decide on a pod; an admitted pod runs from now on.

        Raise PolicyError for a policy that fails, times out or chooses CPUs that it may not have.
        """
        return _decision(self._started, self._started.admit(self._learn(pod)))

    def remove(self, name: str) -> None:
        """Delete a pod; raise UsageError if no running pod has this name or UID."""
        self._started.remove(name)

    def resize(self, pod: Pod) -> ResizeDecision:
        """Give a running pod the resources of *pod* (``Pod.with_resources``), if the kubelet allows it.

        Raise UsageError if no running pod has this name.
        """
        from cpuctl.operations.resize import resize_running

        return _resized(resize_running(self._started, pod._pod))  # noqa: SLF001

    def restart(self, configuration: Configuration | None = None) -> tuple[Decision, ...]:
        """Restart the kubelet, optionally with another configuration: it admits the running pods again.

        Raise NotStartedError, and change nothing, if it does not start on the state that it left.
        """
        admissions = self._started.restart(configuration._loaded if configuration else None)  # noqa: SLF001
        if not isinstance(admissions, tuple):
            raise _not_started(admissions)
        return tuple(_decision(self._started, each) for each in admissions)

    def explain(self, pod: Pod) -> Explanation:
        """Explain the kubelet's decision on a pod, or the one it would make now, and what would help.

        A pod that the node has decided on is explained as of that time, as long as pods have only been
        admitted since. Raise NotStartedError if its kubelet would not start on the node as it is.
        """
        from cpuctl.operations.explain import explain_now

        return _explained(*explain_now(self._started, self._learn(pod)))

    def _learn(self, pod: Pod) -> StoredPod:
        given = replace(pod._given, pods=(pod._pod,))  # noqa: SLF001
        return self._started.learn(given, pod._inputs, pod._sources)[0]  # noqa: SLF001


def _not_started(outcome: EngineNotStarted | ConfigRefusal) -> NotStartedError:
    from cpuctl.answering.config.starts import not_started_answer
    from cpuctl.exports.outcomes import start_sentence

    start = not_started_answer(outcome)
    return NotStartedError(start_sentence(start, "the kubelet"), start=start)


def _decision(started: StartedNode, admission: Admission) -> Decision:
    from cpuctl.answering.plan.plan_answer import pod_answer

    answer = pod_answer(started.node, admission)
    return Decision(
        pod=admission.pod.full_name,
        outcome=answer["outcome"],
        reason=answer.get("reason", ""),
        message=answer.get("message", "") or answer.get("why", ""),
        cpus={each["name"]: CPUSet.parse(each["cpus"]) for each in answer["containers"] if each["exclusive"]},
        answer=answer,
    )


def _resized(resizes: Resizes) -> ResizeDecision:
    from cpuctl.answering.resize_answer import resized_pod

    [done] = resizes.done
    answer = resized_pod(done, resizes)
    return ResizeDecision(
        pod=done.outcome.request.desired.full_name,
        outcome=answer["outcome"],
        reason=answer["reason"] or "",
        message=answer["message"] or "",
        cpus={
            name: CPUSet(share.after)
            for name, share in done.outcome.shares.items()
            if share.after is not None
        },
        answer=answer,
    )


def _explained(planning: Planning, found: Explained | EngineNotStarted) -> Explanation:
    from cpuctl.answering.explain.explain_answer import explained_document
    from cpuctl.operations.explain import Explained

    if not isinstance(found, Explained):
        raise _not_started(found)
    answer = explained_document(planning, found)
    return Explanation(
        pod=found.admission.pod.full_name,
        rule=answer["decision"]["rule"],
        why=answer["decision"]["why"],
        suggestions=tuple(each["text"] for each in answer["suggestions"]),
        answer=answer,
    )
