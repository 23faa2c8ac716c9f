"""What is said about an input or a node: one kind of value for every check, whatever it looks at."""

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
    """How bad it is; the worst is the greatest, and comes first.

    An error is what some component rejects, or a broken guarantee of the kubelet; a warning is what does not
    mean what it seems to mean, or can do harm later; a note is worth knowing.
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
"""As answers name them, the worst first."""


class Component(StrEnum):
    """Who may reject what is written for pods."""

    KUBECTL = "kubectl"
    API_SERVER = "apiserver"
    KUBELET = "kubelet"


PlaceT_co = TypeVar("PlaceT_co", covariant=True)
OtherT = TypeVar("OtherT")


class Diagnostic(Record, Generic[PlaceT_co]):
    """One thing to say about what is at *place*: a setting, a part of a manifest, a state file or a node.

    ``code`` is its stable name in answers. ``expected``, ``detected`` and ``fix`` may be empty, the last is a
    shell command or what an administrator does. The text of a place is empty if there is none to name.
    ``rejected_by`` is given if not only the kubelet rejects what is wrong, and ``note`` says what a
    message in another program's words leaves open.
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
        """Say the same of *place*."""
        rest = {**vars(self), "place": place}
        return Diagnostic(**rest)


AnyDiagnostic = TypeVar("AnyDiagnostic", bound=Diagnostic[object])


def worst_first(diagnostics: Iterable[AnyDiagnostic]) -> list[AnyDiagnostic]:
    """Sort by severity, and keep the order of those that are equally bad."""
    return sorted(diagnostics, key=lambda each: each.severity, reverse=True)


def counts(diagnostics: Iterable[Diagnostic[object]]) -> "FindingCounts":
    """Count by severity, the worst first."""
    found = Counter(each.severity for each in diagnostics)
    return {
        "error": found[Severity.ERROR],
        "warning": found[Severity.WARNING],
        "note": found[Severity.NOTE],
    }
