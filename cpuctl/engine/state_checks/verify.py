"""Whether a kubelet starts with the state files that it finds, in its words, and what else is wrong."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cpuctl.checkpoints.model import MemoryNode, UnreadableState
from cpuctl.cpuset import CPUSet
from cpuctl.departures import RESTARTS
from cpuctl.diagnostics import Severity
from cpuctl.engine.cpu.manager import StaticPolicy, request_step
from cpuctl.engine.masks import NODE_0
from cpuctl.engine.outcome import Admitted, Picked, Rejected, Undetermined
from cpuctl.engine.provider import Candidate
from cpuctl.engine.saved_files import LoadFailure, SavedFiles, load_failure_of
from cpuctl.engine.start import NotStarted, Started
from cpuctl.engine.state_checks.alignment_findings import alignment_findings
from cpuctl.engine.state_checks.answer_findings import SavedStates, allocatable_findings, answer_findings
from cpuctl.engine.state_checks.cpu_findings import CPUSubject, cpu_findings, holder_findings
from cpuctl.engine.state_checks.file_findings import FoundStates, file_findings
from cpuctl.engine.state_checks.findings import (
    EXPLAIN,
    REMOVE,
    StateFinding,
    StatePlace,
    limited,
)
from cpuctl.engine.state_checks.memory_findings import (
    MemoryDrift,
    block_findings,
    drift_findings,
    memory_drift,
)
from cpuctl.engine.state_checks.owners import UNKNOWN_OWNERS, Owners, due_findings, gone_findings
from cpuctl.engine.state_start import start_on
from cpuctl.phrases import named
from cpuctl.pods.qos import pod_qos
from cpuctl.records import Record
from cpuctl.state_names import CPU_FILE, MEMORY_FILE

if TYPE_CHECKING:
    from cpuctl.engine.admission import Admission
    from cpuctl.engine.node import Node
    from cpuctl.kubelet.gates.feature_gates import FeatureGates
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.machine_info import MachineInfo
    from cpuctl.machine.pod_resources.model import PodResources
    from cpuctl.pods.model import Container, StoredPod

_MANAGED = (CPU_FILE, MEMORY_FILE)


class StateVerdict(Record):
    """How a start with state files ends; ``refusals`` is the objection to each file alone.

    ``readings`` is what the kubelet does with each. ``reached`` is False if the kubelet ends before it opens
    any of them. ``drift`` is how the machine's memory differs from what the file says, None if it does not or
    if no static Memory Manager starts. ``rejected`` are the UIDs of running pods that a restart rejects;
    ``overlaps``: it gives one of them CPUs that are reserved or another pod's (kubernetes issue 124066).
    """

    start: Started | NotStarted
    findings: tuple[StateFinding, ...]
    refusals: Mapping[str, NotStarted] = {}
    readings: Mapping[str, LoadFailure] = {}
    reached: bool = True
    drift: MemoryDrift | None = None
    rejected: frozenset[str] = frozenset()
    overlaps: bool = False

    @property
    def passed_over(self) -> frozenset[str]:
        """The files that the kubelet cannot load and goes on without."""
        return frozenset(each.place.file_name for each in self.findings if each.code == "devices-unreadable")

    @property
    def starts(self) -> bool:
        """Whether the kubelet starts."""
        return isinstance(self.start, Started)


def verify_states(
    info: MachineInfo,
    kubelet: Kubelet,
    found: FoundStates,
    owners: Owners = UNKNOWN_OWNERS,
    answers: PodResources | None = None,
) -> StateVerdict:
    """Start a kubelet on a machine with these files: its configuration is checked first, then every file.

    *answers* are those of the running kubelet, with which files are compared.
    """
    version, files = str(kubelet.version), found.by_name
    begun = start_on(info, kubelet, saved_files(found))
    managers, node = begun.managers, begun.node
    # What all releases agree on is certain, even if it is unknown which one it is.
    certain = kubelet.released or not isinstance(begun.outcome, Undetermined)
    if not isinstance(managers, Started):
        look = _Look(version, found, owners, kubelet.gates, None, certain, answers)
        return StateVerdict(start=managers, reached=False, findings=tuple(limited(look.findings())))
    restarted = _readmitted(node, owners) if node and isinstance(begun.outcome, Started) else None
    look = _Look(version, found, owners, managers.gates, node, certain, answers, restarted)
    return StateVerdict(
        start=begun.outcome,
        refusals=begun.refusals,
        readings={name: load_failure_of(name, managers.gates) for name in files},
        findings=tuple(limited(look.findings())),
        drift=look.drift,
        rejected=frozenset(pod.uid for pod, _ in _rejections(restarted or ())),
        overlaps=any(each.taken_from_others for each in restarted or ()),
    )


def _readmitted(node: Node, owners: Owners) -> tuple[Admission, ...]:
    pods = (owners.pods or {}).values()
    return tuple(node.copy().readmit(pods)) if pods else ()


def _rejections(restarted: Sequence[Admission]) -> Iterator[tuple[StoredPod, Rejected]]:
    for each in restarted:
        if isinstance(each.verdict, Rejected):
            yield each.pod, each.verdict


def _rejected_again(restarted: Sequence[Admission]) -> Iterator[StateFinding]:
    """Report running pods that a restarted kubelet rejects, each with the command that explains it."""
    for pod, why in _rejections(restarted):
        name = pod.full_name
        yield StateFinding(
            Severity.WARNING,
            "rejected-again",
            StatePlace(CPU_FILE, pod.uid),
            f"{name} is running, but a restarted kubelet rejects it: {why.reason}: {why.message}",
            fix=f"{EXPLAIN} {name} --pods FILE" if shlex.quote(name) == name else "",
        )


def shared_soon(node: Node) -> Iterator[StateFinding]:
    """Report CPUs that the next pod may get although they are not free."""
    if node.policy is None or not (at_risk := _within_reach(node, node.policy)):
        return
    cpus, reserved = CPUSet(at_risk), at_risk & node.policy.reserved
    owners = {"reserved": reserved, "held by another pod": at_risk & ~reserved}
    whose = " or ".join(owner for owner, theirs in owners.items() if theirs)
    they_are = "it is" if len(cpus) == 1 else "they are"
    then = "; the kubelet then does not restart with its own cpu_manager_state" if reserved else ""
    message = f"{named(cpus)} may be assigned to a pod although {they_are} {whose}"
    message += f"{node.cpu.overlap_reason}{then}"
    yield StateFinding(Severity.WARNING, "may-be-shared", StatePlace(CPU_FILE), message)


_SIZES = 64
"""How many sizes of pods are all tried; of larger ones, only about half as many."""


def _within_reach(node: Node, policy: StaticPolicy) -> int:
    """Return the CPUs (a mask) that are not free, but that the kubelet picks for a pod of some size.

    They are in cores and sockets with as many free CPUs as a whole one has on average, which the kubelet
    takes to be free. Every NUMA node, or the whole machine, is tried as the affinity of the pod.
    """
    topology, free = policy.topology, node.cpu.state.default & ~policy.reserved
    doubtful = 0
    for groups, average in (
        (topology.cores, topology.cpus_per_core),
        (topology.sockets, topology.cpus_per_socket),
    ):
        for group in groups.values():
            if (free & group).bit_count() == average:
                doubtful |= group & ~free
    scope, reached = node.topology_manager.policy, 0
    nodes = [NODE_0 << number for number in topology.numa_nodes] if scope != "none" else []
    for affinity in nodes if scope == "single-numa-node" else (None, *nodes):
        offered = free if affinity is None else free & policy.near(affinity)
        for count in _sizes(policy, offered.bit_count()):
            if reached & doubtful == doubtful:
                return reached
            picked = policy.pick(free, count, affinity)
            if isinstance(picked, Picked):
                reached |= picked.cpus & ~free
    return reached


def _sizes(policy: StaticPolicy, most: int) -> list[int]:
    """Return sizes of pods, up to *most* CPUs, among them that of a socket."""
    step, socket = request_step(policy), policy.topology.cpus_per_socket
    coarse = max(most // (_SIZES // 2) // step, 1) * step
    small, large = range(step, min(most, _SIZES * step) + 1, step), range(coarse, most + 1, coarse)
    return sorted(size for size in {*small, *large, socket} if size <= most)


def saved_files(found: FoundStates) -> SavedFiles:
    """Return the files as a kubelet finds them at its start."""
    unreadable = {
        name: file.read
        for name, file in found.by_name.items()
        if name not in _MANAGED and isinstance(file.read, UnreadableState)
    }
    return SavedFiles(
        cpu=found.cpu.read if found.cpu else None,
        memory=found.memory.read if found.memory else None,
        unreadable=unreadable,
        by_others=found.by_others,
    )


class _Look(Record):
    """A check of all files; ``node`` is None if the kubelet does not even get to them.

    ``restarted`` are the running pods as a restart admits or rejects them, None if the kubelet does not
    start.
    """

    version: str
    found: FoundStates
    owners: Owners
    gates: FeatureGates
    node: Node | None
    certain: bool
    answers: PodResources | None
    restarted: tuple[Admission, ...] | None = None

    @property
    def tables(self) -> Mapping[int, MemoryNode] | None:
        """The machine's tables, with no memory assigned yet; None if no static Memory Manager starts.

        Also None if huge pages are not recorded: there is nothing to compare with then.
        """
        policy = self.node.memory.policy if self.node else None
        return policy.tables if policy and policy.hugepages_known else None

    @property
    def drift(self) -> MemoryDrift | None:
        state = self.found.memory.state if self.found.memory else None
        if state is None or self.tables is None or not _is_static(state.policy_name):
            return None
        return memory_drift(state, self.tables)

    def findings(self) -> Iterator[StateFinding]:
        policies = {}
        if self.node:
            policies = {CPU_FILE: _cpu_policy(self.node), MEMORY_FILE: _memory_policy(self.node)}
        for name, file in self.found.by_name.items():
            failure = load_failure_of(name, self.gates)
            policy = policies.get(name)
            yield from file_findings(name, file, policy, self.version, failure, certain=self.certain)
        yield from self._of_cpus()
        yield from self._of_memory()
        yield from self._of_answers()
        if self.restarted is not None and self.node is not None:
            yield from _rejected_again(self.restarted)
            yield from shared_soon(self.node)

    @property
    def admitted(self) -> Mapping[str, bool]:
        """Whether a restart admits a running pod, by UID, as far as that is known."""
        return {
            each.pod.uid: isinstance(each.verdict, Admitted)
            for each in self.restarted or ()
            if isinstance(each.verdict, Admitted | Rejected)
        }

    def _of_cpus(self) -> Iterator[StateFinding]:
        file = self.found.cpu
        if file is None or file.state is None or not _is_static(file.state.policy_name):
            return
        subject = CPUSubject.of(file.state, file.whole or file.state, self.owners)
        node, policy = self.node, self.node.policy if self.node else None
        if policy is not None:
            yield from cpu_findings(subject, policy, self.gates)
        yield from holder_findings(subject)
        if policy is not None and node is not None:
            yield from alignment_findings(subject, policy, node.topology_manager)
        yield from gone_findings(CPU_FILE, file.state, self.owners)
        if policy is not None and node is not None:
            due = partial(exclusive_cpus, node)
            yield from due_findings(file.state, self.owners, due, self.admitted)
            if not isinstance(file.read, UnreadableState):
                yield from self._moving_pods(subject, node)

    def _of_memory(self) -> Iterator[StateFinding]:
        file = self.found.memory
        if file is None or file.state is None or not _is_static(file.state.policy_name):
            return
        if drift := self.drift:
            yield from drift_findings(drift)
        policy = self.node.memory.policy if self.node else None
        if policy is not None:
            yield from block_findings(
                file.state, policy.tables, self.owners, compares_groups=policy.compares_groups
            )
        yield from gone_findings(MEMORY_FILE, file.state, self.owners)

    def _of_answers(self) -> Iterator[StateFinding]:
        if self.answers is None:
            return
        yield from answer_findings(saved_states(self.found), self.answers, self.owners)
        policy = self.node.policy if self.node else None
        if policy is not None and self.found.cpu:
            guaranteed = CPUSet(policy.topology.cpus & ~policy.reserved)
            yield from allocatable_findings(self.answers, guaranteed)

    def _moving_pods(self, subject: CPUSubject, node: Node) -> Iterator[StateFinding]:
        manager, rules = node.topology_manager, node.cpu.rules
        moves = not rules.restores_cpus and manager.scope == "pod"
        for uid, cpus in sorted(subject.state.pod_entries.items()) if moves else ():
            yield StateFinding(
                Severity.WARNING,
                "pod-allocated-again",
                StatePlace(CPU_FILE, uid),
                f"{self.owners.name(uid)} holds CPUs {cpus} as a whole: this kubelet assigns it others "
                "when it starts, or rejects it, and these are then lost (kubernetes issue 140989; "
                f"{RESTARTS})",
                fix=REMOVE,
            )


def exclusive_cpus(node: Node, pod: StoredPod, container: Container) -> int:
    """Count the exclusive CPUs that a container requests."""
    view = node.pod_rules.view(pod)
    return node.cpu.claim(Candidate(view, pod_qos(view)), container).cpus


def saved_states(found: FoundStates) -> SavedStates:
    """Return the content of the files, as far as a kubelet reads them."""
    return SavedStates(
        cpu=found.cpu.state if found.cpu else None,
        memory=found.memory.state if found.memory else None,
        devices=found.devices.state if found.devices else None,
    )


def _is_static(policy: str) -> bool:
    return policy in ("static", "Static")


def _cpu_policy(node: Node) -> str:
    return "none" if node.policy is None else "static"


def _memory_policy(node: Node) -> str:
    return "None" if node.memory.policy is None else "Static"
