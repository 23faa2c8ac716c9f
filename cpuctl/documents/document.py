"""One document of an input text, and where in that text its parts stand."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import islice
from typing import TypeAlias

from cpuctl.documents.json_text import careful_documents
from cpuctl.documents.tree import Place, Placed
from cpuctl.documents.yaml_text import YamlReader

Value: TypeAlias = dict[str, "Value"] | list["Value"] | str | int | float | bool | None
Path: TypeAlias = tuple[str | int, ...]

_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)


class Syntax(StrEnum):
    """The two notations that are read."""

    JSON = "JSON"
    YAML = "YAML"


@dataclass(frozen=True, slots=True)
class Repeat:
    """A key that a mapping holds twice, and where it stands the second time."""

    key: str
    place: Place


@dataclass(frozen=True, kw_only=True)  # no slots: cached_property needs a __dict__
class Document:
    """One document: ``source`` is a file name or ``<stdin>``, ``index`` counts the documents of ``text``.

    ``line`` is where the document begins.

    ``value`` holds nothing but dict, list, str, int, float, bool and None. Places are found by reading
    the text once more, which only errors and origins ask for.
    """

    source: str
    index: int
    value: Value
    syntax: Syntax
    text: str = field(repr=False)
    line: int = 1
    repeats: tuple[Repeat, ...] = ()

    @cached_property
    def _root(self) -> Placed:
        read = careful_documents if self.syntax is Syntax.JSON else YamlReader
        builders = iter(read(self.text, places=True, last_wins=True))
        root = next(islice(builders, self.index, None)).root
        assert isinstance(root, Placed)
        return root

    def line_of(self, path: Path) -> int | None:
        """Return the line (from 1) of the key or item at *path*; None where the text holds no such path."""
        if not path:
            return self.line
        node = self._root
        for step in path:
            below = node.child(step)
            if below is None:
                return None
            node = below
        return node.place.line

    def where(self, path: Path) -> str:
        """Name a place for people: ``pods.yaml:12: spec.containers[0].name``."""
        line = self.line_of(path)
        place = f"{self.source}:{line}" if line is not None else self.source
        return f"{place}: {path_text(path)}" if path else place


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a part was read; ``str()`` costs nothing: file and line of a document, or file and path."""

    document: Document
    path: Path

    def __str__(self) -> str:
        if self.path:
            return f"{self.document.source}: {path_text(self.path)}"
        return f"{self.document.source}:{self.document.line}"


def path_text(path: Path) -> str:
    """Write a path as ``spec.containers[0].resources.limits["nvidia.com/gpu"]``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text
