"""Links between pages have existing targets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXTS = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / ".github").glob("*.md")),
]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(#[^)\s]+)?\)")


def anchors(text: str) -> set[str]:
    """Return the anchors of headings."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE
    )
    return {"#" + re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_link_targets_exist(path: Path) -> None:
    dead = []
    for target, anchor in LINK.findall(path.read_text()):
        there = path.parent / target if target else path
        known = there.exists() and (not anchor or anchor in anchors(there.read_text()))
        dead += [] if known else [target + anchor]
    assert dead == []
