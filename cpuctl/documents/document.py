"""One document of an input text, and the positions of its parts in that text."""

from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from cpuctl.documents.positions import Path, Position, Positioned, Repeated, path_text
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.documents.tree import TreeBuilder

Value: TypeAlias = dict[str, "Value"] | list["Value"] | str | int | float | bool | None


class Syntax(StrEnum):
    """The two supported syntaxes."""

    JSON = "JSON"
    YAML = "YAML"


class PlacedText:
    """A text that is read again with positions, up to the requested document."""

    def __init__(self, text: str, syntax: Syntax) -> None:
        self.text = text
        self.syntax = syntax
        self._builders: Iterator[TreeBuilder] | None = None
        self._roots: list[object] = []

    def root(self, index: int) -> Positioned:
        """Return the document at *index*; those before it are kept for later calls."""
        if self._builders is None:
            self._builders = _placed_builders(self.text, self.syntax)
        missing = index + 1 - len(self._roots)
        self._roots.extend(builder.root for builder in islice(self._builders, max(missing, 0)))
        root = self._roots[index]
        assert isinstance(root, Positioned)
        return root


def _placed_builders(text: str, syntax: Syntax) -> Iterator["TreeBuilder"]:
    if syntax is Syntax.JSON:
        from cpuctl.documents.json_text import token_documents

        return token_documents(text, positions=True, last_wins=True)
    from cpuctl.documents.yaml_text import YamlReader

    return iter(YamlReader(text, positions=True, last_wins=True))


class Document(Record):
    """One document: ``source`` is a file name or ``<stdin>``, ``number`` counts those of ``text`` from 0.

    ``line`` is where the document begins.

    ``value`` contains only dict, list, str, int, float, bool and None. Places are found by reading the text
    again, which only errors and origins need.
    """

    source: str
    number: int
    value: Value
    placed: PlacedText
    line: int = 1
    repeats: tuple[Repeated, ...] = ()

    @property
    def text(self) -> str:
        """The whole text that contains the document."""
        return self.placed.text

    @property
    def syntax(self) -> Syntax:
        """The syntax of the text."""
        return self.placed.syntax

    @property
    def _root(self) -> Positioned:
        return self.placed.root(self.number)

    def line_of(self, path: Path) -> int | None:
        """Return the line (from 1) of the key or item at *path*; None if the text has no such path."""
        if not path:
            return self.line
        node = self._root
        for step in path:
            below = node.child(step)
            if below is None:
                return None
            node = below
        return node.position.line

    def nearest_position(self, path: Path) -> Position:
        """Return the position of *path*, or of the closest part around it that the text contains."""
        node = self._root
        for step in path:
            below = node.child(step)
            if below is None:
                break
            node = below
        return node.position

    def written(self, path: Path) -> str:
        """Return the number at *path* of a JSON text as it is written: ``110.0``, ``1e3``."""
        from cpuctl.documents.json_text import token_at

        return token_at(self.text, self.nearest_position(path), after_key=isinstance(path[-1], str))

    def where(self, path: Path) -> str:
        """Return a place for people: ``pods.yaml:12: spec.containers[0].name``."""
        line = self.line_of(path)
        position = f"{self.source}:{line}" if line is not None else self.source
        return f"{position}: {path_text(path)}" if path else position


class Origin(Record):
    """Where a part was read; ``str()`` costs nothing: file and line of a document, or file and path."""

    document: Document
    path: Path

    def __str__(self) -> str:
        if self.path:
            return f"{self.document.source}: {path_text(self.path)}"
        return f"{self.document.source}:{self.document.line}"
