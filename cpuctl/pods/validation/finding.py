"""Findings about a part of a manifest, in the words of the component that rejects the object."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from cpuctl.diagnostics import Component, Diagnostic, Severity

Path: TypeAlias = tuple[str | int, ...]


class FieldPath(NamedTuple):
    """A part of a document: its *path* there, and the API server's name for it.

    The two differ in lists of objects and for amounts: ``spec.containers[0].resources.limits[cpu]``.
    """

    path: Path
    field: str

    def __str__(self) -> str:
        return self.field

    def child(self, *names: str) -> FieldPath:
        """Return the path of a member, or of one nested more deeply."""
        return FieldPath((*self.path, *names), ".".join((self.field, *names) if self.field else names))

    def item(self, number: int) -> FieldPath:
        """Return the path of a list item."""
        return FieldPath((*self.path, number), f"{self.field}[{number}]")

    def key(self, name: str) -> FieldPath:
        """Return the path of a map entry."""
        return FieldPath((*self.path, name), f"{self.field}[{name}]")

    # The API server's messages: k8s.io/apimachinery/pkg/util/validation/field

    def invalid(self, code: str, value: str, why: str, *, fix: str = "") -> Finding:
        """Return the error for a value that violates a rule."""
        return self.rejected(code, f"Invalid value: {_quoted(value)}: {why}", fix=fix)

    def forbidden(self, code: str, why: str, *, fix: str = "", note: str = "") -> Finding:
        """Return the error for a value that must not be set."""
        return self.rejected(code, f"Forbidden: {why}", fix=fix, note=note)

    def required(self, code: str, why: str = "", *, fix: str = "") -> Finding:
        """Return the error for a missing value."""
        return self.rejected(code, f"Required value: {why}" if why else "Required value", fix=fix)

    def duplicate(self, code: str, value: str) -> Finding:
        """Return the error for a duplicate value."""
        return self.rejected(code, f"Duplicate value: {_quoted(value)}")

    def not_found(self, code: str, value: str, why: str) -> Finding:
        """Return the error for a name that does not exist."""
        return self.rejected(code, f"Not found: {_quoted(value)}: {why}")

    def unsupported(
        self, code: str, value: str, supported: Iterable[str], *, fix: str = "", note: str = ""
    ) -> Finding:
        """Return the error for a value that is not one of the *supported* ones."""
        words = ", ".join(map(_quoted, supported))
        text = f"Unsupported value: {_quoted(value)}: supported values: {words}"
        return self.rejected(code, text, fix=fix, note=note)

    def rejected(
        self, code: str, message: str, *, by: Component = Component.API_SERVER, fix: str = "", note: str = ""
    ) -> Finding:
        """Return an error in the words of the component that rejects the object."""
        return Finding(Severity.ERROR, code, self, message, fix=fix, rejected_by=by, note=note)

    def warning(
        self, code: str, message: str, *, by: Component | None = None, fix: str = "", note: str = ""
    ) -> Finding:
        """Return a warning: the pod is accepted, but behaves differently than it appears to."""
        return Finding(Severity.WARNING, code, self, message, fix=fix, rejected_by=by, note=note)

    def note(self, code: str, message: str, *, fix: str = "") -> Finding:
        """Return a note."""
        return Finding(Severity.NOTE, code, self, message, fix=fix)


Finding: TypeAlias = Diagnostic[FieldPath]
"""A finding about a part of a document; as text, what ``kubectl`` prints after ``is invalid:``."""


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
