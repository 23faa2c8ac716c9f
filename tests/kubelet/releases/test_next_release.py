"""A new release or a patch with a fix is one entry, its rule and its cases; nothing else names it.

To add 1.39: raise ``NEWEST`` (``kubelet/version.py``; ``LAST_PATCHES`` once a patch is known), and write down
each thing that it does differently as an entry of ``DIFFERENCES``, with a field of ``Behaviours`` if
code needs it. Show it: name a recorded case, or add an answer to ``tests/cli/test_differences.py``.
Recordings go to ``fixtures/conformance/1.39``, and what they hold into ``RECORDED``. Then run ``make docs``,
and these tests: they list every line that names 1.38, for review.

A backport is the first patch that has it, in ``patches`` of its entry, and a recorded case of that minor.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from cpuctl.kubelet.releases.differences import DIFFERENCES
from cpuctl.kubelet.version import NEWEST, OLDEST

ROOT = Path(__file__).parents[3]
TABLES = {
    "cpuctl/kubelet/version.py",
    "cpuctl/kubelet/releases/differences/__init__.py",
    "cpuctl/kubelet/releases/recorded.py",
}

READ_AGAIN_FOR = 38
"""The newest release when the patterns below were last compared with the lines that name it."""

STAYS: Mapping[str, str] = {
    "README.md": r"1\.27 to 1\.38",  # see the second to last test
    "cpuctl/answering/plan/warnings_answer.py": r"fixed in 1\.38",
    "cpuctl/engine/cpu/picking/balance.py": r"from 1\.38 on",
    "cpuctl/engine/cpu/picking/packed.py": r"as in v1\.38|from 1\.38\)",
    "cpuctl/engine/explain/known_defects.py": r"fixed in 1\.38",
    "cpuctl/engine/readmission.py": r"fixed in 1\.38",
    "cpuctl/messages/admission.py": r"^1\.27 to 1\.38\.$",  # the recordings that were read
    "cpuctl/messages/starting.py": r"recorded answers of 1\.27 to 1\.38",
    "cpuctl/timeline/example.py": r"action: upgrade",
    "docs/explanation.md": r"from 1\.38 on|before 1\.38",
    "docs/how-to.md": r"--kubelet-version 1\.38",
    "docs/keps.md": r"Before 1\.38|1\.38 restores them|kubelet 1\.38 st(arts|ops)",
    "docs/tutorial.md": r"kubelet 1\.38 st(arts|ops)",
}
"""What lines may still say of that release after a newer one: what it introduced, or examples that use it."""


def numbers(tree: ast.AST) -> Iterator[str]:
    """Yield where the newest or the next release is written as a number in code."""
    for node in ast.walk(tree):
        match node:
            case ast.keyword(arg="minor", value=ast.Constant(value=int(minor))) if minor >= NEWEST:
                yield f"{node.value.lineno}: minor={minor}"
            case ast.Compare(comparators=[ast.Constant(value=int(minor))]) if NEWEST <= minor <= NEWEST + 1:
                if "minor" in ast.unparse(node.left):
                    yield f"{node.lineno}: {ast.unparse(node)}"
            case ast.Call(
                func=ast.Name(id="range" | "KubeletVersion"), args=[*_, ast.Constant(value=int(last))]
            ):
                if NEWEST <= last <= NEWEST + 1:
                    yield f"{node.lineno}: {ast.unparse(node)}"
            case _:
                pass


def test_the_newest_release_is_a_number_only_in_tables() -> None:
    found = {
        f"{name}:{place}"
        for path in sorted((ROOT / "cpuctl").rglob("*.py"))
        if (name := str(path.relative_to(ROOT))) not in TABLES
        for place in numbers(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert not found, __doc__


@pytest.mark.parametrize(
    "text", ["f(minor=99)", "minor >= 99", "kubelet.minor == 99", "range(27, 99)", "KubeletVersion(99)"]
)
def test_a_number_would_be_found(text: str) -> None:
    assert [*numbers(ast.parse(text.replace("99", str(NEWEST))))]


def lines_naming(minor: int) -> Iterator[tuple[str, str]]:
    """Yield the file and text of each line that names a minor: in code, comments, texts and schemas."""
    named = re.compile(rf"(?<![\w.])v?1\.{minor}\b(?!\.[0-9])")
    texts = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / ".github").glob("*.md")]
    texts += [path for path in (ROOT / "contrib").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    texts += (ROOT / "cpuctl" / "schemas").glob("*.json")
    for path in sorted(
        [*texts, *(ROOT / "cpuctl").rglob("*.py"), *(ROOT / "docs" / "generate").glob("*.py")]
    ):
        name = str(path.relative_to(ROOT))
        if name not in TABLES:
            yield from (
                (name, line) for line in path.read_text(encoding="utf-8").splitlines() if named.search(line)
            )


def test_lines_that_name_the_newest_release_stay_true_of_the_next() -> None:
    """Other lines are derived from ``NEWEST`` or have to be updated now."""
    lines = [*lines_naming(READ_AGAIN_FOR)]
    assert READ_AGAIN_FOR == NEWEST, "\n".join([str(__doc__), *(f"{name}: {line}" for name, line in lines)])
    reported = [(name, line) for name, line in lines if not re.search(STAYS.get(name, "$^"), line)]
    assert not reported, __doc__
    assert STAYS.keys() == {name for name, _ in lines}


def test_the_readme_names_the_newest_release() -> None:
    reported = set(
        re.findall(r"1\.([0-9]{2}) to 1\.([0-9]{2})", (ROOT / "README.md").read_text(encoding="utf-8"))
    )
    assert reported == {(str(OLDEST), str(NEWEST))}


def test_a_recorded_backport_names_a_case_of_its_minor() -> None:
    """A backport known only from sources is marked as documented."""
    for name, each in DIFFERENCES.items():
        recorded = {minor for minor in each.patches if f"1.{minor}" in each.recorded_on}
        assert not each.cases or recorded == set(each.patches), name
