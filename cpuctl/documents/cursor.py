"""Typed access to a document: every reader's errors name the place of an unexpected value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple, TypeVar

from cpuctl.cpuset import CPUSet, list_problem
from cpuctl.documents.document import Document, Origin, Value
from cpuctl.documents.positions import Path
from cpuctl.documents.text_errors import describe
from cpuctl.errors import InputError
from cpuctl.quantity import Quantity, amount_text

T = TypeVar("T")
D = TypeVar("D")

_LONGER_BY_A_TYPO = 2
_LIKE_A_NAME = 0.75
"""The similarity of a name with two swapped letters that has only four."""


class Cursor(NamedTuple):
    """A value inside a document and the path to it.

    Every reader raises InputError with file, line, path, what was expected and what was found.
    """

    document: Document
    value: Value
    path: Path = ()

    @classmethod
    def at_root(cls, document: Document) -> Cursor:
        """Make a cursor at the top of a document."""
        return cls(document, document.value)

    @classmethod
    def at(cls, origin: Origin) -> Cursor:
        """Make a cursor at a place of a document, without cursors for the parts along the way."""
        value: Any = origin.document.value
        for step in origin.path:
            value = value[step]
        return cls(origin.document, value, origin.path)

    @property
    def where(self) -> str:
        """The place for people: ``pods.yaml:12: spec.containers[0].name``. Finding the line takes time."""
        return self.document.where(self.path)

    @property
    def origin(self) -> Origin:
        """The same place, computed only when it is printed."""
        return Origin(self.document, self.path)

    def error(self, message: str, *, hint: str = "") -> InputError:
        """Make an error at this place."""
        return InputError(message, where=self.where, hint=hint)

    def expected(self, wanted: str, *, hint: str = "") -> InputError:
        """Make the error ``expected <wanted>, found <the value here>``."""
        return self.error(f"expected {wanted}, found {describe(self.value)}", hint=hint)

    # Members of a mapping

    def get(self, key: str) -> Cursor | None:
        """Step to a member; None if it is absent or null, which Kubernetes does not distinguish."""
        value = self._mapping().get(key)
        return None if value is None else self._below(key, value)

    def required(self, key: str) -> Cursor:
        """Step to a required member."""
        below = self.get(key)
        if below is None:
            raise self.error(f"{key} is missing", hint=self.misspelling_of(key))
        return below

    def misspelt(self, key: str) -> str:
        """Return the member whose name is a misspelling of an absent *key*; empty if no name is."""
        members = self._mapping()
        if key in members:
            return ""
        # Names whose lengths differ more are distinct: initContainers is not a misspelling of containers.
        equivalent = [each for each in members if abs(len(each) - len(key)) <= _LONGER_BY_A_TYPO]
        if not equivalent:
            return ""
        from cpuctl.spelling import MOST_LISTED, nearest

        return nearest(key, equivalent[:MOST_LISTED], _LIKE_A_NAME)

    def misspelling_of(self, key: str) -> str:
        """Return a hint at the misspelling of an absent *key*; empty if it is not misspelt."""
        found = self.misspelt(key)
        return f"found {found}: did you mean {key}?" if found else ""

    def optional(self, key: str, read: Callable[[Cursor], T], default: D) -> T | D:
        """Read a member with *read*, or return *default* if it is absent."""
        below = self.get(key)
        return default if below is None else read(below)

    def members(self) -> dict[str, Cursor]:
        """Step to every member, null ones included, in the order of the text."""
        return {key: self._below(key, value) for key, value in self._mapping().items()}

    def items(self) -> list[Cursor]:
        """Step to every item of a list."""
        if not isinstance(self.value, list):
            raise self.expected("a list")
        return [self._below(index, item) for index, item in enumerate(self.value)]

    def _below(self, step: str | int, value: Value) -> Cursor:
        return Cursor(self.document, value, (*self.path, step))

    def _mapping(self) -> dict[str, Value]:
        if not isinstance(self.value, dict):
            raise self.expected("a mapping", hint=_as_mapping(self.value))
        return self.value

    # Values

    def text(self) -> str:
        """Read a string."""
        if not isinstance(self.value, str):
            raise self.expected("a string", hint=_as_text(self.value))
        return self.value

    def texts(self) -> tuple[str, ...]:
        """Read a list of strings."""
        return tuple(item.text() for item in self.items())

    def boolean(self) -> bool:
        """Read true or false."""
        if not isinstance(self.value, bool):
            raise self.expected("true or false", hint=_as_boolean(self.value))
        return self.value

    def integer(self, *, minimum: int | None = None, maximum: int | None = None) -> int:
        """Read a whole number within inclusive bounds."""
        number = self.value
        if isinstance(number, float) and number.is_integer():
            number = int(number)
        if isinstance(number, bool) or not isinstance(number, int):
            digits = isinstance(number, str) and number.isascii() and number.isdigit()
            raise self.expected("a whole number", hint="remove the quotes" if digits else "")
        if minimum is not None and number < minimum:
            raise self.expected(f"a whole number of at least {minimum}")
        if maximum is not None and number > maximum:
            raise self.expected(f"a whole number of at most {maximum}")
        return number

    def number(self) -> float:
        """Read a number, whole or not."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self.expected("a number")
        return float(self.value)

    def one_of(self, choices: Iterable[str]) -> str:
        """Read a string that must be one of *choices*."""
        allowed = list(choices)
        if self.value not in allowed:
            # If there is only one word, "did you mean" would only repeat what is expected.
            guesses = isinstance(self.value, str) and len(allowed) > 1
            hint = _meant(str(self.value), allowed) if guesses else ""
            raise self.expected(_one_of(allowed), hint=hint)
        return self.text()

    def refuse_others(self, known: Collection[str], *, because: Callable[[str], str] = lambda _: "") -> None:
        """Reject members with other names: misspelt ones would be silently ignored.

        *because* may explain a name that is wrong for another reason than its spelling.
        """
        for key, member in self.members().items():
            if key not in known:
                hint = because(key) or _meant(key, known)
                raise member.error(f"unknown key {key}, expected {_one_of(known)}", hint=hint)

    def quantity(self) -> Quantity:
        """Read a Kubernetes quantity: a string, a bare number (``0.5``), or null for zero."""
        text = amount_text(self.value)
        if text is None:
            raise self.expected("a quantity")
        try:
            return Quantity.parse(text)
        except ValueError as error:
            message = f"expected a quantity, found {describe(self.value)}: {error}"
            raise self.error(message, hint="write a quantity such as 4, 500m or 2Gi") from None

    def quantities(self) -> dict[str, Quantity]:
        """Read quantities by resource."""
        return {name: amount.quantity() for name, amount in self.members().items()}

    def cpu_set(self) -> CPUSet:
        """Read a CPU list such as ``0-3,8``."""
        text = self.text()
        try:
            return CPUSet.parse(text)
        except ValueError as error:
            raise self.error(f"expected a CPU list, found {describe(text)}: {list_problem(error)}") from None


def _one_of(choices: Collection[str]) -> str:
    return f"{'one of ' if len(choices) > 1 else ''}{', '.join(choices)}"


def _meant(word: str, known: Iterable[str]) -> str:
    from cpuctl.spelling import did_you_mean

    return did_you_mean(word, known)


_BOOLEANS = {
    "true": "remove the quotes", "false": "remove the quotes",
    **dict.fromkeys(("yes", "on", "y"), "write true"), **dict.fromkeys(("no", "off", "n"), "write false"),
}  # fmt: skip


_LONGEST_HINT = 60
"""Characters of a value that are repeated in a hint."""


def _as_boolean(value: Value) -> str:
    return _BOOLEANS.get(value.casefold(), "") if isinstance(value, str) else ""


def _as_text(value: Value) -> str:
    """Say how to write a value as a string; of a list, only of numbers and words, as kubelets read lists."""
    if isinstance(value, list):
        plain = value and all(isinstance(each, int | str) and not isinstance(each, bool) for each in value)
        joined = ",".join(map(str, value)) if plain and len(value) <= _LONGEST_HINT else ""
        return f'write one string: "{joined}"' if 0 < len(joined) <= _LONGEST_HINT else ""
    return "" if isinstance(value, dict | None) else "put it in quotes"


def _as_mapping(value: Value) -> str:
    """Rewrite ``NAME=VALUE,...``, the notation of flags."""
    if not isinstance(value, str) or len(value) > _LONGEST_HINT:
        return ""
    pairs = [each.partition("=") for each in value.split(",")]
    if not pairs or not all(name.strip() and equals for name, equals, _ in pairs):
        return ""
    import json

    return f"write {{{', '.join(f'{name.strip()}: {json.dumps(text.strip())}' for name, _, text in pairs)}}}"
