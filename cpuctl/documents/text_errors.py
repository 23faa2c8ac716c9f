"""What is wrong with a text: syntax errors, limits, and values of the wrong kind."""

from __future__ import annotations

from cpuctl.documents.positions import Position
from cpuctl.errors import InputError

MAX_DEPTH = 100
"""Levels of nesting accepted; a pod needs about twelve."""
MAX_NODES = 5_000_000
"""Values accepted in one text, aliases written out: twenty thousand pods as ``kubectl`` prints them."""
MAX_YAML_NODES = 2_000_000
"""Values accepted in one text in YAML, which takes ten times as long to read as JSON."""
MAX_DOCUMENTS = 100_000
"""Documents accepted in one text."""


class BrokenTextError(InputError):
    """A text that is not YAML or JSON, or contains what JSON cannot represent.

    ``go`` is the error of Go's reader (``yaml: line 2: ...``), empty if unknown.
    """

    def __init__(self, message: str, *, where: str = "", hint: str = "", go: str = "") -> None:
        super().__init__(message, where=where, hint=hint)
        self.go = go


class TextError(Exception):
    """The text breaks a rule at a position; the reader that knows the file turns it into InputError."""

    def __init__(self, message: str, position: Position, hint: str = "", *, go: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.hint = hint
        self.go = go

    def as_input_error(self, source: str) -> BrokenTextError:
        """Return the same error with the file's name."""
        where = f"{source}:{self.position.line}:{self.position.column}"
        return BrokenTextError(self.message, where=where, hint=self.hint, go=self.go)


def too_many_values(position: Position, most: int | None = None) -> TextError:
    """Make the error for a text of more than *most* values, by default ``MAX_NODES``."""
    hint = "convert it to JSON, which has a higher limit" if most == MAX_YAML_NODES else ""
    return TextError(f"more than {most or MAX_NODES:,} values (aliases expanded)", position, hint)


def too_many_documents(position: Position) -> TextError:
    """Make the error for a text of more than ``MAX_DOCUMENTS`` documents."""
    return TextError(f"more than {MAX_DOCUMENTS:,} documents", position)


def describe(value: object) -> str:
    """Describe a value for the second half of ``expected ..., found ...``."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value}"
        case str():
            return f'the string "{value}"' if len(value) <= 60 else f'the string "{value[:57]}..."'
        case list():
            return "a list"
        case _:
            return "a mapping"
