"""Findings about an input or a node: one type for every check."""

import re
from collections import Counter
from collections.abc import Iterable
from enum import Enum, StrEnum
from functools import total_ordering
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.answers.values import FindingCounts


@total_ordering
class Severity(Enum):
    """The severity of a finding; the worst is the greatest, and comes first.

    An error is something that a component rejects, or a broken guarantee of the kubelet; a warning is
    something misleading, or harmful later; a note is worth knowing.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    def __str__(self) -> str:
        return self.value

    def __lt__(self, other: "Severity") -> bool:
        order = tuple(Severity)
        return order.index(self) > order.index(other)


SEVERITIES: Final = ("error", "warning", "note")
"""The names in answers, the worst first."""


class Component(StrEnum):
    """The components that may reject a pod's manifest."""

    KUBECTL = "kubectl"
    API_SERVER = "apiserver"
    KUBELET = "kubelet"


PlaceT_co = TypeVar("PlaceT_co", covariant=True)
OtherT = TypeVar("OtherT")


class Diagnostic(Record, Generic[PlaceT_co]):
    """One finding about a *place*: a setting, a part of a manifest, a state file or a node.

    ``code`` is its stable name in answers. ``expected``, ``detected`` and ``fix`` may be empty; the last is a
    shell command or a step for an administrator. The text of a place is empty if there is no place to name.
    ``rejected_by`` is given if not only the kubelet rejects the mistake, and ``note`` explains what another
    program's message leaves open.
    """

    severity: Severity
    code: str
    place: PlaceT_co
    message: str
    expected: str = ""
    detected: str = ""
    fix: str = ""
    rejected_by: Component | None = None
    note: str = ""

    def __str__(self) -> str:
        return ": ".join(filter(None, (str(self.place), self.message)))

    def at(self, place: OtherT) -> "Diagnostic[OtherT]":
        """Return the same finding about *place*."""
        rest = {**vars(self), "place": place}
        return Diagnostic(**rest)


_INSPECTING = re.compile(
    r"(?:cat|grep|crictl inspect|kubectl -n \S+ get|"
    r"(?:sudo )?cpuctl (?:checkpoint verify|config check|explain)) ?[^;&|]*"
)
_MISSING = re.compile(r" --kubelet-(?:args FLAGS|config FILE|version VERSION)(?: |$)")
"""Placeholders for what an answer lacks: to specify it is the fix."""


def only_shows(fix: str) -> bool:
    """Return whether a command for a finding changes nothing, but shows what to fix."""
    return _INSPECTING.fullmatch(fix) is not None and not _MISSING.search(fix)


AnyDiagnostic = TypeVar("AnyDiagnostic", bound=Diagnostic[object])


def worst_first(diagnostics: Iterable[AnyDiagnostic]) -> list[AnyDiagnostic]:
    """Sort by severity, stably."""
    return sorted(diagnostics, key=lambda each: each.severity, reverse=True)


def counts(diagnostics: Iterable[Diagnostic[object]]) -> "FindingCounts":
    """Count by severity, the worst first."""
    found = Counter(each.severity for each in diagnostics)
    return {
        "error": found[Severity.ERROR],
        "warning": found[Severity.WARNING],
        "note": found[Severity.NOTE],
    }
