"""From the settings of a configuration to the value that the rest of cpuctl works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cpuctl.golang.durations import parse_duration
from cpuctl.kubelet.config import ATTRIBUTES, KubeletConfiguration, ReservedMemory
from cpuctl.kubelet.configuration.decoded import quantity_of
from cpuctl.kubelet.configuration.settings import Settings, plain

if TYPE_CHECKING:
    from cpuctl.documents.document import Value


def to_configuration(settings: Settings, **from_flags: Any) -> KubeletConfiguration:  # noqa: ANN401
    """Turn settings, their types checked and defaults filled in, into a configuration.

    *from_flags* are the attributes that no field of the document has.
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
    """Read a mapping of texts; Go reads null as the empty one."""
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
