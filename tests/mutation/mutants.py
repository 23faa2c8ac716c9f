"""Mutants: one module with one edit, named by its function and the changed lines."""

from __future__ import annotations

import ast
import hashlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from tests.mutation.edits import edits
from tests.mutation.places import Edit, Places, functions

MODULE_LEVEL = "(module)"
"""Instead of a function's name: code that runs when the module is imported, including default values."""


class Change(NamedTuple):
    """A mutant as shown to people: by its text, at any place in its function."""

    function: str
    was: str
    becomes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One edit; *context* identifies the code of its function or statement."""

    module: str
    path: Path
    line: int
    change: Change
    edit: Edit
    context: str

    @property
    def imported(self) -> bool:
        """Return whether it takes effect only when the module is imported again."""
        return self.change.function.endswith(MODULE_LEVEL)

    @property
    def key(self) -> str:
        """Return a name that is valid while its function is unchanged."""
        return f"{self.context}|{self.change.was}|{self.change.becomes}|{self.edit.text}"


@dataclass(frozen=True, slots=True)
class ModuleGroup:
    """The modules of one folder, without those of subfolders, that match patterns."""

    name: str
    modules: tuple[Path, ...]

    def mutants(self) -> Iterator[Mutant]:
        """Yield the mutants of all modules."""
        for path in self.modules:
            yield from mutants_of(path)


def module_groups(root: Path, patterns: list[str]) -> list[ModuleGroup]:
    """Find the modules that match patterns like ``cpuctl/engine/cpu/*``, by folder."""
    found: dict[str, list[Path]] = {}
    for path in sorted((root / "cpuctl").rglob("*.py")):
        relative = path.relative_to(root)
        if any(_matches(relative, pattern) for pattern in patterns):
            found.setdefault(".".join(relative.parent.parts[1:]) or "cpuctl", []).append(path)
    return [ModuleGroup(name, tuple(paths)) for name, paths in sorted(found.items())]


def _matches(path: Path, pattern: str) -> bool:
    """Match whole parts: a star does not include subfolders."""
    parts = pattern.rstrip("/").split("/")
    return len(parts) == len(path.parts) and all(map(fnmatch, path.parts, parts))


def module_name(path: Path, root: Path) -> str:
    """Return the dotted name of a module."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield the mutants of one module, in the order of its lines."""
    source = path.read_bytes()
    tree = ast.parse(source)
    places = Places(source)
    module = module_name(path, Path.cwd())
    code = _Code(tree, places)
    seen: dict[str, int] = {}
    for edit in edits(tree, places):
        name, text = code.around(edit.start)
        mutant = Mutant(
            module=module,
            path=path,
            line=places.line(edit.start),
            change=Change(f"{module}:{name}", *_as_read(edit, places)),
            edit=edit,
            context=hashlib.sha256(f"{module}:{name}:{text}".encode()).hexdigest()[:16],
        )
        # Two lines of a function may be equal.
        seen[mutant.key] = seen.get(mutant.key, 0) + 1
        number = seen[mutant.key]
        yield mutant if number == 1 else replace(mutant, context=f"{mutant.context}#{number}")


class _Code:
    """The bodies of functions, and the statements around them, without docstrings."""

    def __init__(self, tree: ast.Module, places: Places) -> None:
        self._bodies = sorted(_bodies(tree, places))
        self._statements = [(places.span(node)[0], node) for node in tree.body]
        self._declared: dict[int, str] = {}

    def around(self, place: int) -> tuple[str, str]:
        """Return the name of the function that a place is in, and its text.

        Defaults run on import, and so does code outside functions: its text is that of the statement.
        """
        number = bisect_right(self._bodies, place, key=itemgetter(0)) - 1
        if number >= 0 and place < self._bodies[number][1]:
            return self._bodies[number][2:]
        at = bisect_right(self._statements, place, key=itemgetter(0)) - 1
        if at not in self._declared:
            self._declared[at] = _declaration(self._statements[at][1])
        return MODULE_LEVEL, self._declared[at]


def _bodies(tree: ast.Module, places: Places) -> Iterator[tuple[int, int, str, str]]:
    """Yield start and end of each function body after the docstring, with name and text."""
    for name, node in functions(tree):
        documented = ast.get_docstring(node, clean=False) is not None
        body = node.body[documented:] or node.body
        start, end = places.span(body[0])[0], places.span(node)[1]
        yield start, end, name, places.text(start, end)


def _declaration(statement: ast.stmt) -> str:
    """Return a statement's code without docstrings and function bodies."""
    copied = ast.parse(ast.unparse(statement))
    for node in ast.walk(copied):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [ast.Pass()]
        elif isinstance(node, ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(copied)


def _as_read(edit: Edit, places: Places) -> tuple[str, str]:
    """Return the changed lines before and after, each as one line."""
    first, last = places.lines(edit.start, edit.end)
    was = places.text(first, last)
    becomes = f"{places.text(first, edit.start)}{edit.text}{places.text(edit.end, last)}"
    return " ".join(was.split()), " ".join(becomes.split())
