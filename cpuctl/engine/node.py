"""The façade: one kubelet's resource managers on one machine, from start to the last pod.

A node is started from values and makes decisions; it holds the state in between, as the kubelet does.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import partial, reduce
from operator import or_
from typing import TYPE_CHECKING, Protocol

from cpuctl.engine.admission import Admission, ScopedAdmission
from cpuctl.engine.changeable import Copied
from cpuctl.engine.cpu.state import NO_DELAY, DelayRules, delay_of
from cpuctl.engine.devices.provider import DeviceProvider
from cpuctl.engine.hints.topology_manager import HintRound, TopologyManager, TopologyMetrics
from cpuctl.engine.memory.provider import MemoryProvider
from cpuctl.engine.node_fit import ActivePods, Allocatable, Usage, check_fit, fit_verdict
from cpuctl.engine.outcome import (
    Admitted,
    Forbidden,
    KubeletFault,
    Pending,
    Rejected,
    StartRefused,
    Undetermined,
    Verdict,
)
from cpuctl.engine.placement import Placement
from cpuctl.engine.pod_rules import pod_level_rejection, sidecar_rejection
from cpuctl.engine.provider import Candidate, ClaimSource, Provider
from cpuctl.engine.readmission import pod_allocation_of, readmission_of
from cpuctl.pods.model import Container, StoredPod
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.requests import hugepages_requested
from cpuctl.pods.rules import DEFAULT_NODE, NodeRules
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.checkpoints.model import CPUStateFile, SavedCPUState, SavedMemoryState
    from cpuctl.engine.cpu.manager import StaticPolicy
    from cpuctl.engine.cpu.provider import CPUProvider
    from cpuctl.engine.cpu.resizing.reference import Resizing
    from cpuctl.engine.cpu.resizing.request import Resized, Status
    from cpuctl.engine.cpu.state import CPUManagerState
    from cpuctl.engine.cpu.topology import CPUTopology
    from cpuctl.engine.hints.hints import Hint
    from cpuctl.engine.pod_server import PodServer
    from cpuctl.engine.readmission import PodAllocation, Readmission


class WhatIf(Protocol):
    """A policy that no kubelet has, and that decides in place of the kubelet."""

    def admit(self, node: Node, pod: StoredPod) -> Admission:
        """Decide on a pod, by way of ``Node.admit_once``."""

    def order(self, node: Node, pods: Sequence[StoredPod]) -> list[StoredPod]:
        """Put pods that arrive together into an order."""

    def attend(self, node: Node) -> None:
        """Note which node is asked next."""

    def align(self, node: Node, candidate: Candidate, hint_round: HintRound) -> Hint:
        """Choose NUMA nodes after a round of hints that the Topology Manager admits."""


class Node(Copied):
    """A started kubelet; ``fault`` is set once it hangs or crashes.

    ``allocatable`` is what pods must fit into, None if that is not checked. ``server`` is the API server
    that new pods come through, None if it is not asked. ``claims`` serves resource claims, None if none are
    known. ``active`` are the pods that it considers running, by UID. Clean-up is as lazy as the kubelet's:
    what an inactive pod holds is released when a manager next handles a request, and never while
    ``sources_ready`` is False. ``gone`` are the pods that may hold something, by UID, with the managers that
    have not checked since; ``stale`` are managers that must check all pods. ``delays`` define how long a
    container that shrinks keeps its CPUs: until a caller with a clock settles that
    (``CPUManagerState.settle``). ``forgets_pods`` is False for a kubelet whose managers each consider the
    pod that they last saw at admission (``last_seen``, by manager) active until another one arrives.
    ``what_if`` is None for a real kubelet.
    """

    def __init__(
        self,
        topology: CPUTopology,
        cpu: CPUProvider,
        memory: MemoryProvider,
        topology_manager: TopologyManager,
    ) -> None:
        self.topology = topology
        self.cpu = cpu
        self.memory = memory
        self.devices = DeviceProvider()
        self.topology_manager = topology_manager
        self.topology_metrics = TopologyMetrics()
        self.pod_rules: NodeRules = DEFAULT_NODE
        self.delays: DelayRules = NO_DELAY
        self.allocatable: Allocatable | None = None
        self.server: PodServer | None = None
        self.claims: ClaimSource | None = None
        self.fault: KubeletFault | None = None
        self.active: MutableMapping[str, StoredPod] = ActivePods()
        self.sources_ready = True
        self.gone: dict[str, frozenset[str]] = {}
        self.stale: frozenset[str] = frozenset()
        self.forgets_pods = True
        self.ignores_missing_devices_of_inits = True
        self.last_seen: dict[str, StoredPod] = {}
        self.hugepages_known = True
        self.what_if: WhatIf | None = None

    @property
    def providers(self) -> tuple[Provider, ...]:
        """The resource managers, in the order in which the kubelet asks them."""
        return (self.devices, self.cpu, self.memory) if self.devices.pools else (self.cpu, self.memory)

    @property
    def _running(self) -> ActivePods:
        """The active pods with their totals, recomputed if the whole mapping has been replaced."""
        if not isinstance(self.active, ActivePods):
            self.active = ActivePods(self.active)
        return self.active

    @property
    def pod_level_resources(self) -> bool:
        """Whether the kubelet uses pod-level resources."""
        return self.pod_rules.pod_level

    @property
    def policy(self) -> StaticPolicy | None:
        """The CPU Manager's policy; None for ``none``."""
        return self.cpu.policy

    @property
    def state(self) -> CPUManagerState:
        """The CPU Manager's state."""
        return self.cpu.state

    def as_kubelet(self) -> Node:
        """Return a copy on which no policy decides in place of the kubelet."""
        node = self.copy()
        node.what_if = None
        if node.cpu.policy is not None:
            node.cpu.policy = replace(node.cpu.policy, chooser=None)
        return node

    def become(self, other: Node) -> None:
        """Take over the state of a copy that was made before, as if nothing had happened since."""
        vars(self).update(vars(other.copy()))

    def restore(
        self, cpu: SavedCPUState, memory: SavedMemoryState = None
    ) -> StartRefused | KubeletFault | Undetermined | None:
        """Take over state files as at kubelet start, or return in the kubelet's words why not."""
        self._changed()
        return self.cpu.restore(cpu) or self.memory.restore(memory)

    def state_file(self) -> CPUStateFile:
        """Return the current content of the kubelet's ``cpu_manager_state``."""
        return self.cpu.state_file()

    def in_order(self, pods: Sequence[StoredPod]) -> Sequence[StoredPod]:
        """Put pods that arrive together into the order of a policy in place of the kubelet, if any."""
        return pods if self.what_if is None else self.what_if.order(self, pods)

    def admit(self, pod: StoredPod) -> Admission:
        """Decide on one pod and change the state as the kubelet would; a refusal undoes nothing."""
        return self.admit_once(pod) if self.what_if is None else self.what_if.admit(self, pod)

    def admit_once(self, pod: StoredPod) -> Admission:
        """Decide on one pod like ``admit``, but without making room for it first."""
        if self.server is not None and (refusals := self.server.create(pod).refusals):
            return self._never_comes(pod, Forbidden(refusals))
        if self.claims is not None and (unserved := self.claims.allocate(pod)) is not None:
            return self._never_comes(pod, unserved)
        before = self.cpu.state.default
        held = pod_allocation_of(self.cpu.state, self.memory.state, pod.uid)
        known = self._known(pod)
        admission = self._admission_of(known)
        if pod.uid in self.active:
            self._gone(pod.uid)
        self.active[pod.uid] = known
        self.devices.claim([pod])
        verdict = self.fault or self._decide(admission, pod)
        if isinstance(verdict, KubeletFault):
            self.fault = verdict
        if not isinstance(verdict, Admitted):
            self.remove(pod.uid)
        elif self.claims is not None:
            self.claims.prepare(pod)
        pool, placements = self.cpu.state.default, _of_pod(pod, admission)
        # What a rejected pod got is released when the next one arrives.
        stays = isinstance(verdict, Admitted)
        return Admission(
            pod=pod,
            qos=admission.candidate.qos,
            verdict=verdict,
            # Shared containers run in the pool that is left once the whole pod is admitted.
            placements=tuple(
                each if each.exclusive or each.in_pod_pool else replace(each, cpus=pool)
                for each in placements
            ),
            hint_rounds=tuple(admission.hint_rounds),
            pod_cpus=self.cpu.state.pod_entries.get(pod.uid, 0),
            pool_warning=self.cpu.pool_warning(before) if stays else None,
            taken_from_others=self.cpu.taken_from_others(pod.uid) if stays else 0,
            readmission=self._readmission(held, verdict, divided=admission.candidate.divided),
        )

    def came_of(self, admission: Admission) -> Verdict:
        """Return the verdict on a pod, or that it is pending: a driver may hold back an admitted one."""
        problem = self.claims.problem(admission.pod.uid) if self.claims is not None else ""
        if problem and isinstance(admission.verdict, Admitted):
            return Pending(f"it is admitted but does not start: {problem}")
        return admission.verdict

    def _known(self, pod: StoredPod) -> StoredPod:
        """Return a pod as the kubelet reads it, with the amounts that its claims count as."""
        return self.pod_rules.known(pod if self.claims is None else self.claims.counted(pod))

    def _never_comes(self, pod: StoredPod, verdict: Forbidden | Pending | Undetermined) -> Admission:
        """Return the result for a pod that never gets here, or for which that is unknown."""
        return Admission(
            pod=pod,
            qos=pod_qos(self.pod_rules.view(pod)),
            verdict=verdict,
            placements=(),
            hint_rounds=(),
            pod_cpus=0,
            pool_warning=None,
            taken_from_others=0,
            readmission=None,
        )

    def resize(
        self,
        pod: StoredPod,
        semantics: Callable[[Resizing], Resized] | None = None,
        status: Status | None = None,
    ) -> Resized:
        """Decide on the new resources of a running pod; if admitted, they count from then on.

        *semantics* is the KEP's reading by default. *status* are the containers' CPUs according to the pod's
        status, if that is not what it runs with. Raise KeyError for a pod that does not run.
        A preview: no release has the allocator (KEP-5554).
        """
        from cpuctl.engine.cpu.resizing.kep import resize_by_kep
        from cpuctl.engine.cpu.resizing.reference import Resizing
        from cpuctl.engine.cpu.resizing.request import Resized, ResizeRequest, status_while_waiting

        self.clean_up()
        pod = self._known(pod)
        before = self.active[pod.uid]
        # A status without any container is one, too.
        status = status_while_waiting(before, self.state) if status is None else status
        request = ResizeRequest.of(pod, before, status)
        resized = Resized(verdict=Admitted())
        if self.policy is not None:
            resizing = Resizing(
                policy=self.policy,
                cpu=self.cpu,
                others=tuple(each for each in self.providers if each is not self.cpu),
                manager=self.topology_manager,
                request=request,
                candidate=self._candidate(pod),
                postpones=delay_of(pod, self.delays) > 0,
                hint_rounds=[],
                placements=[],
            )
            resized = (semantics or resize_by_kep)(resizing)
        if isinstance(resized.verdict, Admitted):
            self.active[pod.uid] = pod
            self.cpu.resized()
        elif isinstance(resized.verdict, KubeletFault):
            self.fault = resized.verdict
        return resized

    def ask(self, pod: StoredPod, container: Container | None) -> HintRound:
        """Collect the hints for a container, or for the pod if *container* is None; admit nothing."""
        return self._admission_of(self.pod_rules.known(pod)).ask(container)

    def why_shared(self, pod: StoredPod, container: Container) -> str:
        """Return why a container of a pod gets no exclusive CPUs here; empty if it does."""
        candidate = self._candidate(self.pod_rules.known(pod))
        return self.cpu.why_shared(candidate, container, self.topology_manager.scope)

    def resume(self, pods: Iterable[StoredPod]) -> None:
        """Consider these pods the running ones, like a kubelet that finds them at start."""
        self.active = ActivePods({pod.uid: self.pod_rules.known(pod) for pod in pods})
        self.last_seen = {}
        self.devices.claim(self.active.values())
        self._changed()

    def readmit(self, pods: Iterable[StoredPod]) -> Iterator[Admission]:
        """Admit running pods again, one per step, as after a restart: nothing is cleaned up meanwhile.

        For each pod only those before it are running; a kubelet starts with the oldest.
        """
        again = list(pods)
        self.resume(())
        self.sources_ready = False
        server, self.server = self.server, None
        try:
            for pod in again:
                yield self.admit(pod)
        finally:
            self.sources_ready, self.server = True, server

    def remove(self, uid: str) -> None:
        """End a pod; what it holds is released with the next clean-up, its claims at once."""
        if self.claims is not None:
            self.claims.release(uid)
        self.active.pop(uid, None)
        self._gone(uid)

    def left_for(self, pod: StoredPod) -> Mapping[str, int]:
        """Return what the requests of the other pods leave of the allocatable resources: CPU in milli."""
        if self.allocatable is None:
            return {}
        level = self.pod_level_resources
        usage = self._running.usage_of_others(pod.uid, self.allocatable.requests, pod_level=level)
        return {name: has - usage.amounts.get(name, 0) for name, has in self.allocatable.amounts.items()}

    def shortage(self, pod: StoredPod) -> Rejected | None:
        """Return what *pod* lacks by the sum of all requests, the scheduler's count; None if it fits."""
        if self.allocatable is None:
            return None
        known = self.pod_rules.known(pod)
        usage, allocatable = self._room(known, self.allocatable)
        return check_fit(known, usage, allocatable, pod_level=self.pod_level_resources)

    def kept_for(self, uid: str) -> int:
        """Return the CPUs that a pod keeps after it has ended, until another one arrives."""
        last = self.last_seen.get(self.cpu.name)
        if last is None or last.uid != uid:
            return 0
        return reduce(or_, self.cpu.state.assignments.get(uid, {}).values(), 0)

    def clean_up(self) -> None:
        """Release what containers of pods that are no longer active hold."""
        for _ in self._cleaned_up():
            pass

    def remove_container(self, uid: str, container: str) -> None:
        """Release now what one container holds."""
        for provider in self.providers:
            provider.remove_container(uid, container)

    def start_container(self, pod: StoredPod, container: str) -> None:
        """Let an admitted container run; ordinary init containers before it have ended by then."""
        self.memory.start_container(self.pod_rules.managed(pod), container)

    def _changed(self) -> None:
        self.stale = frozenset(provider.name for provider in self.providers)

    def _gone(self, uid: str) -> None:
        self.gone[uid] = frozenset(provider.name for provider in self.providers)

    def _cleaned_up(self, asked_for: StoredPod | None = None) -> Iterator[Provider]:
        """Yield the managers, each after its clean-up: the kubelet's clean up whenever they are called.

        *asked_for* is the pod for which they are called, if there is one.
        """
        for provider in self.providers:
            if asked_for is not None and not self.forgets_pods:
                self._see(provider.name, asked_for)
            if self.sources_ready and (self.gone or self.stale):
                self._clean(provider)
            yield provider

    def _clean(self, provider: Provider) -> None:
        name = provider.name
        gone = [uid for uid, unaware in self.gone.items() if name in unaware]
        if name in self.stale:
            self.stale -= {name}
            provider.keep_only(self._kept(name))
        elif gone:
            provider.keep_only(self._kept(name), gone)
        for uid in gone:
            self.gone[uid] -= {name}
            if not self.gone[uid]:
                del self.gone[uid]

    def _see(self, manager: str, pod: StoredPod) -> None:
        before = self.last_seen.get(manager)
        if before is not None and before.uid != pod.uid and before.uid not in self.active:
            self.gone[before.uid] = self.gone.get(before.uid, frozenset()) | {manager}
        self.last_seen[manager] = pod

    def _kept(self, manager: str) -> Mapping[str, Collection[str]]:
        """Name the containers that a manager considers active, by pod."""
        active, last = self._running.containers, self.last_seen.get(manager)
        if last is None or last.uid in active:
            return active
        return ChainMap(
            {last.uid: tuple(each.name for each in last.all_containers)}, self._running.containers
        )

    def _candidate(self, pod: StoredPod) -> Candidate:
        qos = pod_qos(self.pod_rules.view(pod))
        return Candidate(self.pod_rules.managed(pod), qos, divided=self.cpu.rules.divides(pod))

    def _admission_of(self, pod: StoredPod) -> ScopedAdmission:
        if self.what_if is not None:
            self.what_if.attend(self)
        # Running pods are admitted again before the plugins have found the new kubelet (kubernetes 118559).
        self.devices.registered = self.sources_ready
        return ScopedAdmission(
            candidate=self._candidate(pod),
            manager=self.topology_manager,
            providers=partial(self._cleaned_up, pod),
            aligner=None if self.what_if is None else partial(self.what_if.align, self),
        )

    def _readmission(
        self, held: PodAllocation | None, verdict: Verdict, *, divided: bool
    ) -> Readmission | None:
        """Return what happens to what a readmitted pod held; None if it kept all of it, or held nothing."""
        if held is None:
            return None
        divides_again = divided and self.topology_manager.scope == "pod" and not self.cpu.rules.restores_cpus
        found = readmission_of(held, self.cpu.state, self.memory.state)
        return found if found.lost or (divides_again and isinstance(verdict, Rejected)) else None

    def _if_it_has_none(self, pod: StoredPod, unknown: Collection[str]) -> str:
        """Return what happens to a pod whose init containers request devices that the node does not have."""
        requested = {name for each in pod.init_containers for name in each.resources.requests}
        missing = (
            ""
            if self.ignores_missing_devices_of_inits
            else next((each for each in unknown if each in requested), "")
        )
        return f"; if the node has none, this kubelet rejects the pod (OutOf{missing})" if missing else ""

    def _decide(self, admission: ScopedAdmission, given: StoredPod) -> Verdict:
        pod = self.active[given.uid]
        if unknown := self.devices.unknown(pod, claims_served=self.claims is not None):
            verb = "are" if len(unknown) > 1 else "is"
            return Undetermined(
                f"requests {', '.join(unknown)}, which {verb} not described (use --devices)"
                f"{self._if_it_has_none(pod, unknown)}"
            )
        if not self.hugepages_known and (pages := hugepages_requested(pod)):
            return Undetermined(f"requests {', '.join(pages)}, but the node's huge pages are not recorded")
        verdict = admission.run()
        self.topology_metrics.count(
            self.topology_manager,
            admitted=isinstance(verdict, Admitted),
            placed=len(admission.placements),
            hint_rounds=admission.hint_rounds,
        )
        if isinstance(verdict, Admitted) and self.allocatable is not None:
            # The managers come first: a pod that does not fit has been given its CPUs by then.
            if forbidden := sidecar_rejection(pod, self.pod_rules):
                return forbidden
            usage, allocatable = self._room(pod, self.allocatable)
            misfit = fit_verdict(pod, usage, allocatable, pod_level=self.pod_level_resources)
            return misfit or pod_level_rejection(given, self.pod_rules) or verdict
        return verdict

    def _room(self, pod: StoredPod, allocatable: Allocatable) -> tuple[Usage, Allocatable]:
        """Return what the other pods request, and what the node has, with the devices that *pod* requests."""
        level = self.pod_level_resources
        usage = self._running.usage_of_others(pod.uid, allocatable.requests, pod_level=level)
        return usage, allocatable.with_amounts(self.devices.allocatable(pod))


def _of_pod(pod: StoredPod, admission: ScopedAdmission) -> Sequence[Placement]:
    """Return placements of a pod's own containers: its managers may have read them differently."""
    placements = admission.placements
    if admission.candidate.pod.init_containers is pod.init_containers:
        return placements
    containers = {each.name: each for each in pod.all_containers}
    return [
        each
        if containers[each.container.name] is each.container
        else replace(each, container=containers[each.container.name])
        for each in placements
    ]
