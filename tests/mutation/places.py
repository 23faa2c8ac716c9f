"""Places in the text of a module, and their replacements."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Edit:
    """The bytes of the source between two places become *text*."""

    start: int
    end: int
    text: str

    def applied(self, source: bytes) -> bytes:
        """Return the source with this one change."""
        return source[: self.start] + self.text.encode() + source[self.end :]


class Places:
    """The positions of a module's nodes in its text."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return the index of a node's first byte, and the one after its last."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self._lines[node.lineno - 1] + node.col_offset,
            self._lines[node.end_lineno - 1] + node.end_col_offset,
        )

    def is_known(self, node: ast.expr) -> bool:
        """Return whether Python knows the position of a part of an f-string: before 3.12, not always."""
        try:
            found = ast.parse(f"({self.text(*self.span(node))})", mode="eval").body
        except (SyntaxError, UnicodeDecodeError, ValueError):
            return False
        return ast.dump(found) == ast.dump(node)

    def text(self, start: int, end: int) -> str:
        """Return a part of the text."""
        return self.source[start:end].decode()

    def line(self, at: int) -> int:
        """Return the line number of a byte."""
        return self.source.count(b"\n", 0, at) + 1

    def lines(self, start: int, end: int) -> tuple[int, int]:
        """Extend a part to whole lines."""
        first = self.source.rfind(b"\n", 0, start) + 1
        last = self.source.find(b"\n", end)
        return first, len(self.source) if last < 0 else last


def functions(tree: ast.Module) -> Iterator[tuple[str, _Function]]:
    """Yield the functions and methods of a module by name, except those inside functions."""

    def below(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, _Function]]:
        for node in body:
            if isinstance(node, ast.ClassDef):
                yield from below(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, _Function):
                yield f"{prefix}{node.name}", node

    yield from below(tree.body, "")
