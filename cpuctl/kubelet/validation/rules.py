"""``ValidateKubeletConfiguration``: what the kubelet rejects on any machine, all errors at once.

Rule: ``pkg/kubelet/apis/config/validation``, 1.27 to 1.36, in the kubelet's order: one row per rule, for all
releases. Checks, documentation and the comparison of releases use this table. 1.37 and later follow 1.36. Of
the rules for Linux hosts (``validation_linux.go``, 1.31 to 1.36) the kubelet stops at the first that is
broken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby

from cpuctl.cpuset import CPUSet, CPUSetLimitError
from cpuctl.golang.conversions import aggregated, float_text
from cpuctl.golang.durations import MILLISECOND, SECOND, duration_text
from cpuctl.golang.text import GoError, quoted
from cpuctl.kubelet.config import SettingError
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.kubelet.validation.enforcement import ENFORCEMENT, GROUPS_OF_ALL
from cpuctl.kubelet.validation.housekeeping import (
    COLLECTION,
    CREDENTIALS,
    LOGS,
    PULLS,
    RESTARTS,
    SHUTDOWN,
    TAINTS,
)
from cpuctl.kubelet.validation.later import LATER
from cpuctl.kubelet.validation.observing import LOGGING, METRICS, TRACING
from cpuctl.kubelet.validation.rule import (
    PREFIX,
    Breaks,
    Broken,
    Rule,
    Subject,
    below,
    in_range,
    not_negative,
    when,
)
from cpuctl.quantity import Quantity
from cpuctl.records import Record, replace

_IDS_UNIT, _MOST_IDS = 65536, (1 << 32) - 1
_IDS = "userNamespaces.idsPerPod"
_host_rule = partial(Rule, each=lambda _: (None,), ends=True)
_v1_rule = partial(_host_rule, on_cgroup_v1=True)
_V1 = "kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is"


def _refuses_v1(subject: Subject) -> Broken:
    refuses = subject.config.fail_cgroup_v1
    if refuses is None:
        refuses = behaviours(subject.minor).rejects_cgroup_v1_by_default
    return when(subject.cgroup_version == 1 and refuses)


def _spares_groups(subject: Subject) -> Broken:
    return when(subject.cgroup_version == 1 and subject.config.single_process_oom_kill is False)


def _ids(wrong: str) -> Breaks:
    """Return a check for one problem with the number of IDs, if set."""

    def breaks(subject: Subject) -> Broken:
        value = subject.member("userNamespaces", "idsPerPod")
        number = _IDS_UNIT if value is None else int(value)
        ways = {"few": number < _IDS_UNIT, "odd": bool(number % _IDS_UNIT), "many": number > _MOST_IDS}
        return when(ways[wrong])

    return breaks


HOST = (
    _v1_rule("failCgroupV1", f"{_V1} in maintenance mode", _refuses_v1, since=31, until=35),
    _v1_rule(
        "failCgroupV1", f"{_V1} unsupported and will be removed in a future release", _refuses_v1, since=35
    ),
    _v1_rule(
        "singleProcessOOMKill",
        f"{PREFIX}singleProcessOOMKill must not be explicitly set to false when using cgroup v1",
        _spares_groups,
        since=32,
    ),
    _host_rule(_IDS, f"{PREFIX}{_IDS} must not be less than {_IDS_UNIT}", _ids("few"), since=33),
    _host_rule(_IDS, f"{PREFIX}{_IDS} must be a multiple of {_IDS_UNIT}", _ids("odd"), since=33),
    _host_rule(_IDS, f"{PREFIX}{_IDS} must not be more than {_MOST_IDS}", _ids("many"), since=33),
)


TOPOLOGY_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
TOPOLOGY_SCOPES = ("container", "pod")
_HAIRPIN_MODES = ("none", "hairpin-veth", "promiscuous-bridge")
_RESERVATION_POLICIES = ("None", "TieredReservation")
_DEFAULT_PERIOD = 100 * MILLISECOND


def _other_than(field: str, *known: str) -> Breaks:
    def breaks(subject: Subject) -> Broken:
        value = subject.given(field)
        return when(value is not None and value not in known, quoted(str(value)))

    return breaks


# CPU quota


_PERIOD = "cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {{{}}}"
_PERIOD_GATE = "CustomCPUCFSQuotaPeriod"


def _own_period(subject: Subject) -> Broken:
    period = subject.config.cpu_cfs_quota_period
    return when(not subject.on(_PERIOD_GATE) and period != _DEFAULT_PERIOD, duration_text(period))


def _long_period(subject: Subject) -> Broken:
    period = subject.config.cpu_cfs_quota_period
    fits = MILLISECOND <= period <= SECOND
    return when(subject.on(_PERIOD_GATE) and not fits, duration_text(period))


_QUOTA = (
    Rule(
        "cpuCFSQuotaPeriod",
        f"{PREFIX}{_PERIOD} requires feature gate {_PERIOD_GATE}",
        _own_period,
    ),
    Rule("cpuCFSQuotaPeriod", f"{PREFIX}{_PERIOD} must be between 1ms and 1sec, inclusive", _long_period),
)


# Swap


_SWAP = "memorySwap.swapBehavior"


def _other_swap(*known: str) -> Breaks:
    def breaks(subject: Subject) -> Broken:
        behaviour = subject.config.swap_behavior
        return when(subject.on("NodeSwap") and behaviour not in known, quoted(behaviour))

    return breaks


def _swap_without_gate(subject: Subject) -> Broken:
    return when(bool(subject.config.swap_behavior) and not subject.on("NodeSwap"))


_SWAPPING = (
    Rule(
        _SWAP,
        f'{PREFIX}{_SWAP} {{}} must be one of: "", "LimitedSwap", or "UnlimitedSwap"',
        _other_swap("", "LimitedSwap", "UnlimitedSwap"),
        until=30,
    ),
    Rule(
        _SWAP,
        f'{PREFIX}{_SWAP} {{}} must be one of: "", "LimitedSwap" or "NoSwap"',
        _other_swap("", "LimitedSwap", "NoSwap"),
        since=30,
    ),
    Rule(
        _SWAP,
        f"{PREFIX}{_SWAP} cannot be set when NodeSwap feature flag is disabled",
        _swap_without_gate,
    ),
)


# Reserved CPUs and memory


def _cpus_with_groups(subject: Subject) -> Broken:
    config = subject.config
    groups = config.system_reserved_cgroup or config.kube_reserved_cgroup
    return when(bool(config.reserved_system_cpus and groups))


def _unreadable_cpus(subject: Subject) -> Broken:
    text = subject.config.reserved_system_cpus
    if not text:
        return ()
    try:
        CPUSet.parse(text)
    except CPUSetLimitError:
        return ()  # well-formed, but not on any machine: that is detected later
    except GoError as error:
        return ((text, error),)
    return ()


class _Reserved(Record):
    """One amount of ``reservedMemory``, and whether the node has an earlier one of its kind."""

    node: int
    name: str
    amount: Quantity
    repeated: bool


def _reserved(subject: Subject) -> Iterable[object]:
    seen: set[tuple[int, str]] = set()
    for item in subject.config.reserved_memory:
        for name in sorted(item.limits):
            yield _Reserved(item.numa_node, name, item.limits[name], repeated=(item.numa_node, name) in seen)
            seen.add((item.numa_node, name))


def _other_kind(subject: Subject) -> Broken:
    item: _Reserved = subject.item
    known = item.name == "memory" or item.name.startswith("hugepages-")
    return when(not known, quoted(item.name), item.node)


def _no_amount(subject: Subject) -> Broken:
    item: _Reserved = subject.item
    return when(not item.amount.sign, item.node, quoted(item.name))


def _repeated_kind(subject: Subject) -> Broken:
    item: _Reserved = subject.item
    return when(item.repeated, item.node, quoted(item.name))


_memory_rule = partial(Rule, "reservedMemory", each=_reserved)
_RESERVATIONS = (
    Rule(
        "reservedSystemCPUs",
        f"{PREFIX}can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup"
        " (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)",
        _cpus_with_groups,
    ),
    Rule(
        "reservedSystemCPUs",
        f"{PREFIX}unable to parse reservedSystemCPUs (--reserved-cpus) {{}}, error: {{}}",
        _unreadable_cpus,
    ),
    _memory_rule(
        f"{PREFIX}the limit type {{}} for NUMA node {{}} is not supported, only"
        " [memory hugepages-<HugePageSize>] is accepted",
        _other_kind,
    ),
    _memory_rule(f"{PREFIX}reserved memory may not be zero for NUMA node {{}} and resource {{}}", _no_amount),
    _memory_rule(
        f"{PREFIX}the reserved memory has a duplicate value for NUMA node {{}} and resource {{}}",
        _repeated_kind,
    ),
)


# Memory QoS


def _factor(subject: Subject) -> Broken:
    factor = subject.config.memory_throttling_factor
    return when(factor is not None and not 0 < factor <= 1, float_text(factor or 0))


def _tiered_without_gate(subject: Subject) -> Broken:
    policy = subject.config.memory_reservation_policy
    return when(policy == "TieredReservation" and not subject.on("MemoryQoS"), quoted(policy))


_MEMORY_QOS = (
    Rule(
        "memoryThrottlingFactor",
        f"{PREFIX}memoryThrottlingFactor {{}} must be greater than 0 and less than or equal to 1.0",
        _factor,
    ),
    Rule(
        "memoryReservationPolicy",
        f"{PREFIX}memoryReservationPolicy {{}} requires MemoryQoS feature gate to be enabled",
        _tiered_without_gate,
        since=36,
    ),
    Rule(
        "memoryReservationPolicy",
        f"{PREFIX}option {{}} specified for memoryReservationPolicy."
        ' Valid options are "None" or "TieredReservation"',
        _other_than("memoryReservationPolicy", *_RESERVATION_POLICIES),
        since=36,
    ),
)


# All of them


_POLICIES_WORDS = " ".join(map(quoted, TOPOLOGY_POLICIES))
_MODES_WORDS = '"none", "hairpin-veth" or "promiscuous-bridge"'

RULES: tuple[Rule, ...] = (
    Rule(
        "nodeLeaseDurationSeconds",
        f"{PREFIX}nodeLeaseDurationSeconds must be greater than 0",
        below("nodeLeaseDurationSeconds", 1),
    ),
    GROUPS_OF_ALL,
    Rule(
        "systemCgroups",
        f"{PREFIX}systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not"
        " specified",
        lambda subject: when(bool(subject.config.system_cgroups) and not subject.config.cgroup_root),
    ),
    not_negative("eventBurst", "event-burst"),
    not_negative("eventRecordQPS", "event-qps"),
    in_range("healthzPort", "healthz-port", 0, 65535, said_low=1),
    *_QUOTA,
    *COLLECTION,
    in_range("iptablesDropBit", "iptables-drop-bit", 0, 31),
    in_range("iptablesMasqueradeBit", "iptables-masquerade-bit", 0, 31),
    not_negative("kubeAPIBurst", "kube-api-burst"),
    not_negative("kubeAPIQPS", "kube-api-qps"),
    Rule(
        "nodeStatusMaxImages",
        f"{PREFIX}nodeStatusMaxImages (--node-status-max-images) {{}} must be -1 or greater",
        below("nodeStatusMaxImages", -1),
    ),
    not_negative("maxOpenFiles", "max-open-files"),
    not_negative("maxPods", "max-pods"),
    in_range("oomScoreAdj", "oom-score-adj", -1000, 1000),
    not_negative("podsPerCore", "pods-per-core"),
    in_range("port", "port", 1, 65535),
    in_range("readOnlyPort", "read-only-port", 0, 65535),
    not_negative("registryBurst", "registry-burst"),
    not_negative("registryPullQPS", "registry-qps"),
    *PULLS,
    Rule(
        "serverTLSBootstrap",
        f"{PREFIX}serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate",
        lambda subject: when(
            subject.given("serverTLSBootstrap") is True and not subject.on("RotateKubeletServerCertificate")
        ),
    ),
    Rule(
        "runOnce",
        f"{PREFIX}runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set",
        lambda subject: when(subject.given("runOnce") is True),
        since=32,
    ),
    *TAINTS,
    Rule(
        "topologyManagerPolicy",
        f"{PREFIX}topologyManagerPolicy (--topology-manager-policy) {{}} must be one of: [{_POLICIES_WORDS}]",
        _other_than("topologyManagerPolicy", *TOPOLOGY_POLICIES),
    ),
    Rule(
        "topologyManagerScope",
        f'{PREFIX}topologyManagerScope (--topology-manager-scope) {{}} must be one of: "container", or "pod"',
        _other_than("topologyManagerScope", *TOPOLOGY_SCOPES),
    ),
    *SHUTDOWN,
    *_SWAPPING,
    *RESTARTS,
    *ENFORCEMENT,
    Rule(
        "hairpinMode",
        f"{PREFIX}option {{}} specified for hairpinMode (--hairpin-mode). Valid options are {_MODES_WORDS}",
        _other_than("hairpinMode", *_HAIRPIN_MODES),
    ),
    *CREDENTIALS,
    *_RESERVATIONS,
    *HOST,
    *METRICS,
    *LOGGING,
    *TRACING,
    *_MEMORY_QOS,
    Rule(
        "containerRuntimeEndpoint",
        f"{PREFIX}the containerRuntimeEndpoint was not specified or empty",
        lambda subject: when(not subject.config.container_runtime_endpoint),
    ),
    *LOGS,
)


def validate(subject: Subject) -> list[SettingError]:
    """Return all errors that the kubelet finds, in its order; empty if the configuration is valid."""
    return list(_errors(RULES, subject))


def refused_later(subject: Subject, stage: str) -> SettingError | None:
    """Return the first error of a later stage of the start, None if there is no error."""
    return next(_errors([rule for rule in LATER if rule.stage == stage], subject), None)


def validation_text(errors: list[SettingError]) -> str:
    """Return the errors as the kubelet prints them together."""
    return aggregated(str(error) for error in errors)


def _errors(rules: Iterable[Rule], subject: Subject) -> Iterator[SettingError]:
    rules = (rule for rule in rules if rule.holds_in(subject.minor))
    for each, block in groupby(rules, key=lambda rule: rule.each):
        if each is None:
            for rule in block:
                yield from _violations(rule, subject)
            continue
        together = tuple(block)
        for item in each(subject):
            yield from _errors_of_one(together, replace(subject, item=item))


def _errors_of_one(rules: tuple[Rule, ...], subject: Subject) -> Iterator[SettingError]:
    """Try the rules for one element of a list."""
    for rule in rules:
        found = list(_violations(rule, subject))
        yield from found
        if found and rule.ends:
            return


def _violations(rule: Rule, subject: Subject) -> Iterator[SettingError]:
    for values in rule.breaks(subject):
        yield SettingError(rule.text.format(*values), *rule.path)
