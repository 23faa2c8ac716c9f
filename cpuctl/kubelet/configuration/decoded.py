"""A decoded configuration: defaults, re-serialising, folding of names, and the resulting value.

Rule: ``pkg/kubelet/apis/config/v1beta1/defaults.go`` and the merge in ``cmd/kubelet/app/server.go``, 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cpuctl.golang.durations import duration_text, parse_duration
from cpuctl.golang.json_mistakes import DURATION, match_field
from cpuctl.kubelet.config import ATTRIBUTES, KubeletConfiguration, ReservedMemory
from cpuctl.kubelet.configuration.notes import ConfigRemark
from cpuctl.kubelet.configuration.schema import FIELD_TYPES, ROOT_TYPE, STRUCTS, FieldType, known_fields
from cpuctl.kubelet.configuration.settings import DEFAULT_ORIGIN, Setting, Settings, plain, uniform
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.kubelet.reservations import default_eviction_hard
from cpuctl.quantity import Quantity
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.documents.document import Value


class Layer(Record):
    """What is set, the warnings about what is ignored, and the drop-in files in order."""

    settings: Settings
    warnings: tuple[ConfigRemark, ...] = ()
    files: tuple[str, ...] = ()


_RESERVED_MEMORY = "reservedMemory"


def with_defaults(settings: Settings, minor: int) -> Settings:
    """Fill in the defaults of a release: for absent or null fields, and for zero if it means absent.

    ``evictionHard`` is left alone: only the reader of the main file gives it a default.
    """
    filled = dict(settings)
    for name, default in _defaults(minor).items():
        given = filled.get(name)
        if given is None or _counts_as_absent(given.value, FIELD_TYPES[name]):
            filled[name] = uniform(default, DEFAULT_ORIGIN)
    limit = filled["podPidsLimit"]
    if isinstance(limit.value, int) and limit.value < 0:
        filled["podPidsLimit"] = Setting(-1, limit.origin)
    return {name: filled[name] for name in FIELD_TYPES if name in filled and filled[name].value is not None}


def _defaults(minor: int) -> dict[str, Value]:
    known, release = known_fields(minor), behaviours(minor)
    of_release: dict[str, Value] = {
        "failCgroupV1": release.rejects_cgroup_v1_by_default,
        "memoryThrottlingFactor": None if release.memory_throttling_is_opt_in else 0.9,
    }
    fixed = {name: field.default for name, field in FIELD_TYPES.items()}
    return {
        name: default
        for name, default in (fixed | of_release).items()
        if default is not None and name in known
    }


def _counts_as_absent(value: object, field: FieldType) -> bool:
    if value is None:
        return True
    if field.is_pointer or isinstance(value, list | dict):
        return False
    if field.go_type == DURATION:
        return isinstance(value, str) and parse_duration(value) == 0
    return not value


def with_eviction_defaults(settings: Settings, minor: int) -> Settings:
    """Add the default thresholds to ``evictionHard`` if it is absent or to be merged with them."""
    given = settings.get("evictionHard")
    defaults = uniform(dict(default_eviction_hard(minor)), DEFAULT_ORIGIN)
    if given is None or given.value is None:
        return {**settings, "evictionHard": defaults}
    merges = settings.get("mergeDefaultEvictionSettings")
    if merges is None or merges.value is not True:
        return settings
    merged = {**(defaults.members or {}), **(given.members or {})}
    return {**settings, "evictionHard": Setting(merged, given.origin)}


def reserialised(settings: Settings) -> Settings:
    """Write the configuration out and read it back, as the kubelet does before it merges drop-ins.

    Durations and quantities become canonical; empty, zero and false values are dropped, except behind
    pointers.
    """
    return {
        name: _canonical(name, setting, FIELD_TYPES[name])
        for name, setting in settings.items()
        if _is_written(setting, FIELD_TYPES[name])
    }


def _is_written(setting: Setting, field: FieldType) -> bool:
    is_struct = field.go_type.lstrip("*") in STRUCTS or field.go_type == DURATION
    return field.is_pointer or is_struct or bool(setting.value)


def _canonical(name: str, setting: Setting, field: FieldType) -> Setting:
    value = setting.value
    if field.go_type.lstrip("*") == DURATION and isinstance(value, str):
        return Setting(duration_text(parse_duration(value)), setting.origin)
    if name == _RESERVED_MEMORY and isinstance(value, list):
        return Setting([_canonical_reservation(item) for item in value], setting.origin)
    return setting


def _canonical_reservation(item: Value) -> Value:
    assert isinstance(item, dict)
    limits = item.get("limits")
    amounts = limits if isinstance(limits, dict) else {}
    return {
        "numaNode": item.get("numaNode") or 0,
        "limits": {name: str(quantity_of(amount)) for name, amount in amounts.items()},
    }


def quantity_of(value: Value) -> Quantity:
    """Read an amount as its decoder does: a string, a bare number, or null for zero."""
    if value is None:
        return Quantity()
    whole = isinstance(value, float) and value.is_integer()
    return Quantity.parse(str(int(value)) if whole and isinstance(value, float) else str(value).strip())


def folded(settings: Settings, struct: str = ROOT_TYPE) -> Settings:
    """Match names to fields as Go's own decoder does: exactly, or else case-insensitively.

    Several spellings of a field are processed in byte order: the last one wins, mappings are merged.
    """
    fields = STRUCTS[struct]
    found: Settings = {}
    for name in sorted(settings):
        field = match_field(name, fields, any_case=True)
        if field is not None:
            found[field] = _joined(found.get(field), _inner(settings[name], fields[field]))
    return found


def _inner(setting: Setting, go_type: str) -> Setting:
    members, struct = setting.members, go_type.lstrip("*")
    if members is None or not STRUCTS.get(struct):
        return setting
    return Setting(folded(members, struct), setting.origin)


def _joined(first: Setting | None, second: Setting) -> Setting:
    if first is None or first.members is None or second.members is None:
        return second
    return Setting(first.members | second.members, first.origin)


def to_configuration(settings: Settings, **from_flags: Any) -> KubeletConfiguration:  # noqa: ANN401
    """Convert settings, with types checked and defaults filled in, to a configuration.

    *from_flags* are attributes that are not fields of the document.
    """
    values = {name: plain(setting) for name, setting in settings.items()}
    attributes: dict[str, Any] = {
        attribute: _READERS.get(name, _unchanged)(values[name])
        for name, attribute in ATTRIBUTES.items()
        if values.get(name) is not None
    }
    others = {name: value for name, value in values.items() if name not in ATTRIBUTES}
    return KubeletConfiguration(**attributes, others=others, **from_flags)


def _unchanged(value: Value) -> object:
    return value


def _duration(value: Value) -> int:
    assert isinstance(value, str)
    return parse_duration(value)


def _texts(value: Value) -> tuple[str, ...]:
    assert isinstance(value, list)
    return tuple("" if item is None else str(item) for item in value)


def _text_map(value: Value) -> dict[str, str]:
    """Read a mapping of strings; Go reads null as the empty string."""
    assert isinstance(value, dict)
    return {name: "" if text is None else str(text) for name, text in value.items()}


def _switches(value: Value) -> dict[str, bool]:
    assert isinstance(value, dict)
    return {name: switch is True for name, switch in value.items()}


def _factor(value: Value) -> float:
    assert isinstance(value, int | float)
    return float(value)


def _integer(value: Value) -> int:
    assert isinstance(value, int | float)
    return int(value)


def _swap_behavior(value: Value) -> str:
    assert isinstance(value, dict)
    return str(value.get("swapBehavior") or "")


def _reserved_memory(value: Value) -> tuple[ReservedMemory, ...]:
    assert isinstance(value, list)
    return tuple(_reservation(item) for item in value)


def _reservation(item: Value) -> ReservedMemory:
    members = item if isinstance(item, dict) else {}
    limits = members.get("limits")
    amounts = limits if isinstance(limits, dict) else {}
    return ReservedMemory(
        numa_node=_integer(members.get("numaNode") or 0),
        limits={name: quantity_of(amount) for name, amount in amounts.items()},
    )


_READERS: Mapping[str, Callable[[Value], object]] = {
    "cpuCFSQuotaPeriod": _duration,
    "cpuManagerPolicyOptions": _text_map,
    "cpuManagerReconcilePeriod": _duration,
    "enforceNodeAllocatable": _texts,
    "evictionHard": _text_map,
    "evictionMinimumReclaim": _text_map,
    "evictionPressureTransitionPeriod": _duration,
    "evictionSoft": _text_map,
    "evictionSoftGracePeriod": _text_map,
    "featureGates": _switches,
    "kubeReserved": _text_map,
    "maxPods": _integer,
    "memorySwap": _swap_behavior,
    "memoryThrottlingFactor": _factor,
    "nodeStatusUpdateFrequency": _duration,
    "oomScoreAdj": _integer,
    "podPidsLimit": _integer,
    "podsPerCore": _integer,
    "port": _integer,
    "qosReserved": _text_map,
    "readOnlyPort": _integer,
    "reservedMemory": _reserved_memory,
    "systemReserved": _text_map,
    "topologyManagerPolicyOptions": _text_map,
}
