"""Findings about a pod for the kubelet that gets it, and the kubelet's own answer to each pod alone.

For pod-level resources: KEP-2837 (managers do not use ``spec.resources``), KEP-5526 (gate
PodLevelResourceManagers), kubelet v1.36. For amounts that the Memory Manager cannot count because of how they
are written: ``memorymanager/policy_static.go``. An API server writes ``1.5Gi`` as ``1536Mi``; a static pod
stays as it is in the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.diagnostics import Component, Severity
from cpuctl.engine.cpu.exclusive_advice import AdviceRules, AllocationUnit, advise
from cpuctl.engine.cpu.manager import request_step
from cpuctl.engine.outcome import (
    FAILED_IN_POD_SCOPE,
    Admitted,
    Forbidden,
    KubeletFault,
    Pending,
    Rejected,
    Undetermined,
    Verdict,
)
from cpuctl.engine.pod_level import unaligned_managers
from cpuctl.engine.pod_rules import node_rules
from cpuctl.phrases import counted, few
from cpuctl.pods.model import Container, ContainerKind, QosClass, ResourceRequirements, StoredPod
from cpuctl.pods.qos import Qos, pod_qos
from cpuctl.pods.rules import DEFAULT_NODE, NodeRules
from cpuctl.quantity import Quantity

if TYPE_CHECKING:
    from cpuctl.engine.node import Node
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.pods.validation.finding import FieldPath, Finding


class KubeletView(NamedTuple):
    """The settings that decide on exclusive CPUs and memory; an unknown policy is empty.

    ``unit`` is the number of CPUs that a known node allocates together: those of a core, or one.
    """

    rules: NodeRules = DEFAULT_NODE
    cpu_policy: str = ""
    memory_policy: str = ""
    topology_policy: str = ""
    topology_scope: str = ""
    unit: int = 1

    @classmethod
    def of(cls, kubelet: Kubelet) -> KubeletView:
        """Return the view of a kubelet whose configuration is known."""
        config = kubelet.config
        gates = kubelet.gates
        return cls(
            rules=node_rules(gates),
            cpu_policy=config.cpu_manager_policy,
            memory_policy=config.memory_manager_policy,
            topology_policy=config.topology_manager_policy,
            topology_scope=config.topology_manager_scope,
        )

    @property
    def may_pin(self) -> bool:
        """Whether containers may get exclusive CPUs here: not if the policy is known to be none."""
        return self.cpu_policy in ("", "static")

    @property
    def pins(self) -> bool:
        """Whether containers are known to get exclusive CPUs here."""
        return self.cpu_policy == "static"


@dataclass(frozen=True, slots=True)
class PodLintSubject:
    """A pod as its kubelet gets it; ``spec`` is the path of its spec, ``view`` the pod as it is read."""

    pod: StoredPod
    spec: FieldPath
    kubelet: KubeletView
    view: StoredPod = field(init=False)
    qos: Qos = field(init=False)
    _places: dict[str, tuple[str, int]] = field(init=False)

    def __post_init__(self) -> None:
        groups = {"initContainers": self.pod.init_containers, "containers": self.pod.containers}
        places = {
            container.name: (name, number)
            for name, group in groups.items()
            for number, container in enumerate(group)
        }
        view = self.kubelet.rules.view(self.pod)
        object.__setattr__(self, "view", view)
        object.__setattr__(self, "qos", pod_qos(view))
        object.__setattr__(self, "_places", places)

    def field_path(self, container: Container) -> FieldPath:
        """Return the field path of a container's resources."""
        return self.field_path_of(container.name)

    def field_path_of(self, name: str) -> FieldPath:
        """Return the field path of a container's resources, by name; without a name, of the spec."""
        if name not in self._places:
            return self.spec
        group, number = self._places[name]
        return self.spec.child(group).item(number).child("resources")


_USED_UP = re.compile("sum of exclusive container (\\S+) requests equals pod budget")
_NOTE = "on an empty node of this kind"
_WORD = re.compile("[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


@dataclass(slots=True)
class TrialNode:
    """An empty node on which pods are tried; pods that request the same get the same answer."""

    node: Node
    _verdicts: dict[Hashable, Verdict] = field(default_factory=dict)

    @property
    def unit(self) -> int:
        """The number of CPUs that are allocated together."""
        return request_step(self.node.cpu.policy)

    def lint(self, subject: PodLintSubject) -> Iterator[Finding]:
        """Report whether and why the kubelet refuses a pod."""
        match self._verdict(subject.pod):
            case Admitted():
                pass
            case Rejected(reason=reason, message=message, container=container):
                field_path = subject.field_path_of(container)
                used_up = _USED_UP.search(message)
                fix = (
                    f"leave some for the other containers: raise {used_up[1]} in spec.resources"
                    if used_up
                    else ""
                )
                yield field_path.rejected(
                    _code(reason), f"{reason}: {message}", by=Component.KUBELET, note=_NOTE, fix=fix
                )
            case Forbidden(refusals=refusals):
                yield from (subject.spec.rejected("never-stored", text) for text in refusals)
            case KubeletFault(kind=kind, where=where, why=why):
                detail = f"this pod crashes the kubelet ({kind} in {where}): {why}"
                yield subject.spec.rejected("kubelet-fault", detail, by=Component.KUBELET, note=_NOTE)
            case Undetermined(text=why) | Pending(message=why):
                why = why.replace("(use --devices)", "(use cpuctl plan --devices)")
                if any(each.resources.claims for each in subject.pod.all_containers):
                    why = "it has resource claims (use cpuctl plan, which allocates them)"
                yield subject.spec.note("not-decided", f"whether the node admits it is unknown: {why}")

    def _verdict(self, pod: StoredPod) -> Verdict:
        requested = _requested(pod)
        if requested not in self._verdicts:
            self._verdicts[requested] = self.node.copy().admit(pod).verdict
        return self._verdicts[requested]


def _requested(pod: StoredPod) -> Hashable:
    """Return everything that the answer depends on; an amount's text does not show if it is countable."""
    return (
        tuple((each.name, each.kind, *_amounts(each.resources)) for each in pod.all_containers),
        None if pod.resources is None else _amounts(pod.resources),
        tuple(_written(pod.overhead)),
        pod.static,
        pod.qos_class,
    )


def _amounts(resources: ResourceRequirements) -> tuple[Hashable, ...]:
    return (*_written(resources.requests), None, *_written(resources.limits), resources.claims)


def _written(amounts: Mapping[str, Quantity]) -> Iterator[Hashable]:
    for name, amount in amounts.items():
        yield name, str(amount), amount.short


def _code(reason: str) -> str:
    """Return a code: ``smt-alignment`` for reason ``SMTAlignmentError``, ``out-of-cpu`` for ``OutOfcpu``."""
    if reason.startswith("OutOf"):
        return f"out-of-{reason.removeprefix('OutOf').lower()}"
    return "-".join(_WORD.findall(reason.removesuffix("Error"))).lower()


_SHARED = "no-exclusive-cpus"
_CHANGES_SHOWN = 4


_ZERO = Quantity()
_PASSED_OVER = "pod-level-not-aligned"
_ALIGN_HINT = "set resources only on the containers, or enable the gate PodLevelResourceManagers"
_EMPTY_POOL = "pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus for "
_REFUSALS = {
    "best-effort": f"EmptyPodSharedPoolError: {_EMPTY_POOL}shared containers",
    "restricted": f"TopologyAffinityError: {FAILED_IN_POD_SCOPE}",
}
_UNCOUNTABLE = "uncountable-memory"
_OVERFLOW = (
    "Allocate failed due to [memorymanager] failed to represent quantity as int64, which is unexpected"
)


def lint_exclusive_cpus(subject: PodLintSubject) -> Iterator[Finding]:
    """Check every container of a pod without pod-level resources."""
    if not subject.kubelet.may_pin or subject.view.resources is not None:
        return
    if subject.qos.qos_class is not QosClass.GUARANTEED:
        yield from _lint_whole(subject)
        return
    for container in subject.view.all_containers:
        yield from _lint_fraction(subject, container)


def whole_cpus(container: Container) -> int:
    """Count the CPUs of a container whose request and limit are the same whole number, else 0."""
    request, limit = container.resources.requests.get("cpu"), container.resources.limits.get("cpu")
    if request is None or request != limit or not request.is_integral_cpu:
        return 0
    return max(request.value, 0)


def _lint_whole(subject: PodLintSubject) -> Iterator[Finding]:
    """Report whole CPUs in a pod that is not Guaranteed: that looks like a mistake, and is one per fix."""
    qos, alike = subject.qos, dict[str, list[Container]]()
    for container in subject.view.all_containers:
        if whole_cpus(container):
            alike.setdefault(_advice(subject, container), []).append(container)
    for fix, containers in alike.items():
        first = containers[0]
        detail = (
            f"{_shared_whole(containers)}: the pod is {qos.qos_class}, not Guaranteed, because {qos.reason}"
        )
        yield subject.field_path(first).warning(_SHARED, detail, fix=fix)


def _shared_whole(containers: Sequence[Container]) -> str:
    """Describe whole CPUs that do not become exclusive."""
    if len(containers) > 1:
        names = few([each.name for each in containers])
        return f"containers {names} request whole CPUs, but none become exclusive"
    cpus = whole_cpus(containers[0])
    become = "it does not become exclusive" if cpus == 1 else "none become exclusive"
    return f"requests and limits are {counted(cpus, 'whole CPU')}, but {become}"


def _lint_fraction(subject: PodLintSubject, container: Container) -> Iterator[Finding]:
    """Report fractional CPUs; below one CPU, seldom meant to be exclusive, only under a static policy."""
    request = container.resources.requests.get("cpu", Quantity())
    if request.is_integral_cpu:
        return
    field_path, fix = subject.field_path(container), _advice(subject, container)
    detail = f"the pod is Guaranteed, but {request} is not a whole number of CPUs: none become exclusive"
    more_than_one = request.milli_value > 1000
    if more_than_one and subject.kubelet.pins:
        yield field_path.warning(_SHARED, detail, fix=fix)
    elif more_than_one or subject.kubelet.pins:
        yield field_path.note(_SHARED, detail, fix=fix)


def _advice(subject: PodLintSubject, container: Container) -> str:
    """Describe the smallest change after which the container would get its CPUs."""
    rules = AdviceRules(unit=AllocationUnit(subject.kubelet.unit))
    advice = advise(subject.view, container, qos=subject.qos, rules=rules)
    amounts = {(change.place.container, change.place.resource): change.after for change in advice.changes}
    edits = [f"{resource} of {name} to {amount}" for (name, resource), amount in amounts.items()]
    if not edits:
        return ""
    return f"set {few(edits, most=_CHANGES_SHOWN)}, in requests and limits"


def lint_pod_level(subject: PodLintSubject) -> Iterator[Finding]:
    """Check a pod whose pod-level resources make it Guaranteed."""
    pod, kubelet = subject.view, subject.kubelet
    guaranteed = subject.qos.qos_class is QosClass.GUARANTEED
    if not pod.has_pod_level_resources or not guaranteed:
        return
    if not kubelet.rules.managers:
        if not kubelet.rules.passes_over:
            return
        yield from _lint_alignment(subject)
    elif kubelet.pins and kubelet.topology_scope == "pod" and kubelet.topology_policy != "none":
        yield from _lint_shared_pool(subject)


def _lint_alignment(subject: PodLintSubject) -> Iterator[Finding]:
    """Report the managers that ignore the pod; if the policies are unknown, only the CPU Manager."""
    field_path, kubelet = subject.spec.child("resources"), subject.kubelet
    static = {
        "cpu": kubelet.pins,
        "memory": kubelet.memory_policy == "Static",
        "topology": kubelet.topology_policy not in ("", "none"),
    }
    for manager, text in unaligned_managers(subject.view, subject.qos):
        if static[manager]:
            yield field_path.warning(_PASSED_OVER, text, fix=_ALIGN_HINT)
        elif manager == "cpu" and kubelet.may_pin:
            yield field_path.note(_PASSED_OVER, text, fix=_ALIGN_HINT)


def _lint_shared_pool(subject: PodLintSubject) -> Iterator[Finding]:
    """Refuse exclusive CPUs that use up the pod's CPUs while another container needs shared ones."""
    pod = subject.view
    lasting = [each for each in pod.all_containers if each.kind is not ContainerKind.INIT]
    exclusive = [each for each in lasting if _is_exclusive(each)]
    sharing = [each.name for each in lasting if not _is_exclusive(each)]
    if exclusive and sharing and 0 < _pod_cpus(pod) <= sum(map(whole_cpus, exclusive)):
        policy = subject.kubelet.topology_policy
        detail = _REFUSALS.get(policy, _REFUSALS["restricted"])
        fix = f"leave CPUs for {', '.join(sharing[:3])}: raise cpu in spec.resources"
        yield subject.spec.child("resources").rejected(
            "empty-pod-shared-pool", detail, by=Component.KUBELET, fix=fix
        )


def _pod_cpus(pod: StoredPod) -> int:
    """Count the pod-level CPUs; 0 if they are not a whole number."""
    request = pod.resources.requests.get("cpu", _ZERO) if pod.resources else _ZERO
    return max(request.value, 0) if request.is_integral_cpu else 0


def _is_exclusive(container: Container) -> bool:
    resources = container.resources
    memory = resources.requests.get("memory", _ZERO)
    return whole_cpus(container) > 0 and memory.sign > 0 and memory == resources.limits.get("memory")


def lint_static_quantities(subject: PodLintSubject) -> Iterator[Finding]:
    """Check the memory requests of a static pod that is Guaranteed."""
    policy = subject.kubelet.memory_policy
    guaranteed = subject.qos.qos_class is QosClass.GUARANTEED
    if not subject.pod.static or not guaranteed or policy not in ("", "Static"):
        return
    rules = subject.kubelet.rules
    if rules.passes_over and subject.view.has_pod_level_resources and not rules.managers:
        return
    for container in subject.view.all_containers:
        yield from _lint_container(subject, container)


def _lint_container(subject: PodLintSubject, container: Container) -> Iterator[Finding]:
    field_path = subject.field_path(container).child("requests")
    for name, amount in container.resources.requests.items():
        if name == "memory" or name.startswith("hugepages-"):
            if amount.exact_int64 is not None:
                continue
            fix = _countable(amount)
            if subject.kubelet.memory_policy:
                detail = f"UnexpectedAdmissionError: {_OVERFLOW}"
                yield field_path.key(name).rejected(_UNCOUNTABLE, detail, by=Component.KUBELET, fix=fix)
            else:
                detail = f"with memoryManagerPolicy Static, the kubelet rejects this notation: {_OVERFLOW}"
                yield field_path.key(name).warning(_UNCOUNTABLE, detail, fix=fix)


def _countable(amount: Quantity) -> str:
    written = str(amount.rounded_up_to_milli().canonical())
    countable = Quantity.from_value(amount.value, amount.format)
    better = written if Quantity.parse(written).exact_int64 is not None else str(countable)
    return f"use {better}"


_LINTS: tuple[Callable[[PodLintSubject], Iterator[Finding]], ...] = (
    lint_exclusive_cpus,
    lint_pod_level,
    lint_static_quantities,
)


def lint_pod(subject: PodLintSubject, trial: TrialNode | None = None) -> Iterator[Finding]:
    """Check a pod that the API server accepts; on a known node, ask the kubelet itself as well."""
    found = [finding for lint in _LINTS for finding in lint(subject)]
    yield from found
    if trial is not None and all(finding.severity is not Severity.ERROR for finding in found):
        yield from trial.lint(subject)
