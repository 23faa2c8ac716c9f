"""A rule of the kubelet's validation: a table row used to check, document and compare releases."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from cpuctl.golang.durations import parse_duration
from cpuctl.kubelet.config import ATTRIBUTES, KubeletConfiguration
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.records import Record

NEVER = 1 << 16
PREFIX = "invalid configuration: "


class Build(Record):
    """The parts of a kubelet's binary against which a configuration is checked.

    ``previous`` is the minor before its own, as it writes it; None means that of the release. ``log_formats``
    are those that are linked in, and ``image_patterns`` is whether their parser is linked in.
    """

    previous: str | None = None
    log_formats: tuple[str, ...] = ("text", "json")
    image_patterns: bool = True


class Subject(Record):
    """A configuration, the gates it runs with, and the host's cgroup version (1 or 2).

    ``item`` is the current element of a list that rules check one by one.
    """

    config: KubeletConfiguration
    gates: FeatureGates
    cgroup_version: int = 2
    build: Build = Build()
    item: Any = None

    @property
    def minor(self) -> int:
        """The kubelet's minor release."""
        return self.gates.minor

    def on(self, gate: str) -> bool:
        """Return whether a feature gate is on."""
        return self.gates.enabled(gate)

    def given(self, field: str) -> Any:  # noqa: ANN401  # whatever the field holds
        """Return a field's value with defaults filled in; None if it is not set and has no default."""
        attribute = ATTRIBUTES.get(field)
        return getattr(self.config, attribute) if attribute else self.config.others.get(field)

    def number(self, field: str) -> int | None:
        """Return a whole number."""
        value = self.given(field)
        return None if value is None else int(value)

    def text(self, field: str) -> str:
        """Return a string, which is empty if it is not set."""
        return str(self.given(field) or "")

    def duration(self, field: str) -> int:
        """Return a duration in nanoseconds, 0 if it is not set."""
        value = self.given(field)
        return value if isinstance(value, int) else parse_duration(value) if value else 0

    def member(self, field: str, *path: str) -> Any:  # noqa: ANN401  # whatever the field holds
        """Return the value of a struct's field, None if it or the struct is not set."""
        value = self.given(field)
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value


Broken: TypeAlias = Iterable[tuple[object, ...]]
Breaks: TypeAlias = Callable[[Subject], Broken]
"""Yield the values for the text, once for each time that a configuration breaks the rule."""


class Rule(NamedTuple):
    """A rule and the kubelet's words for what breaks it, with ``{}`` in place of values.

    ``field`` is the path of the setting to fix. The rule applies since 1.*since* and before 1.*until*. Rules
    with the same ``each`` are tried element by element; if one that ``ends`` is broken, the later ones are
    not tried for the element. ``stage`` is the part of the start that checks it. ``on_cgroup_v1``: hosts
    with cgroup v2 cannot break it.
    """

    field: str
    text: str
    breaks: Breaks
    since: int = 0
    until: int = NEVER
    each: Callable[[Subject], Iterable[object]] | None = None
    ends: bool = False
    stage: str = "configValidation"
    on_cgroup_v1: bool = False

    def holds_in(self, minor: int) -> bool:
        """Return whether a release has the rule."""
        return self.since <= minor < self.until

    @property
    def template(self) -> str:
        """The text with ``...`` in place of values."""
        return self.text.replace("{{{}}}", "{...}").replace("{}", "...")

    @property
    def path(self) -> tuple[str, ...]:
        """The setting as a path."""
        return tuple(self.field.split("."))


def when(condition: bool, *values: object) -> Iterator[tuple[object, ...]]:  # noqa: FBT001  # reads as one
    """Yield the values for a text if a condition is true."""
    if condition:
        yield values


def below(field: str, least: int) -> Breaks:
    """Return a check that a number is at least *least*; the text gets the number."""

    def breaks(subject: Subject) -> Broken:
        number = subject.number(field)
        return when(number is not None and number < least, number)

    return breaks


def outside(field: str, low: int, high: int) -> Breaks:
    """Return a check that a number is in a range; the text gets the number."""

    def breaks(subject: Subject) -> Broken:
        number = subject.number(field)
        return when(number is not None and not low <= number <= high, number)

    return breaks


def not_negative(field: str, flag: str) -> Rule:
    """Return the rule for a number that must not be negative."""
    return Rule(field, f"{PREFIX}{field} (--{flag}) {{}} must not be a negative number", below(field, 0))


def in_range(field: str, flag: str, low: int, high: int, said_low: int | None = None) -> Rule:
    """Return the rule for a number in a range; *said_low* is the lower bound named in its text."""
    stated_low = low if said_low is None else said_low
    text = f"{PREFIX}{field} (--{flag}) {{}} must be between {stated_low} and {high}, inclusive"
    return Rule(field, text, outside(field, low, high))
