"""Fields with the wrong indentation: where in a ``KubeletConfiguration`` a name belongs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import takewhile
from typing import Final, NamedTuple

from cpuctl.kubelet.configuration.schema import FIELD_TYPES, STRUCTS
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.policy_options import CPU_POLICY_OPTIONS, TOPOLOGY_OPTIONS
from cpuctl.kubelet.reservations import RESERVABLE, SIGNALS
from cpuctl.phrases import any_of

_OPTIONS: Final = {
    "cpuManagerPolicyOptions": CPU_POLICY_OPTIONS,
    "topologyManagerPolicyOptions": TOPOLOGY_OPTIONS,
}
_EVICTION: Final = ("evictionHard", "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim")
_KEYS: Final[Mapping[str, Collection[str]]] = {
    "kubeReserved": RESERVABLE,
    "systemReserved": RESERVABLE,
    "limits": ("memory", "hugepages-2Mi", "hugepages-1Gi"),
    **dict.fromkeys(_EVICTION, SIGNALS),
}
"""Fields that are maps, and the names in them that every kubelet knows."""


class Home(NamedTuple):
    """The field below which a name belongs, or several; ``follows``: that field precedes it immediately."""

    fields: tuple[str, ...]
    follows: bool = False

    @property
    def named(self) -> str:
        """The field, or the alternatives."""
        return any_of(self.fields)


def home_of(name: str, beside: Collection[str], fields: Mapping[str, str], minor: int) -> Home | None:
    """Return where a name belongs that is none of the *fields* of its struct; None if it belongs nowhere.

    Of several such fields, it is the last one before it: its line only lacks the indentation.
    *beside* are the names that are set there, in the order of the file.
    """
    homes = [field for field, kind in fields.items() if _has(field, kind, name, minor)]
    above = [each for each in takewhile(lambda each: each != name, beside) if each in fields]
    if before := [each for each in above if each in homes]:
        return Home((before[-1],), follows=before[-1] == above[-1])
    given = [field for field in homes if field in beside] or homes
    return Home(tuple(given)) if given else None


def _has(field: str, kind: str, name: str, minor: int) -> bool:
    if field == "featureGates":
        return FeatureGates.for_minor(minor).stage(name) is not None
    if field in _OPTIONS:
        history = _OPTIONS[field].get(name)
        return history is not None and history.stage(minor) != ""
    return name in _KEYS.get(field, STRUCTS.get(kind.lstrip("*"), ()))


def moved_out(setting: str, given: Collection[str] = ()) -> str:
    """Write where a *setting* belongs that is set below another; empty if it is none, or among *given*.

    *given* are the names that are set at the top level, as far as they are known.
    """
    parent, _, name = setting.rpartition(".")
    is_misplaced = parent and name in FIELD_TYPES and name not in given
    return f"move {name} out of {parent}: it is a setting of its own" if is_misplaced else ""
