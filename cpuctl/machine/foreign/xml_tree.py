"""XML as plain elements, with bounds: nothing is fetched, no entity is declared, nothing grows.

The standard library's expat reads; ``xml.etree`` would expand what a document type declares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn
from xml.parsers import expat

from cpuctl.errors import InputError

MAX_DEPTH = 200
"""Levels of elements: hwloc nests some fifteen, and bridges of PCI buses below."""
MAX_ELEMENTS = 300_000
"""The largest machines have some sixty thousand."""


class Element:
    """One element: ``line`` is where it begins."""

    __slots__ = ("attributes", "children", "line", "name", "text")

    def __init__(self, name: str, attributes: Mapping[str, str], line: int) -> None:
        self.name = name
        self.attributes = attributes
        self.line = line
        self.children: list[Element] = []
        self.text = ""

    def below(self, name: str) -> Iterator[Element]:
        """Yield the children of one name."""
        return (child for child in self.children if child.name == name)


def read_xml_tree(data: bytes, source: str) -> Element:
    """Read a document; raise InputError with file and line for what is no XML, and for what is not read."""
    return _Builder(source).read(data)


class _Builder:
    def __init__(self, source: str) -> None:
        self._source = source
        self._open: list[Element] = []
        self._root: Element | None = None
        self._count = 0
        # What the text itself says of its encoding is not believed: all tools write UTF-8.
        self._parser: Any = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.EntityDeclHandler = self._entity

    def read(self, data: bytes) -> Element:
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            message = f"not XML: {expat.ErrorString(error.code)}"
            raise InputError(message, where=f"{self._source}:{error.lineno}") from None
        assert self._root is not None
        return self._root

    def _refuse(self, message: str) -> NoReturn:
        raise InputError(message, where=f"{self._source}:{self._parser.CurrentLineNumber}")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MAX_ELEMENTS:
            self._refuse(f"more than {MAX_ELEMENTS:,} elements")
        if len(self._open) >= MAX_DEPTH:
            self._refuse(f"more than {MAX_DEPTH} levels of elements")
        element = Element(name, attributes, self._parser.CurrentLineNumber)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self._root = element
        self._open.append(element)

    def _end(self, _name: str) -> None:
        self._open.pop()

    def _characters(self, text: str) -> None:
        if text.strip():
            self._open[-1].text += text

    def _doctype(self, _name: str, _system: str | None, _public: str | None, declares: int) -> None:
        # hwloc names a DTD, which nobody fetches; one that stands in the text could change what it says.
        if declares:
            self._refuse("declares its own document type, which is not supported")

    def _entity(self, *_declaration: object) -> None:
        self._refuse("declares an entity, which is not supported")
