"""The page about KEP coverage, generated from ``tests/keps.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

Statement = dict[str, Any]

_TITLES = {
    2837: "Pod Level Resource Specifications",
    4540: "strict-cpu-reservation",
    5526: "Pod-Level Resource Managers",
    6122: "scale-delay-time and assigned.cpuset",
}
_HEAD = """# KEP coverage

For each section of four KEPs: the behaviour that it describes, and the test that shows that
cpuctl behaves the same. If releases differ from the KEP, cpuctl follows the releases: see
[where the kubelet differs from the KEPs](../keps.md). If a section or statement cannot be tested, the
last column explains why.
"""


def statements(root: Path) -> list[Statement]:
    """Read the table's entries."""
    found: list[Statement] = _table(root)["statement"]
    return found


def sections(root: Path) -> dict[int, list[str]]:
    """Read the sections of each document; a section includes its subsections unless they are listed, too."""
    return {each["kep"]: each["sections"] for each in _table(root)["document"]}


def _table(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "tests" / "keps.toml").read_text(encoding="utf-8"))


def keps_page(root: Path) -> str:
    """Write the page: one table for each document."""
    table = statements(root)
    parts = [_HEAD, _counts(table)]
    for kep, title in _TITLES.items():
        rows = [_row(each) for each in table if each["kep"] == kep]
        head = "| Section | Behaviour | Test |\n| --- | --- | --- |"
        parts.append(f"## KEP-{kep}: {title}\n\n{head}\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _counts(table: list[Statement]) -> str:
    tested, departs = (sum(key in each for each in table) for key in ("test", "departs"))
    beyond = sum("why" in each and "says" in each for each in table)
    silent = sum("says" not in each for each in table)
    counts = f"{tested} statements are tested; releases differ from {departs} others"
    return f"{counts}; {beyond} are out of scope for cpuctl;\n{silent} sections have nothing to test.\n"


def _row(each: Statement) -> str:
    return f"| {each['section']} | {each.get('says', '-')} | {_shown(each)} |"


def _shown(each: Statement) -> str:
    if "test" in each:
        return f"`{each['test'].removeprefix('tests/')}`"
    if "departs" in each:
        return f"[differs](../keps.md#{each['departs']})"
    return str(each["why"])
