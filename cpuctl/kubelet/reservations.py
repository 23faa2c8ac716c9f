"""What is kept from pods: reserved CPUs and memory, ``kubeReserved``, ``systemReserved``, hard eviction.

Rule: kubelet v1.36 ``cmd/kubelet/app/server.go``, ``cm/node_container_manager_linux.go``,
``pkg/kubelet/eviction/helpers.go`` and, for ``reservedMemory``, which the Memory Manager's static policy
keeps from pods on each NUMA node, ``cm/memorymanager/memory_manager.go``, in its order. Errors are
SettingErrors with the kubelet's text. Where it walks a map in random order, the order here is by name.

A threshold's percentage has 32-bit precision: 10 % of the memory is ``trunc(float64(memory) *
float64(float32(10) / float32(100)))``.
"""

import math
from collections.abc import Collection, Iterable, Mapping

from cpuctl.cpuset import MAX_CPU, CPUSet, CPUSetLimitError
from cpuctl.golang.conversions import float32, parse_float32
from cpuctl.golang.text import GoError, quoted
from cpuctl.kubelet.config import (
    DEFAULT_EVICTION_HARD,
    INODE_THRESHOLD_OF_IMAGES,
    KubeletConfiguration,
    ReservedMemory,
    SettingError,
)
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.quantity import Format, Quantity
from cpuctl.records import Record

SIGNALS = frozenset(
    {
        "allocatableMemory.available", "containerfs.available", "containerfs.inodesFree", "imagefs.available",
        "imagefs.inodesFree", "memory.available", "nodefs.available", "nodefs.inodesFree", "pid.available",
    }
)  # fmt: skip

RESERVING_SIGNALS: Mapping[str, str] = {
    "memory.available": "memory",
    "nodefs.available": "ephemeral-storage",
}
"""The signals whose hard thresholds are kept from pods, and the resources they apply to."""

_DISABLED = ("0%", "100%")
_NO_NUMBER = -(1 << 63)
"""The integer to which processors convert NaN (``NaN%``)."""

_FIELD = "evictionHard"


class Threshold(Record):
    """A threshold: an amount or a share of the capacity (1 for all of it), in 32-bit precision."""

    amount: Quantity | None = None
    share: float = 0.0

    def of(self, capacity: Quantity | None) -> Quantity | None:
        """Resolve against a capacity; None for a share of an unknown capacity."""
        if self.amount is not None:
            return self.amount
        if capacity is None:
            return None
        if math.isnan(self.share):
            return Quantity.from_value(_NO_NUMBER, Format.BINARY_SI)
        return Quantity.from_value(math.trunc(float(capacity.value) * self.share), Format.BINARY_SI)


def default_eviction_hard(minor: int) -> dict[str, str]:
    """Return the thresholds that a release applies if a configuration file has none (Linux)."""
    inodes = behaviours(minor).default_inode_threshold_of_images
    return {
        signal: threshold
        for signal, threshold in DEFAULT_EVICTION_HARD.items()
        if inodes or signal != INODE_THRESHOLD_OF_IMAGES
    }


UNSUPPORTED = "unsupported eviction signal {}"
NEGATIVE = "eviction percentage threshold {} must be >= 0%: {}"
BEYOND = "eviction percentage threshold {} must be <= 100%: {}"
NOT_POSITIVE = "eviction threshold {} must be positive: {}"
UNREADABLE = "{}"


def threshold_problem(signal: str, text: str) -> tuple[str, tuple[object, ...]] | None:
    """Return the kubelet's error about a threshold: its text, and the values in it."""
    if signal not in SIGNALS:
        return UNSUPPORTED, (signal,)
    if text in _DISABLED:
        return None
    try:
        if not text.endswith("%"):
            amount = Quantity.parse(text)
            return (NOT_POSITIVE, (signal, amount)) if amount.sign <= 0 else None
        share = _share(text)
    except GoError as error:
        return UNREADABLE, (error,)
    if share < 0:
        return NEGATIVE, (signal, text)
    return (BEYOND, (signal, text)) if share > 1 else None


def parse_thresholds(thresholds: Mapping[str, str]) -> dict[str, Threshold]:
    """Read ``evictionHard``; disabled thresholds are left out.

    Raise SettingError with the kubelet's text. The kubelet walks the map in random order; here it is by name.
    """
    parsed = {signal: _parse_threshold(signal, thresholds[signal]) for signal in sorted(thresholds)}
    return {signal: threshold for signal, threshold in parsed.items() if threshold is not None}


def _parse_threshold(signal: str, text: str) -> Threshold | None:
    if problem := threshold_problem(signal, text):
        message, values = problem
        raise SettingError(message.format(*values), _FIELD, signal)
    if text in _DISABLED:
        return None
    return Threshold(share=_share(text)) if text.endswith("%") else Threshold(Quantity.parse(text))


def _share(text: str) -> float:
    """Read a percentage as a share of 1; raise GoError for anything else."""
    return float32(parse_float32(text.rstrip("%")) / 100)


RESERVABLE = ("cpu", "memory", "ephemeral-storage", "pid")
_ZERO = Quantity()
_LIST = ("reservedSystemCPUs",)


class CPUReservation(Record):
    """The ``number`` of CPUs kept from pods; ``cpus`` are these, None leaves the choice to the CPU Manager.

    ``given`` is whether any amount is reserved: for one beyond 64 bits, the kubelet's count can be anything.
    ``setting`` is the path of the setting that reserves most of them.
    """

    number: int
    cpus: CPUSet | None = None
    given: bool = True
    setting: tuple[str, ...] = _LIST


class Reservations(Record):
    """Everything that is kept from pods, by resource; ``listed`` is ``reservedSystemCPUs`` if set."""

    kube: Mapping[str, Quantity] = {}
    system: Mapping[str, Quantity] = {}
    thresholds: Mapping[str, Threshold] = {}
    listed: CPUSet | None = None

    @property
    def cpus(self) -> CPUReservation:
        """The CPUs: a count in whole CPUs, rounded up. Eviction never concerns CPUs."""
        total = self.kube.get("cpu", _ZERO) + self.system.get("cpu", _ZERO)
        setting = _LIST if self.listed is not None or not total.sign else self.largest("cpu", {})
        return CPUReservation(-(-total.milli_value // 1000), self.listed, bool(total.sign), setting)

    def largest(self, resource: str, capacity: Mapping[str, Quantity]) -> tuple[str, ...]:
        """Return the path of the setting that reserves most of a resource."""
        signals = {kept: signal for signal, kept in RESERVING_SIGNALS.items()}
        amounts = {
            ("kubeReserved", resource): self.kube.get(resource, _ZERO),
            ("systemReserved", resource): self.system.get(resource, _ZERO),
            ("evictionHard", signals.get(resource, "")): self.kept_by_eviction(capacity).get(resource, _ZERO),
        }
        return max(amounts, key=lambda path: amounts[path].nano)

    def kept_by_eviction(self, capacity: Mapping[str, Quantity]) -> dict[str, Quantity]:
        """Resolve hard eviction by resource; a share of an unknown capacity is left out."""
        kept = {}
        for signal, resource in RESERVING_SIGNALS.items():
            threshold = self.thresholds.get(signal)
            amount = threshold.of(capacity.get(resource)) if threshold else None
            if amount is not None:
                kept[resource] = amount
        return kept

    def total(self, capacity: Mapping[str, Quantity]) -> dict[str, Quantity]:
        """Add up what is kept of every resource in *capacity*; resources with nothing kept are left out."""
        eviction = self.kept_by_eviction(capacity)
        sums = {
            resource: self.system.get(resource, _ZERO)
            + self.kube.get(resource, _ZERO)
            + eviction.get(resource, _ZERO)
            for resource in capacity
        }
        return {resource: amount for resource, amount in sums.items() if amount.sign}


def listed_cpus(config: KubeletConfiguration, online: CPUSet) -> CPUSet | None:
    """Read ``reservedSystemCPUs`` on a node whose CPUs are *online*; None if it is not set.

    Raise SettingError, in the kubelet's words, for an invalid CPU list and for CPUs that are not online.
    """
    text = config.reserved_system_cpus
    if not text:
        return None
    try:
        listed = CPUSet.parse(text)
    except CPUSetLimitError:
        listed = CPUSet(1 << MAX_CPU)  # one of them is not on any machine, whatever the others are
    except GoError as error:
        raise SettingError(f"unable to parse reserved-cpus list: {error}", "reservedSystemCPUs") from None
    if not listed <= online:
        problem = f"reserved-cpus: {text} is not a subset of online-cpus: {online}"
        raise SettingError(problem, "reservedSystemCPUs")
    return listed


def kube_reserved(config: KubeletConfiguration, listed: CPUSet | None) -> dict[str, Quantity]:
    """Read ``kubeReserved``; listed CPUs replace its CPUs, which are then not checked."""
    amounts = {
        name: amount for name, amount in config.kube_reserved.items() if listed is None or name != "cpu"
    }
    return _parse("kubeReserved", "--kube-reserved", amounts)


def system_reserved(config: KubeletConfiguration, listed: CPUSet | None) -> dict[str, Quantity]:
    """Read ``systemReserved``; the number of listed CPUs replaces its CPUs."""
    cpus = {} if listed is None else {"cpu": str(len(listed))}
    return _parse("systemReserved", "--system-reserved", {**config.system_reserved, **cpus})


def hard_thresholds(config: KubeletConfiguration) -> dict[str, Threshold]:
    """Read ``evictionHard``, unless the kubelet is configured to ignore it."""
    return {} if config.ignores_eviction_thresholds else parse_thresholds(config.eviction_hard)


def check_qos_reserved(shares: Mapping[str, str]) -> None:
    """Check ``qosReserved``, which takes a percentage of memory.

    Raise SettingError, in the kubelet's words, for the first invalid share by name.
    """
    for name in sorted(shares):
        try:
            _check_share(name, shares[name])
        except GoError as error:
            text = f"--qos-reserved value failed to parse: {error}"
            raise SettingError(text, "qosReserved", name) from None


def check_capacity(
    reservations: Reservations, capacity: Mapping[str, Quantity], *, reports_expected: bool = True
) -> None:
    """Raise SettingError if more of a resource is reserved than its capacity.

    Unless *reports_expected* (kubernetes pull request 119764), the text contains what would be left.
    """
    write = _expected_capacity if reports_expected else _negative_allocatable
    errors = {
        resource: write(resource, amount, capacity[resource])
        for resource, amount in sorted(reservations.total(capacity).items())
        if capacity[resource] < amount
    }
    if errors:
        text = f"invalid Node Allocatable configuration. {' '.join(errors.values())}"
        raise SettingError(text, *reservations.largest(next(iter(errors)), capacity))


def _expected_capacity(resource: str, amount: Quantity, capacity: Quantity) -> str:
    return (
        f"Resource {quoted(resource)} has a reservation of {_raw(amount)} but capacity of"
        f" {_raw(capacity)}. Expected capacity >= reservation."
    )


def _negative_allocatable(resource: str, amount: Quantity, capacity: Quantity) -> str:
    left = capacity - amount
    return f"Resource {quoted(resource)} has an allocatable of {_raw(amount)}, capacity of {_raw(left)}"


def require_cpu_reservation(reservation: CPUReservation) -> None:
    """Raise with the static CPU policy's text if no CPU is reserved."""
    if not reservation.given:
        error = "[cpumanager] unable to determine reserved CPU resources for static policy"
        raise SettingError(error, "reservedSystemCPUs")


def _parse(field_name: str, flag: str, amounts: Mapping[str, str]) -> dict[str, Quantity]:
    try:
        return {name: _amount(name, amounts[name]) for name in sorted(amounts)}
    except SettingError as error:
        text = f"{flag} value failed to parse: {error}"
        raise SettingError(text, field_name, *error.path) from None


def _amount(name: str, text: str) -> Quantity:
    if name not in RESERVABLE:
        raise SettingError(f"cannot reserve {quoted(name)} resource", name)
    try:
        amount = Quantity.parse(text)
    except GoError as error:
        problem = f"failed to parse quantity {quoted(text)} for {quoted(name)} resource: {error}"
        raise SettingError(problem, name) from None
    if amount.sign < 0:
        raise SettingError(f"resource quantity for {quoted(name)} cannot be negative: {text}", name)
    return amount


def _check_share(name: str, text: str) -> None:
    if name != "memory":
        raise GoError(f"cannot reserve {quoted(name)} resource")
    problem = ""
    digits = text.rstrip("%")
    sign, number = (digits[:1], digits[1:]) if digits[:1] in ("-", "+") else ("", digits)
    if not text.endswith("%"):
        problem = f"percentage expected, got '{text}'"
    elif not (number.isascii() and number.isdecimal()):
        problem = f"invalid number in percentage '{text}'"
    elif (sign == "-" and number.strip("0")) or len(number.lstrip("0")) > 3 or int(number) > 100:
        problem = "percentage must be between 0 and 100"
    if problem:
        raise GoError(f"failed to parse percentage {quoted(text)} for {quoted(name)} resource: {problem}")


def _raw(amount: Quantity) -> str:
    """Write a quantity as the kubelet prints it without converting it to text.

    The long form contains a pointer, whose value cannot be known.
    """
    if not amount.short:
        return "{...}"
    return f"{{{{{amount.unscaled} {amount.exponent}}} {{<nil>}} {amount.verbatim} {amount.format}}}"


_SETTING = "reservedMemory"


def reserved_by_node(
    listed: Iterable[ReservedMemory], nodes: Collection[int], reserved: Mapping[str, Quantity]
) -> dict[int, dict[str, int]]:
    """Return bytes by NUMA node and resource, or raise SettingError with the kubelet's text.

    *nodes* are those of the machine, *reserved* is what Node Allocatable keeps from pods, which the totals
    must equal.
    """
    items = list(listed)
    for item in items:
        if item.numa_node not in nodes:
            problem = f"references a NUMA node {item.numa_node} that does not exist on this machine"
            raise SettingError(f"the reserved memory configuration {problem}", _SETTING)
    _check_totals(total_by_resource(items), reserved)
    amounts: dict[int, dict[str, int]] = {}
    for item in items:
        for name, quantity in sorted(item.limits.items()):
            number = quantity.exact_int64
            if number is None:
                raise SettingError("could not covert a variable of type Quantity to int64", _SETTING)
            amounts.setdefault(item.numa_node, {})[name] = number
    if not sum(each.get("memory", 0) for each in amounts.values()):
        raise SettingError("[memorymanager] you should specify the system reserved memory", _SETTING)
    return amounts


def total_by_resource(items: Iterable[ReservedMemory]) -> dict[str, Quantity]:
    """Add up the amounts of all NUMA nodes."""
    totals: dict[str, Quantity] = {}
    for item in items:
        for name, quantity in item.limits.items():
            totals[name] = quantity + totals[name] if name in totals else quantity
    return totals


def countable(number: int) -> Quantity:
    """Write bytes as a quantity that parses as an "exact int64": the kubelet does not count ``1000Ti``."""
    short = Quantity.parse(str(Quantity.from_value(number, Format.BINARY_SI)))
    return short if short.exact_int64 == number else Quantity.parse(str(number))


def _check_totals(totals: Mapping[str, Quantity], reserved: Mapping[str, Quantity]) -> None:
    counted = {name for name in reserved if name == "memory" or name.startswith("hugepages-")}
    for name in sorted(totals.keys() | counted):
        # The kubelet adds both to its own zero, which changes how they are printed.
        total, wanted = _ZERO + totals.get(name, _ZERO), _ZERO + reserved.get(name, _ZERO)
        if total != wanted:
            amounts = f"the total amount {quoted(str(total))} of type {quoted(name)} is not equal to"
            problem = f"{amounts} the value {quoted(str(wanted))} determined by Node Allocatable feature"
            raise SettingError(problem, _SETTING)
