"""A release that comes, or a patch that mends, is one entry, its rule and its cases; nothing else names it.

To add 1.39: raise ``NEWEST`` (``kubelet/version.py``; ``LAST_PATCHES`` once a patch is known), and write down
each thing that it does in another way as an entry of ``DIFFERENCES``, with a field of ``Behaviours`` where
code asks for it. Show it: name a recorded case, or add an answer to ``tests/cli/test_differences.py``.
Recordings go to ``fixtures/conformance/1.39``, and what they hold into ``RECORDED``. Then run ``make docs``.

A backport is the first patch that has it, in ``patches`` of its entry, and a recorded case of that minor.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from cpuctl.kubelet.releases.differences import DIFFERENCES
from cpuctl.kubelet.version import NEWEST

ROOT = Path(__file__).parents[3] / "cpuctl"
TABLES = {"kubelet/version.py", "kubelet/releases/differences.py", "kubelet/releases/recorded.py"}
EVERYTHING = {"checkpoints/inspection.py"}
"""Where the number only stands for a reader that knows all formats."""


def questions(tree: ast.AST) -> Iterator[str]:
    """Yield where the newest release, or one to come, is named as a number that something is told of."""
    for node in ast.walk(tree):
        match node:
            case ast.keyword(arg="minor", value=ast.Constant(value=int(minor))) if minor >= NEWEST:
                yield f"{node.value.lineno}: minor={minor}"
            case ast.Compare(comparators=[ast.Constant(value=int(minor))]) if NEWEST <= minor <= NEWEST + 1:
                yield f"{node.lineno}: {ast.unparse(node)}"
            case _:
                pass


def test_the_newest_release_is_named_in_tables_only() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{place}"
        for path in sorted(ROOT.rglob("*.py"))
        if str(path.relative_to(ROOT)) not in TABLES | EVERYTHING
        for place in questions(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert not found, __doc__


def test_a_backport_that_is_recorded_names_a_case_of_its_minor() -> None:
    """One that is only read in sources says so (documented)."""
    for name, each in DIFFERENCES.items():
        recorded = {minor for minor in each.patches if f"1.{minor}" in each.recorded_on}
        assert not each.cases or recorded == set(each.patches), name
