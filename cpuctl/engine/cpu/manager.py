"""The CPU Manager's static policy: its start, the CPUs it reserves, and allocation for one container.

Rule: kubelet v1.36 ``pkg/kubelet/cm/cpumanager``, ``NewManager``, ``NewStaticPolicy`` and ``Allocate``. CPU
sets are masks throughout.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.state import CPUManagerState
from cpuctl.engine.cpu.topology import CPUTopology, no_cpus_per_core
from cpuctl.engine.masks import NO_CPUS, CPUMask, NodeMask
from cpuctl.engine.outcome import (
    AllocationError,
    KubeletFault,
    Picked,
    PickResult,
    PickStep,
    Rejected,
    RejectionReason,
    Undetermined,
    Weighing,
)
from cpuctl.golang.text import GoError
from cpuctl.kubelet.config import KubeletConfiguration, SettingError
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.policy_options import (
    CPUPolicyOptions,
    check_align_by_socket,
    check_sockets_for_alignment,
    parse_cpu_policy_options,
    refuse_options_of_none_policy,
)
from cpuctl.kubelet.releases.behaviours import Behaviours
from cpuctl.kubelet.reservations import CPUReservation, require_cpu_reservation
from cpuctl.pods.model import Container, StoredPod
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.engine.cpu.picking.picker import Picker


T = TypeVar("T")


class Allocation(Record):
    """Exclusive CPUs for a container; ``known`` if the state already held them."""

    cpus: CPUMask
    steps: tuple[PickStep, ...] = ()
    known: bool = False
    weighings: tuple[Weighing, ...] = ()


class ReservingFailsError(Exception):
    """The kubelet never finishes choosing its reserved CPUs, or its choice is unknown."""

    def __init__(self, why: KubeletFault | Undetermined) -> None:
        self.why = why


AllocationResult = Allocation | Rejected | KubeletFault | Undetermined


class CPURequest(Record):
    """A request for ``number`` of the ``offered`` CPUs (a mask), for a container or (None) a whole pod.

    ``affinity`` is the mask of NUMA nodes that the Topology Manager chose, None without one.
    """

    pod: StoredPod
    container: Container | None
    offered: CPUMask
    number: int
    affinity: NodeMask | None


class CPUChooser(Protocol):
    """A policy that chooses CPUs in place of the kubelet, to see the effect."""

    def usable(self, policy: "StaticPolicy", state: CPUManagerState, pod: StoredPod) -> CPUMask:
        """Return the free CPUs that a pod may have."""

    def choose(self, policy: "StaticPolicy", state: CPUManagerState, request: CPURequest) -> PickResult:
        """Choose CPUs."""


class StaticPolicy(Record):
    """The static policy as constructed at kubelet start: ``reserved`` never becomes exclusive.

    ``reports_no_free_cores``: a refusal reports that no core is free, instead of blaming the number of CPUs.
    ``chooser`` chooses in its place, None for the kubelet's own picker.
    """

    topology: CPUTopology
    options: CPUPolicyOptions
    picker: "Picker"
    reserved: CPUMask
    reports_no_free_cores: bool = True
    chooser: CPUChooser | None = None

    @classmethod
    def construct(
        cls,
        topology: CPUTopology,
        options: CPUPolicyOptions,
        reservation: CPUReservation,
        release: Behaviours,
    ) -> "StaticPolicy":
        """Choose the reserved CPUs.

        Raise GoError with the kubelet's text if that fails, ReservingFailsError if it yields no result.
        """
        from cpuctl.engine.cpu.picking.picker import Picker

        picker = Picker.of(topology, options, release)
        reserved = _reserved_cpus(topology, picker, reservation)
        unknown = reserved & ~topology.cpus
        if unknown:
            raise GoError(
                "[cpumanager] unable to build the reserved physical CPUs from the reserved set: "
                f"unknown CPU ID: {CPUSet(unknown).lowest}"
            )
        return cls(
            topology=topology,
            options=options,
            picker=picker,
            reserved=reserved,
            reports_no_free_cores=release.reports_no_free_cores,
        )

    @property
    def reserved_physical(self) -> CPUMask:
        """All threads of every core that has a reserved thread."""
        return self.topology.siblings(self.reserved)

    @property
    def allocatable(self) -> CPUMask:
        """CPUs that may become exclusive."""
        return self.topology.cpus & ~self.reserved

    def fresh_state(self) -> CPUManagerState:
        """Return the state a kubelet starts with if there is no file."""
        strict = self.options.strict_cpu_reservation
        return CPUManagerState(self.allocatable if strict else self.topology.cpus)

    def allocate(
        self,
        state: CPUManagerState,
        pod: StoredPod,
        container: Container,
        count: int,
        affinity: NodeMask | None,
    ) -> AllocationResult:
        """Give *container* its *count* exclusive CPUs and record them in *state*.

        *affinity* is the mask of NUMA nodes that the Topology Manager chose, None without one.
        """
        if refusal := self.smt_refusal(state, container, count):
            return refusal
        known = state.assigned(pod.uid, container.name)
        if known is not None:
            state.remember_reuse(pod.uid, container.kind, known)
            return Allocation(known, known=True)
        offered = state.default & ~self.reserved | state.reusable_for(pod.uid)
        match self.choose(state, CPURequest(pod, container, offered, count, affinity)):
            case Picked(cpus=cpus, steps=steps, weighings=weighings):
                state.default &= ~cpus
                state.assign(pod.uid, container.name, cpus)
                state.remember_reuse(pod.uid, container.kind, cpus)
                return Allocation(cpus, steps, weighings=weighings)
            case AllocationError(message=message):
                return Rejected(
                    reason=RejectionReason.UNEXPECTED_ADMISSION,
                    message=f"Allocate failed due to {message}, which is unexpected",
                    container=container.name,
                    details={"requested": count, "free": offered.bit_count()},
                )
            case fault:
                return fault

    def available(self, state: CPUManagerState, pod: StoredPod) -> CPUMask:
        """Return the free CPUs that a pod may have."""
        if self.chooser is not None:
            return self.chooser.usable(self, state, pod)
        return state.default & ~self.reserved

    def choose(self, state: CPUManagerState, request: CPURequest) -> PickResult:
        """Choose CPUs with the policy in use."""
        if self.chooser is not None:
            return self.chooser.choose(self, state, request)
        return self.pick(request.offered, request.number, request.affinity)

    def pick(self, offered: CPUMask, count: int, affinity: NodeMask | None) -> PickResult:
        """Pick from the affinity's NUMA nodes (or their sockets) first, and the remainder elsewhere.

        *affinity* is a mask of NUMA nodes, None without one.
        """
        if affinity is None:
            return self.picker.pick(offered, count)
        aligned = offered & self.near(affinity)
        near = self.picker.pick(aligned, min(count, aligned.bit_count()), hint_width=affinity.bit_count())
        if not isinstance(near, Picked) or near.cpus.bit_count() >= count:
            return near
        rest = self.picker.pick(offered & ~near.cpus, count - near.cpus.bit_count())
        if not isinstance(rest, Picked):
            return rest
        return Picked(near.cpus | rest.cpus, near.steps + rest.steps)

    def near(self, nodes: NodeMask) -> CPUMask:
        """Return the CPUs of these NUMA nodes or, with ``align-by-socket``, of every socket they touch."""
        cpus = self.topology.in_numa_nodes(nodes)
        return self.topology.in_sockets_of(cpus) if self.options.align_by_socket else cpus

    def smt_refusal(
        self, state: CPUManagerState, container: Container | None, count: int, *, own: int = 0
    ) -> Rejected | KubeletFault | None:
        """Check ``full-pcpus-only``, as the kubelet does before it looks for an existing assignment.

        So a running pod can be refused when its kubelet restarts (kubernetes issue 129078). *container* is
        None for a pod as a whole; *own* is the number of CPUs that a resized container already has.
        """
        if not self.options.full_pcpus_only:
            return None
        per_core = self.topology.cpus_per_core
        if not per_core:
            return no_cpus_per_core(self.topology, "checking full-pcpus-only")
        free = (state.default & ~self.reserved_physical).bit_count() + own
        uneven = count % per_core != 0
        if uneven or (count > free == 0 and not self.reports_no_free_cores):
            why = f"requested {count} cpus not multiple cpus per core = {per_core}"
        elif count > free:
            why = (
                f"not enough free physical CPUs: available physical CPUs = {free}, "
                f"requested CPUs = {count}, CPUs per core = {per_core}"
            )
        else:
            return None
        return Rejected(
            reason=RejectionReason.SMT_ALIGNMENT,
            message=f"SMT Alignment Error: {why}",
            container=container.name if container else "",
            details={"requested": count, "freePhysicalCPUs": free, "cpusPerCore": per_core},
        )


def request_step(policy: StaticPolicy | None) -> int:
    """Return the step in which requests for exclusive CPUs can grow: whole cores with ``full-pcpus-only``."""
    if policy is None or not policy.options.full_pcpus_only:
        return 1
    return max(policy.topology.cpus_per_core, 1)


def _reserved_cpus(topology: CPUTopology, picker: "Picker", reservation: CPUReservation) -> CPUMask:
    """Take the listed CPUs, or let the policy's own picker choose as many as are reserved."""
    if reservation.cpus:
        reserved = CPUMask(reservation.cpus.mask)
    else:
        picked = picker.pick(topology.cpus, reservation.number)
        if isinstance(picked, KubeletFault | Undetermined):
            raise ReservingFailsError(picked)
        # The kubelet drops the picker's error here and continues with the empty set.
        reserved = picked.cpus if isinstance(picked, Picked) else NO_CPUS
    if reserved.bit_count() != reservation.number:
        raise GoError(
            "[cpumanager] unable to reserve the required amount of CPUs "
            f"(size of {CPUSet(reserved)} did not equal {reservation.number})"
        )
    return reserved


def start_cpu_manager(
    topology: CPUTopology, config: KubeletConfiguration, gates: FeatureGates, reservation: CPUReservation
) -> StaticPolicy | None:
    """Set up the manager, or raise SettingError with the kubelet's text; None for the policy ``none``.

    Raise ReservingFailsError if choosing the reserved CPUs never ends.
    """
    options = config.cpu_manager_policy_options
    match config.cpu_manager_policy:
        case "none":
            _wrapped("none", lambda: refuse_options_of_none_policy(options))
            return None
        case "static":
            require_cpu_reservation(reservation)
            construct = partial(_static_policy, topology, config, gates, reservation)
            return _wrapped("static", construct, *reservation.setting)
        case other:
            raise SettingError(f'unknown policy: "{other}"', "cpuManagerPolicy")


def _wrapped(policy: str, construct: Callable[[], T], *setting: str) -> T:
    prefix = f"new {policy} policy error: "
    try:
        return construct()
    except SettingError as error:
        raise SettingError(f"{prefix}{error}", *error.path) from None
    except GoError as error:
        raise SettingError(f"{prefix}{error}", *setting) from None


def _static_policy(
    topology: CPUTopology, config: KubeletConfiguration, gates: FeatureGates, reservation: CPUReservation
) -> StaticPolicy:
    options = parse_cpu_policy_options(config.cpu_manager_policy_options, gates)
    check_align_by_socket(options, config.topology_manager_policy)
    check_sockets_for_alignment(options, sockets=topology.num_sockets, numa_nodes=topology.num_numa_nodes)
    return StaticPolicy.construct(topology, options, reservation, gates.release)
