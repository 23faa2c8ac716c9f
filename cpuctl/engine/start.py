"""Starting a kubelet's managers: the checks of start-up, in the kubelet's order.

Rule: kubelet v1.36 ``cmd/kubelet/app/server.go`` and ``container_manager_linux.go``. The first check that
fails decides; its text is the kubelet's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.manager import ReservingFailsError, StaticPolicy, start_cpu_manager
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.hints.topology_manager import start_topology_manager
from cpuctl.engine.memory.manager_start import overdrawn, start_memory_manager
from cpuctl.engine.node_capacity import node_capacity, node_reservations
from cpuctl.engine.outcome import (
    CORES_UNKNOWN,
    MEMORY_UNKNOWN,
    FaultKind,
    KubeletFault,
    StartRefused,
    Undetermined,
)
from cpuctl.golang.text import GoError
from cpuctl.kubelet.config import SettingError
from cpuctl.kubelet.gates.feature_gates import STAGE as GATES
from cpuctl.kubelet.gates.feature_gates import BadGatesError, FeatureGates, gates_at_start
from cpuctl.kubelet.kubelet import NO_CONFIGURATION, Kubelet
from cpuctl.kubelet.policy_options import refuse_gated_options
from cpuctl.kubelet.reservations import Reservations, check_capacity
from cpuctl.kubelet.validation.later import CONTAINER_MANAGER, KUBELET
from cpuctl.kubelet.validation.rule import Subject
from cpuctl.kubelet.validation.rules import refused_later, validate, validation_text
from cpuctl.kubelet.version import KubeletVersion, other_minors
from cpuctl.quantity import Quantity
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from cpuctl.engine.hints.topology_manager import TopologyManager
    from cpuctl.engine.memory.manager import StaticMemoryPolicy
    from cpuctl.engine.node import Node
    from cpuctl.engine.node_fit import Allocatable
    from cpuctl.machine.devices.inventory import DeviceInventory
    from cpuctl.machine.machine_info import MachineInfo

T = TypeVar("T")

NotStarted = StartRefused | KubeletFault | Undetermined
StartResult: TypeAlias = "Node | NotStarted"

_FLAGS_IN_STATES = ("configured policy", "reserved cpus", "the expected machine state")
"""Words in an objection to a state file that show that it depends on a flag."""

_ENDS = ("would start", "cannot be determined", "would not start")

LOADING = "loading the kubelet configuration"
"""Where a kubelet crashes on its gates, before it looks at the machine."""


class Started(Record):
    """A kubelet that has started, as far as its resource managers are concerned.

    ``policy`` is the CPU Manager's, ``memory_policy`` the Memory Manager's; one that does nothing is None.
    ``hugepages_known``: whether it is known what huge pages the machine has.
    """

    gates: FeatureGates
    topology: CPUTopology
    reservations: Reservations
    capacity: Mapping[str, Quantity]
    policy: StaticPolicy | None
    memory_policy: StaticMemoryPolicy | None
    topology_manager: TopologyManager
    hugepages_known: bool = True

    @property
    def reserved(self) -> dict[str, Quantity]:
        """What is kept from pods, by resource."""
        return self.reservations.total(self.capacity)


class _RefusedError(Exception):
    """A start-up check failed; carried up to ``start_managers`` only."""

    def __init__(self, stage: str, text: str, *settings: tuple[str, ...]) -> None:
        self.result = StartRefused(stage=stage, error=text, settings=settings)


def start_node(
    info: MachineInfo, kubelet: Kubelet, *, fit: bool = False, devices: DeviceInventory | None = None
) -> StartResult:
    """Start the managers on a machine without state files; *fit* checks that pods fit into the node, too.

    *devices* are those that device plugins have registered, None if that is not known.
    """
    started = check_start(info, kubelet)
    return (
        started_node(started, info, kubelet, fit=fit, devices=devices)
        if isinstance(started, Started)
        else started
    )


def started_node(
    started: Started,
    info: MachineInfo,
    kubelet: Kubelet,
    *,
    fit: bool = False,
    devices: DeviceInventory | None = None,
) -> Node:
    """Return the node of a started kubelet, with its devices and what pods must fit into."""
    from cpuctl.engine.node_fit import allocatable_of

    zero = started.gates.release.fits_zero_requests
    allocatable = allocatable_of(info, kubelet.config, started.reserved, fits_zero=zero) if fit else None
    node = node_of(started, allocatable)
    if devices is not None:
        from cpuctl.engine.devices.provider import DeviceProvider

        node.devices = DeviceProvider.of(devices, info)
        node.devices.walks_only_own_nodes = started.gates.release.walks_only_nodes_with_devices
    return node


def node_of(started: Started, allocatable: Allocatable | None = None) -> Node:
    """Return the node of a started kubelet."""
    # A caller that only checks whether it starts does not need what admits pods.
    from cpuctl.engine.cpu.provider import CPUProvider
    from cpuctl.engine.cpu.state import DelayRules
    from cpuctl.engine.memory.provider import MemoryProvider
    from cpuctl.engine.node import Node
    from cpuctl.engine.pod_level import PodLevelRules
    from cpuctl.engine.pod_rules import node_rules
    from cpuctl.engine.resize.rules import keeps_baselines

    gates = started.gates
    rules = PodLevelRules.of(gates)
    cpu = CPUProvider(started.policy, started.topology, rules)
    cpu.keeps_baselines = keeps_baselines(gates)
    memory = MemoryProvider(started.memory_policy, rules)
    node = Node(started.topology, cpu, memory, started.topology_manager)
    node.pod_rules = node_rules(gates)
    node.ignores_missing_devices_of_inits = gates.release.ignores_missing_devices_of_inits
    node.forgets_pods = gates.release.forgets_removed_pods
    node.allocatable = allocatable
    node.hugepages_known = started.hugepages_known
    node.delays = DelayRules(started.policy.options.scale_delay_time if started.policy else 0)
    return node


def check_start(info: MachineInfo, kubelet: Kubelet) -> Started | NotStarted:
    """Return whether a kubelet would start on a machine without state files."""
    started = start_managers(info, kubelet)
    return unless_flags_missing(last_checks(started), kubelet) if isinstance(started, Started) else started


def unless_flags_missing(outcome: T, kubelet: Kubelet) -> T | Undetermined:
    """Turn a refusal over what a flag sets into Undetermined if not all of the kubelet's flags are known."""
    if not kubelet.flags_gap or not isinstance(outcome, StartRefused):
        return outcome

    from cpuctl.kubelet.flags.table import FIELDS_OF_FLAGS

    if outcome.stage == GATES and any(map(kubelet.gates.is_unknown, kubelet.gate_flags)):
        # Other flags may set a gate to another value, but it stays among those that the kubelet looks up.
        return outcome
    named = any(path[0] in FIELDS_OF_FLAGS for path in outcome.settings if path)
    if not named and not any(text in outcome.error for text in _FLAGS_IN_STATES):
        return outcome
    if kubelet.flags_gap.startswith(NO_CONFIGURATION):
        return Undetermined(
            f"{kubelet.flags_gap}; with the default configuration, it would not start: {outcome.error}"
        )
    unknown = f"its flags are unknown ({kubelet.flags_gap}; set them with --kubelet-args)"
    why = f"{unknown}; without flags, it would not start: {outcome.error}"
    return Undetermined(why, without_flags=outcome)


def unless_unconfigured(outcome: T, kubelet: Kubelet) -> T | Undetermined:
    """Turn a start on a node's state files into Undetermined if its kubelet's configuration is unknown."""
    if not isinstance(outcome, Started) or not kubelet.flags_gap.startswith(NO_CONFIGURATION):
        return outcome
    return Undetermined(f"{kubelet.flags_gap}; with the default configuration, it would start")


def last_checks(started: Started) -> Started | NotStarted:
    """Make the checks that a kubelet makes once its managers have their state."""
    try:
        reports_expected = started.gates.release.reports_expected_capacity
        kept = started.reserved.get("memory")
        unknown = not started.capacity["memory"].nano and kept is not None and kept.nano > 0
        capacity = {name: size for name, size in started.capacity.items() if name != "memory" or not unknown}
        check_capacity(started.reservations, capacity, reports_expected=reports_expected)
        if unknown:
            return Undetermined(MEMORY_UNKNOWN)
    except SettingError as error:
        return StartRefused(stage="nodeAllocatable", error=str(error), settings=(error.path,))
    return overdrawn(started.memory_policy) or started


def start_managers(info: MachineInfo, kubelet: Kubelet) -> Started | NotStarted:
    """Start a kubelet up to the point where its managers have written their state files.

    If the input does not name a release of the kubelet, and the assumed one does not get that far, others
    are tried: a refusal means that none of them gets that far either.
    """
    outcome = unless_flags_missing(_managers(info, kubelet), kubelet)
    if kubelet.released or not isinstance(outcome, StartRefused | KubeletFault):
        return outcome
    assumed = kubelet.version.minor
    ends = {minor: _managers(info, _of_release(kubelet, minor)) for minor in other_minors(assumed)}
    if not any(isinstance(end, Started) for end in ends.values()):
        return outcome
    return agreed(outcome, ends, assumed, "versions treat this configuration differently")


def _of_release(kubelet: Kubelet, minor: int) -> Kubelet:
    return replace(kubelet, version=KubeletVersion(minor), released=True)


def agreed(
    outcome: Started | NotStarted, others: Mapping[int, Started | NotStarted], assumed: int, why: str
) -> Started | NotStarted:
    """Return the outcome if all releases agree on how it ends, else Undetermined with what each of them does.

    *outcome* is that of the *assumed* minor, *why* what makes releases differ.
    """
    ends = dict(sorted(others.items()))
    # The assumed one comes last: its words are the ones that are repeated.
    ends.pop(assumed, None)
    ends[assumed] = outcome
    if len({_end_of(end) for end in ends.values()}) == 1:
        return outcome
    parts = []
    for does in _ENDS:
        equivalent = {minor: end for minor, end in ends.items() if _end_of(end) == does}
        if equivalent:
            parts.append(f"kubelet {_minors(equivalent)} {does}{_why(equivalent)}")
    return Undetermined(
        f"the kubelet's version is unknown, and {why} (--kubelet-version); {'; '.join(parts)}"
    )


def _why(ends: Mapping[int, Started | NotStarted]) -> str:
    """Repeat the error of releases that end in the same way, that of the last one if they differ."""
    errors = {minor: why_not_started(end) for minor, end in ends.items() if not isinstance(end, Started)}
    if not errors:
        return ""
    minor, error = errors.popitem()
    return f": {error}" if all(each == error for each in errors.values()) else f", 1.{minor} with: {error}"


def _end_of(end: Started | NotStarted) -> str:
    if isinstance(end, Undetermined):
        return _ENDS[1]
    return _ENDS[0] if isinstance(end, Started) else _ENDS[2]


def why_not_started(refused: NotStarted) -> str:
    """Return the kubelet's error, or why it is unknown whether it starts."""
    return refused.error if isinstance(refused, StartRefused) else refused.why


def _minors(minors: Iterable[int]) -> str:
    """Format releases as people write them: ``1.27 to 1.32, 1.36``."""
    runs = CPUSet.of(minors).runs()
    return ", ".join(f"1.{first}" if first == last else f"1.{first} to 1.{last}" for first, last in runs)


def _managers(info: MachineInfo, kubelet: Kubelet) -> Started | NotStarted:
    try:
        gates = gates_at_start(
            kubelet.version.minor,
            [kubelet.gates_of_main_file, kubelet.config.feature_gates],
            kubelet.gate_flags,
            patch=kubelet.version.patch,
            turned=kubelet.turned,
        )
        return _start(info, kubelet, gates)
    except BadGatesError as error:
        if error.crash:
            return KubeletFault(kind=FaultKind.CRASH, where=LOADING, why=str(error))
        return StartRefused(stage="featureGates", error=str(error), settings=(("featureGates",),))
    except ReservingFailsError as error:
        return error.why
    except _RefusedError as refused:
        return refused.result


def _start(info: MachineInfo, kubelet: Kubelet, gates: FeatureGates) -> Started | Undetermined:
    config = kubelet.config
    _check_validity(kubelet, gates)
    if not info.cores_known:
        return Undetermined(CORES_UNKNOWN)
    reservations = node_reservations(info, config, _check)
    _check("cpuManager", lambda: refuse_gated_options(config.cpu_manager_policy_options, gates))
    _check_later(kubelet, gates, CONTAINER_MANAGER)
    manager = _check("topologyManager", lambda: start_topology_manager(info, config, gates))
    topology = _check("cpuManager", lambda: CPUTopology.discover(info, knows_books=gates.release.knows_books))
    policy = _check("cpuManager", lambda: start_cpu_manager(topology, config, gates, reservations.cpus))
    capacity = node_capacity(info)
    kept = reservations.total(capacity)
    memory = _check("memoryManager", lambda: start_memory_manager(info, config, gates, kept))
    if isinstance(memory, Undetermined):
        return memory
    _check_later(kubelet, gates, KUBELET)
    return Started(
        gates=gates,
        topology=topology,
        reservations=reservations,
        capacity=capacity,
        policy=policy,
        memory_policy=memory,
        topology_manager=manager,
        hugepages_known=info.hugepages_known,
    )


def _check(stage: str, check: Callable[[], T]) -> T:
    try:
        return check()
    except SettingError as error:
        raise _RefusedError(stage, str(error), error.path) from None
    except GoError as error:
        raise _RefusedError(stage, str(error)) from None


def _subject(kubelet: Kubelet, gates: FeatureGates) -> Subject:
    return Subject(config=kubelet.config, gates=gates, cgroup_version=kubelet.cgroup_version)


def _check_later(kubelet: Kubelet, gates: FeatureGates, stage: str) -> None:
    if error := refused_later(_subject(kubelet, gates), stage):
        raise _RefusedError(stage, str(error), error.path)


def _check_validity(kubelet: Kubelet, gates: FeatureGates) -> None:
    if errors := validate(_subject(kubelet, gates)):
        raise _RefusedError("configValidation", validation_text(errors), *(error.path for error in errors))
