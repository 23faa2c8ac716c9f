"""Policy options of the CPU and Topology Managers: which exist, since which release, and how they conflict.

History per option: the enhancement documents KEP-2625, KEP-2902, KEP-3327, KEP-4176, KEP-4540, KEP-4800 and
KEP-6122 for CPUs, KEP-3545 and KEP-4622 for the topology. Error texts and their order are the kubelet's
(``policy_options.go`` of both managers), except those for a bad ``scale-delay-time``, which are not
documented. Where it walks a map in random order, the order here is by name.
"""

from collections.abc import Mapping

from cpuctl.departures import LEAST_SHARED
from cpuctl.golang.conversions import map_text, parse_atoi, parse_bool
from cpuctl.golang.durations import SECOND, parse_duration
from cpuctl.golang.text import GoError, quoted
from cpuctl.kubelet.config import SettingError
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.records import Record

FULL_PCPUS_ONLY = "full-pcpus-only"
DISTRIBUTE_NUMA = "distribute-cpus-across-numa"
DISTRIBUTE_CORES = "distribute-cpus-across-cores"
ALIGN_BY_SOCKET = "align-by-socket"
STRICT_RESERVATION = "strict-cpu-reservation"
PREFER_UNCORE = "prefer-align-cpus-by-uncorecache"
SCALE_DELAY = "scale-delay-time"
LONGEST_SCALE_DELAY = 10 * SECOND
"""The bound that KEP-6122 sets, in nanoseconds."""
SCALE_DELAY_GATE = "InPlacePodVerticalScalingExclusiveCPUs"
"""Without this gate there is nothing to delay."""


ARCHIVED = "numMinSharedCPUs"
ARCHIVED_WHY = (
    "an option that KEP-4540 proposed but no kubelet has; instead, the metric "
    f"kubelet_cpu_manager_shared_pool_size_millicores shows the size of the shared pool ({LEAST_SHARED})"
)


class OptionHistory(Record):
    """The minor release in which an option reached each stage; None if it has not reached it."""

    alpha: int
    beta: int | None = None
    stable: int | None = None

    def stage(self, minor: int) -> str:
        """Return the stage in a release: ``alpha``, ``beta``, ``stable``, or empty before it existed."""
        if self.stable is not None and minor >= self.stable:
            return "stable"
        if self.beta is not None and minor >= self.beta:
            return "beta"
        return "alpha" if minor >= self.alpha else ""


CPU_POLICY_OPTIONS: Mapping[str, OptionHistory] = {
    FULL_PCPUS_ONLY: OptionHistory(22, 23, 33),
    DISTRIBUTE_NUMA: OptionHistory(23, 33),
    ALIGN_BY_SOCKET: OptionHistory(25),
    DISTRIBUTE_CORES: OptionHistory(31),
    STRICT_RESERVATION: OptionHistory(32, 33, 35),
    PREFER_UNCORE: OptionHistory(32, 34, 36),
    SCALE_DELAY: OptionHistory(37),
}

CPU_SWITCHES = tuple(name for name in CPU_POLICY_OPTIONS if name != SCALE_DELAY)
"""The options that are on or off."""

_CLASHES = (
    (FULL_PCPUS_ONLY, DISTRIBUTE_CORES),
    (DISTRIBUTE_NUMA, DISTRIBUTE_CORES),
    (PREFER_UNCORE, DISTRIBUTE_CORES),
    (PREFER_UNCORE, DISTRIBUTE_NUMA),
)
CPU_STAGE_GATES = {"alpha": "CPUManagerPolicyAlphaOptions", "beta": "CPUManagerPolicyBetaOptions"}
"""The gates that options of a stage need."""

_CPU_FIELD = "cpuManagerPolicyOptions"


class CPUPolicyOptions(Record):
    """The options of the static CPU policy, all off by default; the delay is in nanoseconds."""

    full_pcpus_only: bool = False
    distribute_cpus_across_numa: bool = False
    distribute_cpus_across_cores: bool = False
    align_by_socket: bool = False
    strict_cpu_reservation: bool = False
    prefer_align_cpus_by_uncorecache: bool = False
    scale_delay_time: int = 0


def parse_cpu_policy_options(options: Mapping[str, str], gates: FeatureGates) -> CPUPolicyOptions:
    """Read ``cpuManagerPolicyOptions`` as the static policy of the release of *gates* does.

    Raise SettingError with the kubelet's text for an unknown option, one whose stage is gated off, a value
    that is not a boolean or a delay, or two mutually exclusive options.
    """
    values = {name: _read_cpu_option(name, options[name], gates) for name in sorted(options)}
    for one, other in _CLASHES:
        if values.get(one) and values.get(other):
            text = f"static policy options {one} and {other} can not be used at the same time"
            raise SettingError(text, _CPU_FIELD, other)
    switches = {name.replace("-", "_"): value for name, value in values.items() if name != SCALE_DELAY}
    delay = parse_scale_delay(options.get(SCALE_DELAY, "0s"), gates)
    return CPUPolicyOptions(
        **{name: value is True for name, value in switches.items()}, scale_delay_time=delay
    )


def parse_scale_delay(text: str, gates: FeatureGates) -> int:
    """Read ``scale-delay-time``, in nanoseconds; raise SettingError for values KEP-6122 does not accept."""
    wrong = f"bad value for option {quoted(SCALE_DELAY)}"
    try:
        delay = parse_duration(text)
    except GoError as error:
        raise SettingError(f"{wrong}: {error}", _CPU_FIELD, SCALE_DELAY) from None
    if not 0 <= delay <= LONGEST_SCALE_DELAY:
        raise SettingError(f"{wrong}: {text} is not between 0s and 10s", _CPU_FIELD, SCALE_DELAY)
    if delay and not gates.enabled(SCALE_DELAY_GATE):
        raise SettingError(f"{wrong}: it must be 0 without {SCALE_DELAY_GATE}", _CPU_FIELD, SCALE_DELAY)
    return delay


def refuse_gated_options(options: Mapping[str, str], gates: FeatureGates) -> None:
    """Raise SettingError if options are given, for any policy, and the gate for all options is off.

    Rule: ``cmd/kubelet/app/server.go``, which checks before any manager is created.
    """
    if options and not gates.enabled("CPUManagerPolicyOptions"):
        raise SettingError(
            f"CPU Manager policy options {map_text(options)} require feature gates"
            ' "CPUManager", "CPUManagerPolicyOptions" enabled',
            _CPU_FIELD,
        )


def refuse_options_of_none_policy(options: Mapping[str, str]) -> None:
    """Raise SettingError with the text of the policy ``none`` (``policy_none.go``): it takes no options."""
    if options:
        raise SettingError(f"None policy: received unsupported options={map_text(options)}", _CPU_FIELD)


def check_align_by_socket(options: CPUPolicyOptions, topology_policy: str) -> None:
    """Raise SettingError if ``align-by-socket`` is combined with the topology policy ``single-numa-node``."""
    if options.align_by_socket and topology_policy == "single-numa-node":
        raise SettingError(
            "Topolgy manager single-numa-node policy is incompatible with CPUManager"
            " align-by-socket policy option",
            _CPU_FIELD,
            ALIGN_BY_SOCKET,
        )


def check_sockets_for_alignment(options: CPUPolicyOptions, *, sockets: int, numa_nodes: int) -> None:
    """Raise SettingError for ``align-by-socket`` on a machine with more sockets than NUMA nodes."""
    if options.align_by_socket and sockets > numa_nodes:
        raise SettingError(
            "Align by socket is not compatible with hardware where number of sockets are more than"
            " number of NUMA",
            _CPU_FIELD,
            ALIGN_BY_SOCKET,
        )


def _read_cpu_option(name: str, value: str, gates: FeatureGates) -> bool:
    stage = CPU_POLICY_OPTIONS[name].stage(gates.minor) if name in CPU_POLICY_OPTIONS else ""
    if not stage:
        raise SettingError(f"unknown CPU Manager Policy option: {quoted(name)}", _CPU_FIELD, name)
    gate = CPU_STAGE_GATES.get(stage)
    if gate is not None and not gates.enabled(gate):
        level = f"{stage.capitalize()}-level"
        text = f"CPU Manager Policy {level} Options not enabled, but option {quoted(name)} provided"
        raise SettingError(text, _CPU_FIELD, name)
    if name == SCALE_DELAY:
        return False
    try:
        return parse_bool(value)
    except GoError as error:
        raise SettingError(f"bad value for option {quoted(name)}: {error}", _CPU_FIELD, name) from None


PREFER_CLOSEST = "prefer-closest-numa-nodes"
MAX_NODES = "max-allowable-numa-nodes"
DEFAULT_MAX_NODES = 8

TOPOLOGY_OPTIONS: Mapping[str, OptionHistory] = {
    PREFER_CLOSEST: OptionHistory(26, 28, 32),
    MAX_NODES: OptionHistory(31, 31, 35),
}

POLICY_FIELDS = (
    "cpuManagerPolicy",
    "cpuManagerPolicyOptions",
    "reservedSystemCPUs",
    "topologyManagerPolicy",
    "topologyManagerScope",
    "topologyManagerPolicyOptions",
    "memoryManagerPolicy",
)
"""The fields of a configuration for policies, their options and the reserved CPUs."""
VARIED = (*POLICY_FIELDS, *CPU_SWITCHES, PREFER_CLOSEST)
"""What ``cpuctl advise`` varies unless it is to be kept: fields, and individual options."""

TOPOLOGY_STAGE_GATES = {
    "alpha": "TopologyManagerPolicyAlphaOptions",
    "beta": "TopologyManagerPolicyBetaOptions",
}
"""The gates that options of a stage need."""

_TOPOLOGY_FIELD = "topologyManagerPolicyOptions"


class TopologyOptions(Record):
    """The options of the Topology Manager, with their defaults."""

    prefer_closest_numa_nodes: bool = False
    max_allowable_numa_nodes: int = DEFAULT_MAX_NODES


def parse_topology_options(options: Mapping[str, str], gates: FeatureGates) -> TopologyOptions:
    """Read ``topologyManagerPolicyOptions`` as the release of *gates* does.

    Raise SettingError with the kubelet's text for an unknown option, one whose stage is gated off, or a value
    that is not a boolean or is too small a number.
    """
    values = {name: _read_topology_option(name, options[name], gates) for name in sorted(options)}
    return TopologyOptions(
        prefer_closest_numa_nodes=values.get(PREFER_CLOSEST, 0) == 1,
        max_allowable_numa_nodes=values.get(MAX_NODES, DEFAULT_MAX_NODES),
    )


def refuse_gated_topology_options(options: Mapping[str, str], gates: FeatureGates) -> None:
    """Raise SettingError if options are given, for any policy, and the gate for all options is off.

    Rule: ``cmd/kubelet/app/server.go``.
    """
    if options and not gates.enabled("TopologyManagerPolicyOptions"):
        raise SettingError(
            f"topology manager policy options {map_text(options)} require feature gates"
            ' "TopologyManagerPolicyOptions" enabled',
            _TOPOLOGY_FIELD,
        )


def _read_topology_option(name: str, value: str, gates: FeatureGates) -> int:
    stage = TOPOLOGY_OPTIONS[name].stage(gates.minor) if name in TOPOLOGY_OPTIONS else ""
    if not stage:
        raise SettingError(f"unknown Topology Manager Policy option: {quoted(name)}", _TOPOLOGY_FIELD, name)
    gate = TOPOLOGY_STAGE_GATES.get(stage)
    if gate is not None and not gates.enabled(gate):
        small = gates.release.lowercases_topology_errors
        words = (
            f"topology manager policy {stage}-level options"
            if small
            else f"Topology Manager Policy {stage.title()}-level Options"
        )
        text = f"{words} not enabled, but option {quoted(name)} provided"
        raise SettingError(text, _TOPOLOGY_FIELD, name)
    try:
        return _switch(name, value) if name == PREFER_CLOSEST else _node_limit(name, value)
    except GoError as error:
        raise SettingError(str(error), _TOPOLOGY_FIELD, name) from None


def _switch(name: str, value: str) -> int:
    try:
        return int(parse_bool(value))
    except GoError as error:
        raise GoError(f"bad value for option {quoted(name)}: {error}") from None


def _node_limit(name: str, value: str) -> int:
    try:
        limit = parse_atoi(value)
    except GoError as error:
        raise GoError(f"unable to convert policy option to integer {quoted(name)}: {error}") from None
    if limit < DEFAULT_MAX_NODES:
        raise GoError(f"the minimum value of {quoted(name)} should not be less than {DEFAULT_MAX_NODES}")
    return limit
