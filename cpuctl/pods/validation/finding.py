"""What is said about a part of a manifest, in the words of who rejects the object for it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from cpuctl.diagnostics import Component, Diagnostic, Severity

Path: TypeAlias = tuple[str | int, ...]


class FieldPath(NamedTuple):
    """A part of a document: its *path* there, and what the API server calls it.

    The two differ in lists of objects and for amounts: ``spec.containers[0].resources.limits[cpu]``.
    """

    path: Path
    field: str

    def __str__(self) -> str:
        return self.field

    def child(self, *names: str) -> FieldPath:
        """Step to a member below, and below that."""
        return FieldPath((*self.path, *names), ".".join((self.field, *names) if self.field else names))

    def item(self, number: int) -> FieldPath:
        """Step to an item of a list."""
        return FieldPath((*self.path, number), f"{self.field}[{number}]")

    def key(self, name: str) -> FieldPath:
        """Step to an entry of a map."""
        return FieldPath((*self.path, name), f"{self.field}[{name}]")

    # What the API server says: k8s.io/apimachinery/pkg/util/validation/field

    def invalid(self, code: str, value: str, why: str, *, fix: str = "") -> Finding:
        """Make the error for a value that breaks a rule."""
        return self.rejected(code, f"Invalid value: {_quoted(value)}: {why}", fix=fix)

    def forbidden(self, code: str, why: str, *, fix: str = "", note: str = "") -> Finding:
        """Make the error for a value that may not be there."""
        return self.rejected(code, f"Forbidden: {why}", fix=fix, note=note)

    def required(self, code: str, why: str = "", *, fix: str = "") -> Finding:
        """Make the error for a value that is missing."""
        return self.rejected(code, f"Required value: {why}" if why else "Required value", fix=fix)

    def duplicate(self, code: str, value: str) -> Finding:
        """Make the error for a value that is there twice."""
        return self.rejected(code, f"Duplicate value: {_quoted(value)}")

    def not_found(self, code: str, value: str, why: str) -> Finding:
        """Make the error for a name that nothing has."""
        return self.rejected(code, f"Not found: {_quoted(value)}: {why}")

    def unsupported(
        self, code: str, value: str, supported: Iterable[str], *, fix: str = "", note: str = ""
    ) -> Finding:
        """Make the error for a word that is none of the *supported* ones."""
        words = ", ".join(map(_quoted, supported))
        text = f"Unsupported value: {_quoted(value)}: supported values: {words}"
        return self.rejected(code, text, fix=fix, note=note)

    def rejected(
        self, code: str, message: str, *, by: Component = Component.API_SERVER, fix: str = "", note: str = ""
    ) -> Finding:
        """Make an error in the words of who rejects the object."""
        return Finding(Severity.ERROR, code, self, message, fix=fix, rejected_by=by, note=note)

    def warning(
        self, code: str, message: str, *, by: Component | None = None, fix: str = "", note: str = ""
    ) -> Finding:
        """Make a warning: the pod is taken, and does something else than it seems to."""
        return Finding(Severity.WARNING, code, self, message, fix=fix, rejected_by=by, note=note)

    def note(self, code: str, message: str, *, fix: str = "") -> Finding:
        """Make a note."""
        return Finding(Severity.NOTE, code, self, message, fix=fix)


Finding: TypeAlias = Diagnostic[FieldPath]
"""A finding about a part of a document; as text, what ``kubectl`` prints after ``is invalid:``."""


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
