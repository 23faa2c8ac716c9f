"""Mutants: one module with one edit, named by the function it is in and the lines that read otherwise."""

from __future__ import annotations

import ast
import hashlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from tests.mutation.edits import edits
from tests.mutation.places import Edit, Places, functions

MODULE_LEVEL = "(module)"
"""In the place of a function's name: what runs when the module is imported, default values included."""


class Change(NamedTuple):
    """A mutant as people know it: by what it reads, wherever it stands in its function."""

    function: str
    was: str
    becomes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One edit; *context* stands for the text of the function, or module, that it is in."""

    module: str
    path: Path
    line: int
    change: Change
    edit: Edit
    context: str

    @property
    def imported(self) -> bool:
        """Tell whether it shows only when the module is imported anew."""
        return self.change.function.endswith(MODULE_LEVEL)

    @property
    def key(self) -> str:
        """Name it for as long as its function reads the same."""
        return f"{self.context}|{self.change.was}|{self.change.becomes}|{self.edit.text}"


@dataclass(frozen=True, slots=True)
class Room:
    """The modules of one folder (not those of folders below) that patterns name."""

    name: str
    modules: tuple[Path, ...]

    def mutants(self) -> Iterator[Mutant]:
        """Yield the mutants of all modules."""
        for path in self.modules:
            yield from mutants_of(path)


def rooms(root: Path, patterns: list[str]) -> list[Room]:
    """Find the modules that match patterns like ``cpuctl/engine/cpu/*``, by folder."""
    found: dict[str, list[Path]] = {}
    for path in sorted((root / "cpuctl").rglob("*.py")):
        relative = path.relative_to(root)
        if any(_matches(relative, pattern) for pattern in patterns):
            found.setdefault(".".join(relative.parent.parts[1:]) or "cpuctl", []).append(path)
    return [Room(name, tuple(paths)) for name, paths in sorted(found.items())]


def _matches(path: Path, pattern: str) -> bool:
    """Match whole parts: a star does not reach into folders below."""
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
    bodies = _bodies(tree, places)
    starts = [start for start, _, _ in bodies]
    seen: dict[str, int] = {}
    for edit in edits(tree, places):
        number = bisect_right(starts, edit.start) - 1
        inside = number >= 0 and edit.start < bodies[number][1]
        name = bodies[number][2] if inside else MODULE_LEVEL
        text = places.text(*bodies[number][:2]) if inside else places.source.decode()
        mutant = Mutant(
            module=module,
            path=path,
            line=places.line(edit.start),
            change=Change(f"{module}:{name}", *_as_read(edit, places)),
            edit=edit,
            context=hashlib.sha256(f"{module}:{name}:{text}".encode()).hexdigest()[:16],
        )
        # Two lines of a function may read the same.
        seen[mutant.key] = seen.get(mutant.key, 0) + 1
        context = f"{mutant.context}#{seen[mutant.key]}"
        yield Mutant(
            module=module,
            path=path,
            line=mutant.line,
            change=mutant.change,
            edit=edit,
            context=context if seen[mutant.key] > 1 else mutant.context,
        )


def _bodies(tree: ast.Module, places: Places) -> list[tuple[int, int, str]]:
    """List from where to where the bodies of functions go: defaults and decorators run on import."""
    return sorted(
        (places.span(node.body[0])[0], places.span(node)[1], name) for name, node in functions(tree)
    )


def _as_read(edit: Edit, places: Places) -> tuple[str, str]:
    """Return the changed lines as they are and as they become, each in one line."""
    first, last = places.lines(edit.start, edit.end)
    was = places.text(first, last)
    becomes = f"{places.text(first, edit.start)}{edit.text}{places.text(edit.end, last)}"
    return " ".join(was.split()), " ".join(becomes.split())
