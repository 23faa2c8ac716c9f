"""Settings of a kubelet as words: ``topologyManagerScope=pod,kubeReserved.cpu=2,kubeletVersion=1.37``.

A name is a field of ``KubeletConfiguration``, members follow dots, and values are written as in the kubelet's
flags, including commas. ``kubeletVersion`` is the release. Policy options need no prefix, and a word that can
only mean one setting is enough: ``restricted``, ``pod``, ``full-pcpus-only``, ``1.37``. Like flags, settings
override files; unlike flags, they keep the other members of a mapping.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from cpuctl.documents.document import Value
from cpuctl.errors import UsageError
from cpuctl.golang.conversions import parse_bool
from cpuctl.golang.json_mistakes import DURATION
from cpuctl.kubelet.configuration.schema import FIELD_TYPES, STRUCTS
from cpuctl.kubelet.configuration.settings import (
    OriginKind,
    Setting,
    Settings,
    ValueOrigin,
    merge_patch,
    uniform,
)
from cpuctl.kubelet.flags.values import read_flag
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.policy_options import CPU_POLICY_OPTIONS, PREFER_CLOSEST, TOPOLOGY_OPTIONS
from cpuctl.kubelet.version import NEWEST, OLDEST, KubeletVersion
from cpuctl.spelling import did_you_mean

T = TypeVar("T")

VERSION, GATES = "kubeletVersion", "featureGates"
NOTHING = frozenset({"", ".", "current"})
"""The words for no change."""

_ALONE: Mapping[str, str] = {
    "static": "cpuManagerPolicy=static",
    "best-effort": "topologyManagerPolicy=best-effort",
    "restricted": "topologyManagerPolicy=restricted",
    "single-numa-node": "topologyManagerPolicy=single-numa-node",
    "container": "topologyManagerScope=container",
    "pod": "topologyManagerScope=pod",
    PREFER_CLOSEST: f"{PREFER_CLOSEST}=true",
    **{option: f"{option}=true" for option in CPU_POLICY_OPTIONS},
}
"""The meaning of a word without a value."""

_OF_SEVERAL = {
    "none": "write cpuManagerPolicy=none or topologyManagerPolicy=none",
    "None": "write memoryManagerPolicy=None",
    "Static": "write memoryManagerPolicy=Static",
}
"""Words that would be the value of more than one setting, or that differ from one only in case."""

_RELEASE = re.compile(r"v?1\.[0-9]+([.+-].*)?", re.ASCII)
_GATE_GROUPS = ("AllAlpha", "AllBeta")
_FORM = "write NAME=VALUE, separated by commas, or . for no change"
_CPUS = re.compile(r"[0-9]+(-[0-9]+)?", re.ASCII)
_MEMORY = "[]v1beta1.MemoryReservation"
_KINDS: Mapping[str, str] = {
    "string": "string", "bool": "bool", "int32": "int32", "int64": "int64", DURATION: "duration",
    "[]string": "list", _MEMORY: "memory",
}  # fmt: skip
"""How the kubelet's flags read a value of a Go type."""

_MEMBERS: Mapping[str, Collection[str]] = {
    "cpuManagerPolicyOptions": CPU_POLICY_OPTIONS,
    "topologyManagerPolicyOptions": TOPOLOGY_OPTIONS,
}
"""The mappings whose names are all known; their members need no prefix."""


@dataclass(frozen=True, slots=True)
class SettingOverrides:
    """What words set: the release, None if unchanged, feature gates, and fields as a patch."""

    text: str = ""
    version: KubeletVersion | None = None
    gates: Mapping[str, bool] = field(default_factory=dict)
    patch: Settings = field(default_factory=dict)

    def applied_to(self, settings: Settings) -> Settings:
        """Return the changed fields, applied to *settings*."""
        base = Setting(None)
        return {name: merge_patch(settings.get(name, base), change) for name, change in self.patch.items()}


def read_setting_overrides(text: str, where: str) -> SettingOverrides:
    """Read words; raise UsageError, located at *where*, for a name or value that no kubelet knows."""
    reader = _Reader(where)
    for name, value in _pairs(text, where):
        reader.take(name, value)
    text = "" if text.strip() in NOTHING else text.strip()
    return SettingOverrides(text, reader.version, reader.gates, reader.patch)


def _pairs(text: str, where: str) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for part in text.split(",") if text.strip() not in NOTHING else ():
        if pairs and _continues_value(*pairs[-1], part):
            pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]},{part}")
        else:
            pairs.append(_pair(part.strip(), where))
    return pairs


def _pair(word: str, where: str) -> tuple[str, str]:
    if _RELEASE.fullmatch(word):
        return VERSION, word
    name, equals, value = (part.strip() for part in _ALONE.get(word, word).partition("="))
    if not equals:
        hint = _OF_SEVERAL.get(word) or did_you_mean(word, _ALONE, _FORM)
        raise UsageError(f"expected NAME=VALUE or a policy, found {word!r}", where=where, hint=hint)
    mapping = next((mapping for mapping, members in _MEMBERS.items() if name in members), "")
    return f"{mapping}.{name}" if mapping else name, value


def _continues_value(name: str, value: str, part: str) -> bool:
    """Return whether the comma before *part* belongs to the value before it."""
    root = part.partition("=")[0].partition(".")[0].strip()
    if root in FIELD_TYPES or root == VERSION:
        return False
    go_type = FIELD_TYPES[name].go_type if name in FIELD_TYPES else ""
    listed = go_type == "string" and bool(_CPUS.fullmatch(part.strip()) and value)
    return listed or go_type == _MEMORY or (go_type == "[]string" and "=" not in part)


@dataclass(slots=True)
class _Reader:
    """A reader of words, one after the other; of two for the same name, the last one wins."""

    where: str
    version: KubeletVersion | None = None
    gates: dict[str, bool] = field(default_factory=dict)
    patch: Settings = field(default_factory=dict)

    def take(self, name: str, value: str) -> None:
        """Read one pair."""
        root, _, member = name.partition(".")
        if name == VERSION:
            self.version = self._read(name, value, KubeletVersion.parse)
        elif root == GATES:
            self._check_gate(member)
            self.gates[member] = self._read(name, value, parse_bool)
        elif root in FIELD_TYPES:
            tree = self._tree(FIELD_TYPES[root].go_type.lstrip("*"), (root, member), value)
            change = uniform(tree, ValueOrigin(OriginKind.FLAG, self.where))
            self.patch[root] = merge_patch(self.patch.get(root, Setting(None)), change)
        else:
            known = (*FIELD_TYPES, VERSION, *CPU_POLICY_OPTIONS, *TOPOLOGY_OPTIONS)
            raise self._unknown(root, "the kubelet's settings", known)

    def _tree(self, go_type: str, path: tuple[str, str], value: str) -> Value:
        """Read a value of a type; the first part of *path* names the setting, the second its member."""
        name, member = path
        kind = _kind(go_type)
        if STRUCTS.get(go_type) and member:
            below, _, rest = member.partition(".")
            if below not in STRUCTS[go_type]:
                raise self._unknown(below, f"the members of {name}", STRUCTS[go_type])
            inner = STRUCTS[go_type][below].lstrip("*")
            return {below: self._tree(inner, (f"{name}.{below}", rest), value)}
        if go_type == "map[string]string" and member:
            if name in _MEMBERS and member not in _MEMBERS[name]:
                raise self._unknown(member, f"the members of {name}", _MEMBERS[name])
            return {member: value}
        if kind and not member:
            return self._read(name, value, lambda text: read_flag(kind, text, None))
        if kind:
            message = f"{name} has no members, found {name}.{member}"
            raise UsageError(message, where=self.where, hint=f"write {name}={value}")
        if STRUCTS.get(go_type) or go_type == "map[string]string":
            hint = f"write {name}.MEMBER=VALUE"
            raise UsageError(f"{name} is a mapping: specify a member", where=self.where, hint=hint)
        hint = "put it in a file and use --kubelet-config FILE"
        raise UsageError(f"{name} cannot be set here", where=self.where, hint=hint)

    def _check_gate(self, gate: str) -> None:
        known = {
            name for minor in range(OLDEST, NEWEST + 1) for name in FeatureGates.for_minor(minor).known()
        }
        if gate not in (*_GATE_GROUPS, *known):
            raise self._unknown(gate, "the known feature gates", known)

    def _read(self, name: str, value: str, read: Callable[[str], T]) -> T:
        try:
            return read(value)
        except ValueError as error:
            hint = "" if name == VERSION else _FORM
            raise UsageError(f"{name}={value}: {error}", where=self.where, hint=hint) from None

    def _unknown(self, name: str, among: str, known: Iterable[str]) -> UsageError:
        hint = did_you_mean(name, known, _FORM)
        return UsageError(f'"{name}" is not one of {among}', where=self.where, hint=hint)


def _kind(go_type: str) -> str:
    """Return the flag kind of a type, empty if no flag has this type."""
    if go_type in _KINDS:
        return _KINDS[go_type]
    # Named types that are not structs are strings in this API.
    named = go_type.startswith("v1") and go_type not in STRUCTS
    return "string" if named else ""
