"""The engine checks what a release does, never its number (``kubelet/releases/differences``)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ENGINE = Path(__file__).parents[2] / "cpuctl" / "engine"
NUMBERS = {"minor", "patch", "version", "order", "OLDEST", "NEWEST", "LAST_PATCHES", "DEFAULT_VERSION"}
REMEDY = (
    "make it an entry of DIFFERENCES and a field of Behaviours, read the field (gates.release), and show an"
    " answer that it decides in tests/conformance/test_differences.py"
)


def numbers_of_releases(tree: ast.AST) -> Iterator[str]:
    """Yield comparisons with a release number, and constants with the name of one."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, comparators=others) if any(map(is_number, (left, *others))):
                yield ast.unparse(node)
            case ast.Match(subject=subject) if is_number(subject):
                yield ast.unparse(subject)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant()) if name.endswith("_SINCE"):
                yield name
            case _:
                pass


def is_number(node: ast.expr) -> bool:
    name = getattr(node, "attr", "") or getattr(node, "id", "")
    return name in NUMBERS or name.endswith("_SINCE")


def test_the_engine_never_checks_a_minor() -> None:
    found = {
        f"{path.relative_to(ENGINE)}: {place}"
        for path in sorted(ENGINE.rglob("*.py"))
        for place in numbers_of_releases(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert not found, REMEDY


def test_checks_of_release_numbers_are_found() -> None:
    requested = """
if rules.minor < 33: pass
X_SINCE = 34
match gates.minor:
    case 33: pass
if name in known(minor): pass
"""
    found = set(numbers_of_releases(ast.parse(requested)))
    assert found == {"rules.minor < 33", "gates.minor", "X_SINCE"}
