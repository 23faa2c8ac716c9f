"""One thing to say about a manifest: how bad it is, who refuses the pod for it, and in whose words."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple, TypeAlias

Path: TypeAlias = tuple[str | int, ...]


class Severity(StrEnum):
    """How bad it is: somebody refuses it, it does not mean what it seems to mean, or it is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Refuser(StrEnum):
    """Who does not take the manifest."""

    KUBECTL = "kubectl"
    API_SERVER = "apiserver"
    KUBELET = "kubelet"
    NOBODY = "nobody"


class Finding(NamedTuple):
    """A remark about the part of a document at *path*.

    ``field`` is the part's name in the words of the refuser, ``detail`` what is said about it.
    """

    severity: Severity
    code: str
    refused_by: Refuser
    path: Path
    field: str
    detail: str
    hint: str = ""

    @property
    def message(self) -> str:
        """The whole sentence, as ``kubectl`` shows it behind ``is invalid:``."""
        return f"{self.field}: {self.detail}" if self.field else self.detail


class Spot(NamedTuple):
    """A part of a document: its *path* there, and what the API server calls it.

    The two differ in lists of objects and for amounts: ``spec.containers[0].resources.limits[cpu]``.
    """

    path: Path
    field: str

    def child(self, *names: str) -> Spot:
        """Step to a member below, and below that."""
        return Spot((*self.path, *names), ".".join((self.field, *names) if self.field else names))

    def item(self, number: int) -> Spot:
        """Step to an item of a list."""
        return Spot((*self.path, number), f"{self.field}[{number}]")

    def key(self, name: str) -> Spot:
        """Step to an entry of a map."""
        return Spot((*self.path, name), f"{self.field}[{name}]")

    # What the API server says: k8s.io/apimachinery/pkg/util/validation/field

    def invalid(self, code: str, value: str, why: str, *, hint: str = "") -> Finding:
        """Make the error for a value that breaks a rule."""
        return self.refused(code, f"Invalid value: {_quoted(value)}: {why}", hint=hint)

    def forbidden(self, code: str, why: str, *, hint: str = "") -> Finding:
        """Make the error for a value that may not be there."""
        return self.refused(code, f"Forbidden: {why}", hint=hint)

    def required(self, code: str, why: str = "", *, hint: str = "") -> Finding:
        """Make the error for a value that is missing."""
        return self.refused(code, f"Required value: {why}" if why else "Required value", hint=hint)

    def duplicate(self, code: str, value: str) -> Finding:
        """Make the error for a value that is there twice."""
        return self.refused(code, f"Duplicate value: {_quoted(value)}")

    def not_found(self, code: str, value: str, why: str) -> Finding:
        """Make the error for a name that nothing has."""
        return self.refused(code, f"Not found: {_quoted(value)}: {why}")

    def unsupported(self, code: str, value: str, supported: Iterable[str], *, hint: str = "") -> Finding:
        """Make the error for a word that is none of the *supported* ones."""
        words = ", ".join(map(_quoted, supported))
        return self.refused(
            code, f"Unsupported value: {_quoted(value)}: supported values: {words}", hint=hint
        )

    def refused(self, code: str, detail: str, *, by: Refuser = Refuser.API_SERVER, hint: str = "") -> Finding:
        """Make an error in the refuser's own words."""
        return self._said(Severity.ERROR, code, detail, by, hint)

    def warning(self, code: str, detail: str, *, by: Refuser = Refuser.NOBODY, hint: str = "") -> Finding:
        """Make a warning: the pod is taken, and does something else than it seems to."""
        return self._said(Severity.WARNING, code, detail, by, hint)

    def note(self, code: str, detail: str, *, hint: str = "") -> Finding:
        """Make a note."""
        return self._said(Severity.NOTE, code, detail, Refuser.NOBODY, hint)

    def _said(self, severity: Severity, code: str, detail: str, by: Refuser, hint: str) -> Finding:
        return Finding(
            severity=severity,
            code=code,
            refused_by=by,
            path=self.path,
            field=self.field,
            detail=detail,
            hint=hint,
        )


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
