"""What of the KEPs cpuctl covers, as a page: made of ``tests/keps.toml``."""

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
_HEAD = """# What of the KEPs cpuctl covers

Section by section of the four documents: what it says that a component does, in our words, and the test that
shows that cpuctl does it. Where releases do otherwise, cpuctl does as they do: see
[where the kubelet differs from the KEPs](../keps.md). Sections and sentences with nothing to try say why.
"""


def statements(root: Path) -> list[Statement]:
    """Read the table's entries."""
    found: list[Statement] = _table(root)["statement"]
    return found


def sections(root: Path) -> dict[int, list[str]]:
    """Read which sections each document has; those below one that stands here go with it."""
    return {each["kep"]: each["sections"] for each in _table(root)["document"]}


def _table(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "tests" / "keps.toml").read_text(encoding="utf-8"))


def keps_page(root: Path) -> str:
    """Write the page: one table a document."""
    table = statements(root)
    parts = [_HEAD, _counts(table)]
    for kep, title in _TITLES.items():
        rows = [_row(each) for each in table if each["kep"] == kep]
        head = "| Section | Says | Shown by |\n| --- | --- | --- |"
        parts.append(f"## KEP-{kep}: {title}\n\n{head}\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _counts(table: list[Statement]) -> str:
    tested, departs = (sum(key in each for each in table) for key in ("test", "departs"))
    beyond = sum("why" in each and "says" in each for each in table)
    silent = sum("says" not in each for each in table)
    counts = f"{tested} statements are shown by tests, {departs} are departed from"
    return f"{counts}, {beyond} are not for cpuctl to answer,\n{silent} sections say nothing to try.\n"


def _row(each: Statement) -> str:
    return f"| {each['section']} | {each.get('says', '-')} | {_shown(each)} |"


def _shown(each: Statement) -> str:
    if "test" in each:
        return f"`{each['test'].removeprefix('tests/')}`"
    if "departs" in each:
        return f"[departs](../keps.md#{each['departs']})"
    return str(each["why"])
